//! Models of a collective's algorithms on several numbers of processes, as a table.

use strata_fit::{FitOptions, Structure, fit_model};
use strata_model::expr::parse;
use strata_model::samples::{Column, ModelSamples, Sample};
use strata_select::{Domain, Entry, Fitted, Model, Table, Variance, Verdict};

use super::times::{COLLECTIVES, Times};

/// The inputs of the terms.
const INPUTS: [&str; 3] = ["bytes", "P", "logP"];

/// Those of the specs.
const TERMS: [&str; 9] = [
    "logP",
    "P",
    "bytes",
    "bytes*logP",
    "bytes*P",
    "bytes > 65536",
    "(bytes > 65536)*logP",
    "(bytes > 65536)*P",
    "bytes/P",
];

/// The constant, then the terms; the second argument is the number of nodes' inputs, here `bytes`.
fn terms(nodes: usize, x: &[f64], to: &mut [f64]) -> Option<usize> {
    let (&bytes, p) = (x.first()?, nodes as f64);
    let log = p.log2();
    let late = if bytes > 65_536.0 { 1.0 } else { 0.0 };
    let all = [1.0, log, p, bytes, bytes * log, bytes * p, late, late * log, late * p, bytes / p];
    to.get_mut(..all.len())?.copy_from_slice(&all);
    Some(all.len())
}

/// The models of a collective, by what was measured on one platform.
pub(crate) fn calibrated(which: usize, measured: &[Times]) -> Result<&'static Table, String> {
    let collective = &COLLECTIVES[which];
    let mut entries = Vec::new();
    for (index, name) in collective.algorithms.iter().enumerate() {
        let rows = measured.iter().flat_map(|times| {
            let p = times.nodes as f64;
            times.curve(index).iter().map(move |(bytes, seconds)| Sample {
                values: vec![*bytes, p, p.log2()],
                seconds: *seconds,
                ..Sample::default()
            })
        });
        let samples = ModelSamples {
            name: (*name).to_owned(),
            columns: INPUTS.iter().map(|name| Column::input(*name)).collect(),
            unit: strata_model::Unit::SECONDS,
            fit: String::new(),
            rows: rows.collect(),
        };
        let texts: Vec<_> = TERMS
            .iter()
            .map(|term| parse(term))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{error:?}"))?;
        let structure = Structure {
            inputs: INPUTS.iter().map(|name| (*name).to_owned()).collect(),
            terms: texts.clone(),
            ..Structure::default()
        };
        let options = FitOptions { nonnegative: true, ..FitOptions::default() };
        let fitted =
            fit_model(&samples, &structure, &options, &|_| None).map_err(|error| error.to_string())?.model;
        let of = |text: &str| {
            fitted.terms.iter().find(|term| term.term == text).map_or(0.0, |term| term.coefficient)
        };
        let coefficients: Vec<f64> =
            std::iter::once(of("1")).chain(texts.iter().map(|term| of(&term.to_string()))).collect();
        let model = Model::Fitted(Fitted {
            terms,
            coefficients: coefficients.leak(),
            quantile: 1.96,
            noise: Variance::Relative(1e-6),
            own: Variance::Relative(fitted.own_error * fitted.own_error),
            factor: &[],
        });
        entries.push(Entry::new(name, Verdict::Verified, 1.0, Box::leak(Box::new(model))));
    }
    let nodes = measured.iter().map(|times| times.nodes);
    let (least, most) = (nodes.clone().min().unwrap_or(1), nodes.max().unwrap_or(1));
    let sizes = measured.iter().flat_map(Times::sizes);
    let (first, last) = (sizes.clone().fold(f64::INFINITY, f64::min), sizes.fold(0.0, f64::max));
    Ok(Box::leak(Box::new(Table {
        library: collective.name,
        spec: "",
        platform: "mpi nodes=64 cores=2 cpu=\"star\" cache=\"\" os=linux arch=x86_64",
        digest: "",
        inputs: &["bytes"],
        domain: Domain { nodes: (least, most), inputs: vec![(first, last)].leak() },
        entries: entries.leak(),
    })))
}
