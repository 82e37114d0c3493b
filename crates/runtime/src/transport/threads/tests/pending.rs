//! Split-phase operations against a sequential oracle, mixed with blocking ones, and abandoned.

use super::super::rendezvous::SHORT;
use super::{Seeded, pause, run, seed};
use crate::block::RawBlock;
use crate::number::{self, NumberType, Op};
use crate::transport::{Action, Awaited, Boundary, Call, Collective, Endpoint, Failure, Operation, Scan};
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NODES: [usize; 6] = [1, 2, 3, 5, 8, 13];

/// A node's numbers. Floating-point numbers have many magnitudes, so that the order of combining
/// shows.
fn input(kind: NumberType, length: usize, random: &mut Seeded) -> RawBlock {
    let float =
        |bits: u64| ((bits >> 12) as f64 - (1u64 << 51) as f64) * f64::powi(2.0, (bits % 41) as i32 - 20);
    let wide = matches!(kind, NumberType::F64 | NumberType::I64 | NumberType::U64);
    let mut block = RawBlock::zeroed(length * if wide { 8 } else { 4 });
    let each = block.bytes / length.max(1);
    for to in block.as_bytes_mut().chunks_exact_mut(each.max(1)) {
        let bits = random.next();
        match kind {
            NumberType::F64 => to.copy_from_slice(&float(bits).to_ne_bytes()),
            NumberType::F32 => to.copy_from_slice(&(float(bits) as f32).to_ne_bytes()),
            _ => to.copy_from_slice(&bits.to_ne_bytes()[..each]),
        }
    }
    block
}

/// The sequential result for the nodes' `inputs`, node by node.
fn oracle(operation: Operation, inputs: &[RawBlock], boundaries: &[Boundary]) -> Vec<RawBlock> {
    let mut results = inputs.to_vec();
    match operation {
        Operation::Barrier => {}
        Operation::Broadcast(root) => results.fill(inputs[root].clone()),
        Operation::Reduce(kind, op) => {
            let mut all = inputs[0].clone();
            for other in &inputs[1..] {
                number::fold(kind, op, all.as_bytes_mut(), other.as_bytes());
            }
            results.fill(all);
        }
        Operation::Scan(Scan { kind, op, backward, boundary }) => {
            let mut order: Vec<usize> = (0..inputs.len()).collect();
            if backward {
                order.reverse();
            }
            // The value passed on by the node before.
            let mut passed: Option<RawBlock> = None;
            for rank in order {
                let own = &inputs[rank];
                let boundary = boundary.map_or(Boundary::None, |_| boundaries[rank]);
                let mut identity = own.clone();
                number::fill_identity(kind, op, identity.as_bytes_mut());
                let receives = if boundary == Boundary::Element { None } else { passed.clone() };
                results[rank] = receives.unwrap_or(identity);
                passed = match passed {
                    Some(mut before) if boundary == Boundary::None => {
                        number::fold(kind, op, before.as_bytes_mut(), own.as_bytes());
                        Some(before)
                    }
                    _ => Some(own.clone()),
                };
            }
        }
    }
    results
}

#[track_caller]
fn call_of(operation: Operation, bytes: usize) -> Call {
    let place = Location::caller();
    match operation {
        Operation::Barrier => Call::plain(Action::Barrier, place),
        Operation::Reduce(kind, op) => Call::combine(Action::Reduce, kind, op, bytes, place),
        Operation::Scan(Scan { kind, op, .. }) => Call::combine(Action::Scan, kind, op, bytes, place),
        Operation::Broadcast(root) => Call::moving(Action::Broadcast, 1, root, bytes, place),
    }
}

/// One operation, waited for in one of several ways.
fn perform(
    node: &mut dyn Endpoint,
    random: &mut Seeded,
    operation: Operation,
    mut values: RawBlock,
) -> RawBlock {
    let call = call_of(operation, values.bytes);
    let address = values.words.as_ptr();
    node.start(call, operation, std::mem::take(&mut values));
    let mode = random.below(3);
    while !node.test() {
        match mode {
            0 => pause(node, Awaited::Operation),
            1 => random.delay(),
            _ => {
                let mut packet = bytemuck::Zeroable::zeroed();
                assert!(!node.try_receive(crate::transport::Network::Request, &mut packet));
                std::thread::yield_now();
            }
        }
    }
    assert!(node.test());
    let values = node.finish();
    assert_eq!(values.words.as_ptr(), address);
    values
}

/// The same as a blocking call.
fn block(node: &mut dyn Endpoint, operation: Operation, mut values: RawBlock) -> RawBlock {
    let call = call_of(operation, values.bytes);
    node.collective(call, Collective::InPlace(operation, values.as_bytes_mut()));
    values
}

/// One step of a program: an operation chosen by `salt`, equal on all nodes, split-phase or
/// blocking.
fn step(node: &mut dyn Endpoint, salt: usize, operation: impl Fn(Boundary) -> Operation, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let boundaries: Vec<Boundary> = (0..size)
        .map(|rank| match seed(&[salt, rank, 1]).below(5) {
            0 => Boundary::Element,
            1 => Boundary::Array,
            _ => Boundary::None,
        })
        .collect();
    let kind = match operation(Boundary::None) {
        Operation::Reduce(kind, _) | Operation::Scan(Scan { kind, .. }) => kind,
        _ => NumberType::U32,
    };
    let length = if operation(Boundary::None) == Operation::Barrier { 0 } else { length };
    let inputs: Vec<RawBlock> =
        (0..size).map(|rank| input(kind, length, &mut seed(&[salt, rank, 2]))).collect();
    let mut random = seed(&[salt, rank, 3]);
    random.delay();
    let mine = operation(boundaries[rank]);
    let found = if seed(&[salt]).below(3) == 0 {
        block(node, mine, inputs[rank].clone())
    } else {
        perform(node, &mut random, mine, inputs[rank].clone())
    };
    let wanted = &oracle(mine, &inputs, &boundaries)[rank];
    let wanted = wanted.as_bytes();
    assert_eq!(
        found.as_bytes(),
        wanted,
        "node {rank} of {size}: {mine:?} of {length}, boundaries {boundaries:?}"
    );
}

/// All operations of all kinds.
fn operations() -> Vec<impl Fn(Boundary) -> Operation + Sync> {
    let pairs = NumberType::ALL.into_iter().flat_map(|kind| Op::ALL.into_iter().map(move |op| (kind, op)));
    let pairs = pairs.filter(|(kind, op)| kind.has(*op));
    // Barrier and broadcast do not depend on the kind.
    let cases = pairs.flat_map(|pair| (0..7).map(move |what| (pair, what)));
    let operation = |((kind, op), what): ((NumberType, Op), usize)| {
        move |boundary| match what {
            0 => Operation::Barrier,
            1 => Operation::Reduce(kind, op),
            2 => Operation::Broadcast(0),
            _ => Operation::Scan(Scan {
                kind,
                op,
                backward: what % 2 == 0,
                boundary: (what > 4).then_some(boundary),
            }),
        }
    };
    cases.map(operation).collect()
}

#[test]
fn every_operation_agrees_with_the_oracle_split_or_blocking() {
    // Lengths at which a vector no longer fits on a slot, has another slice, or needs another test.
    let lengths = [0, 1, 2, SHORT / 8, SHORT / 8 + 1, SHORT / 4, SHORT / 4 + 1, 600, 1025];
    for nodes in NODES {
        run(nodes, |node| {
            for (i, operation) in operations().iter().enumerate() {
                for round in 0..2 {
                    let salt = 2 * i + round;
                    step(node, salt, operation, lengths[seed(&[nodes, salt]).below(lengths.len())]);
                }
            }
        })
        .unwrap();
    }
}

#[test]
fn long_vectors_take_many_looks() {
    for nodes in NODES {
        run(nodes, |node| {
            let mut salt = 1000 * nodes;
            for length in [8 << 10, 50_001] {
                for backward in [false, true] {
                    let scan = |boundary| Scan { kind: NumberType::F64, op: Op::Add, backward, boundary };
                    step(node, salt, |_| Operation::Scan(scan(None)), length);
                    step(node, salt + 1, |boundary| Operation::Scan(scan(Some(boundary))), length);
                    step(node, salt + 2, |_| Operation::Reduce(NumberType::F32, Op::Multiply), length);
                    step(node, salt + 3, |_| Operation::Broadcast(salt % nodes), length);
                    salt += 4;
                }
            }
        })
        .unwrap();
    }
}

#[test]
fn more_nodes_than_anybody_has_cores_meet_too() {
    for nodes in [64, super::super::MOST] {
        run(nodes, |node| {
            for (i, length) in [1, 40].into_iter().enumerate() {
                // Wrapping sums, so that the oracle is one line.
                let size = node.size() as u64;
                let values =
                    RawBlock { words: vec![node.rank() as u64; length], bytes: 8 * length, phantom: 0 };
                let operation = Operation::Reduce(NumberType::U64, Op::Add);
                let random = &mut seed(&[i, node.rank()]);
                let sum = perform(node, random, operation, values);
                assert_eq!(sum.words, vec![size * (size - 1) / 2; length]);
            }
        })
        .unwrap();
    }
}

/// The two worked cases of the Strata manual, §4.3: segments of four nodes out of sixteen.
#[test]
fn segments_are_those_of_the_manual() {
    let values: Vec<i32> = (0..16).map(|rank| rank / 4 + 1).collect();
    for (boundary, wanted) in [
        (Boundary::Element, [0, 1, 2, 3, 0, 2, 4, 6, 0, 3, 6, 9, 0, 4, 8, 12]),
        (Boundary::Array, [0, 1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12]),
    ] {
        for (split, length) in [(false, 1), (true, 1), (false, 100), (true, 100)] {
            let found = run(16, |node| {
                let rank = node.rank();
                let boundary = Some(if rank % 4 == 0 { boundary } else { Boundary::None });
                let scan = Scan { kind: NumberType::I32, op: Op::Add, backward: false, boundary };
                let mut mine = RawBlock::zeroed(4 * length);
                bytemuck::cast_slice_mut(mine.as_bytes_mut()).fill(values[rank]);
                let result = if split {
                    perform(node, &mut seed(&[rank]), Operation::Scan(scan), mine)
                } else {
                    block(node, Operation::Scan(scan), mine)
                };
                bytemuck::cast_slice::<u8, i32>(result.as_bytes()).to_vec()
            });
            let wanted: Vec<Vec<i32>> = wanted.iter().map(|value| vec![*value; length]).collect();
            assert_eq!(found.unwrap(), wanted);
        }
    }
}

/// Runs split-phase reduces forever.
fn go_on(node: &mut dyn Endpoint, random: &mut Seeded, bytes: usize) {
    loop {
        perform(node, random, Operation::Reduce(NumberType::F32, Op::Add), RawBlock::zeroed(bytes));
    }
}

#[test]
fn a_panic_while_an_operation_is_in_flight_ends_the_job() {
    for nodes in NODES {
        for bytes in [4, 4000, 400_000] {
            for looks in 0..8 {
                let culprit = looks % nodes;
                let found = run(nodes, |node| {
                    let rank = node.rank();
                    let mut random = seed(&[rank, looks]);
                    let operation = Operation::Reduce(NumberType::F32, Op::Add);
                    perform(node, &mut random, operation, RawBlock::zeroed(bytes));
                    if rank == culprit {
                        node.start(call_of(operation, bytes), operation, RawBlock::zeroed(bytes));
                        for _ in 0..looks * 3 {
                            node.test();
                        }
                        std::panic::resume_unwind(Box::new("in flight"));
                    }
                    go_on(node, &mut random, bytes);
                });
                assert_eq!(found.unwrap_err(), (culprit, "panicked: in flight".to_owned()));
            }
        }
    }
}

#[test]
fn a_node_that_leaves_with_an_operation_in_flight_is_missed() {
    for nodes in [2, 3, 8] {
        for (bytes, delay) in [(8, 0), (8, 20), (5000, 0), (5000, 20)] {
            let (rank, message) = run(nodes, |node| {
                let random = &mut seed(&[node.rank()]);
                let operation = Operation::Reduce(NumberType::F32, Op::Add);
                if node.rank() == 1 {
                    std::thread::sleep(Duration::from_millis(delay));
                    node.start(call_of(operation, bytes), operation, RawBlock::zeroed(bytes));
                } else {
                    go_on(node, random, bytes);
                }
            })
            .unwrap_err();
            assert_eq!(rank, 1);
            assert!(message.starts_with("left the program while node "), "{message}");
            assert!(message.contains(" waits in "), "{message}");
        }
    }
}

#[test]
fn calls_that_differ_end_the_job() {
    let reduce = Operation::Reduce(NumberType::I32, Op::Add);
    type Case = (&'static str, fn(&mut dyn Endpoint, Operation));
    let cases: [Case; 4] = [
        ("reduce max of 4 i32 at ", |node, _| {
            drop(perform(
                node,
                &mut seed(&[1]),
                Operation::Reduce(NumberType::I32, Op::Max),
                RawBlock::zeroed(4),
            ));
        }),
        ("reduce add of 400 i32 at ", |node, reduce| {
            drop(perform(node, &mut seed(&[1]), reduce, RawBlock::zeroed(400)));
        }),
        ("blocking reduce add of 4 i32 at ", |node, reduce| {
            drop(block(node, reduce, RawBlock::zeroed(4)));
        }),
        ("reduce add of 4 i32 at ", |node, reduce| {
            node.start(call_of(reduce, 4), reduce, RawBlock::zeroed(4));
            drop(block(node, reduce, RawBlock::zeroed(4)));
        }),
    ];
    for (start, misuse) in cases {
        let (rank, message) = run(3, |node| {
            let random = &mut seed(&[node.rank()]);
            if node.rank() == 2 {
                misuse(node, reduce);
            }
            loop {
                perform(node, random, reduce, RawBlock::zeroed(4));
            }
        })
        .unwrap_err();
        assert_eq!(rank, 2);
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn long_blocking_and_split_phase_calls_do_not_meet() {
    let reduce = Operation::Reduce(NumberType::I32, Op::Add);
    let (rank, message) = run(4, |node| {
        let random = &mut seed(&[node.rank()]);
        if node.rank() == 3 {
            block(node, reduce, RawBlock::zeroed(40_000));
        } else {
            perform(node, random, reduce, RawBlock::zeroed(40_000));
        }
    })
    .unwrap_err();
    assert_eq!(rank, 3);
    assert!(message.contains(", but node 0 called split-phase reduce add of "), "{message}");
}

/// The watchdog may end the job while one node is late for a reduction of lent memory. That node
/// accesses the memory when it arrives, so the lenders must not have unwound.
#[test]
fn lent_memory_outlives_a_failure_from_outside() {
    struct Lent<'a>(&'a AtomicUsize);
    impl Drop for Lent<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    for nodes in [2, 3, 5, 8] {
        let (unwound, complete) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let failed = run(nodes, |node| {
            let mut values = vec![1u64; 5000];
            let lent = Lent(&unwound);
            if node.rank() == 1 {
                std::thread::sleep(Duration::from_millis(20));
                let message = "waited for too long".to_owned();
                node.extras().process.unwrap().abort_handle()(Failure { rank: 0, message });
                std::thread::sleep(Duration::from_millis(50));
                if unwound.load(Ordering::SeqCst) > 0 {
                    return;
                }
            }
            let sum = Operation::Reduce(NumberType::U64, Op::Add);
            let collective = Collective::InPlace(sum, bytemuck::cast_slice_mut(&mut values));
            node.collective(call_of(sum, 40_000), collective);
            assert_eq!(values, vec![nodes as u64; 5000]);
            complete.fetch_add(1, Ordering::SeqCst);
            node.barrier(call_of(Operation::Barrier, 0));
            drop(lent);
        });
        assert_eq!(failed.unwrap_err(), (0, "waited for too long".to_owned()));
        assert_eq!(complete.load(Ordering::SeqCst), nodes, "a lender of {nodes} nodes has unwound");
    }
}
