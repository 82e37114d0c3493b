//! What holds of threads alone; `suite.rs` has the laws of every transport.

use crate::oracle::laws::go_on;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use strata_runtime::prelude::*;

/// Fewer nodes than cores, as many, more, odd numbers, and far more than cores.
const NODES: [usize; 7] = [1, 2, 3, 5, 8, 13, 64];

#[test]
fn a_million_messages_wait_for_a_node_that_does_not_poll() {
    use std::{cell::Cell, rc::Rc};
    let counts = Machine::threads(2).unwrap().run(|node| {
        let count = Rc::new(Cell::new(0u64));
        let mut handlers = node.handlers();
        let note = handlers.request({
            let count = Rc::clone(&count);
            move |_, number: u64| {
                assert_eq!(number, count.get());
                count.set(number + 1);
            }
        });
        node.install(handlers);
        if node.rank() == 0 {
            (0..1_000_000u64).for_each(|number| node.send(1, note, number));
        } else {
            std::thread::sleep(Duration::from_millis(500));
            node.wait_until(|| count.get() == 1_000_000);
        }
        Ok(count.get())
    });
    assert_eq!(counts.unwrap(), [0, 1_000_000]);
}

#[test]
fn nobody_passes_a_barrier_early() {
    for nodes in NODES {
        let come = AtomicUsize::new(0);
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                for round in 1..=200 {
                    come.fetch_add(1, Ordering::Relaxed);
                    node.barrier();
                    let seen = come.load(Ordering::Relaxed);
                    if seen < round * nodes {
                        node.fail(format!("{seen} nodes had come in round {round}"));
                    }
                    node.barrier();
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn nodes_that_wait_long_sleep_and_wake() {
    for nodes in [2, 8, 64] {
        let sums = Machine::threads(nodes).unwrap().run(|node| {
            let mut sum = 0;
            for round in 0..4 {
                if node.rank() == round * 7 % nodes {
                    std::thread::sleep(Duration::from_millis(15));
                }
                sum += node.reduce_add(1u64);
            }
            // Also where one node's block is late.
            if node.rank() == 0 {
                std::thread::sleep(Duration::from_millis(15));
            }
            let blocks = node.all_to_all_v((0..nodes).map(|_| Block::from_slice(&[1u64])).collect());
            Ok(sum + blocks.iter().map(|block| block[0]).sum::<u64>())
        });
        assert_eq!(sums.unwrap(), vec![5 * nodes as u64; nodes]);
    }
}

#[test]
fn threads_hand_blocks_over_without_copying() {
    let addresses = Machine::threads(3).unwrap().run(|node| {
        let blocks: Vec<Block<u64>> = (0..3).map(|_| Block::zeroed(1000)).collect();
        let sent: Vec<usize> = blocks.iter().map(|block| block.as_ptr() as usize).collect();
        let blocks = node.all_to_all_v(blocks);
        let received: Vec<usize> = blocks.iter().map(|block| block.as_ptr() as usize).collect();
        node.barrier();
        Ok((sent, received))
    });
    let addresses = addresses.unwrap();
    for (rank, (_, received)) in addresses.iter().enumerate() {
        for (from, at) in received.iter().enumerate() {
            assert_eq!(*at, addresses[from].0[rank]);
        }
    }
}

#[test]
fn as_many_nodes_as_one_could_want_but_no_more() {
    let sums = Machine::threads(300).unwrap().run(|node| {
        node.barrier();
        Ok(node.scan_add(1u32))
    });
    assert_eq!(sums.unwrap(), (0..300).collect::<Vec<u32>>());
    for nodes in [0, 1025, usize::MAX] {
        let message = Machine::threads(nodes).unwrap_err().to_string();
        assert_eq!(message, format!("cannot run on {nodes} nodes: ask for 1 to 1024"));
    }
}

#[test]
fn settings_are_those_of_the_environment() {
    Machine::threads(2)
        .unwrap()
        .run(|node| {
            assert_eq!(node.setting("PATH"), None);
            assert_eq!(node.setting("STRATA_NEVER_SET"), None);
            Ok(())
        })
        .unwrap();
}

/// Runs a program that has to fail, and gives the node and the message.
fn failure<T: Send>(nodes: usize, program: impl Fn(&mut Node) -> Result<T, Error> + Sync) -> (usize, String) {
    match Machine::threads(nodes).and_then(|machine| machine.run(program)) {
        Err(Error::Node { rank, message }) => (rank, message),
        Err(other) => panic!("not a node's failure: {other}"),
        Ok(_) => panic!("no failure"),
    }
}

#[test]
fn lengths_that_no_memory_holds_are_refused() {
    use strata_runtime::memory::SharedWords;
    fn text(panics: impl FnOnce() + std::panic::UnwindSafe) -> String {
        *std::panic::catch_unwind(panics).unwrap_err().downcast::<String>().unwrap()
    }
    // Eight times each wraps to a small number, or overflows by a little.
    for len in [usize::MAX / 8 + 2, 1 << 61, (1 << 61) + 8, usize::MAX, 1 << 60] {
        let told = format!("{len} elements of 8 bytes are more than memory can hold");
        assert_eq!(text(|| drop(Block::<u64>::zeroed(len))), told);
        assert_eq!(text(|| drop(Block::<u8>::zeroed(3).reuse::<u64>(len))), told);
        assert!(text(|| drop(SharedWords::zeroed(len))).ends_with("are more than memory can hold"));
        let (_, message) = failure(3, |node| Ok(node.share_words(len).is_some()));
        assert!(message.starts_with("share_words at ") && message.contains("more than memory"), "{message}");
        let (_, message) = failure(3, |node| Ok(node.expose_words(len).is_some()));
        assert!(message.starts_with("expose_words at "), "{message}");
    }
    let (_, message) = failure(2, |node| Ok(node.expose_words(5 + node.rank()).is_some()));
    assert!(message.contains("words, but node ") && message.contains(" asks for "), "{message}");
}

#[test]
fn a_destructor_that_meets_while_its_node_panics_hangs_nobody() {
    struct Meets<'a>(&'a mut Node);
    impl Drop for Meets<'_> {
        fn drop(&mut self) {
            self.0.barrier();
        }
    }
    let found = failure(3, |node| -> Result<(), Error> {
        let rank = node.rank();
        let meets = Meets(node);
        if rank == 2 {
            std::panic::resume_unwind(Box::new("in between"));
        }
        go_on(meets.0)
    });
    assert_eq!(found, (2, "panicked: in between".to_owned()));
}

/// A destructor that unwinds again would abort the process.
#[test]
fn any_operation_in_a_destructor_of_a_node_that_panics_does_nothing() {
    use strata_runtime::patterns::{self, Schedule};
    struct Last<'a>(&'a mut Node, fn(&mut Node));
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            (self.1)(self.0);
        }
    }
    let last_deeds: [fn(&mut Node); 17] = [
        |node| {
            let handlers = node.handlers();
            node.install(handlers);
        },
        Node::uninstall,
        |node| drop(patterns::cyclic_shift(node, 1, &[1u64; 100], Block::default())),
        |node| patterns::hypercube(node, &mut [1u64; 100], |_, _, _| ()),
        |node| drop(patterns::all_to_all(node, &[1u64; 60], Block::default(), Schedule::Free)),
        |node| drop(patterns::all_to_all(node, &[1u64; 60], Block::default(), Schedule::Library)),
        |node| drop(patterns::unknown_targets(node, &[(0, &[1u64; 10])])),
        |node| node.wait_until(|| false),
        |node| {
            node.poll();
        },
        |node| {
            node.reduce_add(1);
        },
        |node| {
            let pending = node.start_barrier();
            node.complete(pending);
        },
        |node| {
            node.async_or();
        },
        |node| {
            let pending = node.start_reduce(Op::Add, 1u32);
            node.complete(pending);
        },
        |node| {
            let pending = node.start_scan(Op::Add, 1f32);
            node.complete(pending);
        },
        |node| {
            let pending = node.start_broadcast(0, 1i32);
            node.complete(pending);
        },
        |node| drop(node.share_words(3)),
        |node| drop(node.expose_words(3)),
    ];
    for (number, last_deed) in last_deeds.into_iter().enumerate() {
        for culprit in 0..3 {
            let found = failure(3, |node| -> Result<(), Error> {
                let rank = node.rank();
                let handlers = node.handlers();
                node.install(handlers);
                let last = Last(node, last_deed);
                if rank == culprit {
                    std::panic::resume_unwind(Box::new("in between"));
                }
                // Ended by the other's failure, this node unwinds too.
                go_on(last.0)
            });
            assert_eq!(found, (culprit, "panicked: in between".to_owned()), "{number}");
        }
    }
}

#[test]
fn a_node_that_catches_the_end_of_the_job_does_not_get_on() {
    for nodes in [2, 5] {
        let (rank, message) = failure(nodes, |node| -> Result<(), Error> {
            if node.rank() == 0 {
                return Err("enough".into());
            }
            for _ in 0..100 {
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| node.reduce_add(1u64)));
                assert!(caught.is_err());
            }
            Ok(())
        });
        assert_eq!((rank, message.as_str()), (0, "enough"));
    }
}

#[test]
fn values_local_to_a_node_are_dropped_when_its_program_ends() {
    use std::sync::Arc;
    let shared = Arc::new(());
    let held = shared.clone();
    let run = Machine::threads(3).unwrap().run(move |node| {
        *node.local::<Option<Arc<()>>>() = Some(held.clone());
        Ok(Arc::strong_count(&held) > 1)
    });
    assert_eq!(run.unwrap(), [true; 3]);
    assert_eq!(Arc::strong_count(&shared), 1);
}
