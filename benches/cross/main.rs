//! Cross prediction held to leave-one-machine-out: times and choices on simulated machines with
//! costs drawn at random, from models of the others and the costs of the one (`specc predict --on`),
//! beside the nearest machine's models as they are, and beside models calibrated on the machine.
//!
//!     cargo bench -p strata-benches --bench cross
//!
//! It is deterministic.

mod machine;

use std::process::ExitCode;

use clap::Parser;
use specc::cross::{Costs, predict};
use strata_benches::{drawn, head, row};
use strata_fit::{FitOptions, Structure, fit_model};
use strata_model::expr::parse;
use strata_model::samples::{Column, ModelSamples, Sample};
use strata_model::{ModelSet, Prediction};

use machine::{LIBRARIES, Library};

#[derive(Parser)]
struct Arguments {
    /// Machines
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u64).range(3..=1000))]
    machines: u64,
}

/// The seed of the first machine.
const FIRST: u64 = 101;

/// Sizes that a model is fitted to, but one, and sizes that are predicted.
const MEASURED: usize = 12;
const PROBLEMS: usize = 8;

/// Of how many machines there are models.
const KNOWN: [usize; 5] = [2, 3, 5, 10, 49];

/// A choice counts as right if it loses less than this share of the least time.
const RIGHT: f64 = 0.03;

fn main() -> ExitCode {
    strata_benches::run(run)
}

/// All of a library on one machine: by way and problem the modelled and the true time, s.
struct Measured {
    modelled: Vec<Vec<Prediction>>,
    truth: Vec<Vec<f64>>,
    costs: Costs,
}

impl Measured {
    fn truth_at(&self, problem: usize) -> Vec<f64> {
        self.truth.iter().map(|way| way[problem]).collect()
    }

    fn modelled_at(&self, problem: usize) -> Vec<f64> {
        self.modelled.iter().map(|way| way[problem].seconds.get()).collect()
    }
}

/// A model of times by sizes, as calibration fits it; what it predicts at other sizes.
fn model(library: &Library, times: &[(usize, f64)], at: &[usize]) -> Result<Vec<Prediction>, String> {
    let rows = times.iter().enumerate().map(|(place, (size, seconds))| Sample {
        values: vec![*size as f64],
        seconds: *seconds,
        line: place + 2,
        ..Sample::default()
    });
    let samples = ModelSamples {
        name: library.name.to_owned(),
        columns: vec![Column::input("n")],
        unit: strata_model::Unit::SECONDS,
        fit: String::new(),
        rows: rows.collect(),
    };
    let terms = library.terms.iter().map(|term| parse(term)).collect::<Result<Vec<_>, _>>();
    let terms = terms.map_err(|error| format!("{error:?}"))?;
    let structure = Structure { inputs: vec!["n".to_owned()], terms, ..Structure::default() };
    let options = FitOptions { nonnegative: true, ..FitOptions::default() };
    let fitted = fit_model(&samples, &structure, &options, &|_| None).map_err(|error| error.to_string())?;
    let set = ModelSet { models: vec![fitted.model], ..ModelSet::default() };
    let models = set.resolve().map_err(|error| error.to_string())?;
    let predict = |n: &usize| models.predict(library.name, library.nodes, &[*n as f64]);
    at.iter().map(|n| predict(n).ok_or_else(|| format!("no time of {n}"))).collect()
}

fn measured(library: &Library, seed: u64) -> Result<Measured, String> {
    let on = drawn(seed)?;
    let costs = Costs::of(&on, library.nodes).map_err(|error| error.to_string())?;
    let problems: Vec<usize> = library.sizes(PROBLEMS, true).collect();
    let (mut modelled, mut truth) = (Vec::new(), Vec::new());
    for way in library.ways {
        let time = |size: usize, keys: u64| Ok::<_, String>((size, library.time(&on, way, size, keys)?));
        let times =
            library.sizes(MEASURED, false).map(|size| time(size, 1)).collect::<Result<Vec<_>, _>>()?;
        modelled.push(model(library, &times, &problems)?);
        let all = problems.iter().map(|size| Ok(time(*size, 1000)?.1)).collect::<Result<Vec<_>, String>>()?;
        truth.push(all);
    }
    Ok(Measured { modelled, truth, costs })
}

/// What comes out of one source of predictions.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// |ln(predicted/true)| of times.
    errors: Vec<f64>,
    lost: Vec<f64>,
    within: usize,
    /// Half widths of intervals, as logarithms.
    widths: Vec<f64>,
}

impl Tally {
    fn problem(&mut self, predicted: &[f64], truth: &[f64]) {
        self.errors.extend(predicted.iter().zip(truth).map(|(p, t)| (p / t).ln().abs()));
        let least =
            |all: &[f64]| all.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| at);
        self.lost.push(truth[least(predicted)] / truth[least(truth)] - 1.0);
    }

    fn told(&self) -> [f64; 5] {
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
        let right = self.lost.iter().filter(|lost| **lost < RIGHT).count();
        [
            mean(&self.errors).exp_m1(),
            right as f64 / self.lost.len().max(1) as f64,
            mean(&self.lost),
            self.within as f64 / self.errors.len().max(1) as f64,
            median(&self.widths).exp(),
        ]
    }
}

fn median(all: &[f64]) -> f64 {
    let mut all = all.to_vec();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn run(&Arguments { machines }: &Arguments) -> Result<(), String> {
    head(&["library", "machines", "by", "error", "right", "regret", "covered", "within"]);
    let mut summary = serde_json::Map::new();
    for library in &LIBRARIES {
        let all =
            (FIRST..FIRST + machines).map(|seed| measured(library, seed)).collect::<Result<Vec<_>, _>>()?;
        let mut told = |known: usize, by: &str, tally: &Tally| {
            let [error, right, regret, covered, within] = tally.told();
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            let covering = !tally.widths.is_empty();
            row(&[
                library.name.to_owned(),
                if known == 0 { String::new() } else { known.to_string() },
                by.to_owned(),
                percent(error),
                percent(right),
                format!("{:.2} %", 100.0 * regret),
                if covering { percent(covered) } else { String::new() },
                if covering { format!("{within:.2}") } else { String::new() },
            ]);
            let mut values = serde_json::json!({ "error": error, "right": right, "regret": regret });
            if covering {
                values["covered"] = covered.into();
                values["within"] = within.into();
            }
            summary.insert(format!("{} {known} {by}", library.name), values);
        };
        let mut numbers: Vec<usize> = KNOWN.iter().map(|known| (*known).min(all.len() - 1)).collect();
        numbers.dedup();
        let (problems, ways) = (PROBLEMS, library.ways.len());
        for known in numbers {
            let [mut cross, mut nearest] = [Tally::default(), Tally::default()];
            for (at, here) in all.iter().enumerate() {
                let others: Vec<&Measured> = (1..=known).map(|next| &all[(at + next) % all.len()]).collect();
                let costs: Vec<Costs> = others.iter().map(|other| other.costs).collect();
                let near = |one: &&&Measured| one.costs.distance(&here.costs);
                let near =
                    others.iter().min_by(|a, b| near(a).total_cmp(&near(b))).ok_or("no other machine")?;
                for problem in 0..problems {
                    let truth = here.truth_at(problem);
                    nearest.problem(&near.modelled_at(problem), &truth);
                    let mut predicted = Vec::with_capacity(ways);
                    for (way, there) in truth.iter().enumerate() {
                        let times: Vec<Prediction> =
                            others.iter().map(|other| other.modelled[way][problem]).collect();
                        let time = predict(&costs, &times, &here.costs).ok_or("nothing is predicted")?;
                        cross.within += usize::from((time.seconds / there).ln().abs() <= time.within.ln());
                        cross.widths.push(time.within.ln());
                        predicted.push(time.seconds);
                    }
                    cross.problem(&predicted, &truth);
                }
            }
            told(known, "cross prediction", &cross);
            told(known, "nearest, unchanged", &nearest);
        }
        let mut own = Tally::default();
        for here in &all {
            for problem in 0..problems {
                own.problem(&here.modelled_at(problem), &here.truth_at(problem));
            }
        }
        told(0, "calibrated there", &own);
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
