//! Models of a collective's algorithms on several numbers of processes, as a table.

use strata_benches::fitted::entry;
use strata_fit::Search;
use strata_model::samples::Sample;
use strata_select::{Table, table::Domain};

use super::times::{COLLECTIVES, Times};

/// The inputs of the terms.
const INPUTS: [&str; 3] = ["bytes", "P", "logP"];

/// Those of the specs.
const TERMS: [&str; 9] = [
    "logP", "P", "bytes", "bytes*logP", "bytes*P", "bytes > 65536", "(bytes > 65536)*logP",
    "(bytes > 65536)*P", "bytes/P",
];

/// The constant, then the terms; the input of the library is `bytes`.
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
        entries.push(entry(name, &INPUTS, &TERMS, rows.collect(), (terms, 1e-6), Search::default())?);
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
