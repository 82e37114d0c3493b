//! The price of tuning a loop: 35 identical routines, with and without a tuner.

use crate::{Run, tune};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;
use strata_benches::{Timings, columns, race};
use strata_runtime::Error;
use strata_tune::stats::{Moments, welch};
use strata_tune::{Knob, Mode, Options, Tuner};

const ITERATIONS: u32 = 80_000;
/// The thesis: 1.0 to 1.8 µs a step.
const MOST: f64 = 0.2e-6;

/// What every routine does: about 0.2 µs.
#[inline(never)]
fn routine(value: u64) -> u64 {
    (0..100).fold(value, |value, step| value.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) ^ step)
}

/// The seconds of all iterations; the tuner is made before, and its file is read.
fn loop_with(mut tuner: Option<Tuner>, knob: &Knob<fn(u64) -> u64>) -> Result<f64, Error> {
    let mut value = 1;
    let start = Instant::now();
    match &mut tuner {
        None => {
            for _ in 0..ITERATIONS {
                let routine: fn(u64) -> u64 = *black_box(knob).default_value();
                value = routine(value);
            }
        }
        Some(tuner) => {
            for _ in 0..ITERATIONS {
                let routine = *tuner.pick(black_box(knob));
                value = routine(value);
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    black_box(value);
    Ok(seconds)
}

pub(crate) fn measure(run: Run) -> Result<Value, Error> {
    let rounds = if run.quick { 20 } else { 240 };
    println!("## The price of a step: 35 identical routines, 80,000 iterations, {rounds} rounds\n");
    let routine: fn(u64) -> u64 = routine;
    let knob = Knob::named("routine", ("0", routine), (1..35).map(|_| ("other", routine)));
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("found.json");
    let mut found = Tuner::new("overhead", tune(&file, run.seed))?;
    for _ in 0..1000 {
        black_box(found.pick(&knob));
    }
    found.save(&file)?;
    let fresh = |budget: Option<u32>, span| {
        let options = Options { budget, span, ..tune(&folder.path().join("none.json"), run.seed) };
        Tuner::new("overhead", options).map(Some).map_err(Error::program)
    };
    let names = [
        "no tuner",
        "off",
        "use:FILE",
        "tune: baseline, search, gate, watch",
        "tune: searching all the time",
        "the same, each execution an evaluation",
    ];
    let times = race(0..rounds, 0, names.len(), |_, at| {
        let tuner = match at {
            0 => None,
            1 => Some(Tuner::new("overhead", Options::default())?),
            2 => Some(Tuner::new("overhead", Options::of(Mode::Use(file.clone())))?),
            3 => fresh(None, 5000)?,
            4 => fresh(Some(ITERATIONS), 5000)?,
            _ => fresh(Some(ITERATIONS), 0)?,
        };
        Ok::<_, Error>(loop_with(tuner, &knob)? / f64::from(ITERATIONS))
    })?;
    // Preempted runs count as much as the 90 % quantile, as both sides have them.
    let clipped = |times: &Timings| -> Moments {
        let most = times.quantile(0.9);
        times.iter().map(|time| time.min(most)).collect()
    };
    columns(" | an iteration | more than without, 95 % | at most 200 ns");
    let (none, mut summary) = (clipped(&times[0]), Vec::new());
    for (name, times) in names.iter().zip(&times) {
        let mine = clipped(times);
        let ns = |seconds: f64| format!("{:.1} ns", 1e9 * seconds);
        let Some(more) = welch(&mine, &none, 0.95) else { continue };
        let reached = if more.mean - more.half_width <= MOST { "yes" } else { "**no**" };
        let interval = format!("{} ± {}", ns(more.mean), ns(more.half_width));
        println!("| {} | {} | {interval} | {reached} |", *name, ns(mine.mean));
        summary
            .push(json!({"mode": name, "more_ns": 1e9 * more.mean, "half_width_ns": 1e9 * more.half_width}));
    }
    println!();
    Ok(Value::Array(summary))
}
