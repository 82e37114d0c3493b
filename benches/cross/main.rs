//! Cross prediction (Brewer 1994, §8.1.1 and §8.1.3): times and choices on simulated machines with
//! costs drawn at random, from models of primitives there and from the structure of the
//! application, as by `specc choose --models`; beside the models of another machine as they are,
//! and beside models calibrated on the machine.
//!
//!     cargo bench -p strata-benches --bench cross
//!
//! It is deterministic.

mod machine;

use clap::Parser;
use specc::primitives::{Named, over};
use strata_benches::cost::{expressions, fit, samples};
use strata_benches::{drawn, head, row};
use strata_fit::{Callee, FitOptions, Lookup};
use strata_model::samples::Sample;
use strata_model::set::{Input, Kind, Model};
use strata_model::{ModelSet, Prediction};

use machine::{LIBRARIES, Library, sizes};

#[derive(Parser)]
struct Arguments {
    /// Machines
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u64).range(2..=1000))]
    machines: u64,
}

/// The seed of the first machine.
const FIRST: u64 = 101;

/// Sizes that a model is fitted to, but one, and sizes that are predicted.
const MEASURED: usize = 12;
const PROBLEMS: usize = 8;

/// A choice counts as right if it loses less than this share of the least time.
const RIGHT: f64 = 0.03;

/// The models of a library's ways: fitted to their times, or composed of primitives; and those with
/// a coefficient before the composed ones.
const WHOLE: &str = "Whole";
const HYBRID: &str = "Hybrid";

strata_benches::main!(run);

/// All of a library on one machine.
struct Measured {
    /// Models of its ways, fitted to their times.
    direct: ModelSet,
    /// The ways by primitives, and these.
    application: Named,
    primitives: Named,
    /// By way and problem, s.
    truth: Vec<Vec<f64>>,
}

/// A model of times by sizes, as calibration fits it; of one size a constant.
fn model(
    name: &str,
    terms: &[&str],
    times: &[(usize, f64)],
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Model, String> {
    let constant = times.iter().all(|(size, _)| *size == times[0].0);
    let (inputs, terms) = if constant { (&[][..], &[][..]) } else { (&["n"][..], terms) };
    let rows = times.iter().enumerate().map(|(place, (size, seconds))| Sample {
        values: inputs.iter().map(|_| *size as f64).collect(),
        seconds: *seconds,
        line: place + 2,
        ..Sample::default()
    });
    fit(&samples(name, inputs, rows.collect()), expressions(terms)?, options, lookup)
}

/// `name(inputs)` as an expression over other models.
fn factored(head: &str, expression: &str) -> Result<Model, String> {
    let (name, inputs) = head.strip_suffix(')').and_then(|head| head.split_once('(')).ok_or("no inputs")?;
    let any = |name: &str| Input {
        name: name.trim().to_owned(),
        min: f64::NEG_INFINITY,
        max: f64::INFINITY,
        integer: false,
    };
    Ok(Model {
        name: name.to_owned(),
        inputs: inputs.split(',').map(any).collect(),
        kind: Kind::Factored { expression: expression.to_owned() },
        ..Model::default()
    })
}

fn measured(library: &Library, seed: u64) -> Result<Measured, String> {
    let on = drawn(seed)?;
    let options = FitOptions { nonnegative: true, ..FitOptions::default() };
    let set = |models| ModelSet { models, ..ModelSet::default() };
    let primitive = |&(name, least, most, part): &machine::Part| {
        let time = |size| Ok((size, library.part(&on, part, size)?));
        let times = sizes(MEASURED, least, most).map(time).collect::<Result<Vec<_>, String>>()?;
        model(name, library.part_terms, &times, &options, &|_| None)
    };
    let primitives = set(library.parts.iter().map(primitive).collect::<Result<Vec<_>, _>>()?);
    let mut application = primitives.clone();
    for (head, sum) in library.sums {
        application.models.push(factored(head, sum)?);
    }
    for (at, way) in library.ways.iter().enumerate() {
        application.models.push(factored(&format!("{WHOLE}{at}(n)"), way.factored)?);
    }
    let resolved = application.resolve().map_err(|error| error.to_string())?;
    let lookup = |name: &str| {
        let formula = resolved.formula(name)?;
        Some(Callee { inputs: formula.inputs.clone(), body: formula.mean.clone() })
    };
    // One coefficient: a constant would be in seconds of this machine.
    let one = FitOptions { constant: false, keep_all: true, ..options };
    let (mut direct, mut truth) = (set(Vec::new()), Vec::new());
    for (at, way) in library.ways.iter().enumerate() {
        let time = |size: usize, keys: u64| Ok::<_, String>((size, library.time(&on, way, size, keys)?));
        let times =
            library.sizes(MEASURED, false).map(|size| time(size, 1)).collect::<Result<Vec<_>, _>>()?;
        direct.models.push(model(&format!("{WHOLE}{at}"), library.terms, &times, &options, &|_| None)?);
        let whole = format!("{WHOLE}{at}(n)");
        application.models.push(model(&format!("{HYBRID}{at}"), &[&whole], &times, &one, &lookup)?);
        let problems = library.sizes(PROBLEMS, true).map(|size| Ok(time(size, 1000)?.1));
        truth.push(problems.collect::<Result<Vec<_>, String>>()?);
    }
    let name = |set| (on.name.clone(), set);
    Ok(Measured { direct, application: name(application), primitives: name(primitives), truth })
}

/// What comes out of one source of predictions.
#[derive(Default)]
struct Tally {
    /// |ln(predicted/true)| of times.
    errors: Vec<f64>,
    lost: Vec<f64>,
    within: usize,
}

impl Tally {
    fn machine(
        &mut self,
        library: &Library,
        set: &ModelSet,
        kind: &str,
        truth: &[Vec<f64>],
    ) -> Result<(), String> {
        let models = set.resolve().map_err(|error| error.to_string())?;
        for (problem, size) in library.sizes(PROBLEMS, true).enumerate() {
            let predict = |way: usize| {
                let name = format!("{kind}{way}");
                let found = models.predict(&name, library.nodes, &[size as f64]);
                found.ok_or_else(|| format!("{name}: nothing is predicted at {size}"))
            };
            let predicted = (0..truth.len()).map(predict).collect::<Result<Vec<Prediction>, _>>()?;
            let truth: Vec<f64> = truth.iter().map(|way| way[problem]).collect();
            for (found, truth) in predicted.iter().zip(&truth) {
                self.errors.push((found.seconds.get() / truth).ln().abs());
                self.within += usize::from((found.seconds.get() - truth).abs() <= found.half_width.get());
            }
            let seconds: Vec<f64> = predicted.iter().map(|found| found.seconds.get()).collect();
            self.lost.push(truth[least(&seconds)] / truth[least(&truth)] - 1.0);
        }
        Ok(())
    }

    /// Writes a row, and what the summary keeps of it.
    fn tell(&mut self, library: &Library, by: &str) -> serde_json::Value {
        self.errors.sort_by(f64::total_cmp);
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let (middle, error) = (self.errors[self.errors.len() / 2].exp_m1(), mean(&self.errors).exp_m1());
        let right = self.lost.iter().filter(|lost| **lost < RIGHT).count() as f64 / self.lost.len() as f64;
        let regret = mean(&self.lost);
        let covered = self.within as f64 / self.errors.len() as f64;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let [m, e, r, c] = [middle, error, right, covered].map(percent);
        row(&[library.name.to_owned(), by.to_owned(), m, e, r, format!("{:.2} %", 100.0 * regret), c]);
        serde_json::json!({ "median": middle, "error": error, "right": right, "regret": regret, "covered": covered })
    }
}

fn least(all: &[f64]) -> usize {
    all.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| at)
}

fn run(&Arguments { machines }: &Arguments) -> Result<(), String> {
    head(&["library", "by", "median", "error", "right", "regret", "covered"]);
    let mut summary = serde_json::Map::new();
    for library in &LIBRARIES {
        let all =
            (FIRST..FIRST + machines).map(|seed| measured(library, seed)).collect::<Result<Vec<_>, _>>()?;
        let mut tallies = [
            "another machine's models, unchanged",
            "factored models over primitives measured there",
            "hybrid models of another machine over them",
            "calibrated there",
        ]
        .map(|by| (by, Tally::default()));
        for (at, here) in all.iter().enumerate() {
            let there = &all[(at + 1) % all.len()];
            for ((_, tally), (kind, source)) in tallies.iter_mut().zip([
                (WHOLE, Some(there)),
                (WHOLE, None),
                (HYBRID, None),
                (WHOLE, Some(here)),
            ]) {
                let names: Vec<String> = (0..library.ways.len()).map(|way| format!("{kind}{way}")).collect();
                let roots: Vec<&str> = names.iter().map(String::as_str).collect();
                let set = match source {
                    Some(measured) => measured.direct.clone(),
                    None => over(&there.application, &roots, std::slice::from_ref(&here.primitives))?,
                };
                tally.machine(library, &set, kind, &here.truth)?;
            }
        }
        for (by, tally) in &mut tallies {
            summary.insert(format!("{} {by}", library.name), tally.tell(library, by));
        }
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
