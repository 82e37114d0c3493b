//! What only simulated machines do: the same again, deadlocks told; `suite.rs` has the laws of every
//! transport.

use crate::oracle;
use crate::simulated::{PLATFORMS, changed, failure, sim};
use std::cell::Cell;
use std::rc::Rc;
use strata_runtime::prelude::*;
use strata_runtime::simulation::{Simulated, SimulatedMachine};

/// The smallest queues there can be: everything has to go through them, one packet at a time.
#[test]
fn messages_larger_than_every_queue_arrive() {
    for platform in ["cm5", "paragon", "ipsc860"] {
        let keys = ["send_queue_packets", "receive_queue_packets", "buffer_packets"].map(|key| (key, "1"));
        let narrow = changed(platform, &[keys[0], keys[1], keys[2], ("packet_bytes", "8")]);
        for nodes in [2, 4] {
            let run = Machine::sim(&narrow, nodes).unwrap().run(|node| {
                oracle::everything(node, 3, 513);
                let mail = oracle::messages::Mail::new(node);
                (0..8).for_each(|seed| mail.schedule(node, seed));
                Ok(())
            });
            run.unwrap();
        }
    }
}

/// Parts of the last message may have no room yet when a library has sent all, and its node goes on
/// to a collective in which it receives nothing, or ends.
#[test]
fn what_is_left_of_a_message_leaves_before_a_library_ends() {
    let one = ["send_queue_packets", "receive_queue_packets", "buffer_packets"].map(|key| (key, "1"));
    for then in [Node::barrier, |_: &mut Node| ()] {
        let run = Machine::sim(&changed("cm5", &one), 2).unwrap().run(|node| {
            let arrived = Rc::new(Cell::new(0));
            let mut handlers = node.handlers();
            let count = Rc::clone(&arrived);
            let take = handlers.request(move |_, _: [u64; 8]| count.set(count.get() + 1));
            node.receiving_by(handlers, |node| {
                node.barrier();
                if node.rank() == 0 {
                    node.send(1, take, [7; 8]);
                } else {
                    node.wait_until(|| arrived.get() == 1);
                }
            });
            then(node);
            Ok(())
        });
        run.unwrap();
    }
}

/// A program with something of everything.
fn something(node: &mut Node) -> Result<u64, Error> {
    oracle::everything(node, 5, 33);
    let mail = oracle::messages::Mail::new(node);
    mail.schedule(node, 3);
    node.compute(1000.0 * node.rank() as f64, || ());
    Ok(node.now().get().to_bits())
}

fn essence(run: Simulated<u64>) -> (Vec<u64>, Vec<strata_runtime::simulation::Time>, u64, u64) {
    (run.results, run.times, run.hash, run.steps)
}

#[test]
fn a_simulation_is_the_same_to_the_bit_each_time() {
    for platform in PLATFORMS {
        let first = essence(sim(platform, 5).run(something).unwrap());
        let second = essence(sim(platform, 5).run(something).unwrap());
        assert_eq!(first, second, "{platform}");
    }
    drawn_from_the_seed(16);
}

#[test]
#[ignore = "takes ten seconds"]
fn long_random_draws_are_those_of_the_seed() {
    drawn_from_the_seed(64);
}

/// What is drawn at random is drawn from the seed.
fn drawn_from_the_seed(nodes: usize) {
    let hash = |seed| sim("cm5", nodes).seed(seed).run(something).unwrap().hash;
    let first = hash(3);
    assert_eq!(first, hash(3));
    assert_ne!(first, hash(4));
}

/// Known by their hash: builds and hosts that differ must not differ here.
#[test]
fn all_builds_and_hosts_go_the_same_way() {
    let run = sim("cm5", 16).run(|node| {
        let sum = node.reduce_add(node.rank() as u64);
        let blocks = (0..node.size()).map(|to| Block::from_slice(&[(to as u64) + sum; 9])).collect();
        Ok(node.all_to_all_v(blocks).len())
    });
    let run = run.unwrap();
    insta::assert_snapshot!(format!("{} {:016x} {} steps", run.time(), run.hash, run.steps));
}

/// A node may go to sleep in a barrier at the moment when the last one comes.
#[test]
fn barriers_between_blocks_end() {
    for seed in 1..=10 {
        let run = sim("cm5", 64).seed(seed).run(|node| {
            node.install(node.handlers());
            node.open_port(1, Block::<u8>::zeroed(128));
            node.expect::<u8>(1, 128 * 64);
            node.barrier();
            for round in 0..64 {
                for (index, packet) in [1u8; 128].chunks(16).enumerate() {
                    node.put((node.rank() + round) % 64, 1, 16 * index, packet);
                    if node.poll_once() == 0 {
                        node.compute(0.0, || ());
                    }
                }
                if seed % 2 == 0 {
                    node.barrier();
                }
            }
            node.wait_for_port(1);
            let _ = node.now();
            node.barrier();
            Ok(())
        });
        run.unwrap();
    }
}

#[test]
fn a_deadlock_is_found_and_explained() {
    let (rank, message) = failure(&sim("alewife", 5), |node| {
        node.install(node.handlers());
        match node.rank() {
            1 => node.wait_until(|| false),
            4 => {}
            _ => node.barrier(),
        }
        Ok(())
    });
    assert_eq!(rank, Some(0));
    assert!(message.contains("deadlock at "), "{message}");
    assert!(message.contains("nodes 0, 2-3 wait in barrier at "), "{message}");
    assert!(message.contains("node 1 waits in wait_until at "), "{message}");
    assert!(message.contains("node 4 waits for the others to end"), "{message}");
}

#[test]
fn a_program_that_never_ends_is_ended() {
    type Loop = fn(&mut Node);
    let loops: [Loop; 5] = [
        |node| {
            while node.now().get() < 1e9 {
                let _ = node.poll();
            }
        },
        |node| while node.poll_one(strata_runtime::Network::Reply) == 0 {},
        |node| loop {
            let _ = node.async_or();
        },
        |node| loop {
            node.send(
                0,
                {
                    let mut list = node.handlers();
                    list.request(|_, _: u64| ())
                },
                1u64,
            )
        },
        |node| loop {
            node.barrier()
        },
    ];
    for endless in loops {
        let (_, message) = failure(&sim("cm5", 3).steps(100_000), |node| {
            node.install(node.handlers());
            endless(node);
            Ok(())
        });
        let ended = message.contains("stopped after 100000 steps") || message.contains("is not installed");
        assert!(ended && !message.contains("deadlock"), "{message}");
    }
}

#[test]
fn a_loop_that_only_looks_at_the_clock_ends() {
    let run = sim("cm5", 2).run(|node| {
        let until = node.now().get() + 1e-6;
        while node.now().get() < until {}
        Ok(())
    });
    assert!(run.unwrap().time().seconds() >= 1e-6);
}

#[test]
fn impossible_numbers_of_nodes_are_refused() {
    for platform in PLATFORMS {
        let found = SimulatedMachine::find(platform).unwrap();
        assert!(Machine::sim(&found, 0).is_err(), "{platform}");
        assert_eq!(sim(platform, 1).run(|node| Ok(node.reduce_add(3))).unwrap().results, [3]);
    }
}

#[test]
fn a_port_that_is_not_open_is_named() {
    for (platform, bytes) in PLATFORMS.into_iter().flat_map(|platform| [(platform, 1), (platform, 100)]) {
        let (rank, message) = failure(&sim(platform, 2), |node| {
            node.install(node.handlers());
            if node.rank() == 0 {
                node.put(1, 7, 0, &vec![1u8; bytes]);
            }
            // Node 1 has no port at all, and never asks for what comes in one.
            node.wait_until(|| false);
            Ok(())
        });
        assert_eq!(rank, Some(0), "{platform}: {message}");
        assert!(message.contains("port 7 of node 1") && message.contains("is not open"), "{message}");
    }
}

#[test]
fn a_stack_that_overflows_is_told() {
    fn deep(n: u64) -> u64 {
        let array = std::hint::black_box([n; 512]);
        if n == 0 { array[3] } else { deep(n - 1) + array[5] }
    }
    let (rank, message) = failure(&sim("cm5", 2), |_| Ok(deep(1000)));
    assert!(rank.is_none() && message.contains("needs more than its stack of 1024 KiB"), "{message}");
}

/// What comes after a port was closed is told, whether it was under way then or had come already.
#[test]
fn a_port_that_was_closed_too_early_is_named() {
    for cycles in [0.0, 1e6] {
        let (_, message) = failure(&sim("cm5", 2), |node| {
            node.install(node.handlers());
            node.open_port(7, Block::<u8>::zeroed(8));
            node.barrier();
            if node.rank() == 0 {
                node.put(1, 7, 0, &[1u8; 8]);
            } else {
                node.compute(cycles, || ());
            }
            node.close_port::<u8>(7);
            node.wait_until(|| false);
            Ok(())
        });
        assert!(message.contains("port 7 of node 1") && message.contains("is not open"), "{message}");
    }
}

/// Nodes have stacks that the parser's library does not know.
#[test]
fn nodes_can_read_expressions() {
    for nodes in [1, 8] {
        let run = sim("cm5", nodes).run(|node| {
            let deep = format!("{}n{}", "(".repeat(50), ")".repeat(50));
            for text in ["n*log2(n)+max(0,n-512)", &deep] {
                text.parse::<strata_model::Expr>()
                    .map_err(|error| Error::program(format!("{text}: {error}")))?;
            }
            Ok(node.rank())
        });
        assert_eq!(run.unwrap().results.len(), nodes);
    }
}

#[test]
fn traces_and_logs_show_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let development =
        strata_runtime::develop::Development::default().trace(folder.path()).log(folder.path().join("log"));
    let run = sim("cm5", 3).run_with(&development, |node| {
        node.compute(33e3, || ());
        node.barrier();
        Ok(())
    });
    let end = run.unwrap().time().seconds();
    assert!((1e-3..2e-3).contains(&end), "{end}");
    let logs: String = (0..3)
        .map(|rank| {
            let files = std::fs::read_dir(folder.path().join("log")).unwrap();
            let path = files
                .map(|file| file.unwrap().path())
                .find(|path| path.to_string_lossy().contains(&rank.to_string()));
            std::fs::read_to_string(path.unwrap()).unwrap()
        })
        .collect();
    assert!(logs.contains("barrier"), "{logs}");
}
