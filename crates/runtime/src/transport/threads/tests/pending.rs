//! Split-phase operations: waited for in several ways, met by other calls, and abandoned. Their
//! results are those of the suite's cases.

use super::{Seeded, pause, run, seed};
use crate::block::RawBlock;
use crate::number::{NumberType, Op};
use crate::transport::{Action, Awaited, Call, Collective, Endpoint, Failure, Operation, Scan};
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NODES: [usize; 6] = [1, 2, 3, 5, 8, 13];

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
