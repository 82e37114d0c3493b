//! Whole and split-phase collectives against a sequential oracle.

use super::{Case, bad, call, complete, good};
use crate::block::RawBlock;
use crate::number::{self, NumberType, Op};
use crate::transport::{Action, Boundary, Call, Collective, Endpoint, Operation, Scan, Way};
use bytemuck::cast_slice;
use std::panic::Location;

pub(super) const CASES: &[Case] = &[
    good("scans in all directions and segments agree", 1, |node| everything(node, By::Whole)),
    good("started collectives agree", 1, |node| everything(node, By::Started)),
    good("what a library below does agrees", 1, |node| {
        everything(node, By::Library);
        agree(node, By::Library, NumberType::U32, 40_001, 4);
    }),
    good("long started collectives agree", 1, long),
    bad(
        "a started reduce that meets a started scan is named",
        |node| {
            let (rank, place) = (node.rank(), Location::caller());
            let (action, operation) = if rank == 1 {
                (Action::Scan, Operation::Scan(FORWARD))
            } else {
                (Action::Reduce, Operation::Reduce(NumberType::U32, Op::Add))
            };
            let call = Call::combine(action, NumberType::U32, Op::Add, 2, place);
            node.start(call, operation, RawBlock::zeroed(8));
            complete(node);
        },
        &["node 1: scan add of 2 u32 at ", "but node 0 called reduce add of 2 u32 at "],
    ),
    bad(
        "a started barrier whose node has left is named",
        |node| {
            if node.rank() != 1 {
                node.start(call(Action::Barrier), Operation::Barrier, RawBlock::default());
                complete(node);
            }
        },
        &["node 1: left the program while node ", " waits in barrier at "],
    ),
];

/// A scan over all nodes, from the first to the last.
const FORWARD: Scan = Scan { kind: NumberType::U32, op: Op::Add, backward: false, boundary: None };

const KINDS: [(NumberType, usize); 6] = [
    (NumberType::F32, 4),
    (NumberType::F64, 8),
    (NumberType::I32, 4),
    (NumberType::U32, 4),
    (NumberType::I64, 8),
    (NumberType::U64, 8),
];

/// Node `node`'s numbers; floating-point numbers are of moderate size, so that rounding shows.
fn input(kind: NumberType, node: usize, length: usize, seed: usize) -> RawBlock {
    let mut block = RawBlock::zeroed(length * KINDS[kind as usize].1);
    let mixed = |at: usize| {
        let z = (seed as u64 ^ (node as u64) << 32 ^ at as u64)
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let size = KINDS[kind as usize].1;
    for (at, bytes) in block.as_bytes_mut().chunks_mut(size).enumerate() {
        let bits = mixed(at);
        let real = (bits >> 40) as f64 * f64::powi(2.0, (bits % 31) as i32 - 15) - 1e6;
        match kind {
            NumberType::F32 => bytes.copy_from_slice(&(real as f32).to_ne_bytes()),
            NumberType::F64 => bytes.copy_from_slice(&real.to_ne_bytes()),
            _ => bytes.copy_from_slice(&bits.to_ne_bytes()[..size]),
        }
    }
    block
}

/// Each node's result of a scan, step by step as defined.
fn scanned(scan: Scan, boundaries: &[Boundary], values: &[RawBlock]) -> Vec<RawBlock> {
    let mut results = values.to_vec();
    let mut order: Vec<usize> = (0..values.len()).collect();
    if scan.backward {
        order.reverse();
    }
    let mut so_far = values[0].clone();
    number::fill_identity(scan.kind, scan.op, so_far.as_bytes_mut());
    let mut fresh = true;
    for node in order {
        let boundary = boundaries[node];
        results[node] = so_far.clone();
        if boundary == Boundary::Element || fresh {
            number::fill_identity(scan.kind, scan.op, results[node].as_bytes_mut());
        }
        if boundary != Boundary::None || fresh {
            so_far = values[node].clone();
        } else {
            number::fold(scan.kind, scan.op, so_far.as_bytes_mut(), values[node].as_bytes());
        }
        fresh = false;
    }
    results
}

/// How a collective is done: what a library does not offer is whole.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Whole,
    Started,
    Library,
}

/// True if a library is asked for such a collective.
fn is_offered(operation: Operation) -> bool {
    match operation {
        Operation::Broadcast(_) => true,
        Operation::Reduce(kind, _) => !kind.is_float(),
        Operation::Scan(scan) => !scan.kind.is_float() && !scan.backward && scan.boundary.is_none(),
        Operation::Barrier => false,
    }
}

/// Does one collective.
fn perform(
    node: &mut dyn Endpoint,
    by: By,
    call: Call,
    operation: Operation,
    mut block: RawBlock,
) -> RawBlock {
    if by == By::Started {
        let address = block.words.as_ptr();
        node.start(call, operation, block);
        complete(node);
        assert!(node.test());
        let block = node.finish();
        assert_eq!(block.words.as_ptr(), address, "the memory given is not the memory got back");
        return block;
    }
    let library = by == By::Library && is_offered(operation) && !block.as_bytes().is_empty();
    let way = if library { Way::Library } else { Way::Usual };
    node.collective_by(way, call, Collective::InPlace(operation, block.as_bytes_mut()));
    block
}

/// Every operation on `length` numbers of a kind.
fn agree(node: &mut dyn Endpoint, by: By, kind: NumberType, length: usize, seed: usize) {
    let (rank, size) = (node.rank(), node.size());
    let place = Location::caller();
    let values: Vec<RawBlock> = (0..size).map(|node| input(kind, node, length, seed)).collect();
    for op in Op::ALL.into_iter().filter(|op| kind.has(*op)) {
        let mut all = values[0].clone();
        values[1..].iter().for_each(|other| number::fold(kind, op, all.as_bytes_mut(), other.as_bytes()));
        let reduce = Call::combine(Action::Reduce, kind, op, length, place);
        let found = perform(node, by, reduce, Operation::Reduce(kind, op), values[rank].clone());
        assert_eq!(found.as_bytes(), all.as_bytes(), "{reduce}");
        for (backward, segmented, action) in [
            (false, false, Action::Scan),
            (true, false, Action::BackwardScan),
            (false, true, Action::SegmentedScan),
            (true, true, Action::SegmentedBackwardScan),
        ] {
            let boundaries: Vec<Boundary> = (0..size)
                .map(|node| match (seed * 7 + node * 5 + length) % 4 {
                    _ if !segmented => Boundary::None,
                    0 => Boundary::Element,
                    1 => Boundary::Array,
                    _ => Boundary::None,
                })
                .collect();
            let scan = Scan { kind, op, backward, boundary: segmented.then_some(boundaries[rank]) };
            let call = Call::combine(action, kind, op, length, place);
            let found = perform(node, by, call, Operation::Scan(scan), values[rank].clone());
            let wanted = &scanned(scan, &boundaries, &values)[rank];
            assert_eq!(found.as_bytes(), wanted.as_bytes(), "{call} with {boundaries:?}");
        }
    }
    let root = seed % size;
    let call = Call::moving(Action::Broadcast, KINDS[kind as usize].1, root, length, place);
    let found = perform(node, by, call, Operation::Broadcast(root), values[rank].clone());
    assert_eq!(found.as_bytes(), values[root].as_bytes());
    perform(node, by, Call::plain(Action::Barrier, place), Operation::Barrier, RawBlock::default());
}

fn everything(node: &mut dyn Endpoint, by: By) {
    for (seed, length) in [0, 1, 2, 7, 23, 24, 46, 47, 100].into_iter().enumerate() {
        for (kind, _) in KINDS {
            agree(node, by, kind, length, seed);
        }
    }
    manual(node, by);
}

fn long(node: &mut dyn Endpoint) {
    agree(node, By::Started, NumberType::F32, 5001, 1);
    agree(node, By::Started, NumberType::I64, 4096, 2);
    agree(node, By::Whole, NumberType::F64, 20_001, 3);
    agree(node, By::Started, NumberType::U32, 40_001, 4);
}

/// The manual's two worked cases, on as many of its 16 nodes as there are.
fn manual(node: &mut dyn Endpoint, by: By) {
    let rank = node.rank();
    let place = Location::caller();
    for (kind, wanted) in [
        (Boundary::Element, [0u32, 1, 2, 3, 0, 2, 4, 6, 0, 3, 6, 9, 0, 4, 8, 12]),
        (Boundary::Array, [0, 1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12]),
    ] {
        let boundary = if rank.is_multiple_of(4) { kind } else { Boundary::None };
        let scan = Scan { boundary: Some(boundary), ..FORWARD };
        let mut block = RawBlock::zeroed(4);
        block.as_bytes_mut().copy_from_slice(&(rank as u32 / 4 + 1).to_ne_bytes());
        let call = Call::combine(Action::SegmentedScan, NumberType::U32, Op::Add, 1, place);
        let found = perform(node, by, call, Operation::Scan(scan), block);
        assert_eq!(cast_slice::<u64, u32>(&found.words)[0], wanted[rank]);
    }
}
