//! One thread copies under known conditions.

use serde_json::{Value, json};
use strata_benches::{Timings, columns, fastest, turns};
use strata_copy::profile::{Cell, seconds, seconds_of};
use strata_copy::{Hint, Routine, copy, copy_hinted, routine_for, routines};
use strata_runtime::prelude::*;

use crate::Settings;

/// How far the source is from the target's alignment; models are calibrated with 0 and 24.
const SHIFTS: [usize; 3] = [0, 1, 40];
/// Rounds in which the fastest routine is found.
pub(crate) const SEARCH: usize = 5;
/// How many times as many rounds a cell gets in which we seem to be slower than `memcpy`.
const DOUBTFUL: usize = 4;

/// The contestants of fresh samples. `memcpy` meets itself, called from another place: where the
/// compiler happens to put code decides about some tenths of a nanosecond, of which short copies
/// have few.
const CONTESTANTS: usize = 5;
const MEMCPY: usize = 0;
const PLAIN: usize = 1;
const HINTED: usize = 2;
const BEST: usize = 3;
const AGAIN: usize = 4;

/// What was found in a cell; times over `memcpy`'s are medians over rounds.
struct Found {
    cell: Cell,
    best: &'static Routine,
    ours: &'static Routine,
    memcpy: f64,
    /// `memcpy`'s time over that of each contestant.
    gains: [f64; CONTESTANTS],
    /// Our time over that of the best routine, with and without a hint.
    regret: [f64; 2],
}

pub(crate) fn measure(settings: &Settings) -> Result<Value, Error> {
    let (rounds, seed) = (settings.rounds, settings.seed);
    let found = Machine::threads(1)?.run(move |node| Ok(all(node, rounds, seed)))?;
    Ok(report(&found.into_iter().next().unwrap_or_default()))
}

fn all(node: &Node, rounds: usize, seed: u64) -> Vec<Found> {
    let mut found = Vec::new();
    for (cold, read) in [(false, false), (false, true), (true, false), (true, true)] {
        for bytes in (3..=26).map(|exponent| 1usize << exponent) {
            for shift in SHIFTS {
                found.push(one(node, Cell { bytes, shift, cold, read }, rounds, seed));
            }
        }
    }
    found
}

/// The hint that says all that is true in a cell.
fn hint(cell: Cell) -> Hint {
    let hint = if cell.cold { Hint::default().cold() } else { Hint::default().hot() };
    if cell.read { hint.read() } else { hint.left() }
}

fn one(node: &Node, cell: Cell, rounds: usize, seed: u64) -> Found {
    let mut now = || node.now().get();
    let mut timings = vec![Timings::default(); routines().len()];
    for round in 0..SEARCH {
        for who in turns(seed as usize * 1000 + round, timings.len()) {
            if routines()[who].least() <= cell.bytes {
                timings[who].push(seconds(&mut now, routines()[who], cell));
            }
        }
    }
    let best = routines()[fastest(&timings)];
    let hint = hint(cell);
    let (mut gains, mut regret): ([Timings; CONTESTANTS], [Timings; 2]) = Default::default();
    let mut memcpy = Timings::default();
    let mut round = 0;
    let mut most = rounds;
    while round < most {
        let mut times = [0.0; CONTESTANTS];
        for who in turns(seed as usize * 1000 + 500 + round, CONTESTANTS) {
            times[who] = match who {
                MEMCPY => seconds_of(&mut now, cell, &|to, from| to.copy_from_slice(from)),
                PLAIN => seconds_of(&mut now, cell, &|to, from| copy(to, from)),
                AGAIN => seconds_of(&mut now, cell, &|to, from| to.copy_from_slice(from)),
                HINTED => seconds_of(&mut now, cell, &|to, from| copy_hinted(hint, to, from)),
                _ if best.is_default() => seconds_of(&mut now, cell, &|to, from| to.copy_from_slice(from)),
                _ => seconds(&mut now, best, cell),
            };
        }
        memcpy.push(times[MEMCPY]);
        for (gain, time) in gains.iter_mut().zip(times) {
            gain.push(times[MEMCPY] / time);
        }
        regret[0].push(times[HINTED] / times[BEST]);
        regret[1].push(times[PLAIN] / times[BEST]);
        round += 1;
        if round == rounds && gains[PLAIN].median().min(gains[HINTED].median()) < 0.985 {
            most = rounds * DOUBTFUL;
        }
    }
    let aligned = cell.shift == 0;
    Found {
        cell,
        best,
        ours: routine_for(hint, cell.bytes, aligned),
        memcpy: memcpy.median(),
        gains: gains.map(|gain| gain.median()),
        regret: regret.map(|regret| regret.median()),
    }
}

pub(crate) fn geometric(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value.ln(), count + 1.0));
    if count > 0.0 { f64::exp(sum / count) } else { 1.0 }
}

fn report(found: &[Found]) -> Value {
    columns(
        "source | target | bytes | shift | memcpy | best routine | gains | ours, told | gains | untold gains",
    );
    for Found { cell, best, ours, memcpy, gains, .. } in found {
        println!(
            "| {} | {} | {} | {} | {:.1} ns | {} | {:.2} | {} | {:.2} | {:.2} |",
            if cell.cold { "cold" } else { "hot" },
            if cell.read { "read" } else { "left" },
            cell.bytes,
            cell.shift,
            memcpy * 1e9,
            best.name(),
            gains[BEST],
            ours.name(),
            gains[HINTED],
            gains[PLAIN]
        );
    }
    let least = |who: usize| found.iter().map(|found| found.gains[who]).fold(f64::INFINITY, f64::min);
    let below = |who: usize| -> Vec<String> {
        let below = found.iter().filter(|found| found.gains[who] < 0.97);
        below.map(|found| format!("{:?}: {:.3}", found.cell, found.gains[who])).collect()
    };
    let summary = |who: usize, regret: usize| {
        let gaining = || found.iter().filter(|found| found.gains[BEST] >= 1.05);
        let worst = found.iter().map(|found| found.regret[regret]).fold(0.0, f64::max);
        json!({
            "least_gain": least(who),
            "cells_below_0.97": below(who),
            "gain_where_some_routine_gains_5_percent": geometric(gaining().map(|found| found.gains[who])),
            "regret": geometric(found.iter().map(|found| found.regret[regret])),
            "worst_regret": worst,
        })
    };
    let gaining = found.iter().filter(|found| found.gains[BEST] >= 1.05);
    let possible = geometric(gaining.clone().map(|found| found.gains[BEST]));
    println!();
    json!({
        "cells": found.len(),
        "cells_where_some_routine_gains_5_percent": gaining.count(),
        "gain_of_the_best_there": possible,
        "memcpy_again": { "least_gain": least(AGAIN), "cells_below_0.97": below(AGAIN) },
        "told": summary(HINTED, 0),
        "untold": summary(PLAIN, 1),
    })
}
