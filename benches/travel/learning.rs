//! Choices that learn: how soon a slowdown of one candidate is found, what is lost where nothing is
//! to be gained, and whether a slower machine moves choices. Times are made up; deterministic.

use std::fmt::Display;

use strata_benches::columns;
use strata_select::learn::{Learner, Predicted};

use super::fitting::Clock;

/// Jobs of each case, and their calls before and after a change.
const JOBS: u64 = 1000;
const BEFORE: usize = 1000;
const AFTER: usize = 1000;

/// Candidates' seconds by the models, which are right to a tenth.
const MODELS: [[f64; 4]; 3] =
    [[1e-5, 1.1e-5, 1.4e-5, 3e-5], [1e-5, 1.3e-5, 1.6e-5, 2e-5], [1e-5, 1.03e-5, 1.05e-5, 1.2e-5]];

/// What one case came to.
#[derive(Default)]
struct Tally {
    /// Calls until the best one was the choice, of each job; `AFTER` where it never was.
    calls: Vec<usize>,
    lost: f64,
    spent: f64,
    moved: usize,
}

pub(super) fn run() -> Result<(), String> {
    columns(
        "models | change | new best after, median | 99 % of jobs | never | time lost before | choices moved",
    );
    let mut all = serde_json::Map::new();
    for (which, models) in MODELS.iter().enumerate() {
        let slower = |one: f64, others: f64| {
            let mut factors = [others; 4];
            factors[0] = one;
            factors
        };
        for (name, factors) in [
            ("none", slower(1.0, 1.0)),
            ("the best 1.5", slower(1.5, 1.0)),
            ("the machine 1.5", slower(1.5, 1.5)),
        ] {
            let mut tally = Tally::default();
            (0..JOBS).for_each(|seed| job(models, factors, seed, &mut tally));
            tally.calls.sort_unstable();
            let at = |share: f64| tally.calls[((JOBS - 1) as f64 * share) as usize];
            let never = tally.calls.iter().filter(|calls| **calls >= AFTER).count();
            let lost = 100.0 * tally.lost / tally.spent;
            let shown =
                |value: &dyn Display| if name == "the best 1.5" { value.to_string() } else { String::new() };
            println!(
                "| {which} | {name} | {} | {} | {} | {lost:.3} % | {} of {JOBS} |",
                shown(&at(0.5)),
                shown(&at(0.99)),
                shown(&never),
                tally.moved
            );
            all.insert(format!("{which} {name}"), serde_json::json!([at(0.5), at(0.99), lost, tally.moved]));
        }
    }
    strata_benches::summary(&all.into());
    Ok(())
}

fn job(models: &[f64; 4], factors: [f64; 4], seed: u64, tally: &mut Tally) {
    let mut clock = Clock::new(seed);
    let mut learner = Learner::new();
    let predicted = || -> Vec<Predicted> { models.iter().map(|seconds| Some((seconds.ln(), 0.1))).collect() };
    let changed: Vec<f64> = models.iter().zip(factors).map(|(seconds, factor)| seconds * factor).collect();
    let best_of = |times: &[f64]| (0..4).min_by(|a, b| times[*a].total_cmp(&times[*b]));
    let mut found = None;
    for call in 0..BEFORE + AFTER {
        let times = if call < BEFORE { &models[..] } else { &changed[..] };
        let Some(taken) = learner.decide(1, predicted) else { return };
        learner.took(1, taken, clock.time(times[taken]), 1);
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        if call < BEFORE {
            tally.lost += times[taken] - least;
            tally.spent += times[taken];
        } else if found.is_none() && learner.best(1) == best_of(&changed) {
            found = Some(call - BEFORE);
        }
    }
    tally.calls.push(found.unwrap_or(AFTER));
    tally.moved += usize::from(learner.best(1) != Some(0));
}
