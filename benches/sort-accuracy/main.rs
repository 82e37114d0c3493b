//! How often the sort that models choose is the fastest one, on simulated machines of 1994: the
//! experiments of Brewer (1994), §4.5.4 and §5.3.2.
//!
//!     cargo bench -p strata-benches --bench sort_accuracy
//!
//! `specc calibrate` fits the models of `specs/sort/simulated` on each machine and number of nodes.
//! Then, for 1 to 10,000 keys a node and four widths, problems that it has not seen are simulated
//! with every candidate that is predicted to take at most 25 % longer than the best. How many
//! choices are right of all 10,000 numbers of keys is estimated from a sample in strata: of the
//! numbers where the two best candidates are predicted to be close, more are simulated. Each
//! candidate's time is the mean over sets of random keys, as many as tell the candidates apart, up
//! to a limit. Radix sorts of different numbers of passes are different candidates; of sample sorts
//! only the one with the predicted number of samples is.

mod crossovers;
mod judge;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chacha20::ChaCha8Rng;
use clap::Parser;
use judge::{Judge, Predicted, Way};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use strata_benches::accuracy::{Cell, Options, Summary, calibrated, per_cent};
use strata_benches::{head, row};
use strata_model::Resolved;

/// Bits of the keys, as in the thesis's table 4-4.
const WIDTHS: [i64; 4] = [8, 16, 24, 32];

/// Most keys a node, as there.
const MOST_KEYS: usize = 10_000;

/// Bounds of the strata: by how much the second candidate is predicted to be slower than the first.
const STRATA: [f64; 3] = [0.01, 0.05, f64::INFINITY];

/// The shares of the problems that each stratum gets.
const SHARES: [f64; 3] = [0.5, 0.25, 0.25];

/// Problems on which digits are compared, in all.
const DIGIT_CELLS: usize = 200;

/// Most sets of keys for a problem: of few keys, and of many.
const MOST_SETS: [usize; 2] = [24, 8];

/// The fixed candidates that the choice is compared with, by their predicted times.
const FIXED: [(&str, i64); 6] =
    [("radix", 4), ("radix", 8), ("radix", 10), ("sample", 8), ("sample", 32), ("sample", 64)];

/// One machine with a number of nodes, and what came out.
struct Part {
    platform: String,
    nodes: usize,
    models: Resolved,
    outcome: Option<Result<Outcome, String>>,
}

#[derive(Default)]
struct Outcome {
    cells: Vec<Cell>,
    /// For each fixed candidate the sum over problems of weight · its time / that of the choice.
    fixed: Vec<f64>,
    digits: Vec<Cell>,
    crossovers: Vec<crossovers::Line>,
}

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    shared: Options,
    /// Problems on each machine and number of nodes
    #[arg(long, default_value_t = 40)]
    cells: usize,
}

fn main() -> ExitCode {
    strata_benches::run(run)
}

fn run(Arguments { shared: options, cells }: &Arguments) -> Result<(), String> {
    let mut parts = Vec::new();
    for platform in &options.platforms {
        for &nodes in &options.nodes {
            let models = calibrated("sort-accuracy", "specs/sort/simulated", platform, nodes, &[])?;
            parts.push(Mutex::new(Part { platform: platform.clone(), nodes, models, outcome: None }));
        }
    }
    let next = AtomicUsize::new(0);
    let digit_cells = DIGIT_CELLS.div_ceil(parts.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Ok(mut part) = part.lock() else { return };
                    let outcome = measure(&part, options, [*cells, digit_cells]);
                    eprintln!("done: {} with {} nodes", part.platform, part.nodes);
                    part.outcome = Some(outcome);
                }
            });
        }
    });
    let parts: Vec<(String, usize, Outcome)> = parts
        .into_iter()
        .filter_map(|part| part.into_inner().ok())
        .map(|part| {
            let outcome = part.outcome.unwrap_or_else(|| Err("a thread ended early".to_owned()));
            outcome.map(|outcome| (part.platform, part.nodes, outcome))
        })
        .collect::<Result<_, _>>()?;
    report(&parts);
    Ok(())
}

fn measure(part: &Part, options: &Options, [cells, digit_cells]: [usize; 2]) -> Result<Outcome, String> {
    let library = part.models.library("sort").ok_or("the models have no library `sort`")?;
    let judge = Judge::new(library, &part.platform, part.nodes, options.seed)?;
    let mut random = ChaCha8Rng::seed_from_u64(options.seed + part.nodes as u64);
    let mut outcome = Outcome { fixed: vec![0.0; FIXED.len()], ..Outcome::default() };
    for width in WIDTHS {
        let rivals: Vec<Predicted> =
            (1..=MOST_KEYS).map(|keys| rivals(judge.predicted(keys, width))).collect();
        let stratum = |keys: usize| {
            let times = &rivals[keys - 1];
            let gap = times.get(1).map_or(f64::INFINITY, |second| second.1 / times[0].1 - 1.0);
            STRATA.iter().position(|bound| gap < *bound).unwrap_or(STRATA.len() - 1)
        };
        for (number, share) in SHARES.iter().enumerate() {
            let all: Vec<usize> = (1..=MOST_KEYS).filter(|keys| stratum(*keys) == number).collect();
            let count = (share * cells as f64 / WIDTHS.len() as f64).round().max(1.0) as usize;
            let drawn: Vec<usize> = all.sample(&mut random, count).copied().collect();
            for &keys in &drawn {
                let verdict = judge.judge(&rivals[keys - 1], keys, width, most_sets(keys))?;
                if verdict.ratio > 1.0 {
                    eprintln!(
                        "{} {} nodes, {keys} keys of {width} bits: {:?} is {:.3} % slower than {:?}",
                        part.platform,
                        part.nodes,
                        rivals[keys - 1][0].0,
                        100.0 * (verdict.ratio - 1.0),
                        verdict.fastest,
                    );
                }
                let weight = all.len() as f64 / drawn.len() as f64;
                outcome.cells.push(Cell { ratio: verdict.ratio, fixed: None, weight });
            }
        }
        for keys in (50..=MOST_KEYS).step_by(100) {
            for ((name, parameter), sum) in FIXED.iter().zip(&mut outcome.fixed) {
                let way = if *name == "radix" {
                    Way::radix(*parameter, width)
                } else {
                    Way::new(name, &[*parameter])
                };
                let time = judge.seconds(&way, keys, width).unwrap_or(f64::INFINITY);
                *sum += time / rivals[keys - 1][0].1;
            }
        }
    }
    for _ in 0..digit_cells {
        let keys = (MOST_KEYS as f64).powf(random.random::<f64>()).round() as usize;
        let width = random.random_range(2..=32);
        let radix: Predicted =
            judge.predicted(keys, width).into_iter().filter(|(way, _)| way.name == "radix").collect();
        let verdict = judge.judge(&radix, keys, width, most_sets(keys))?;
        if verdict.ratio > 1.0 {
            eprintln!(
                "{} {} nodes, {keys} keys of {width} bits: digits {:?} are {:.3} % slower than {:?}",
                part.platform,
                part.nodes,
                radix[0].0.parameters,
                100.0 * (verdict.ratio - 1.0),
                verdict.fastest.parameters,
            );
        }
        outcome.digits.push(Cell { ratio: verdict.ratio, fixed: None, weight: 1.0 });
    }
    if part.nodes == crossovers::NODES {
        outcome.crossovers = crossovers::lines(&judge, &part.platform, MOST_KEYS)?;
    }
    Ok(outcome)
}

fn most_sets(keys: usize) -> usize {
    MOST_SETS[usize::from(keys > 2000)]
}

/// Those that compete for being right: the best of the sample sorts, all others.
fn rivals(mut predicted: Predicted) -> Predicted {
    let mut sample = false;
    predicted.retain(|(way, _)| way.name != "sample" || !std::mem::replace(&mut sample, true));
    predicted
}

fn report(parts: &[(String, usize, Outcome)]) {
    head(&["machine", "nodes", "problems", "right", "mean penalty", "expected", "worst", "digits right"]);
    let print = |names: [&str; 2], cells: &[Cell], digits: &[Cell]| {
        let summary = Summary::of(cells);
        row(&[
            names[0].to_owned(),
            names[1].to_owned(),
            summary.cells.to_string(),
            per_cent(summary.right),
            per_cent(summary.mean),
            format!("{:.4} %", 100.0 * summary.expected),
            per_cent(summary.worst),
            per_cent(Summary::of(digits).right),
        ]);
    };
    let (mut cells, mut digits, mut fixed) = (Vec::new(), Vec::new(), vec![0.0; FIXED.len()]);
    for (platform, nodes, outcome) in parts {
        print([platform, &nodes.to_string()], &outcome.cells, &outcome.digits);
        cells.extend(&outcome.cells);
        digits.extend(&outcome.digits);
        fixed.iter_mut().zip(&outcome.fixed).for_each(|(sum, part)| *sum += part);
    }
    print(["all", ""], &cells, &digits);
    println!("\nThe thesis: 99.84 % right (64 nodes), digits right in 40 of 40.\n");
    let problems = (parts.len() * WIDTHS.len() * (50..=MOST_KEYS).step_by(100).count()) as f64;
    let gains: Vec<f64> = fixed.iter().map(|sum| sum / problems - 1.0).collect();
    let best = (0..FIXED.len()).min_by(|a, b| gains[*a].total_cmp(&gains[*b])).unwrap_or(0);
    let (name, parameter) = FIXED[best];
    println!(
        "Always {name}:{parameter}, the best single algorithm, is slower by {}.\n",
        per_cent(gains[best])
    );
    crossovers::report(parts.iter().flat_map(|(_, _, outcome)| &outcome.crossovers));
    let (all, digits) = (Summary::of(&cells), Summary::of(&digits));
    strata_benches::summary(&json!({
        "bench": "sort_accuracy", "problems": all.cells, "right": all.right,
        "expected_penalty": all.expected, "mean_penalty": all.mean, "worst_penalty": all.worst,
        "digit_width_right": digits.right, "digit_width_cells": digits.cells,
        "gain_over_best_single": gains[best],
    }));
}
