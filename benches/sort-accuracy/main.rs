//! How often the sort that models choose is the fastest one, on simulated machines of 1994: the
//! experiments of Brewer (1994), §4.5.4 and §5.3.2.
//!
//!     cargo bench -p strata-benches --bench sort_accuracy
//!
//! Models with the thesis's terms (`specs/sort/thesis`) and our own (`specs/sort/simulated`) are
//! fitted to simulated times of each machine. Three experiments follow:
//!
//! 1. The thesis's three sorts ([`crossovers`]): how many choices are right among 1 to 10,000 keys
//!    a node, by both lists of terms.
//! 2. All candidates of the library, by our models. How many choices are right of all 10,000 numbers
//!    of keys is estimated from a sample in strata: of the numbers where the two best candidates are
//!    predicted to be close, more are simulated. A problem that calibration has not seen is simulated
//!    with every candidate that is predicted to take at most 25 % longer than the best, each with as
//!    many sets of random keys as tell the candidates apart, up to a limit. Radix sorts of different
//!    numbers of passes are different candidates; of sample sorts only the one with the predicted
//!    number of samples is.
//! 3. Digits: on problems drawn anywhere the number of passes of radix sort, by both lists.
//!
//! Models and simulated times are kept in `target/sort-accuracy`: a run that was ended goes on
//! there. Without options it takes five to ten minutes on two cores; `--nodes 16,32,64` are the
//! thesis's machines, which take hours.

mod crossovers;
mod judge;

use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use chacha20::ChaCha8Rng;
use clap::Parser;
use crossovers::{Alone, Line};
use judge::{Judge, Models, Predicted, Way};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use strata_benches::accuracy::{Cell, Kept, Options, Summary, per_cent};
use strata_benches::{head, row};
use strata_model::{LibraryModels, Resolved};

/// Bits of the keys, as in the thesis's table 4-4.
const WIDTHS: [i64; 4] = [8, 16, 24, 32];

/// Bits of the keys whose digits are chosen: those that the thesis's module takes.
const DIGIT_WIDTHS: RangeInclusive<i64> = 4..=32;

/// Most keys a node, as there.
const MOST_KEYS: usize = 10_000;

/// Bounds of the strata: by how much the second candidate is predicted to be slower than the first.
const STRATA: [f64; 3] = [0.01, 0.05, f64::INFINITY];

/// The shares of the problems that each stratum gets.
const SHARES: [f64; 3] = [0.5, 0.25, 0.25];

/// Digits whose times differ by less are as good.
const EQUAL: f64 = 1e-3;

/// Most sets of keys for a problem: of few keys, and of many.
const MOST_SETS: [usize; 2] = [24, 8];

/// The fixed candidates that the choice is compared with, by their predicted times.
const FIXED: [(&str, i64); 6] =
    [("radix", 4), ("radix", 8), ("radix", 10), ("sample", 8), ("sample", 32), ("sample", 64)];

/// The folders of specs, with the names of their libraries: the thesis's terms, and ours.
const LISTS: [(&str, &str); 2] = [("specs/sort/thesis", "sort_of_thesis"), ("specs/sort/simulated", "sort")];

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    shared: Options,
    /// Problems for all candidates on each machine and number of nodes
    #[arg(long, default_value_t = 40)]
    cells: usize,
    /// Problems for digits on each machine and number of nodes
    #[arg(long, default_value_t = 10)]
    digits: usize,
    /// How long each list's models are measured on each machine at most
    #[arg(long, value_name = "TIME", default_value = "30m")]
    budget: String,
}

/// A machine with a number of nodes.
struct Part {
    platform: String,
    nodes: usize,
}

/// What came out on it.
struct Outcome {
    lines: Vec<Line>,
    /// Of the choices among all candidates.
    all: Vec<Cell>,
    /// For each fixed candidate its mean time over that of the choice.
    fixed: Vec<f64>,
    /// By each list of terms.
    digits: [Vec<Cell>; 2],
}

fn main() -> ExitCode {
    strata_benches::run(run)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let Options { nodes, platforms, .. } = &arguments.shared;
    let parts: Vec<Part> = nodes
        .iter()
        .flat_map(|&nodes| platforms.iter().map(move |platform| Part { platform: platform.clone(), nodes }))
        .collect();
    let outcomes: Vec<Mutex<Option<Result<Outcome, String>>>> =
        parts.iter().map(|_| Mutex::default()).collect();
    let (start, taken) = (Instant::now(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                // The last one, of most nodes and by default the CM-5 with its small packets, takes
                // longest and goes first.
                while let Some(at) = parts.len().checked_sub(1 + taken.fetch_add(1, Ordering::Relaxed)) {
                    let Part { platform, nodes } = &parts[at];
                    let tell = |what: &str| {
                        let seconds = start.elapsed().as_secs();
                        eprintln!("{seconds:5} s  {platform}, {nodes} nodes: {what}");
                    };
                    let outcome = measure(&parts[at], arguments, &tell);
                    if let Ok(mut place) = outcomes[at].lock() {
                        *place = Some(outcome);
                    }
                }
            });
        }
    });
    let outcomes: Vec<Outcome> = outcomes
        .into_iter()
        .map(|outcome| {
            let outcome = outcome.into_inner().ok().flatten();
            outcome.unwrap_or_else(|| Err("a thread ended early".to_owned()))
        })
        .collect::<Result<_, _>>()?;
    report(&parts, &outcomes);
    Ok(())
}

fn measure(part: &Part, arguments: &Arguments, tell: &dyn Fn(&str)) -> Result<Outcome, String> {
    let Part { platform, nodes } = part;
    let kept = Kept::of("sort-accuracy", platform, *nodes);
    let mut sets: Vec<Resolved> = Vec::new();
    for (spec, _) in LISTS {
        tell(&format!("models of {spec}"));
        sets.push(kept.models(spec, &arguments.budget)?);
    }
    let library = |list: usize| -> Result<&LibraryModels, String> {
        let (spec, name) = LISTS[list];
        sets[list].library(name).ok_or_else(|| format!("the models of {spec} have no library `{name}`"))
    };
    let lists = [Models::new(library(0)?, *nodes), Models::new(library(1)?, *nodes)];
    let seed = arguments.shared.seed;
    let judge = Judge::new(platform, *nodes, seed, kept.times()?)?;
    tell("the thesis's three sorts");
    let lines = crossovers::lines(&judge, &lists.each_ref(), platform)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed + *nodes as u64);
    tell("all candidates");
    let (all, fixed) = choices(&judge, &lists[1], arguments.cells, &mut random, tell)?;
    tell("digits");
    let mut digits = [Vec::new(), Vec::new()];
    for _ in 0..arguments.digits {
        let keys = (MOST_KEYS as f64).powf(random.random::<f64>()).round() as usize;
        let width = random.random_range(DIGIT_WIDTHS);
        for (models, cells) in lists.iter().zip(&mut digits) {
            let mut ways = models.predicted(keys, width);
            ways.retain(|(way, _)| way.name == "radix");
            cells.push(cell(&judge, &ways, (keys, width), 1.0, tell)?);
        }
    }
    tell("done");
    Ok(Outcome { lines, all, fixed, digits })
}

/// The outcome of choices among all candidates, and how much slower fixed ones are.
fn choices(
    judge: &Judge,
    models: &Models<'_>,
    cells: usize,
    random: &mut ChaCha8Rng,
    tell: &dyn Fn(&str),
) -> Result<(Vec<Cell>, Vec<f64>), String> {
    let (mut outcome, mut fixed) = (Vec::new(), vec![0.0; FIXED.len()]);
    let apart: Vec<usize> = (50..=MOST_KEYS).step_by(100).collect();
    for width in WIDTHS {
        let rivals: Vec<Predicted> =
            (1..=MOST_KEYS).map(|keys| rivals(models.predicted(keys, width))).collect();
        let stratum = |keys: usize| {
            let times = &rivals[keys - 1];
            let gap = times.get(1).map_or(f64::INFINITY, |second| second.1 / times[0].1 - 1.0);
            STRATA.iter().position(|bound| gap < *bound).unwrap_or(STRATA.len() - 1)
        };
        for (number, share) in SHARES.iter().enumerate() {
            let all: Vec<usize> = (1..=MOST_KEYS).filter(|keys| stratum(*keys) == number).collect();
            let count = (share * cells as f64 / WIDTHS.len() as f64).round().max(1.0) as usize;
            let drawn: Vec<usize> = all.sample(random, count).copied().collect();
            for &keys in &drawn {
                let weight = all.len() as f64 / drawn.len() as f64;
                outcome.push(cell(judge, &rivals[keys - 1], (keys, width), weight, tell)?);
            }
        }
        for &keys in &apart {
            for ((name, parameter), sum) in FIXED.iter().zip(&mut fixed) {
                let way = match *name {
                    "radix" => Way::radix(*parameter, width),
                    _ => Way::new(name, &[*parameter]),
                };
                let time = models.seconds(&way, keys, width).unwrap_or(f64::INFINITY);
                *sum += time / rivals[keys - 1][0].1 / (apart.len() * WIDTHS.len()) as f64;
            }
        }
    }
    Ok((outcome, fixed))
}

/// The outcome of one choice, the first of `rivals`.
fn cell(
    judge: &Judge,
    rivals: &Predicted,
    (keys, width): (usize, i64),
    weight: f64,
    tell: &dyn Fn(&str),
) -> Result<Cell, String> {
    let verdict = judge.judge(rivals, keys, width, MOST_SETS[usize::from(keys > 2000)])?;
    if verdict.ratio > 1.0 {
        tell(&format!(
            "{keys} keys of {width} bits: {} is {:.3} % slower than {}",
            rivals[0].0,
            100.0 * (verdict.ratio - 1.0),
            verdict.fastest,
        ));
    }
    Ok(Cell { ratio: verdict.ratio, fixed: None, weight })
}

/// Those that compete for being right: the best of the sample sorts, all others.
fn rivals(mut predicted: Predicted) -> Predicted {
    let mut sample = false;
    predicted.retain(|(way, _)| way.name != "sample" || !std::mem::replace(&mut sample, true));
    predicted
}

/// Names of what is chosen among, and by which terms.
const CHOICES: [&str; 3] = ["three, its terms", "three, our terms", "all, our terms"];

fn report(parts: &[Part], outcomes: &[Outcome]) {
    head(&[
        "machine",
        "nodes",
        "choice",
        "right",
        "thesis",
        "mean penalty",
        "expected",
        "worst",
        "digits right",
        "sample alone right",
        "slower",
        "radix 8 alone right",
        "slower",
    ]);
    let mut all = [0; 3].map(|_| (Vec::new(), Vec::new()));
    let mut found = Vec::new();
    let mut alone = Vec::new();
    for (part, outcome) in parts.iter().zip(outcomes) {
        let names = [part.platform.clone(), part.nodes.to_string()];
        let here: Vec<[Alone; 2]> = outcome.lines.iter().map(|line| line.alone).collect();
        for (choice, (cells, digits)) in all.iter_mut().enumerate() {
            let of_lines = |list: usize| outcome.lines.iter().flat_map(move |line| line.cells(list)).copied();
            let (own, own_digits): (Vec<Cell>, &[Cell]) = match choice {
                0 => (of_lines(0).collect(), &outcome.digits[0]),
                1 => (of_lines(1).collect(), &[]),
                _ => (outcome.all.clone(), &outcome.digits[1]),
            };
            let thesis = crossovers::of_thesis(&part.platform).filter(|_| choice < 2);
            let here = if choice < 2 { &here[..] } else { &[] };
            print(&names, choice, (&own, own_digits), thesis, here);
            let summary = Summary::of(&own);
            found.push(json!({
                "machine": part.platform, "nodes": part.nodes, "choice": CHOICES[choice],
                "right": summary.right, "expected_penalty": summary.expected,
                "worst_penalty": summary.worst,
            }));
            cells.extend(own);
            digits.extend(own_digits);
        }
        alone.extend(here);
    }
    for (choice, (cells, digits)) in all.iter().enumerate() {
        let (thesis, alone) = if choice < 2 { (Some(0.9984), &alone[..]) } else { (None, &[][..]) };
        print(&["all".to_owned(), String::new()], choice, (cells, digits), thesis, alone);
    }
    println!("\nThe thesis: digits right in 40 of 40.\n");
    let gains: Vec<f64> = (0..FIXED.len())
        .map(|at| outcomes.iter().map(|outcome| outcome.fixed[at]).sum::<f64>() / outcomes.len() as f64 - 1.0)
        .collect();
    let best = (0..FIXED.len()).min_by(|a, b| gains[*a].total_cmp(&gains[*b])).unwrap_or(0);
    let (name, parameter) = FIXED[best];
    println!(
        "Of all candidates always {name}:{parameter}, the best single one, is predicted to be slower by {}.",
        per_cent(gains[best])
    );
    let lines = parts.iter().zip(outcomes);
    let lines = lines.flat_map(|(part, outcome)| outcome.lines.iter().map(|line| (part.nodes, line)));
    crossovers::report(&lines.collect::<Vec<_>>());
    let [short, long, library] = all.each_ref().map(|(cells, _)| Summary::of(cells));
    let digits = [0, 2].map(|choice| Summary::of(&all[choice].1));
    strata_benches::summary(&json!({
        "bench": "sort_accuracy", "rows_of_table": alone.len(),
        "right_by_short_terms": short.right, "expected_penalty_by_short_terms": short.expected,
        "worst_penalty_by_short_terms": short.worst,
        "right_of_three": long.right, "expected_penalty_of_three": long.expected,
        "problems": library.cells, "right": library.right, "expected_penalty": library.expected,
        "mean_penalty": library.mean, "worst_penalty": library.worst,
        "digits_right_by_short_terms": digits[0].right, "digits_right": digits[1].right,
        "digits_within_0.1_percent": all[2].1.iter().filter(|cell| cell.ratio <= 1.0 + EQUAL).count(),
        "digit_problems": digits[1].cells, "gain_over_best_single": gains[best], "parts": found,
    }));
}

/// Prints a row.
fn print(
    names: &[String; 2],
    choice: usize,
    (cells, digits): (&[Cell], &[Cell]),
    thesis: Option<f64>,
    alone: &[[Alone; 2]],
) {
    let summary = Summary::of(cells);
    let within = |share: f64| digits.iter().filter(|cell| cell.ratio <= 1.0 + share).count();
    let mut all = vec![
        names[0].clone(),
        names[1].clone(),
        CHOICES[choice].to_owned(),
        per_cent(summary.right),
        thesis.map_or("-".to_owned(), per_cent),
        per_cent(summary.mean),
        format!("{:.4} %", 100.0 * summary.expected),
        per_cent(summary.worst),
        match digits.len() {
            0 => "-".to_owned(),
            len => format!("{} of {len}, {} within 0.1 %", within(0.0), within(EQUAL)),
        },
    ];
    for at in 0..2 {
        let mean = |value: &dyn Fn(&Alone) -> f64| {
            let sum: f64 = alone.iter().map(|alone| value(&alone[at])).sum();
            if alone.is_empty() { "-".to_owned() } else { per_cent(sum / alone.len() as f64) }
        };
        all.extend([mean(&|alone| alone.right), mean(&|alone| alone.slower)]);
    }
    row(&all);
}
