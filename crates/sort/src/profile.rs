//! Single algorithms, for calibration, benchmarks and tests.
//!
//! The profiling programs generated from `specs/sort` call these functions. Each does everything
//! that [`sort`](crate::sort) does, including the exchange of lengths and ranges, except evaluating
//! models: a model predicts the time of the whole call.

pub mod kernels;
pub mod local;
#[cfg(feature = "rdst")]
pub mod rdst;

use crate::item::Item;
use crate::problem::Problem;
use crate::sample::{self, Levels};
use crate::{batcher, gather, histogram, packets, quick, radix};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::cell::Cell;
use std::ops::Range;
use strata_runtime::Node;

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
/// Sample sort is faster on some keys by chance; repeated timings of the same keys would not
/// average this out.
///
/// # Participation
/// Local.
#[must_use]
pub fn next_seed() -> u64 {
    next_seeds(1).start
}

/// As many seeds not yet used on this node, see [`next_seed`].
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

/// The mean time in seconds, on the slowest node, in which `sort` sorts `len` [`keys`] a node of
/// `width` bits; over `seeds`, as no single set of keys shows how fast an algorithm is that depends
/// on chance. NaN without seeds.
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

/// Sorts by parallel radix sort with digits of at most `bits` bits; `bits` is clamped to 1 to 16.
///
/// # Participation
/// Collective, with equal `bits`.
pub fn radix<T: Item>(node: &mut Node, items: &mut Vec<T>, bits: u32) {
    let problem = Problem::agree(node, items, 0);
    radix::sort(node, items, &problem, bits.clamp(1, 16));
}

/// Sorts by parallel sample sort with `oversample` samples a node, at least one.
///
/// # Participation
/// Collective, with equal `oversample`.
pub fn sample<T: Item>(node: &mut Node, items: &mut Vec<T>, oversample: usize) {
    let problem = Problem::agree(node, items, 0);
    sample::sort(node, items, &problem, oversample.max(1), Levels::One);
}

/// Sorts by sending all elements to every node.
///
/// # Participation
/// Collective.
pub fn gather<T: Item>(node: &mut Node, items: &mut Vec<T>) {
    let problem = Problem::agree(node, items, 0);
    gather::sort(node, items, &problem);
}

/// Sorts by Batcher's merge exchange of blocks; if there are more than 16,384 elements a node, as
/// [`gather`] does.
///
/// # Participation
/// Collective.
pub fn batcher<T: Item>(node: &mut Node, items: &mut Vec<T>) {
    let problem = Problem::agree(node, items, 0);
    if problem.keys() > batcher::MOST {
        return gather::sort(node, items, &problem);
    }
    batcher::sort(node, items, &problem);
}

/// Sorts by histogram sort: splitters by counting, one exchange.
///
/// # Participation
/// Collective.
pub fn histogram<T: Item>(node: &mut Node, items: &mut Vec<T>) {
    let problem = Problem::agree(node, items, 0);
    histogram::sort(node, items, &problem);
}

/// Sorts by sample sort in two levels, with `oversample` samples a node; in one if messages would
/// be too long.
///
/// # Participation
/// Collective, with equal `oversample`.
pub fn grid<T: Item>(node: &mut Node, items: &mut Vec<T>, oversample: usize) {
    let problem = Problem::agree(node, items, 0);
    let levels = if sample::two_levels_apply::<T>(&problem) { Levels::Two } else { Levels::One };
    sample::sort(node, items, &problem, oversample.max(1), levels);
}

/// Sorts by hypercube quicksort; as [`gather`] does if there are more than 4,096 elements a node,
/// or of more than 48 bytes.
///
/// # Participation
/// Collective.
pub fn quick<T: Item>(node: &mut Node, items: &mut Vec<T>) {
    let problem = Problem::agree(node, items, 0);
    if !quick::applies::<T>(problem.keys(), problem.nodes()) {
        return gather::sort(node, items, &problem);
    }
    quick::sort(node, items, &problem);
}

/// Sorts by radix sort that sends every key by a message of its own; as [`radix`] does where
/// elements have more than 56 bytes. `bits` is clamped to 1 to 16.
///
/// # Participation
/// Collective, with equal `bits`.
pub fn packets<T: Item>(node: &mut Node, items: &mut Vec<T>, bits: u32) {
    let problem = Problem::agree(node, items, 0);
    let sort = if packets::applies::<T>(problem.keys()) { packets::sort } else { radix::sort };
    sort(node, items, &problem, bits.clamp(1, 16));
}
