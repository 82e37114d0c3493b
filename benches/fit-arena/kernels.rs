//! Real kernels, timed on this machine: measured at powers of two, predicted at sizes between them.

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use strata_benches::{columns, row, turns};
use strata_model::expr::parse;
use strata_runtime::{Machine, Node};

use super::contenders::{Answer, Question};
use super::rival::ExtraP;

/// Repetitions of each point; each is the median of [`INNER`] timings.
const REPEATS: usize = 5;
const INNER: usize = 9;
/// Sizes to predict.
const TESTS: usize = 40;
/// Sizes are 2^LEAST to 2^GREATEST elements.
const LEAST: u32 = 8;
const GREATEST: u32 = 20;

/// An operation on n elements: its name, the terms that its developer would name, and a function
/// that times it once, in seconds.
type Kernel = (&'static str, &'static [&'static str], fn(&mut Node, usize, u64) -> f64);

const KERNELS: [Kernel; 5] = [
    ("std sort", &["n", "n*log2(n)"], |_, n, seed| {
        let mut keys = keys(n, seed);
        timed(|| keys.sort())
    }),
    ("std sort_unstable", &["n", "n*log2(n)"], |_, n, seed| {
        let mut keys = keys(n, seed);
        timed(|| keys.sort_unstable())
    }),
    ("radix sort, 8 bits a digit", &["n", "n*log2(n)"], |node, n, seed| {
        let mut keys = keys(n, seed);
        timed(|| strata_sort::Sort::Radix { bits: 8 }.run(node, &mut keys))
    }),
    ("memcpy", &["n", "max(0,n-4096)", "max(0,n-131072)"], |_, n, seed| {
        let from = keys(n, seed);
        let mut to = vec![1_u64; n];
        timed(|| black_box(&mut to).copy_from_slice(black_box(&from)))
    }),
    ("stencil sweep", &["n", "max(0,n-4096)", "max(0,n-131072)"], |_, n, seed| {
        let from: Vec<f64> = keys(n, seed).iter().map(|k| *k as f64).collect();
        let mut to = vec![1.0; n];
        timed(|| {
            let from = black_box(&from[..]);
            for (to, around) in black_box(&mut to[1..n - 1]).iter_mut().zip(from.windows(3)) {
                *to = 0.25 * around[0] + 0.5 * around[1] + 0.25 * around[2];
            }
        })
    }),
];

fn keys(n: usize, seed: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(0..u64::MAX)).collect()
}

fn timed(action: impl FnOnce()) -> f64 {
    let start = Instant::now();
    action();
    start.elapsed().as_secs_f64()
}

/// Times each kernel, fits, and prints the errors of predictions at new sizes.
pub(crate) fn run(extrap: &mut Option<ExtraP>) {
    println!("\nReal kernels on 64-bit elements: median relative error at {TESTS} random sizes.\n");
    columns(
        "kernel | terms named | own search | Extra-P default | Extra-P refining | plain OLS | relative WLS | found by search",
    );
    let machine = match Machine::threads(1) {
        Ok(machine) => machine,
        Err(error) => return eprintln!("fit_arena: no node to run kernels on: {error}"),
    };
    for kernel in KERNELS {
        match machine.run(|node| Ok(measure(node, kernel))) {
            Ok(mut measured) => {
                if let Some(measured) = measured.pop() {
                    judge(kernel, &measured, extrap);
                }
            }
            Err(error) => eprintln!("fit_arena: {}: {error}", kernel.0),
        }
    }
}

/// Sizes with repeated times of each: those for the fit, and those to predict.
type Measured = [Vec<(f64, Vec<f64>)>; 2];

/// Points alternate in random order, so that a drift of the machine affects all of them alike.
fn measure(node: &mut Node, (_, _, time): Kernel) -> Measured {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let powers = (LEAST..=GREATEST).map(|e| 1_usize << e);
    let random =
        (0..TESTS).map(|_| f64::exp2(rng.random_range(f64::from(LEAST)..f64::from(GREATEST))) as usize);
    let sizes: Vec<usize> = powers.chain(random).collect();
    let mut times = vec![Vec::new(); sizes.len()];
    let mut seed = 0;
    for round in 0..REPEATS {
        for point in turns(round, sizes.len()) {
            let mut timings: Vec<f64> = (0..INNER)
                .map(|_| {
                    seed += 1;
                    time(node, sizes[point], seed)
                })
                .collect();
            timings.sort_by(f64::total_cmp);
            times[point].push(timings[INNER / 2]);
        }
    }
    let mut points: Vec<(f64, Vec<f64>)> = sizes.iter().map(|n| *n as f64).zip(times).collect();
    let tests = points.split_off((GREATEST - LEAST + 1) as usize);
    [points, tests]
}

fn judge((name, terms, _): Kernel, [points, tests]: &Measured, extrap: &mut Option<ExtraP>) {
    let sizes = |of: &[(f64, Vec<f64>)]| of.iter().map(|(n, _)| vec![*n]).collect::<Vec<_>>();
    let (at, values, test) =
        (sizes(points), points.iter().map(|p| p.1.clone()).collect::<Vec<_>>(), sizes(tests));
    let question = Question {
        inputs: vec!["n"],
        points: &at,
        values: &values,
        tests: &test,
        terms: terms.iter().filter_map(|term| parse(term).ok()).collect(),
    };
    let answers = super::answers(&question, extrap);
    let median = |answer: &Answer| {
        let mut errors: Vec<f64> = (tests.iter().zip(&answer.predictions))
            .map(|((_, times), prediction)| {
                let mut times = times.clone();
                times.sort_by(f64::total_cmp);
                let observed = times[REPEATS / 2];
                ((prediction - observed) / observed).abs()
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).map_or("-".to_owned(), |e| format!("{:.2} %", 100.0 * e))
    };
    let mut line = vec![name.to_owned()];
    line.extend(answers.iter().map(median));
    line.push(answers[1].text.clone());
    row(&line);
}
