//! Kernels of all nodes: broadcast, reductions, barrier, all-to-all, all-gather.

use strata_runtime::patterns::{Schedule, all_to_all as exchange_all};
use strata_runtime::{Block, Node};

use super::mail::wrong_data;
use super::measure::{TEST, mean_of, pass, time};
use super::trial::spoils;

/// A broadcast of `bytes` from the test node and a barrier, which tells the test node that all
/// nodes have the data, in seconds (Ganapati 1993, §3.3.3). The difference to the time of a barrier
/// is that of the broadcast.
///
/// # Participation
/// Collective. Wrong data end the job.
pub fn broadcast(node: &mut Node, bytes: usize) -> f64 {
    let mut data: Vec<u8> =
        (0..bytes).map(|at| if node.rank() == TEST { at as u8 ^ 0x5a } else { 0 }).collect();
    let seconds = time(node, |node, _| {
        node.broadcast(TEST, &mut data);
        node.barrier();
    });
    spoil(node, "broadcast", &mut data);
    check(node, "broadcast", data.iter().enumerate().all(|(at, byte)| *byte == at as u8 ^ 0x5a));
    seconds
}

/// A sum of one number over all nodes, with the result on all nodes, in seconds (§3.3.4, as ported
/// in Table 4.1).
///
/// # Participation
/// As [`broadcast`].
pub fn reduce(node: &mut Node) -> f64 {
    let mine = (node.rank() + 1) as f64;
    let mut sum = 0.0;
    let seconds = time(node, |node, _| sum = node.reduce_add(mine));
    spoil(node, "reduce", bytemuck::bytes_of_mut(&mut sum));
    let size = node.size();
    check(node, "reduce", sum == (size * (size + 1) / 2) as f64);
    seconds
}

/// The element-wise sums of `length` numbers over all nodes, with the results on all nodes, in
/// seconds.
///
/// # Participation
/// As [`broadcast`].
pub fn reduce_vector(node: &mut Node, length: usize) -> f64 {
    let (rank, size) = (node.rank(), node.size());
    let mine = |at: usize| (rank + at % 64) as f64;
    // Repeated sums would grow without bound; zeros do not.
    let mut zeros = vec![0.0; length];
    let seconds = time(node, |node, _| node.reduce_add(&mut zeros[..]));
    let mut values: Vec<f64> = (0..length).map(mine).collect();
    node.reduce_add(&mut values[..]);
    spoil(node, "reduce_vector", bytemuck::cast_slice_mut(&mut values));
    let right = |at: usize| (size * (size - 1) / 2 + size * (at % 64)) as f64;
    check(node, "reduce_vector", values.iter().enumerate().all(|(at, value)| *value == right(at)));
    seconds
}

/// A barrier that all nodes reach together, in seconds: its least cost (§3.3.5).
///
/// # Participation
/// Collective.
pub fn barrier(node: &mut Node) -> f64 {
    time(node, |node, _| node.barrier())
}

/// A barrier that the test node reaches last, `skew` microseconds after the first node, in seconds
/// on the test node. The other nodes arrive at random times between.
///
/// # Participation
/// Collective.
pub fn barrier_skewed(node: &mut Node, skew: usize) -> f64 {
    let skew = skew as f64 * 1e-6;
    let repeats = ((1e-3 / skew.max(1e-6)) as usize).clamp(4, 100);
    mean_of(node, repeats, |node, clock, number| {
        // The same random numbers in every run.
        let share =
            (number.wrapping_mul(2_654_435_761).wrapping_add(node.rank() * 40_503) % 1000) as f64 / 1000.0;
        let late = if node.rank() == TEST { skew } else { share * skew };
        pass(node, late);
        let start = clock.now(node);
        node.barrier();
        clock.since(node, start)
    })
}

/// An exchange of `bytes` from each node to each, in seconds.
///
/// # Participation
/// As [`broadcast`].
pub fn all_to_all(node: &mut Node, bytes: usize) -> f64 {
    let (rank, size) = (node.rank(), node.size());
    let byte = |from: usize, to: usize| (from * 16 + to + 1) as u8;
    let data: Vec<u8> = (0..size).flat_map(|to| std::iter::repeat_n(byte(rank, to), bytes)).collect();
    let mut memory = Block::<u8>::zeroed(bytes * size);
    let seconds = time(node, |node, _| {
        memory = exchange_all(node, &data, std::mem::take(&mut memory), Schedule::Library);
    });
    spoil(node, "all_to_all", &mut memory);
    let right = memory
        .chunks(bytes.max(1))
        .enumerate()
        .all(|(from, part)| part.iter().all(|b| *b == byte(from, rank)));
    check(node, "all_to_all", right);
    seconds
}

/// An all-gather of `bytes` a node, in seconds.
///
/// # Participation
/// As [`broadcast`].
pub fn all_gather(node: &mut Node, bytes: usize) -> f64 {
    let mine = vec![node.rank() as u8 + 1; bytes];
    let mut all = vec![0; bytes * node.size()];
    let seconds = time(node, |node, _| node.all_gather_into(&mine, &mut all));
    spoil(node, "all_gather", &mut all);
    let right =
        all.chunks(bytes.max(1)).enumerate().all(|(from, part)| part.iter().all(|b| *b == from as u8 + 1));
    check(node, "all_gather", right);
    seconds
}

fn spoil(node: &mut Node, kernel: &str, bytes: &mut [u8]) {
    if spoils(node, kernel)
        && let Some(last) = bytes.last_mut()
    {
        *last ^= 1;
    }
}

fn check(node: &mut Node, kernel: &str, right: bool) {
    if !right {
        wrong_data(node, kernel, "the result of the collective");
    }
}
