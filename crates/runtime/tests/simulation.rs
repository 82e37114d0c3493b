//! Simulated machines against the same oracles as threads, and what only they do: the same again, deadlocks told.

mod oracle;

use proptest::prelude::*;
use strata_model::ModelSet;
use strata_model::set::{Input, Model, Term};
use strata_runtime::simulation::{Platform, Simulated, Simulation};
use strata_runtime::{Computing, kernels, prelude::*};

const PLATFORMS: [&str; 8] =
    ["cm5", "alewife", "paragon", "atm", "iwarp", "ipsc860", "ethernet-25g", "infiniband-fat-tree"];

/// As many nodes of a platform, or as it can have from there on.
fn sim(platform: &str, nodes: usize) -> Simulation {
    let nodes = if platform == "ipsc860" { nodes.next_power_of_two() } else { nodes };
    let platform = Platform::find(platform).expect("a built-in platform");
    Machine::sim(&platform, nodes).expect("a number of nodes that fits")
}

/// A platform with other values for some of its keys.
fn changed(platform: &str, keys: &[(&str, &str)]) -> Platform {
    let path = format!("{}/../../platforms/{platform}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(path).expect("a platform file");
    for (key, value) in keys {
        let is_key = |line: &str| line.split('=').next().is_some_and(|found| found.trim() == *key);
        assert!(text.lines().any(is_key), "{platform} has no {key}");
        let line = format!("{key} = {value}");
        let lines: Vec<&str> = text.lines().map(|found| if is_key(found) { &line } else { found }).collect();
        text = lines.join("\n");
    }
    Platform::parse("changed", text.as_bytes()).expect("a platform")
}

fn failure<T: Send>(
    simulation: &Simulation,
    program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
) -> (Option<usize>, String) {
    match simulation.run(program) {
        Ok(_) => panic!("it did not fail"),
        Err(error) => (error.rank(), error.to_string()),
    }
}

#[test]
fn every_operation_agrees_with_the_oracle() {
    for platform in PLATFORMS {
        for nodes in [1, 2, 3, 5, 8] {
            let run = sim(platform, nodes).run(|node| {
                for (seed, length) in [0, 1, 28, 55].into_iter().enumerate() {
                    oracle::everything(node, seed as u64, length);
                }
                Ok(())
            });
            assert!(run.unwrap().results.len() >= nodes, "{platform}");
        }
    }
    sim("cm5", 64)
        .run(|node| {
            oracle::everything(node, 7, 28);
            Ok(())
        })
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_sequence_of_operations_agrees_with_the_oracle(
        nodes in 1usize..=9,
        platform in prop::sample::select(&PLATFORMS[..]),
        steps in prop::collection::vec((any::<u8>(), any::<u64>(), 0usize..200), 1..8),
    ) {
        sim(platform, nodes).run(|node| {
            for (what, seed, length) in &steps {
                oracle::step(node, *what, *seed, *length);
            }
            Ok(())
        }).unwrap();
    }
}

/// The programs that the other transports are tried with: mixed sends, collectives, polls and delays.
#[test]
fn no_random_program_deadlocks_or_loses_a_message() {
    let nodes = [2, 3, 1, 5, 2, 8, 4, 13];
    for job in 0..24 {
        let run = sim(PLATFORMS[job % PLATFORMS.len()], nodes[(job / 3) % nodes.len()]).run(|node| {
            let mail = oracle::messages::Mail::new(node);
            for seed in job * 4..(job + 1) * 4 {
                mail.schedule(node, seed as u64);
            }
            node.uninstall();
            assert_eq!(node.reduce_add(1), node.size() as i32);
            Ok(())
        });
        run.unwrap();
    }
}

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
    // What is drawn at random is drawn from the seed.
    let hash = |seed| sim("cm5", 64).seed(seed).run(something).unwrap().hash;
    assert_eq!(hash(3), hash(3));
    assert_ne!(hash(3), hash(4));
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
fn a_node_that_leaves_early_is_a_deadlock_too() {
    for nodes in [2, 3, 8] {
        let (_, message) = failure(&sim("cm5", nodes), |node| {
            if node.rank() > 0 {
                node.barrier();
            }
            Ok(())
        });
        assert!(
            message.contains("wait in barrier at ") || message.contains("waits in barrier at "),
            "{message}"
        );
        assert!(message.contains("1 node has ended"), "{message}");
    }
}

#[test]
fn different_collectives_are_a_failure() {
    for platform in ["cm5", "paragon"] {
        let (rank, message) = failure(&sim(platform, 3), |node| {
            if node.rank() == 2 {
                node.barrier()
            } else {
                let _ = node.reduce_add(1);
            }
            Ok(())
        });
        assert_eq!(rank, Some(2));
        assert!(message.contains("barrier at ") && message.contains("but node 0 called reduce"), "{message}");
    }
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
fn a_panic_on_one_node_ends_all() {
    let (rank, message) = failure(&sim("cm5", 64), |node| {
        node.barrier();
        assert!(node.rank() != 17, "on purpose");
        node.barrier();
        Ok(())
    });
    assert_eq!((rank, message.as_str()), (Some(17), "node 17: panicked: on purpose"));
}

#[test]
fn impossible_numbers_of_nodes_are_refused() {
    for platform in PLATFORMS {
        let found = Platform::find(platform).unwrap();
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

#[test]
fn long_puts_arrive_whole() {
    for platform in PLATFORMS {
        let run = sim(platform, 3).run(|node| {
            node.install(node.handlers());
            node.open_port(1, Block::<u32>::zeroed(10_000));
            node.expect::<u32>(1, 10_000);
            node.barrier();
            let to = (node.rank() + 1) % node.size();
            let values: Vec<u32> = (0..10_000).map(|i| i * 3 + node.rank() as u32).collect();
            node.put(to, 1, 0, &values);
            node.wait_for_port(1);
            node.barrier();
            Ok(node.close_port::<u32>(1).to_vec())
        });
        let results = run.unwrap().results;
        let nodes = results.len();
        for (rank, got) in results.into_iter().enumerate() {
            let from = (rank + nodes - 1) % nodes;
            assert!(
                got.iter().enumerate().all(|(i, value)| *value == i as u32 * 3 + from as u32),
                "{platform}"
            );
        }
    }
}

#[test]
fn work_takes_simulated_time() {
    let run = sim("cm5", 2).run(|node| {
        let start = node.now();
        node.compute(33e6, || ());
        Ok(node.now().get() - start.get())
    });
    for time in run.unwrap().results {
        // And a look at the clock.
        assert!((time - 1.0).abs() < 1e-7, "{time}");
    }
}

#[test]
fn a_kernel_costs_what_its_model_says_times_the_factor() {
    let seconds = |kernel_factor: &str| {
        let platform = changed("cm5", &[("kernel_factor", kernel_factor)]);
        let run = Machine::sim(&platform, 2).unwrap().run(|node| {
            let start = node.now();
            assert_eq!(node.compute(Work::Kernel("Copy", &[65536.0]), || 5), 5, "it runs");
            Ok(node.now().get() - start.get())
        });
        run.unwrap().results
    };
    let (one, ten) = (seconds("1"), seconds("10"));
    // A look at the clock takes a cycle.
    let cycle = 1.0 / 33e6;
    assert!((one[0] - one[1]).abs() < 1e-11 && one[0] - cycle > 1e-7, "{one:?}");
    assert!(((ten[0] - cycle) / (one[0] - cycle) - 10.0).abs() < 1e-3, "{one:?} {ten:?}");
}

#[test]
fn kernels_that_are_not_there_are_named_with_those_that_are() {
    let (rank, message) = failure(&sim("cm5", 2), |node| {
        if node.rank() == 1 {
            node.compute(Work::Kernel("Fold", &[1.0]), || ());
        }
        node.barrier();
        Ok(())
    });
    assert_eq!(rank, Some(1));
    let all = "BinarySearch, Clear, Copy, Histogram, LocalSort, Pack, Scatter, StencilSweep";
    assert!(
        message.contains("`Fold`") && message.contains(all) && message.contains("simulation.rs:"),
        "{message}"
    );
    let (_, message) = failure(&sim("cm5", 1), |node| {
        node.compute(Work::Kernel("Histogram", &[1.0]), || ());
        Ok(())
    });
    assert!(message.contains("kernel `Histogram` has 2 inputs (keys, bins), not 1"), "{message}");
    let (_, message) = failure(&sim("cm5", 1), |node| {
        node.compute(Work::Kernel("Clear", &[f64::INFINITY]), || ());
        Ok(())
    });
    assert!(message.contains("kernel `Clear`") && message.contains("inf"), "{message}");
}

/// `name` takes a microsecond for each of its `x`.
fn set_of(name: &str) -> ModelSet {
    let model = Model {
        name: name.to_owned(),
        inputs: vec![Input { name: "x".to_owned(), min: 1.0, max: 100.0, integer: true }],
        terms: vec![Term {
            term: "x".to_owned(),
            coefficient: 1e-6,
            std_error: 0.0,
            half_width: 0.0,
            relevant: true,
        }],
        nodes: 1,
        ..Model::default()
    };
    ModelSet { models: vec![model], ..ModelSet::default() }
}

#[test]
fn other_kernels_can_be_given() {
    let simulation = sim("ethernet-25g", 1).kernels(&set_of("Fold")).unwrap();
    let run = simulation.run(|node| {
        node.compute(Work::Kernel("Fold", &[1e6]), || ());
        Ok(())
    });
    assert!((run.unwrap().time().seconds() - 1.0).abs() < 1e-3);
    let (_, message) = failure(&simulation, |node| {
        node.compute(Work::Kernel("Copy", &[8.0]), || ());
        Ok(())
    });
    assert!(message.contains("`Copy`: there are Fold"), "{message}");
    let mut wrong = set_of("Fold");
    wrong.models[0].terms[0].term = "y".to_owned();
    let error = sim("cm5", 1).kernels(&wrong).unwrap_err().to_string();
    assert!(error.contains("model `Fold`") && error.contains('y'), "{error}");
}

#[test]
fn measured_work_takes_what_it_takes_here() {
    let simulation = sim("cm5", 2).computing(Computing::Measured);
    let run = simulation.run(|node| {
        let start = node.now();
        // No model is needed.
        let sum = node
            .compute(Work::Kernel("Fold", &[1.0]), || (0..200_000u64).map(std::hint::black_box).sum::<u64>());
        assert_eq!(sum, 200_000 * 199_999 / 2);
        let between = node.now().get();
        node.compute(33e6, || ());
        assert!((node.now().get() - between - 1.0).abs() < 1e-6, "cycles are as they are said");
        Ok(between - start.get())
    });
    assert!(run.unwrap().results.iter().all(|time| *time > 1e-6), "a hundred times this host's");
}

/// Red-black over-relaxation of `width` by `height` points a node, on a square of nodes: halves of the rows and columns at the
/// edges go to the neighbours after each colour. Answers the sum of the grid.
fn stencil(node: &mut Node, width: usize, height: usize, iterations: usize) -> Result<f64, Error> {
    let side = node.size().isqrt();
    let (x, y) = (node.rank() % side, node.rank() / side);
    let row = width + 2;
    let mut grid = node.block::<f64>(row * (height + 2));
    grid.iter_mut().enumerate().for_each(|(i, value)| *value = (i % 7) as f64);
    // Port, neighbour, elements, the first that is sent and the first that is received, and the stride of both.
    let sides = [
        (0, (y > 0).then(|| node.rank() - side), width, row + 1, 1, 1),
        (1, (y + 1 < side).then(|| node.rank() + side), width, row * height + 1, row * (height + 1) + 1, 1),
        (2, (x > 0).then(|| node.rank() - 1), height, row + 1, row, row),
        (3, (x + 1 < side).then(|| node.rank() + 1), height, row + width, row + width + 1, row),
    ];
    node.install(node.handlers());
    for colour in (0..2 * iterations).map(|step| step % 2) {
        let size = [width as f64, height as f64];
        node.compute(Work::Kernel("StencilSweep", &size), || {
            kernels::sweep(&mut grid, width, height, colour, 1.5)
        });
        for (port, neighbour, length, ..) in sides {
            if neighbour.is_some() {
                let memory = node.block::<f64>(length);
                node.open_port(port, memory);
                node.expect::<f64>(port, length);
            }
        }
        node.barrier();
        for (port, neighbour, length, sent, _, stride) in sides {
            let Some(to) = neighbour else { continue };
            let mut edge = node.block::<f64>(length);
            node.compute(Work::Kernel("Pack", &[length as f64, stride as f64]), || {
                kernels::pack(&grid[sent..], stride, &mut edge);
            });
            node.put_block(to, port ^ 1, 0, &edge);
        }
        for (port, neighbour, length, _, received, stride) in sides {
            if neighbour.is_none() {
                continue;
            }
            node.wait_for_port(port);
            let edge = node.close_port::<f64>(port);
            node.compute(Work::Kernel("Pack", &[length as f64, stride as f64]), || {
                grid[received..].iter_mut().step_by(stride).zip(&*edge).for_each(|(to, from)| *to = *from);
            });
        }
        node.barrier();
    }
    node.uninstall();
    Ok(grid.iter().sum())
}

#[test]
fn a_skeleton_takes_the_time_of_the_whole() {
    for platform in ["cm5", "paragon", "ethernet-25g"] {
        let whole = sim(platform, 16).run(|node| stencil(node, 33, 20, 4)).unwrap();
        let skeleton =
            sim(platform, 16).computing(Computing::Skeleton).run(|node| stencil(node, 33, 20, 4)).unwrap();
        assert_eq!(
            (whole.times, whole.hash, whole.steps),
            (skeleton.times, skeleton.hash, skeleton.steps),
            "{platform}"
        );
        assert!(whole.results.iter().all(|sum| *sum != 0.0) && skeleton.results == [0.0; 16], "{platform}");
    }
}

/// 5000 by 5000 points: 200 MB, of which a skeleton has none.
#[test]
fn a_skeleton_of_a_large_grid_is_cheap() {
    let simulation = sim("ethernet-25g", 64).computing(Computing::Skeleton);
    let run = || simulation.run(|node| stencil(node, 625, 625, 10)).unwrap();
    let (first, second) = (run(), run());
    assert_eq!((first.hash, &first.times), (second.hash, &second.times));
    assert!(first.time().seconds() > 20.0 * 195_312.0 * 1e-10, "{}", first.time());
}

/// What is sized and not there, in all that takes blocks.
#[test]
fn phantoms_cost_what_they_stand_for() {
    let program = |node: &mut Node| {
        let (rank, size) = (node.rank(), node.size());
        node.install(node.handlers());
        let blocks = (0..size).map(|to| node.block::<u32>(100 * to + rank)).collect();
        let blocks = node.all_to_all_v(blocks);
        let lengths: Vec<usize> = blocks.iter().map(Block::elements).collect();
        assert_eq!(lengths, (0..size).map(|from| 100 * rank + from).collect::<Vec<_>>());
        let memory = node.block::<u64>(3000);
        node.open_port(1, memory);
        node.expect::<u64>(1, 2000);
        node.barrier();
        let mut block = node.block::<u64>(2500);
        block.truncate(1000);
        let to = (rank + 1) % size;
        node.put_block(to, 1, 0, &block);
        let transfer = node.start_transfer(to, 1, 2000, block);
        assert_eq!(node.remaining(&transfer), 8000);
        assert_eq!(node.complete_transfer(transfer).elements(), 1000);
        node.wait_for_port(1);
        node.barrier();
        assert_eq!(node.close_port::<u64>(1).elements(), 3000);
        let values = node.block::<f64>(500);
        let sum = node.start_reduce(Op::Add, values);
        let values = node.complete(sum);
        let scan = node.start_scan(Op::Max, values);
        let values = node.complete(scan);
        let all = node.start_broadcast(0, values);
        assert_eq!(node.complete(all).elements(), 500);
        let bytes = node.block::<u16>(0).reuse::<u8>(10);
        assert_eq!((bytes.elements(), bytes.len()), (10, 10), "an empty block is none");
        Ok(node.block::<u16>(7).reuse::<u8>(10).len())
    };
    for platform in PLATFORMS {
        for nodes in [1, 2, 5] {
            let whole = sim(platform, nodes).run(program).unwrap();
            let skeleton = sim(platform, nodes).computing(Computing::Skeleton).run(program).unwrap();
            assert_eq!((whole.times, whole.hash), (skeleton.times, skeleton.hash), "{platform} {nodes}");
            assert!(
                whole.results.iter().all(|len| *len == 10) && skeleton.results.iter().all(|len| *len == 0)
            );
        }
    }
    // On real machines a block is a block.
    Machine::threads(2).unwrap().run(program).unwrap();
}

#[test]
fn phantoms_do_no_harm() {
    let skeleton = || sim("cm5", 2).computing(Computing::Skeleton);
    // Beyond the end of a port, as with real ones.
    let (_, message) = failure(&skeleton(), |node| {
        node.install(node.handlers());
        let memory = node.block::<u64>(10);
        node.open_port(1, memory);
        node.barrier();
        let block = node.block::<u64>(11);
        node.put_block(1 - node.rank(), 1, 0, &block);
        node.barrier();
        node.poll();
        node.barrier();
        Ok(())
    });
    assert!(message.contains("which has 80 bytes"), "{message}");
    // Mixed with real ones, and carried to a real machine, where they are empty.
    let mixed = skeleton().run(|node| {
        let real = Block::from_slice(&[1.0f64; 10]);
        let values = if node.rank() == 0 { real } else { node.block(10) };
        for operation in [Op::Add, Op::Max] {
            let started = node.start_reduce(operation, values.clone());
            node.complete(started);
            let started = node.start_scan(operation, values.clone());
            node.complete(started);
        }
        let started = node.start_broadcast(0, values.clone());
        node.complete(started);
        let started = node.start_broadcast(1, values.clone());
        Ok(node.complete(started))
    });
    let phantom = mixed.unwrap().results.remove(1);
    assert_eq!((phantom.len(), phantom.elements()), (0, 10));
    let run = Machine::threads(2).unwrap().run(|node| {
        node.install(node.handlers());
        node.open_port(1, phantom.clone());
        node.barrier();
        node.put_block(1 - node.rank(), 1, 0, &phantom);
        node.barrier();
        let blocks = node.all_to_all_v(vec![phantom.clone(), phantom.clone()]);
        node.close_port::<f64>(1);
        Ok(blocks.iter().map(|block| block.len()).sum::<usize>())
    });
    assert_eq!(run.unwrap(), [0, 0]);
}

#[test]
fn traces_and_logs_show_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let development =
        strata_runtime::Development::default().trace(folder.path()).log(folder.path().join("log"));
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
