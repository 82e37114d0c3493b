//! Every collective against a sequential oracle; what a node checks is the same whatever the transport.
//!
//! Inputs come from a hash of seed, node and index, so that each node can compute what all others bring.

use bytemuck::{NoUninit, bytes_of, cast_slice};
use std::fmt::Debug;
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

/// A number with its own idea of the operations.
trait Known: Number + Operand<Number = Self, Output = Self> + Debug {
    const OPS: usize;
    fn from_bits(bits: u64) -> Self;
    fn neutral(op: Op) -> Self;
    fn joined(op: Op, a: Self, b: Self) -> Self;
}

macro_rules! known_integer {
    ($($t:ty),*) => {$(impl Known for $t {
        const OPS: usize = 7;
        fn from_bits(bits: u64) -> Self { bits as Self }
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
    let equal = cast_slice::<T, u8>(found) == cast_slice::<T, u8>(wanted);
    assert!(equal, "{what}: {found:?} instead of {wanted:?}");
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
        if length > 0 {
            let one = input(rank)[0];
            same(&[node.reduce(op, one)], &all[..1], "reduce of a number");
            same(&[node.scan(op, one)], &before[..1], "scan of a number");
        }
    }
}

fn moving(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let input = |node: usize| (0..length).map(|i| mix(seed, node, i) as u16).collect::<Vec<u16>>();
    let root = mix(seed, 0, 0) as usize % size;
    let mut values = input(rank);
    node.broadcast(root, &mut values);
    same(&values, &input(root), "broadcast");
    same(&node.all_gather(&input(rank)), &(0..size).flat_map(input).collect::<Vec<_>>(), "all_gather");
    assert!(node.global_or(rank == root));
    assert!(!node.global_or(false));
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

/// One step of a program, chosen by `what`.
pub(crate) fn step(node: &mut Node, what: u8, seed: u64, length: usize) {
    match what % 9 {
        0 => combining::<f32>(node, seed, length),
        1 => combining::<f64>(node, seed, length),
        2 => combining::<i32>(node, seed, length),
        3 => combining::<u32>(node, seed, length),
        4 => combining::<i64>(node, seed, length),
        5 => combining::<u64>(node, seed, length),
        6 => node.barrier(),
        _ => moving(node, seed, length),
    }
}

/// Every operation on every type of number.
pub(crate) fn everything(node: &mut Node, seed: u64, length: usize) {
    (0..8).for_each(|what| step(node, what, seed, length));
    let before = node.now();
    assert!(node.now() >= before);
    assert_eq!(node.platform().nodes, node.size());
    assert_eq!(bytes_of(&node.compute(1.0, || 7u8)), [7]);
}
