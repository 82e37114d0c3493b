//! The local sorts on this machine: what choices by the compiled-in models lose before and after the
//! program has fitted them.

use std::time::Duration;

use strata_benches::{Timings, columns};
use strata_select::{Question, models::Models, transfer::Timed as _};
use strata_sort::local::{LocalSort, candidates};
use strata_sort::profile::local::{Cell, sample};

use super::fitting::Clock;

/// Problems that are chosen for, and timings of each candidate there.
const PROBLEMS: usize = 60;
const ROUNDS: usize = 15;

pub(super) fn run(budget: f64) -> Result<(), String> {
    let before = *Models::of::<LocalSort>(1);
    let mut draw = Clock::new(11);
    let start = std::time::Instant::now();
    let now = || start.elapsed().as_secs_f64();
    let all: Vec<(&str, LocalSort)> = candidates::<u64>().collect();
    let mut problems = Vec::new();
    for _ in 0..PROBLEMS {
        let keys = draw.between(96.0, 6e5);
        let few = draw.between(1.0, 4.0) < 2.0;
        let width = draw.between(4.0, 64.0);
        let distinct = if few { draw.between(2.0, keys) } else { keys };
        let run = if draw.between(1.0, 4.0) < 2.0 { draw.between(1.0, keys / 4.0) } else { 1.0 };
        // Half of those in long runs are in order but for some.
        let ordered = run >= 16.0 && draw.between(1.0, 4.0) < 2.0;
        let cell = Cell {
            keys: keys as usize,
            width: width as u32,
            run: run as usize,
            distinct: distinct as usize,
            ordered,
        };
        let mut timings = vec![Timings::default(); all.len()];
        for round in 0..ROUNDS {
            for turn in 0..all.len() {
                let candidate = (turn + round) % all.len();
                timings[candidate].push(sample(now, all[candidate].0, cell));
            }
        }
        let medians: Vec<f64> = timings.iter().map(Timings::median).collect();
        problems.push(([keys, width.floor(), run, distinct, f64::from(u8::from(ordered))], medians));
    }
    let report = LocalSort::calibrate(Duration::from_secs_f64(budget));
    println!("{report}\n");
    let after = *Models::of::<LocalSort>(1);
    columns("models | mean regret | worst | right");
    let mut means = Vec::new();
    for (name, models) in [("untouched", before), ("fitted", after)] {
        let (mut sum, mut worst, mut right) = (0.0, 0.0_f64, 0);
        for (inputs, medians) in &problems {
            let able = |candidate: LocalSort| {
                let suits = !matches!(candidate, LocalSort::Runs) || inputs[2] >= 16.0;
                suits && all.iter().any(|(_, one)| *one == candidate)
            };
            let (chosen, _) = models
                .choose::<LocalSort>(Question::new(1, inputs), &able)
                .map_err(|error| error.to_string())?;
            let taken = all.iter().position(|(_, one)| *one == chosen).ok_or("no such candidate")?;
            let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
            let lost = medians[taken] / least - 1.0;
            sum += lost;
            worst = worst.max(lost);
            right += usize::from(lost < 0.03);
        }
        let mean = sum / PROBLEMS as f64;
        means.push(mean);
        println!("| {name} | {:.2} % | {:.1} % | {right} of {PROBLEMS} |", 100.0 * mean, 100.0 * worst);
    }
    strata_benches::summary(
        &serde_json::json!({ "untouched": means[0], "fitted": means[1], "timings": report.timings }),
    );
    Ok(())
}
