//! Compares trees with sequential results, on nodes that are early and late.

use super::*;
use crate::Machine;
use crate::error::Error;
use crate::simulation::{SimulatedMachine, Simulation};

fn sim(platform: &str, nodes: usize) -> Simulation {
    Machine::sim(&SimulatedMachine::find(platform).unwrap(), nodes).unwrap()
}

/// The value of a node in a round, for each element of a vector.
fn value(rank: usize, round: usize, i: usize) -> u64 {
    (rank * 7 + round * 131 + i * 3) as u64
}

/// All operations in turn, between random waits; returns the most slots that were full.
fn all_operations(
    node: &mut Node,
    depth: usize,
    flow: Flow,
    words: usize,
    seed: u64,
) -> Result<usize, Error> {
    let trees = Trees::install(node, depth, flow);
    let (rank, size) = (node.rank(), node.size());
    let mut random = seed + rank as u64;
    for round in 0..12 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        node.compute((random >> 50) as f64, || ());
        let root = round * 5 % size;
        let mut values: Vec<u64> = (0..words).map(|i| value(rank, round, i)).collect();
        let sum = |last: usize, i| (0..=last).map(|rank| value(rank, round, i)).sum::<u64>();
        let expected: Vec<u64> = match round % 4 {
            0 => {
                trees.broadcast(node, root, &mut values);
                (0..words).map(|i| value(root, round, i)).collect()
            }
            1 => {
                trees.reduce_to_first(node, Op::Add, &mut values);
                (0..words).map(|i| if rank == 0 { sum(size - 1, i) } else { value(rank, round, i) }).collect()
            }
            2 => {
                trees.reduce(node, Op::Max, &mut values);
                (0..words).map(|i| value(size - 1, round, i)).collect()
            }
            _ => {
                trees.inclusive_scan(node, Op::Add, &mut values);
                (0..words).map(|i| sum(rank, i)).collect()
            }
        };
        assert_eq!(values, expected, "round {round}, node {rank} of {size}");
    }
    node.uninstall();
    Ok(trees.edges.most())
}

/// Nothing is overwritten: an arrival at full slots would end the job.
#[test]
fn nothing_is_overwritten_on_1_to_33_nodes() {
    for nodes in 1..=33 {
        for (depth, flow) in [(1, Flow::Dataflow), (3, Flow::Dataflow), (1, Flow::Barriers)] {
            for words in [1, 40] {
                let run = sim("paragon", nodes)
                    .run(|node| all_operations(node, depth, flow, words, (nodes * words) as u64));
                let most = run.unwrap().results;
                assert!(most.iter().all(|most| *most <= depth), "{nodes} nodes: {most:?}");
            }
        }
    }
}

#[test]
fn trees_run_on_threads_and_on_networks_that_reorder() {
    for nodes in [1, 2, 3, 5, 8] {
        Machine::threads(nodes).unwrap().run(|node| all_operations(node, 2, Flow::Dataflow, 17, 1)).unwrap();
        sim("cm5", nodes).run(|node| all_operations(node, 4, Flow::Dataflow, 17, 2)).unwrap();
    }
}

/// Values follow each other as far as there are slots: while the last node takes none, each edge on
/// the path to it is full, and each node on the path holds one more value.
#[test]
fn a_broadcast_runs_ahead_by_the_depth_of_every_edge() {
    for (nodes, depth) in [(2, 1), (8, 1), (8, 3), (33, 2)] {
        let last = nodes - 1;
        let run = sim("paragon", nodes).run(|node| {
            let trees = Trees::install(node, depth, Flow::Dataflow);
            if node.rank() == last {
                // Three seconds.
                node.compute(1e8, || ());
            }
            let mut ahead = 0;
            for i in 0..20 * depth as u64 {
                trees.broadcast(node, 0, &mut [i]);
                ahead += usize::from(node.now().get() < 3.0);
            }
            node.uninstall();
            Ok((ahead, trees.edges.most()))
        });
        let results = run.unwrap().results;
        let edges = std::iter::successors(Some(last), |rank| Place::of(*rank, nodes).parent).count() - 1;
        let (ahead, most) = (results[0].0, edges * depth + edges - 1);
        // Credits come back for half of the slots at once.
        let least = if depth == 1 { most } else { edges * (depth / 2 + 1) };
        assert!((least..=most).contains(&ahead), "{nodes} nodes: {ahead}, not {least} to {most}");
        assert_eq!(results.iter().map(|(_, most)| *most).max(), Some(depth));
    }
}

/// Without waiting for credits the slots overflow, and the job ends.
#[test]
fn a_sender_without_credits_is_found() {
    let failed = sim("paragon", 2).run(|node| {
        let trees = Trees::install(node, 2, Flow::Barriers);
        if node.rank() == 0 {
            let call = Call::moving(Action::Broadcast, 8, 0, 1, Location::caller());
            (0..3).for_each(|_| trees.send(node, &call, Lane::Broadcast, 1, &[0; 8]));
        }
        node.barrier();
        node.uninstall();
        Ok(())
    });
    let message = failed.map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("would overwrite"), "{message}");
}

#[test]
fn other_calls_and_bitwise_operations_on_floats_are_named() {
    let failed = Machine::threads(2).unwrap().run(|node| {
        let trees = Trees::install(node, 2, Flow::Dataflow);
        match node.rank() {
            0 => trees.broadcast(node, 0, &mut [1u64, 2]),
            _ => trees.broadcast(node, 0, &mut [1u64]),
        }
        node.barrier();
        Ok(())
    });
    let message = failed.unwrap_err().to_string();
    assert!(message.contains("node 0 makes another call through trees"), "{message}");
    let failed = Machine::threads(1).unwrap().run(|node| {
        let trees = Trees::install(node, 2, Flow::Dataflow);
        trees.reduce(node, Op::Xor, &mut [1.0]);
        Ok(())
    });
    assert!(failed.unwrap_err().to_string().contains("bitwise operations are for integers"));
}

/// The microseconds of an operation of a stream: broadcast, reduction to node 0, scan.
fn micros(platform: &str, nodes: usize, depth: usize, flow: Flow) -> [f64; 3] {
    const TIMES: u64 = 200;
    let run = sim(platform, nodes).run(|node| {
        let trees = Trees::install(node, depth, flow);
        let mut times = [0.0; 3];
        for (i, time) in times.iter_mut().enumerate() {
            node.barrier();
            let start = node.now().get();
            for round in 0..TIMES {
                match i {
                    0 => trees.broadcast(node, 0, &mut [round]),
                    1 => trees.reduce_to_first(node, Op::Add, &mut [round]),
                    _ => trees.inclusive_scan(node, Op::Add, &mut [round]),
                }
            }
            node.barrier();
            *time = 1e6 * (node.now().get() - start) / TIMES as f64;
        }
        node.uninstall();
        Ok(times)
    });
    run.unwrap().results[0]
}

const NAMES: [&str; 3] = ["broadcast", "reduce_to_first", "inclusive_scan"];

/// Prints what was reached, and fails unless exactly the operation `missed` is outside the range.
fn judge(name: &str, ours: f64, range: std::ops::RangeInclusive<f64>, missed: &str) {
    let inside = range.contains(&ours);
    println!("{name}: {ours:.2}, to reach {range:?}{}", if inside { "" } else { ": missed" });
    assert_eq!(inside, name != missed, "{name}: {ours}, to reach {range:?}");
}

/// Luna's Table 10: on 8 nodes of a Paragon data-flow, which pipelines as many operations as the
/// tree has levels, was 2.0 to 3.5 times as fast as barriers. **Missed** by the scan, which is 1.6
/// times as fast: it has two phases, and Luna's had one more barrier than ours.
#[test]
fn on_a_paragon_dataflow_is_faster_than_barriers_by_what_was_measured() {
    let (dataflow, barriers) =
        (micros("paragon", 8, 3, Flow::Dataflow), micros("paragon", 8, 3, Flow::Barriers));
    let measured = [(1597.0, 453.0), (951.0, 486.0), (2039.0, 661.0)];
    for (i, there) in measured.into_iter().enumerate() {
        let (name, dataflow, barriers, there) = (NAMES[i], dataflow[i], barriers[i], there.0 / there.1);
        println!("{name}: {dataflow:.1} µs, with barriers {barriers:.1} µs; ratio there {there:.1}");
        judge(name, barriers / dataflow, 2.0..=3.5, "inclusive_scan");
    }
}

/// Luna's Tables 8 and 9: the same by active messages of a CM-5, with its barriers; from 4 to 64
/// nodes, times grew by 2.7 to 2.9, and 2.5 to 3.2 were to be reached. **Missed** by the scan, 3.21.
#[test]
fn on_a_cm5_collectives_grow_as_was_measured() {
    let [four, all] = [4, 64].map(|nodes| micros("cm5", nodes, 1, Flow::Barriers));
    let measured = [(25.2, 68.3), (22.3, 65.3), (48.1, 134.1)];
    for (i, there) in measured.into_iter().enumerate() {
        println!("{}: {:.1} and {:.1} µs, there {there:?}", NAMES[i], four[i], all[i]);
        judge(NAMES[i], all[i] / four[i], 2.5..=3.2, "inclusive_scan");
    }
}

/// The method chosen by models takes at most a tenth longer than the faster of the two.
#[test]
fn streams_go_by_trees_where_that_is_faster() {
    let time = |platform: &str, nodes, words, pin: Option<&'static str>| {
        let run = sim(platform, nodes).run(|node| {
            let streams = match pin {
                None => Streams::choose(node, words)?,
                Some("transport") => Streams::of([None, None, None]),
                Some(_) => Streams::of([(); 3].map(|()| Some(Trees::install(node, 16, Flow::Dataflow)))),
            };
            let mut values = vec![node.rank() as u64; words];
            node.barrier();
            let start = node.now().get();
            (0..16).for_each(|_| streams.reduce_to_first(node, Op::Max, &mut values));
            node.barrier();
            let time = node.now().get() - start;
            (0..16).for_each(|_| streams.inclusive_scan(node, Op::Max, &mut values));
            streams.broadcast(node, 0, &mut values);
            assert!(values.iter().all(|value| *value < nodes as u64));
            Ok((time, streams.by_trees()[1]))
        });
        run.unwrap().results[0]
    };
    for (platform, trees) in [("paragon", true), ("cm5", false)] {
        for (nodes, words) in [(4, 1), (8, 1), (8, 40), (16, 100)] {
            let (chosen, by_trees) = time(platform, nodes, words, None);
            let transport = time(platform, nodes, words, Some("transport")).0;
            let by_16 = time(platform, nodes, words, Some("trees")).0;
            println!("{platform} {nodes} {words}: {chosen:e} s of {transport:e} and {by_16:e}");
            assert_eq!(by_trees, trees, "{platform} {nodes} {words}");
            assert!(chosen <= 1.1 * transport.min(by_16), "{platform} {nodes} {words}");
        }
    }
}

/// One call of each operation by streams that are chosen for so many words, compared with what it
/// should give.
fn by_streams(node: &mut Node, words: usize) -> Result<(), Error> {
    let streams = Streams::choose(node, words)?;
    let (rank, last) = (node.rank(), node.size() - 1);
    let of = |rank: usize| (0..words).map(move |i| value(rank, 1, i));
    let sum = |last: usize, i| (0..=last).map(|rank| value(rank, 1, i)).sum::<u64>();
    let mut values: Vec<u64> = of(rank).collect();
    streams.broadcast(node, last, &mut values);
    assert!(values.iter().copied().eq(of(last)), "{words} words");
    values = of(rank).collect();
    streams.reduce_to_first(node, Op::Add, &mut values);
    assert!(rank > 0 || (0..words).all(|i| values[i] == sum(last, i)), "{words} words");
    values = of(rank).collect();
    streams.inclusive_scan(node, Op::Add, &mut values);
    assert!((0..words).all(|i| values[i] == sum(rank, i)), "{words} words");
    node.uninstall();
    Ok(())
}

#[test]
fn chosen_streams_give_the_same_as_a_loop() {
    for nodes in [1, 2, 3, 5, 8] {
        for words in [0, 1, 40, 300] {
            Machine::threads(nodes).unwrap().run(|node| by_streams(node, words)).unwrap();
            sim("paragon", nodes).run(|node| by_streams(node, words)).unwrap();
        }
    }
}

#[test]
fn nothing_is_timed_that_cannot_run() {
    use crate::select::TimedOnNodes;
    for nodes in [1, 2, 3, 5, 8] {
        let run = Machine::threads(nodes).unwrap().run(|node| {
            let trees = Scans::Trees { depth: 2 };
            assert_eq!(Reductions::Mpi.seconds(node, &[8.0], 1), None, "there is no library");
            assert_eq!(Reductions::Transport.seconds(node, &[], 1), None, "not its inputs");
            for words in [0.0, 1.0, 40.0] {
                let seconds = [
                    Broadcasts::Transport.seconds(node, &[words], 1),
                    trees.seconds(node, &[words], 1),
                    Reductions::Transport.seconds(node, &[words], 1),
                ];
                assert!(seconds.iter().flatten().filter(|seconds| **seconds > 0.0).count() == 3);
            }
            node.install(node.handlers());
            let with_handlers = [trees.seconds(node, &[8.0], 1), Scans::Transport.seconds(node, &[8.0], 1)];
            assert_eq!(with_handlers, [None; 2], "those of the program would go");
            Ok(())
        });
        run.unwrap();
    }
}

/// Simulated, so that nothing but a worse fit changes it: what streams of several lengths take by
/// models of another machine, and after a fit. Nodes that chose differently would wait for ever.
#[test]
fn streams_that_have_fitted_themselves_are_faster_on_another_machine() {
    use std::time::Duration;
    let times = |platform: &str, nodes: usize| {
        let run = sim(platform, nodes).run(|node| {
            let total = |node: &mut Node| {
                let mut total = 0.0;
                for words in [1, 3, 10, 30, 100, 250] {
                    let streams = Streams::choose(node, words)?;
                    let mut values = vec![1u64; words];
                    node.barrier();
                    let start = node.now().get();
                    (0..16).for_each(|_| streams.broadcast(node, 0, &mut values));
                    (0..16).for_each(|_| streams.reduce_to_first(node, Op::Max, &mut values));
                    (0..16).for_each(|_| streams.inclusive_scan(node, Op::Max, &mut values));
                    node.barrier();
                    total += (node.now().get() - start) / words as f64;
                    node.uninstall();
                }
                Ok::<f64, Error>(node.reduce_max(total))
            };
            let before = total(node)?;
            let budget = Duration::from_millis(500);
            let report = node.calibrate::<Broadcasts>(budget);
            node.calibrate::<Reductions>(budget);
            node.calibrate::<Scans>(budget);
            assert_eq!(report.is_some(), node.rank() == 0);
            Ok((before, total(node)?))
        });
        run.unwrap().results
    };
    for (platform, nodes, least) in
        [("alewife", 4, 1.0), ("infiniband-fat-tree", 8, 0.98), ("iwarp", 8, 0.95)]
    {
        let all = times(platform, nodes);
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
        let (before, after) = all[0];
        println!("{platform} {nodes}: {before:e} s, then {after:e} s");
        assert!(after <= least * before, "{platform} {nodes}: {before} s, then {after} s");
    }
}
