//! What takes time away from a program: fixed work, whose time varies, and a fixed time, in which
//! the work varies (Sottile and Minnich, *Analysis of Microbenchmarks for Performance Tuning of
//! Clusters*, 2004).

use std::hint::black_box;

use strata_runtime::Node;

use super::measure::{Instrument, TEST, fixed};

/// Steps of a unit of work, which take about a microsecond.
const STEPS: usize = 500;

/// Units between two looks at the clock, where the time is fixed: a tenth of a unit.
const LOOKS: usize = 10;

/// Units of one timing.
const UNITS: usize = 20_000;

/// Steps that depend on each other and access no memory.
fn work(mut state: u64, steps: usize) -> u64 {
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state)
}

/// The seconds of `units` units of work, of about a microsecond each, over and over on all nodes: of
/// all times the least (`of` = 0), the mean (1) or the greatest (2). What the mean is above the
/// least is taken by others.
///
/// # Participation
/// Collective.
pub fn fixed_work(node: &mut Node, units: usize, of: usize) -> f64 {
    quanta(node, units, of, |node, clock, state| {
        let start = clock.now(node);
        *state = work(*state, STEPS * units);
        clock.since(node, start)
    })
}

/// The seconds of a unit of work, where as many are done as fit into `micros` microseconds;
/// otherwise as [`fixed_work`].
///
/// # Participation
/// Collective.
pub fn fixed_time(node: &mut Node, micros: usize, of: usize) -> f64 {
    let long = 1e-6 * micros as f64;
    quanta(node, micros, of, |node, clock, state| {
        let start = clock.now(node);
        let mut looks = 0;
        loop {
            *state = work(*state, STEPS / LOOKS);
            looks += 1;
            let seconds = clock.since(node, start);
            if seconds >= long {
                return seconds / looks as f64 * LOOKS as f64;
            }
        }
    })
}

/// The least, mean or greatest of quanta, of about so many microseconds each, over all nodes.
fn quanta(
    node: &mut Node,
    micros: usize,
    of: usize,
    mut one: impl FnMut(&Node, &Instrument, &mut u64) -> f64,
) -> f64 {
    let clock = Instrument::new(node);
    let usual = (UNITS / micros.max(1)).clamp(20, 2_000);
    let count = fixed(node, |_| 1).map_or(usual, |fixed| fixed.count);
    let mut state = node.rank() as u64 + 1;
    node.barrier();
    let _warm = one(node, &clock, &mut state);
    let (mut least, mut sum, mut most) = (f64::INFINITY, 0.0, 0.0f64);
    for _ in 0..count {
        let seconds = one(node, &clock, &mut state);
        (least, sum, most) = (least.min(seconds), sum + seconds, most.max(seconds));
    }
    let told = clock.told(least).is_nan();
    let over_nodes = match of {
        0 => node.reduce_min(least),
        1 => node.reduce_add(sum) / (count * node.size()) as f64,
        _ => node.reduce_max(most),
    };
    match node.rank() {
        TEST if told => f64::NAN,
        TEST => over_nodes,
        _ => 0.0,
    }
}
