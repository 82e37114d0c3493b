//! The sorts of a team on simulated machines drawn at random: what choices by the compiled-in models
//! lose, which are of threads on one host, before and after the team has fitted them.

use std::time::Duration;

use strata_benches::{drawn, head, row};
use strata_runtime::prelude::*;
use strata_runtime::select::TimedOnNodes as _;
use strata_select::{Library as _, Source as _};
use strata_sort::{Options, Sort, profile, sort_with};

use super::FIRST;
use super::fitting::Clock;

/// Problems on each machine.
const PROBLEMS: usize = 12;

/// Keys on each node.
const KEYS: (f64, f64) = (16.0, 8192.0);

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

/// What the library offers for a problem: candidates with a prediction, with each of their parameters.
fn offered(nodes: usize, (keys, width): (usize, u32)) -> Vec<Sort> {
    let inputs = [keys as f64, f64::from(width)];
    let mut offered = Vec::new();
    for (index, entry) in Sort::TABLE.entries.iter().enumerate() {
        let values: Vec<Vec<i64>> = match entry.parameters.first() {
            None => vec![Vec::new()],
            Some(parameter) => parameter.values().map(|value| vec![value]).collect(),
        };
        let fits = |values: &Vec<i64>| Sort::TABLE.seconds(index, nodes, &inputs, values).is_some();
        let sorts = values.iter().filter(|values| fits(values));
        offered.extend(sorts.filter_map(|values| Sort::candidate(index, values)));
    }
    offered
}

fn lost(node: &mut Node, seed: u64, budget: f64) -> Result<Lost, Error> {
    let mut draw = Clock::new(seed);
    let problems: Vec<(usize, u32)> = (0..PROBLEMS)
        .map(|_| (draw.between(KEYS.0, KEYS.1) as usize, draw.between(4.0, 64.0) as u32))
        .collect();
    let seconds = |node: &mut Node, sort: Sort, at: usize| {
        let (keys, width) = problems[at];
        sort.seconds(node, &[keys as f64, f64::from(width)], 1000).unwrap_or(f64::INFINITY)
    };
    let mut least = [f64::INFINITY; PROBLEMS];
    for at in 0..PROBLEMS {
        for sort in offered(node.size(), problems[at]) {
            least[at] = least[at].min(seconds(node, sort, at));
        }
    }
    let lost = |node: &mut Node| -> Result<Vec<f64>, Error> {
        let mut lost = Vec::new();
        for (at, (keys, width)) in problems.iter().enumerate() {
            let sort = chosen(node, *keys, *width)?;
            lost.push(seconds(node, sort, at) / least[at] - 1.0);
        }
        Ok(lost)
    };
    let untouched = lost(node)?;
    let report = node.calibrate::<Sort>(Duration::from_secs_f64(budget));
    let fitted = lost(node)?;
    let (timings, took) = report.map_or((0, 0.0), |report| (report.timings, report.took.as_secs_f64()));
    Ok(Lost { untouched, fitted, timings, took })
}

pub(super) fn run(machines: u64, budget: f64) -> Result<(), String> {
    head(&["nodes", "untouched", "after a fit", "worst untouched", "worst fit", "most harmed", "timings"]);
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    let most = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut summary = serde_json::Map::new();
    for nodes in [2, 4] {
        let [mut untouched, mut fitted, mut harm] = [const { Vec::new() }; 3];
        let mut timings = 0;
        for seed in FIRST..FIRST + machines {
            let machine = Machine::sim(&drawn(seed)?, nodes).map_err(|error| error.to_string())?;
            let run = machine.run(|node| lost(node, seed, budget)).map_err(|error| error.to_string())?;
            let one = run.results.into_iter().next().ok_or("no node")?;
            eprintln!(
                "{nodes} nodes, machine {seed}: {} -> {}, {} timings, {:.2} s",
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
        row(&[
            nodes.to_string(),
            percent(mean(&untouched)),
            percent(mean(&fitted)),
            percent(most(&untouched)),
            percent(most(&fitted)),
            format!("{:+.2} points", 100.0 * most(&harm)),
            (timings as f64 / machines.max(1) as f64).round().to_string(),
        ]);
        let values = serde_json::json!({
            "untouched": mean(&untouched), "fitted": mean(&fitted), "most_harmed": most(&harm),
        });
        summary.insert(format!("{nodes} nodes"), values);
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
