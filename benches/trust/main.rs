//! Models and choices on drawn costs: whether *verified* is right and intervals are true, how often
//! choices are right, what they lose, and whether their claimed odds are true.
//!
//!     cargo bench -p strata-benches --bench trust
//!
//! Deterministic for a seed.

mod verdicts;

use std::convert::Infallible;

use clap::Parser;
use rayon::prelude::*;
use serde_json::json;
use strata_benches::trust::{KINDS, Tally, library};
use strata_benches::{columns, row};
use verdicts::Verdicts;

#[derive(Parser)]
struct Arguments {
    /// Libraries of each kind of noise
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    libraries: u64,
    /// Costs and machines of each kind of trouble, for the verdicts
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    cases: u64,
    /// Of all that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this kind of trouble, and every model whose verdict is wrong
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
}

strata_benches::main!(judge);

fn judge(arguments: &Arguments) -> Result<(), Infallible> {
    let verdicts = judge_verdicts(arguments);
    let choices = if arguments.only.is_none() { judge_choices(arguments) } else { Tally::default() };
    let [coverage, of_verified, between] = verdicts.coverage();
    strata_benches::summary(&json!({
        "cases": verdicts.cases,
        "verified": verdicts.verified,
        "within": verdicts.within,
        "verified_precision": verdicts.precision(),
        "verified_recall": verdicts.recall(),
        "coverage": coverage,
        "coverage_of_verified": of_verified,
        "coverage_between": between,
        "calibration_gap": choices.calibration_gap(),
        "regret_mean": choices.regret_mean(),
        "regret_worst": choices.worst,
    }));
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Of each kind of trouble, how right verdicts and intervals are.
fn judge_verdicts(Arguments { cases, seed, only, .. }: &Arguments) -> Verdicts {
    columns(
        "trouble | cases | within 10 % | verified | rightly | of those within | in 95 % intervals | of verified | at new values",
    );
    let line = |name: &str, v: &Verdicts| {
        let mut cells = vec![name.to_owned(), v.cases.to_string(), v.within.to_string()];
        cells.extend([v.verified.to_string(), percent(v.precision()), percent(v.recall())]);
        cells.extend(v.coverage().map(percent));
        row(&cells);
    };
    let mut all = Verdicts::default();
    for (kind, name) in verdicts::KINDS.iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let seeds = (0..*cases).into_par_iter().map(|place| (seed << 32) + place);
        let each: Vec<Verdicts> = seeds.map(|seed| verdicts::judge(kind, seed, only.is_some())).collect();
        let mut sum = Verdicts::default();
        each.iter().for_each(|one| sum.add(one));
        line(name, &sum);
        all.add(&sum);
    }
    line("all", &all);
    all
}

fn judge_choices(&Arguments { libraries, seed, .. }: &Arguments) -> Tally {
    println!();
    columns("noise | choices | right | regret mean | worst | calibration gap | claimed loss / true");
    let line = |name: &str, t: &Tally| {
        println!(
            "| {name} | {} | {} | {} | {} | {} | {:.2} |",
            t.choices,
            percent(t.right as f64 / t.choices.max(1) as f64),
            percent(t.regret_mean()),
            percent(t.worst),
            percent(t.calibration_gap()),
            t.loss.0 / t.loss.1
        );
    };
    let mut all = Tally::default();
    for (kind, name) in KINDS.iter().enumerate() {
        let mut tally = Tally::default();
        (0..libraries).for_each(|place| tally.add(&library(kind, 1000 * seed + place)));
        line(name, &tally);
        all.add(&tally);
    }
    line("all", &all);
    println!("\nClaimed probability of being the fastest, and the share that was.\n");
    columns("claimed | choices | mean claim | right");
    for (place, (count, claimed, right)) in all.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0) {
        let mean = |sum: f64| percent(sum / *count as f64);
        println!(
            "| {} to {} % | {count} | {} | {} |",
            10 * place,
            10 * place + 10,
            mean(*claimed),
            mean(*right as f64)
        );
    }
    all
}
