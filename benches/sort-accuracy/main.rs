//! How often models choose the fastest of the thesis's sorts, on simulated machines of 1994: the
//! experiments of Brewer (1994), §4.5.4 and §5.3.2.
//!
//!     cargo bench -p strata-benches --bench sort_accuracy
//!
//! Models with the thesis's terms (`specs/sort/thesis`) are fitted to simulated times of each machine.
//! Then follow how many choices are right among 1 to 10,000 keys a node (its table 4-4, [`crossovers`]),
//! and, on problems drawn anywhere, the number of passes of radix sort.
//!
//! Models and simulated times are kept in `target/sort-accuracy`: a run that was ended goes on there.

mod crossovers;
mod judge;

use std::ops::RangeInclusive;
use std::time::Instant;

use chacha20::ChaCha8Rng;
use clap::Parser;
use crossovers::{Line, NAMES};
use judge::{Judge, Way, predicted};
use rand::{RngExt as _, SeedableRng as _};
use rayon::prelude::*;
use serde_json::json;
use strata_benches::accuracy::{Cell, Kept, Summary, per_cent};
use strata_benches::{head, row};

/// As in the thesis.
const NODES: usize = 64;

/// Bits of the keys whose digits are chosen: those that the thesis's module takes.
const DIGIT_WIDTHS: RangeInclusive<u32> = 4..=32;

/// The bits of a digit among which is chosen.
const DIGITS: RangeInclusive<u32> = 4..=14;

/// Most keys a node, as in table 4-4.
const MOST_KEYS: usize = 10_000;

/// Sets of keys for a choice of digits.
const SETS: u64 = 2;

#[derive(Parser)]
struct Arguments {
    /// Names of the simulated machines
    #[arg(long, value_delimiter = ',', default_value = "alewife,paragon,atm,cm5")]
    platforms: Vec<String>,
    /// Of the problems that are drawn
    #[arg(long, default_value_t = 4)]
    seed: u64,
    /// Problems for digits on each machine
    #[arg(long, default_value_t = 10)]
    digits: usize,
    /// How long the models are measured on each machine at most
    #[arg(long, value_name = "TIME", default_value = "30m")]
    budget: String,
}

struct Outcome {
    lines: Vec<Line>,
    digits: Vec<Cell>,
}

strata_benches::main!(run);

fn run(arguments: &Arguments) -> Result<(), String> {
    let platforms = &arguments.platforms;
    let start = Instant::now();
    // The last one, by default the CM-5 with its small packets, takes longest.
    let mut outcomes: Vec<Outcome> = platforms
        .par_iter()
        .rev()
        .with_max_len(1)
        .map(|platform| {
            let tell = |what: &str| eprintln!("{:5} s  {platform}: {what}", start.elapsed().as_secs());
            measure(platform, arguments, &tell)
        })
        .collect::<Result<_, _>>()?;
    outcomes.reverse();
    report(platforms, &outcomes);
    Ok(())
}

fn measure(platform: &str, arguments: &Arguments, tell: &dyn Fn(&str)) -> Result<Outcome, String> {
    let kept = Kept::of("sort-accuracy", platform, NODES);
    tell("models");
    let models = kept.models("specs/sort/thesis", &arguments.budget)?;
    let models = models.library("sort_of_thesis").ok_or("the models have no library `sort_of_thesis`")?;
    let seed = arguments.seed;
    let judge = Judge::new(platform, seed, kept.times()?)?;
    tell("three sorts");
    let lines = crossovers::lines(&judge, models, platform)?;
    tell("digits");
    let mut random = ChaCha8Rng::seed_from_u64(seed + NODES as u64);
    let mut digits = Vec::new();
    for _ in 0..arguments.digits {
        let keys = (MOST_KEYS as f64).powf(random.random::<f64>()).round() as usize;
        let width = random.random_range(DIGIT_WIDTHS);
        // Even ones (equation 43).
        let even = DIGITS.filter(|bits| *bits == width.div_ceil(width.div_ceil(*bits)));
        let mut ways: Vec<(Way, f64)> =
            even.filter_map(|bits| Some((Some(bits), predicted(models, Some(bits), keys, width)?))).collect();
        ways.sort_by(|a, b| a.1.total_cmp(&b.1));
        let ratio = judge.penalty(&ways, keys, width, SETS)?;
        if ratio > 1.0 {
            let loss = per_cent(ratio - 1.0);
            tell(&format!(
                "{keys} keys of {width} bits: {} bits a digit lose {loss}",
                ways[0].0.unwrap_or(0)
            ));
        }
        digits.push(Cell { ratio, fixed: None, weight: 1.0 });
    }
    tell("done");
    Ok(Outcome { lines, digits })
}

fn report(platforms: &[String], outcomes: &[Outcome]) {
    let always = NAMES.map(|name| format!("always {name}"));
    let mut titles = vec!["machine", "right", "thesis", "by its models", "expected", "worst", "digits right"];
    titles.extend(always.iter().map(String::as_str));
    head(&titles);
    for (platform, outcome) in platforms.iter().zip(outcomes) {
        let thesis = crossovers::of_thesis(platform);
        print(platform, &outcome.lines.iter().collect::<Vec<_>>(), &outcome.digits, thesis);
    }
    let lines: Vec<&Line> = outcomes.iter().flat_map(|outcome| &outcome.lines).collect();
    let digits: Vec<Cell> = outcomes.iter().flat_map(|outcome| outcome.digits.clone()).collect();
    print("all", &lines, &digits, Some(0.9984));
    println!("\nThe thesis: digits right in 40 of 40.");
    crossovers::report(&lines);
    let all = Summary::of(&lines.iter().flat_map(|line| line.cells.clone()).collect::<Vec<_>>());
    strata_benches::summary(&json!({
        "bench": "sort_accuracy", "rows_of_table": lines.len(),
        "right": all.right, "expected_penalty": all.expected, "worst_penalty": all.worst,
        "digits_right": Summary::of(&digits).right, "digit_problems": digits.len(),
    }));
}

fn print(name: &str, lines: &[&Line], digits: &[Cell], thesis: Option<f64>) {
    let Summary { right, expected, worst, .. } =
        Summary::of(&lines.iter().flat_map(|line| line.cells.clone()).collect::<Vec<_>>());
    let over_lines = |value: &dyn Fn(&Line) -> f64| {
        per_cent(lines.iter().map(|line| value(line)).sum::<f64>() / lines.len().max(1) as f64)
    };
    let mut all = vec![
        name.to_owned(),
        per_cent(right),
        thesis.map_or("-".to_owned(), per_cent),
        over_lines(&|line| line.control),
        format!("{:.4} %", 100.0 * expected),
        per_cent(worst),
        format!("{} of {}", digits.iter().filter(|cell| cell.ratio <= 1.0).count(), digits.len()),
    ];
    all.extend((0..NAMES.len()).map(|at| over_lines(&|line| line.alone[at])));
    row(&all);
}
