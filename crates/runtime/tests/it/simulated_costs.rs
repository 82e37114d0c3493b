//! What things cost on simulated machines: polls, work, kernels, and skeletons, which cost the same
//! and compute nothing.

#[expect(unreachable_pub, reason = "a module of another crate")]
#[path = "../../../profile/src/kernels.rs"]
mod kernels;
use crate::simulated::{PLATFORMS, changed, failure, sim};
use strata_model::ModelSet;
use strata_model::Seconds;
use strata_model::set::{Input, Model, Term};
use strata_runtime::{Computing, Network, node::Pacing, prelude::*};

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

/// Figure 6-6 of Brewer 1994: a call that combines values has a cost of its own, others have not.
#[test]
fn a_call_that_combines_has_its_cost() {
    let times = |cycles: &str| {
        let alewife = changed("alewife", &[("combine_call_cycles", cycles)]);
        let run = Machine::sim(&alewife, 5).unwrap().run(|node| {
            let start = node.now().get();
            node.barrier();
            let middle = node.now().get();
            node.inclusive_scan(Op::Max, 1u64);
            Ok((middle - start, node.now().get() - middle))
        });
        run.unwrap().results
    };
    let (cheap, dear) = (times("0"), times("1000"));
    for ((barrier, scan), (same, dearer)) in cheap.into_iter().zip(dear) {
        assert_eq!(barrier, same);
        assert!((29e-6..32e-6).contains(&(dearer - scan)), "1000 cycles: {} s", dearer - scan);
    }
}

/// Section 3.4.1 of Brewer 1994: an interrupt of 1000 cycles every sixtieth of a second, also of
/// nodes that wait; and the first table of section 3.4.2: what stands in the network lengthens
/// times.
#[test]
fn disturbed_nodes_are_interrupted() {
    let of = |simulation: &strata_runtime::simulation::Simulation| {
        simulation
            .run(|node| {
                let start = node.now();
                if node.rank() == 0 {
                    node.compute(3.3e6, || ());
                }
                node.barrier();
                Ok(node.now().get() - start.get())
            })
            .unwrap()
    };
    let (calm, disturbed) = (of(&sim("cm5", 4)), of(&sim("cm5", 4).disturbed(true)));
    assert_eq!(calm.dilation, 1.0);
    for (calm, disturbed) in calm.results.iter().zip(&disturbed.results) {
        let cycles = (disturbed - calm) * 33e6;
        assert!((5900.0..7100.0).contains(&cycles), "{cycles}");
    }
    assert_eq!(disturbed.dilation, 1.0, "the network was empty");
    let again = of(&sim("cm5", 4).disturbed(true));
    assert_eq!((disturbed.times, disturbed.hash), (again.times, again.hash));
    // Platforms without interrupts have none.
    let paragon = of(&sim("paragon", 4).disturbed(true));
    assert_eq!(paragon.times, of(&sim("paragon", 4)).times);
    let full = sim("cm5", 2).disturbed(true).run(|node| {
        node.install(node.handlers());
        node.open_port(1, Block::<u8>::zeroed(1 << 16));
        node.expect::<u8>(1, 1 << 16);
        node.barrier();
        node.put(1 - node.rank(), 1, 0, &vec![1u8; 1 << 16]);
        node.wait_for_port(1);
        Ok(())
    });
    let full = full.unwrap();
    assert!(
        full.network.standing > 1.0 && full.dilation > 1.001,
        "{} {}",
        full.network.standing,
        full.dilation
    );
}

#[test]
fn a_kernel_may_have_a_factor_of_its_own() {
    let seconds = |kernel: &'static str| {
        let run = sim("cm5", 1).run(|node| {
            node.compute(Work::Kernel(kernel, &[40_000.0]), || ());
            Ok(node.now().get())
        });
        run.unwrap().results[0]
    };
    // Figure 6-6: 1.005 cycles a word of 4 bytes; the factor of other kernels makes it 0.12.
    let cycles = seconds("Clear") * 33e6;
    assert!((cycles / 10_000.0 - 1.005).abs() < 0.15, "{cycles}");
}

#[test]
fn a_kernel_costs_what_its_model_says_times_the_factor() {
    let seconds = |kernel_factor: &str| {
        let platform = changed("ethernet-25g", &[("kernel_factor", kernel_factor)]);
        let run = Machine::sim(&platform, 2).unwrap().run(|node| {
            let start = node.now();
            assert_eq!(node.compute(Work::Kernel("Copy", &[65536.0]), || 5), 5, "it runs");
            Ok(node.now().get() - start.get())
        });
        run.unwrap().results
    };
    let (one, ten) = (seconds("1"), seconds("10"));
    // A look at the clock takes a cycle.
    let cycle = 1.0 / 3e9;
    assert!((one[0] - one[1]).abs() < 1e-11 && one[0] - cycle > 1e-7, "{one:?}");
    assert!(((ten[0] - cycle) / (one[0] - cycle) - 10.0).abs() < 1e-3, "{one:?} {ten:?}");
}

#[test]
fn a_kernel_may_take_cycles_whatever_its_model_says() {
    let cycles = |cost, kernel: &str, inputs: &[f64]| {
        let run = Machine::sim(&changed("cm5", &[("Pack", cost)]), 1).unwrap().run(|node| {
            let start = node.now();
            node.compute(Work::Kernel(kernel, inputs), || ());
            Ok(node.now().get() - start.get())
        });
        run.unwrap().results[0] * 33e6
    };
    for (cost, count, expected) in [("[100, 0.5]", 4096.0, 2148.0), ("[0, 2]", 65_536.0, 131_072.0)] {
        for kernel in ["Pack", "mine.Pack"] {
            let taken = cycles(cost, kernel, &[count, 9.0]);
            assert!((taken - expected).abs() < 2.0, "{cost}, {kernel}: {taken}");
        }
    }
    // The file gives the stencils' copies a time of their own; others' have that of the model.
    let [own, plain] = ["stencil.Copy", "Copy"].map(|kernel| cycles("[0, 2]", kernel, &[65_536.0]));
    assert!((own - (655.0 + 7.11 * 65_536.0)).abs() < 2.0 && plain < 0.1 * own, "{own} {plain}");
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
        message.contains("`Fold`") && message.contains(all) && message.contains("simulated_costs.rs:"),
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
        nodes: strata_model::set::Nodes::known(1),
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

/// Red-black over-relaxation of `width` by `height` points a node, on a square of nodes: halves of
/// the rows and columns at the edges go to the neighbours after each colour. Answers the sum of the
/// grid.
fn stencil(node: &mut Node, width: usize, height: usize, iterations: usize) -> Result<f64, Error> {
    let side = node.size().isqrt();
    let (x, y) = (node.rank() % side, node.rank() / side);
    let row = width + 2;
    let mut grid = node.block::<f64>(row * (height + 2));
    grid.iter_mut().enumerate().for_each(|(i, value)| *value = (i % 7) as f64);
    // Port, neighbour, elements, the first that is sent and the first that is received, and the
    // stride of both.
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

/// Cycles of the CM-5 that `program` takes on node 1, whose port 1 has got `packets` packets from
/// node 0 by then, in turn by both networks.
fn cycles(packets: usize, program: impl Fn(&mut Node) -> usize + Sync) -> f64 {
    let run = sim("cm5", 2).run(|node| {
        node.install(node.handlers());
        node.open_port(1, Block::<u8>::zeroed(64));
        node.barrier();
        if node.rank() == 0 {
            (0..packets).for_each(|index| node.put(1, 1, 16 * index, &[1u8; 16]));
            node.compute(100_000.0, || ());
            return Ok(0.0);
        }
        node.compute(10_000.0, || ());
        let start = node.now().get();
        program(node);
        // Looking at the clock takes a cycle.
        Ok((node.now().get() - start) * 33e6 - 1.0)
    });
    run.expect("it ends").results[1].round()
}

/// Brewer 1994, section 6.1.3: 62 cycles to take a packet in, ten to look in vain, which is at one
/// network.
#[test]
fn a_look_is_at_one_network() {
    let both = |node: &mut Node| node.poll_once();
    let request = |node: &mut Node| node.poll_one(Network::Request);
    let reply = |node: &mut Node| node.poll_one(Network::Reply);
    let all = |node: &mut Node| node.poll();
    let all_requests = |node: &mut Node| node.poll_one_until_empty(Network::Request);
    assert_eq!([cycles(0, both), cycles(0, request), cycles(0, all)], [20.0, 10.0, 20.0]);
    // One packet, which came with the requests.
    assert_eq!([cycles(1, request), cycles(1, reply), cycles(1, both)], [62.0, 10.0, 72.0]);
    // Two of each.
    assert_eq!([cycles(4, request), cycles(4, reply), cycles(4, both)], [62.0, 62.0, 124.0]);
    assert_eq!([cycles(4, all_requests), cycles(4, all)], [134.0, 268.0]);
}

/// Section 6.1.3 and figure 7-5: with the delay nodes that send to each other take turns at every
/// packet; without, at whole bursts.
#[test]
fn a_shift_gains_by_bandwidth_matching() {
    const NODES: usize = 16;
    let seconds = |cycles: f64| Seconds::new(cycles / 33e6).unwrap();
    let time = |delay: f64, bytes: usize| {
        let run = sim("cm5", NODES).run(|node| {
            node.install(node.handlers());
            node.open_port(1, Block::<u8>::zeroed(bytes));
            node.expect::<u8>(1, bytes);
            node.set_pacing(Some(Pacing::matched(seconds(0.0), seconds(delay), 0)));
            node.barrier();
            // They do not begin in step.
            node.compute((17 * node.rank() % 50) as f64, || ());
            node.put((node.rank() + 4) % NODES, 1, 0, &vec![1u8; bytes]);
            node.wait_for_port(1);
            Ok(())
        });
        run.unwrap().time().seconds()
    };
    for bytes in [4096, 16_384] {
        let gain = time(0.1, bytes) / time(28.0, bytes);
        assert!((1.12..1.35).contains(&gain), "{bytes} bytes: {gain}");
    }
}
