//! Every collective against a sequential oracle; what a node checks is the same whatever the
//! transport.
//!
//! Inputs come from a hash of seed, node and index, so that each node can compute what all others
//! bring.

#[allow(dead_code, reason = "not every test program needs all of it")]
pub(crate) mod laws;
pub(crate) mod messages;
pub(crate) mod moving;
pub(crate) mod programs;
#[allow(dead_code, reason = "not every test program needs all of it")]
pub(crate) mod stuck;

use bytemuck::{NoUninit, Pod, bytes_of, cast_slice};
use std::fmt::Debug;
use strata_runtime::patterns::{cyclic_shift, unknown_targets};
use strata_runtime::prelude::*;
use strata_runtime::{Number, Operand};

/// Operations of all numbers, then those of integers only.
const OPS: [Op; 7] = [Op::Add, Op::Multiply, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor];

/// A well-mixed number (SplitMix64 of Steele, Lea and Flood, 2014).
pub(crate) fn mix(seed: u64, node: usize, index: usize) -> u64 {
    let mut z = seed ^ (node as u64) << 40 ^ index as u64;
    for _ in 0..2 {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}

/// Lets other nodes run, where those need it.
pub(crate) fn give_way(node: &Node) {
    if !node.is_simulated() {
        std::thread::yield_now();
    }
}

/// A number with its own idea of the operations.
trait Known: Number + Operand<Number = Self, Output = Self> + Debug + PartialOrd {
    const OPS: usize;
    fn from_bits(bits: u64) -> Self;
    fn wide(self) -> f64;
    fn neutral(op: Op) -> Self;
    fn joined(op: Op, a: Self, b: Self) -> Self;
}

macro_rules! known_integer {
    ($($t:ty),*) => {$(impl Known for $t {
        const OPS: usize = 7;
        fn from_bits(bits: u64) -> Self { bits as Self }
        fn wide(self) -> f64 { self as f64 }
        fn neutral(op: Op) -> Self {
            match op { Op::Multiply => 1, Op::Min => Self::MAX, Op::Max => Self::MIN, Op::And => !0, _ => 0 }
        }
        fn joined(op: Op, a: Self, b: Self) -> Self {
            match op {
                Op::Add => a.wrapping_add(b), Op::Multiply => a.wrapping_mul(b),
                Op::Min => if b < a { b } else { a }, Op::Max => if b > a { b } else { a },
                Op::And => a & b, Op::Or => a | b, Op::Xor => a ^ b,
            }
        }
    })*};
}
known_integer!(i32, u32, i64, u64);

macro_rules! known_float {
    ($($t:ty),*) => {$(impl Known for $t {
        const OPS: usize = 4;
        fn wide(self) -> f64 { f64::from(self) }
        fn from_bits(bits: u64) -> Self {
            // Of many magnitudes, so that the order of adding shows; now and then a special one.
            match bits % 61 {
                0 => <$t>::NAN, 1 => -0.0, 2 => 0.0, 3 => <$t>::INFINITY,
                _ => ((bits >> 12) as $t - (1u64 << 51) as $t) * <$t>::powi(2.0, (bits % 41) as i32 - 20),
            }
        }
        fn neutral(op: Op) -> Self {
            match op {
                Op::Multiply => 1.0, Op::Min => <$t>::INFINITY, Op::Max => <$t>::NEG_INFINITY, _ => 0.0
            }
        }
        fn joined(op: Op, a: Self, b: Self) -> Self {
            match op {
                Op::Add => a + b, Op::Multiply => a * b,
                _ if a.is_nan() => a, _ if b.is_nan() => b,
                Op::Min => if b < a { b } else { a },
                _ => if b > a { b } else { a },
            }
        }
    })*};
}
known_float!(f32, f64);

/// Equal to the last bit.
#[track_caller]
fn same<T: NoUninit + Debug>(found: &[T], wanted: &[T], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    if cast_slice::<T, u8>(found) != cast_slice::<T, u8>(wanted) {
        // A NaN's sign is for the compiler to choose.
        for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let (found, wanted) = (format!("{found:?}"), format!("{wanted:?}"));
            assert_eq!(found, wanted, "{what}: element {i}");
        }
    }
}

/// The scan of all nodes' `input`s for node `rank`, one node after the other in the scan's
/// direction (Brewer, manual, §4.3.1).
fn scanned<T: Known>(
    op: Op,
    order: impl Iterator<Item = usize>,
    rank: usize,
    input: impl Fn(usize) -> Vec<T>,
    boundary: impl Fn(usize) -> Boundary,
) -> Vec<T> {
    let neutral = vec![T::neutral(op); input(rank).len()];
    let mut passed_on: Option<Vec<T>> = None;
    for node in order {
        let own = input(node);
        let boundary = boundary(node);
        let before = if boundary == Boundary::Element { None } else { passed_on.take() };
        if node == rank {
            return before.unwrap_or(neutral);
        }
        passed_on = Some(match before {
            Some(before) if boundary == Boundary::None => {
                before.into_iter().zip(own).map(|(a, b)| T::joined(op, a, b)).collect()
            }
            _ => own,
        });
    }
    neutral
}

/// Scans in either direction, in segments and not, whole and in two phases.
fn scanning<T: Known>(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let input = |node: usize| (0..length).map(|i| T::from_bits(mix(seed, node, i))).collect::<Vec<T>>();
    let none = |_: usize| Boundary::None;
    let boundary = |node: usize| {
        [Boundary::None, Boundary::Element, Boundary::Array, Boundary::None][mix(!seed, node, 0) as usize % 4]
    };
    let mine = boundary(rank);
    for op in OPS.into_iter().take(T::OPS) {
        let backward = scanned(op, (0..size).rev(), rank, input, none);
        let segments = scanned(op, 0..size, rank, input, boundary);
        let segments_backward = scanned(op, (0..size).rev(), rank, input, boundary);

        let mut vector = input(rank);
        node.backward_scan(op, &mut vector);
        same(&vector, &backward, "backward_scan");
        let mut vector = input(rank);
        node.segmented_scan(op, mine, &mut vector);
        same(&vector, &segments, "segmented_scan");
        let mut vector = input(rank);
        node.segmented_backward_scan(op, mine, &mut vector);
        same(&vector, &segments_backward, "segmented_backward_scan");

        let block = || Block::from_slice(&input(rank));
        let pending = node.start_backward_scan(op, block());
        same(&node.complete(pending), &backward, "start_backward_scan");
        let pending = node.start_segmented_scan(op, mine, block());
        same(&node.complete(pending), &segments, "start_segmented_scan");
        let pending = node.start_segmented_backward_scan(op, mine, block());
        while !node.query(&pending) {
            give_way(node);
        }
        same(&node.complete(pending), &segments_backward, "start_segmented_backward_scan");
        if length > 0 {
            let one = input(rank)[0];
            same(&[node.backward_scan(op, one)], &backward[..1], "backward_scan of a number");
            same(&[node.segmented_scan(op, mine, one)], &segments[..1], "segmented_scan of a number");
        }
    }
}

fn combining<T: Known>(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let input = |node: usize| (0..length).map(|i| T::from_bits(mix(seed, node, i))).collect::<Vec<T>>();
    for op in OPS.into_iter().take(T::OPS) {
        let mut all = input(0);
        let mut before = vec![T::neutral(op); length];
        for other in 1..size {
            if other == rank {
                before.clone_from(&all);
            }
            for (a, b) in all.iter_mut().zip(input(other)) {
                *a = T::joined(op, *a, b);
            }
        }
        let mut vector = input(rank);
        node.reduce(op, &mut vector);
        same(&vector, &all, "reduce");
        let mut vector = input(rank);
        node.scan(op, &mut vector);
        same(&vector, &before, "scan");
        // One after the other, asked for in the other order.
        let reduce = node.start_reduce(op, Block::from_slice(&input(rank)));
        let scan = node.start_scan(op, Block::from_slice(&input(rank)));
        same(&node.complete(scan), &before, "start_scan");
        same(&node.complete(reduce), &all, "start_reduce");
        if length > 0 {
            let one = input(rank)[0];
            same(&[node.reduce(op, one)], &all[..1], "reduce of a number");
            same(&[node.scan(op, one)], &before[..1], "scan of a number");
            let reduce = node.start_reduce(op, one);
            same(&[node.complete(reduce)], &all[..1], "start_reduce of a number");
            let scan = node.start_scan(op, one);
            same(&[node.complete(scan)], &before[..1], "start_scan of a number");
        }
    }
    scanning::<T>(node, seed, length);
    statistics::<T>(node, seed);
}

fn statistics<T: Known>(node: &mut Node, seed: u64) {
    let size = node.size();
    let number = |node: usize| T::from_bits(mix(seed, node, 0) % 1000 * 61 + 7);
    let mut all: Vec<T> = (0..size).map(number).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let as_f64: Vec<f64> = all.iter().map(|value| value.wide()).collect();
    let mean = as_f64.iter().sum::<f64>() / size as f64;
    let squares: f64 = as_f64.iter().map(|value| (value - mean).powi(2)).sum();
    let mine = number(node.rank());
    same(&[node.median(mine)], &[all[(size - 1) / 2]], "median");
    let near =
        |found: f64, wanted: f64| assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{found} {wanted}");
    near(node.average(mine), mean);
    near(node.sample_variance(mine), if size == 1 { 0.0 } else { squares / (size - 1) as f64 });
    // Equal to the last bit on every node.
    let bits = node.average(mine).to_bits();
    assert_eq!(node.reduce_max(bits), node.reduce_min(bits));
}

fn sharing(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let input = |node: usize| (0..length).map(|i| mix(seed, node, i) as u16).collect::<Vec<u16>>();
    let root = mix(seed, 0, 0) as usize % size;
    let mut values = input(rank);
    node.broadcast(root, &mut values);
    same(&values, &input(root), "broadcast");
    same(&node.all_gather(&input(rank)), &(0..size).flat_map(input).collect::<Vec<_>>(), "all_gather");
    assert!(node.global_or(rank == root));
    assert!(!node.global_or(false));
    let broadcast = node.start_broadcast(root, Block::from_slice(&vec![rank as u32 * 0x1_0001; length]));
    let or = node.start_global_or(rank == root);
    let barrier = node.start_barrier();
    assert!(node.complete(or));
    node.complete(barrier);
    same(&node.complete(broadcast), &vec![root as u32 * 0x1_0001; length], "start_broadcast");
    assert_eq!(node.broadcast_value(root, rank as u64), root as u64);

    // Blocks of 3-byte elements, of uneven lengths, some empty.
    let block = |from: usize, to: usize| {
        let many = mix(seed, from, to + 1) as usize % (length + 1);
        (0..many)
            .map(|i| mix(seed, from * size + to, i).to_le_bytes())
            .map(|b| [b[0], b[1], b[2]])
            .collect::<Vec<_>>()
    };
    let blocks = (0..size).map(|to| Block::from_slice(&block(rank, to))).collect();
    let blocks: Vec<Block<[u8; 3]>> = node.all_to_all_v(blocks);
    for (from, found) in blocks.iter().enumerate() {
        same(found, &block(from, rank), "all_to_all_v");
    }
}

/// What moves elements, with elements of a size.
fn moved<T: Pod + Debug + PartialEq>(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let input = |node: usize, length: usize| {
        let mut values = vec![T::zeroed(); length];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = mix(seed, node, i / 8) as u8);
        values
    };
    let root = mix(seed, 1, 0) as usize % size;
    let mut values = input(rank, length);
    node.broadcast(root, &mut values);
    assert_eq!(values, input(root, length), "broadcast of {} bytes each", size_of::<T>());
    let all: Vec<T> = (0..size).flat_map(|node| input(node, length)).collect();
    assert_eq!(node.all_gather(&input(rank, length)), all, "all_gather of {} bytes each", size_of::<T>());
    assert_eq!(node.broadcast_value(root, input(rank, 1)[0]), input(root, 1)[0]);
}

/// As [`moved`], and what moves blocks, whose elements have bytes.
fn moved_in_blocks<T: Pod + Debug + PartialEq>(node: &mut Node, seed: u64, length: usize) {
    moved::<T>(node, seed, length);
    let (rank, size) = (node.rank(), node.size());
    let filled = |with: usize| {
        let mut values = vec![T::zeroed(); length];
        bytemuck::cast_slice_mut::<T, u8>(&mut values).fill((with as u8).wrapping_add(1));
        values
    };
    let blocks = (0..size).map(|to| Block::from_slice(&filled(rank * size + to))).collect();
    for (from, found) in node.all_to_all_v(blocks).iter().enumerate() {
        assert_eq!(**found, filled(from * size + rank), "all_to_all_v of {} bytes each", size_of::<T>());
    }
    let shifted = cyclic_shift(node, 1, &filled(rank), Block::default());
    assert_eq!(*shifted, filled((rank + size - 1) % size), "cyclic_shift of {} bytes each", size_of::<T>());
    let received = unknown_targets(node, &[((rank + 1) % size, &filled(rank))]);
    let before = (rank + size - 1) % size;
    assert_eq!(received.from(before), filled(before), "unknown_targets of {} bytes each", size_of::<T>());
}

/// Elements of 0 to 4,096 bytes: a call tells others how large its elements are.
pub(crate) fn elements(node: &mut Node, seed: u64) {
    for length in [0, 1, 3] {
        moved::<()>(node, seed, length);
        moved_in_blocks::<u8>(node, seed, length);
        moved_in_blocks::<[u8; 3]>(node, seed, length);
        moved_in_blocks::<[u8; 128]>(node, seed, length);
        moved_in_blocks::<[[u8; 12]; 21]>(node, seed, length);
        moved_in_blocks::<[[u8; 17]; 15]>(node, seed, length);
        moved_in_blocks::<[u8; 256]>(node, seed, length);
        moved_in_blocks::<[[u8; 10]; 26]>(node, seed, length);
        moved_in_blocks::<[u64; 64]>(node, seed, length);
        moved_in_blocks::<[u8; 4096]>(node, seed, length);
    }
}

/// A call that differs by node, and what has to be said of it.
type Unlike = (fn(&mut Node), &'static str);

/// Calls whose elements differ in size, so that no byte of another node's may be accessed.
pub(crate) const UNLIKE: [Unlike; 5] = [
    (
        |node| match node.rank() {
            0 => node.broadcast(0, &mut [[1u64; 32]]),
            _ => node.broadcast(0, &mut bytemuck::zeroed_vec::<[[u64; 32]; 4096]>(1)),
        },
        "broadcast from node 0 of 1 elements of 1048576 bytes at ",
    ),
    (
        |node| match node.rank() {
            0 => drop(node.all_gather(&[[1u64; 32]])),
            _ => drop(node.all_gather(&[[[1u64; 32]; 64]])),
        },
        "all_gather of 1 elements of 16384 bytes at ",
    ),
    // As many bytes.
    (
        |node| match node.rank() {
            0 => node.broadcast(1, &mut [[1u8; 512]]),
            _ => node.broadcast(1, &mut [[1u8; 256]; 2]),
        },
        "broadcast from node 1 of 2 elements of 256 bytes at ",
    ),
    (
        |node| match node.rank() {
            0 => drop(node.all_to_all_v(vec![Block::from_slice(&[[1u8; 512]]); node.size()])),
            _ => drop(node.all_to_all_v(vec![Block::from_slice(&[[1u8; 256]]); node.size()])),
        },
        "all_to_all_v of elements of 256 bytes at ",
    ),
    (
        |node| match node.rank() {
            0 => drop(node.all_gather(&[(); 3])),
            _ => drop(node.all_gather(&[(); 4])),
        },
        "all_gather of 4 elements of 0 bytes at ",
    ),
];

/// One step of a program, chosen by `what`.
pub(crate) fn step(node: &mut Node, what: u8, seed: u64, length: usize) {
    match what % 11 {
        0 => combining::<f32>(node, seed, length),
        1 => combining::<f64>(node, seed, length),
        2 => combining::<i32>(node, seed, length),
        3 => combining::<u32>(node, seed, length),
        4 => combining::<i64>(node, seed, length),
        5 => combining::<u64>(node, seed, length),
        6 => node.barrier(),
        7 => moving::patterns(node, seed, length),
        8 => moving::ports(node, seed, length),
        _ => sharing(node, seed, length),
    }
}

/// Every operation on every type of number.
pub(crate) fn everything(node: &mut Node, seed: u64, length: usize) {
    (0..10).for_each(|what| step(node, what, seed, length));
    let before = node.now();
    assert!(node.now() >= before);
    assert_eq!(node.platform().nodes, node.size());
    assert_eq!(bytes_of(&node.compute(1.0, || 7u8)), [7]);
}
