//! The sorts and the streams of collectives of a team on simulated machines drawn at random: what
//! choices by the compiled-in models lose, which are of other machines, before and after the team has
//! fitted them.

use std::time::Duration;

use strata_benches::{columns, drawn, jobs::simulated};
use strata_runtime::prelude::*;
use strata_runtime::select::{Options as Plain, TimedOnNodes};
use strata_runtime::trees::{Broadcasts, Reductions, Scans};
use strata_select::{Library, Source as _};
use strata_sort::{Options, Sort, profile, sort_with};

use super::FIRST;
use super::fitting::Clock;

/// Problems on each machine.
const PROBLEMS: usize = 12;

/// Keys on each node.
const KEYS: (f64, f64) = (16.0, 8192.0);

/// Words of a collective.
const WORDS: (f64, f64) = (1.0, 256.0);

/// What choices on one machine lose, by problem.
struct Lost {
    untouched: Vec<f64>,
    fitted: Vec<f64>,
    timings: usize,
    took: f64,
}

/// The candidate that the models choose for these keys.
fn chosen(node: &mut Node, keys: usize, width: u32) -> Result<Sort, Error> {
    let choice = sort_with(node, &mut profile::keys(node, keys, width, 1), &Options::default())?;
    let chosen = strata_benches::sorts::named(choice.name, choice.parameters.as_slice());
    chosen.ok_or_else(|| Error::program(format_args!("no sort `{}`", choice.name)))
}

/// What a library offers for a problem: candidates with a prediction, with each of their parameters.
fn offered<L: Library>(nodes: usize, inputs: &[f64]) -> Vec<L> {
    let mut offered = Vec::new();
    for (index, entry) in L::TABLE.entries.iter().enumerate() {
        let values: Vec<Vec<i64>> = match entry.parameters.first() {
            None => vec![Vec::new()],
            Some(parameter) => parameter.values().map(|value| vec![value]).collect(),
        };
        let fits = |values: &Vec<i64>| L::TABLE.seconds(index, nodes, inputs, values).is_some();
        let found = values.iter().filter(|values| fits(values));
        offered.extend(found.filter_map(|values| L::candidate(index, values)));
    }
    offered
}

/// The seconds of the fastest that a library offers.
fn least<L: TimedOnNodes>(node: &mut Node, inputs: &[f64]) -> f64 {
    let mut least = f64::INFINITY;
    for candidate in offered::<L>(node.size(), inputs) {
        least = least.min(time(node, candidate, inputs));
    }
    least
}

/// On the slowest node.
pub(super) fn time<L: TimedOnNodes>(node: &mut Node, candidate: L, inputs: &[f64]) -> f64 {
    let seconds = candidate.seconds(node, inputs, 1000).unwrap_or(f64::INFINITY);
    node.reduce_max(seconds)
}

fn sorts(node: &mut Node, seed: u64, budget: f64) -> Result<Lost, Error> {
    let mut draw = Clock::new(seed);
    let problems: Vec<(usize, u32)> = (0..PROBLEMS)
        .map(|_| (draw.between(KEYS.0, KEYS.1) as usize, draw.between(4.0, 64.0) as u32))
        .collect();
    let inputs = |at: usize| [problems[at].0 as f64, f64::from(problems[at].1)];
    let least: Vec<f64> = (0..PROBLEMS).map(|at| least::<Sort>(node, &inputs(at))).collect();
    let lost = |node: &mut Node| -> Result<Vec<f64>, Error> {
        let mut lost = Vec::new();
        for (at, (keys, width)) in problems.iter().enumerate() {
            let sort = chosen(node, *keys, *width)?;
            lost.push(time(node, sort, &inputs(at)) / least[at] - 1.0);
        }
        Ok(lost)
    };
    let untouched = lost(node)?;
    let report = node.calibrate::<Sort>(Duration::from_secs_f64(budget));
    let fitted = lost(node)?;
    let (timings, took) = report.map_or((0, 0.0), |report| (report.timings, report.took.as_secs_f64()));
    Ok(Lost { untouched, fitted, timings, took })
}

/// One of the libraries of collectives, by problem in turn.
fn lost_by<L: TimedOnNodes + Library<Input = usize>>(
    node: &mut Node,
    words: f64,
    least: f64,
) -> Result<f64, Error> {
    let chosen = node.choose::<L>(words as usize, &Plain::default())?.candidate;
    Ok(time(node, chosen, &[words]) / least - 1.0)
}

/// The time is shared by the three libraries.
fn collectives(node: &mut Node, seed: u64, budget: f64) -> Result<Lost, Error> {
    let mut draw = Clock::new(seed);
    let mut problems = Vec::new();
    for at in 0..PROBLEMS {
        let words = draw.between(WORDS.0, WORDS.1).floor();
        let least = match at % 3 {
            0 => least::<Broadcasts>(node, &[words]),
            1 => least::<Reductions>(node, &[words]),
            _ => least::<Scans>(node, &[words]),
        };
        problems.push((words, least));
    }
    let lost = |node: &mut Node| -> Result<Vec<f64>, Error> {
        let each = problems.iter().enumerate().map(|(at, &(words, least))| match at % 3 {
            0 => lost_by::<Broadcasts>(node, words, least),
            1 => lost_by::<Reductions>(node, words, least),
            _ => lost_by::<Scans>(node, words, least),
        });
        each.collect()
    };
    let untouched = lost(node)?;
    let share = Duration::from_secs_f64(budget / 3.0);
    let reports = [
        node.calibrate::<Broadcasts>(share),
        node.calibrate::<Reductions>(share),
        node.calibrate::<Scans>(share),
    ];
    let fitted = lost(node)?;
    let timings = reports.iter().flatten().map(|report| report.timings).sum();
    let took = reports.iter().flatten().map(|report| report.took.as_secs_f64()).sum();
    Ok(Lost { untouched, fitted, timings, took })
}

type Measure = fn(&mut Node, u64, f64) -> Result<Lost, Error>;

pub(super) fn run(machines: u64, budget: f64) -> Result<(), String> {
    columns(
        "library | nodes | untouched | after a fit | worst untouched | worst fit | most harmed | timings",
    );
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let most = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut summary = serde_json::Map::new();
    let all: [(&str, Measure, usize); 5] = [
        ("sort", sorts, 2),
        ("sort", sorts, 4),
        ("collectives", collectives, 2),
        ("collectives", collectives, 4),
        ("collectives", collectives, 8),
    ];
    for (library, measure, nodes) in all {
        let [mut untouched, mut fitted, mut harm] = [const { Vec::new() }; 3];
        let mut timings = 0;
        for seed in FIRST..FIRST + machines {
            let one = simulated(&drawn(seed)?, nodes, |node| measure(node, seed, budget))?.swap_remove(0);
            eprintln!(
                "{library} on {nodes} nodes, machine {seed}: {} -> {}, {} timings, {:.2} s",
                percent(mean(&one.untouched)),
                percent(mean(&one.fitted)),
                one.timings,
                one.took
            );
            harm.push(mean(&one.fitted) - mean(&one.untouched));
            untouched.extend(one.untouched);
            fitted.extend(one.fitted);
            timings += one.timings;
        }
        println!(
            "| {library} | {nodes} | {} | {} | {} | {} | {:+.2} points | {} |",
            percent(mean(&untouched)),
            percent(mean(&fitted)),
            percent(most(&untouched)),
            percent(most(&fitted)),
            100.0 * most(&harm),
            (timings as f64 / machines.max(1) as f64).round()
        );
        let values = serde_json::json!({
            "untouched": mean(&untouched), "fitted": mean(&fitted), "most_harmed": most(&harm),
        });
        summary.insert(format!("{library} on {nodes} nodes"), values);
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
