//! Keys, timings and the list of candidates, for calibration, benchmarks and tests: the profiling
//! programs generated from `specs/sort` call these functions and [`Sort::run`].

mod distribution;
pub mod kernels;
pub mod local;
#[cfg(feature = "rdst")]
pub mod rdst;
pub mod thesis;

pub use distribution::Distribution;

use crate::Sort;
use crate::problem::Problem;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::cell::Cell;
use std::ops::Range;
use strata_runtime::Node;
use strata_runtime::select::TimedOnNodes;
use strata_select::{Library, table::Parameters};

/// Random keys for this node: `len` numbers that differ only in their lowest `width` bits.
///
/// The first key of node 0 is 0 and the last key of the last node is 2^width - 1, so that any
/// number of keys spans exactly `width` bits. The same `seed`, rank and arguments give the same
/// keys. A width above 64 counts as 64.
///
/// # Participation
/// Local.
#[must_use]
pub fn keys(node: &Node, len: usize, width: u32, seed: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(node.rank() as u64);
    let greatest = u64::MAX.checked_shr(64u32.saturating_sub(width)).unwrap_or(0);
    let mut keys: Vec<u64> = (0..len).map(|_| rng.next_u64() & greatest).collect();
    if let (0, Some(first)) = (node.rank(), keys.first_mut()) {
        *first = 0;
    }
    if let (true, Some(last)) = (node.rank() + 1 == node.size(), keys.last_mut()) {
        *last = greatest;
    }
    keys
}

/// A seed not yet used on this node: 1, then 2, and so on.
///
/// The speed of sample sort varies with the random keys; repeated timings of the same keys would
/// not average this out.
///
/// # Participation
/// Local.
#[must_use]
pub fn next_seed() -> u64 {
    next_seeds(1).start
}

/// `count` seeds not yet used on this node, see [`next_seed`].
///
/// # Participation
/// Local.
#[must_use]
pub fn next_seeds(count: u64) -> Range<u64> {
    thread_local! {
        static NEXT: Cell<u64> = const { Cell::new(1) };
    }
    let first = NEXT.get();
    NEXT.set(first + count);
    first..NEXT.get()
}

/// The mean time in seconds, on the slowest node, for `sort` to sort `len` [`keys`] a node of
/// `width` bits. The mean is over `seeds`, because the time of a randomised algorithm varies with
/// the keys. NaN without seeds.
///
/// # Participation
/// Collective, with equal arguments.
pub fn seconds(
    node: &mut Node,
    len: usize,
    width: u32,
    seeds: Range<u64>,
    mut sort: impl FnMut(&mut Node, &mut Vec<u64>),
) -> f64 {
    let (mut total, mut runs) = (0.0, 0.0);
    for seed in seeds {
        let mut items = keys(node, len, width, seed);
        node.barrier();
        let start = node.now();
        sort(node, &mut items);
        total += node.reduce_max(node.now().get() - start.get());
        runs += 1.0;
    }
    total / runs
}

/// Sorts shorter than this are timed [`FEW`] times, in seconds: a node may be late.
const SHORT: f64 = 1e-4;
const FEW: u64 = 4;

/// The sorts time themselves with the keys of the spec.
impl TimedOnNodes for Sort {
    fn seconds(self, node: &mut Node, inputs: &[f64], seed: u64) -> Option<f64> {
        let &[len, width] = inputs else { return None };
        let (len, width) = (len as usize, width as u32);
        let problem = Problem::agree(node, &keys(node, len, width, seed), 0);
        if !self.applies::<u64>(&problem) {
            return None;
        }
        let mut mean =
            |seeds: Range<u64>| seconds(node, len, width, seeds, |node, keys| self.run(node, keys));
        let once = mean(seed..seed + 1);
        Some(if once < SHORT { mean(seed + 1..seed + 1 + FEW) } else { once })
    }
}

/// Every candidate, with its name as in a pin (`radix:11`): candidates with a parameter appear with
/// each valid one of `values`, or else with the least parameter.
///
/// # Participation
/// Local.
pub fn candidates(values: &[i64]) -> impl Iterator<Item = (String, Sort)> {
    Sort::TABLE.entries.iter().enumerate().flat_map(move |(index, entry)| {
        let declared = entry.parameters;
        let take = |value: &i64| declared.iter().all(|parameter| parameter.contains(*value));
        let mut all: Vec<Vec<i64>> =
            values.iter().filter(|value| take(value)).map(|value| vec![*value; declared.len()]).collect();
        if declared.is_empty() || all.is_empty() {
            all = vec![Parameters::least(declared).as_slice().to_vec()];
        }
        all.into_iter().filter_map(move |parameters| {
            let name: String =
                parameters.iter().fold(entry.name.to_owned(), |name, value| format!("{name}:{value}"));
            Some((name, Sort::candidate(index, &parameters)?))
        })
    })
}
