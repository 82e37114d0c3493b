//! A tuner of a team: all nodes choose alike, at the same step, on threads and simulated machines.

use strata_model::Seconds;
use strata_runtime::prelude::*;
use strata_runtime::tune::copy;
use strata_runtime::{copy::Hint, node::Pacing, simulation::SimulatedMachine};
use strata_tune::{Knob, Mode, Options, Phase, Tuner};

fn tune(file: &std::path::Path) -> Options {
    Options { budget: Some(40), ..Options::of(Mode::Tune(Some(file.to_owned()))) }
}

/// A loop of which option 2 is fastest on the slowest node; what every node took.
fn program(node: &mut Node, options: Options, steps: u32) -> Result<(Vec<u32>, Phase), Error> {
    let knob = Knob::new("pause", 3u32, [2, 1]);
    let mut tuner = node.tuner_with("pauses", options)?;
    let mut taken = Vec::new();
    for _ in 0..steps {
        let pause = *tuner.pick(node, &knob);
        taken.push(pause);
        // Node 0 has less to do, and would find nothing.
        let time = if node.rank() == 0 { 5 } else { 20 * u64::from(pause) };
        node.compute(33.0 * time as f64, || ());
        if !node.is_simulated() {
            let start = node.now().get();
            while node.now().get() < start + 1e-6 * time as f64 {}
        }
        node.barrier();
        tuner.agree(node)?;
    }
    let report = tuner.close(node)?;
    Ok((taken, report.intervals.first().map_or(Phase::Baseline, |interval| interval.phase)))
}

#[test]
fn nodes_of_a_simulated_machine_adopt_alike() {
    let (folder, cm5) = (tempfile::tempdir().unwrap(), SimulatedMachine::find("cm5").unwrap());
    for nodes in [1, 2, 3, 5, 8] {
        let file = folder.path().join(format!("{nodes}.json"));
        let machine = || Machine::sim(&cm5, nodes).unwrap();
        let first = machine().run(|node| program(node, tune(&file), 1500)).unwrap();
        let results = first.results;
        assert!(results.iter().all(|result| *result == results[0]), "{nodes} nodes");
        let (taken, phase) = &results[0];
        if nodes > 1 {
            assert_eq!((*phase, taken.last()), (Phase::Adopted, Some(&1)), "{nodes} nodes");
        }
        // A later run begins with it.
        let later = machine().run(|node| program(node, tune(&file), 10)).unwrap().results;
        assert!(later.iter().all(|(taken, _)| taken[0] == if nodes > 1 { 1 } else { 3 }), "{nodes} nodes");
    }
}

/// A shift on the CM-5 (Brewer 1994, §6.1.3): the pause that matches bandwidths, and how many bytes
/// go at once, are found while the program runs.
#[test]
fn matching_delays_and_chunk_sizes_are_knobs() {
    const NODES: usize = 8;
    const BYTES: usize = 4096;
    let (folder, cm5) = (tempfile::tempdir().unwrap(), SimulatedMachine::find("cm5").unwrap());
    let file = folder.path().join("shift.json");
    let run = Machine::sim(&cm5, NODES).unwrap().run(|node| {
        let cycles = Knob::new("matching delay in cycles", 0u32, [28, 200]);
        let chunk = Knob::new("chunk", BYTES, [64]);
        let seconds = |cycles: u32| Seconds::new(f64::from(cycles) / 33e6).unwrap();
        let mut tuner = node.tuner_with("shift", tune(&file))?;
        node.install(node.handlers());
        let (mut memory, mut found) = (Block::<u8>::zeroed(BYTES), (0, 0));
        for _ in 0..250 {
            let (delay, chunk) = (*tuner.pick(node, &cycles), *tuner.pick(node, &chunk));
            found = (delay, chunk);
            node.open_port(1, memory);
            node.expect::<u8>(1, BYTES);
            node.set_pacing(Some(Pacing::matched(seconds(0), seconds(delay), 0)));
            node.barrier();
            // They do not begin in step.
            node.compute((17 * node.rank() % 50) as f64, || ());
            let to = (node.rank() + NODES / 4) % NODES;
            for (number, part) in [1u8; BYTES].chunks(chunk).enumerate() {
                node.put(to, 1, number * chunk, part);
            }
            node.wait_for_port(1);
            memory = node.close_port(1);
            node.set_pacing(None);
            tuner.agree(node)?;
        }
        let report = tuner.close(node)?;
        Ok((found, report.intervals.iter().map(|each| each.phase).collect::<Vec<_>>()))
    });
    let results = run.unwrap().results;
    assert!(results.iter().all(|result| *result == results[0]));
    // Whether small parts help is by some per cent; the pause that matches gains a fifth.
    assert_eq!((results[0].0.0, &results[0].1), (28, &vec![Phase::Adopted]), "{:?}", results[0]);
}

#[test]
fn nodes_that_are_threads_choose_alike() {
    let folder = tempfile::tempdir().unwrap();
    for nodes in [1, 2, 3, 5] {
        let file = folder.path().join(format!("{nodes}.json"));
        let results = Machine::threads(nodes).unwrap().run(|node| program(node, tune(&file), 400)).unwrap();
        assert!(results.iter().all(|result| *result == results[0]), "{nodes} nodes");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(&format!("\"nodes\":{nodes}}}")), "{text}");
    }
}

#[test]
fn nodes_whose_sites_differ_get_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    for odd in 0..3 {
        let failed = Machine::threads(3).unwrap().run(|node| {
            let (one, other) = (Knob::new("rows", 1, [2]), Knob::new("columns", 1, [2]));
            let mut tuner = node.tuner_with("different", tune(&file))?;
            for _ in 0..500 {
                tuner.pick(node, &one);
                if node.rank() == odd {
                    tuner.pick(node, &other);
                }
                tuner.agree(node)?;
            }
            Ok(())
        });
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("the call sites of this team's nodes differ"), "{error}");
        assert!(error.contains("STRATA_TUNE=off"), "{error}");
    }
    // Equal sites in another order.
    let failed = Machine::threads(2).unwrap().run(|node| {
        let knobs = [Knob::new("rows", 1, [2]), Knob::new("columns", 1, [2])];
        let mut tuner = node.tuner_with("different", tune(&file))?;
        for step in 0..500 {
            let first = usize::from(step == 0 && node.rank() == 1);
            for knob in [first, 1 - first] {
                tuner.pick(node, &knobs[knob]);
            }
            tuner.agree(node)?;
        }
        Ok(())
    });
    assert!(failed.unwrap_err().to_string().contains("in different orders"));
}

#[test]
fn a_node_without_any_site_gets_the_error_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let failed = Machine::threads(2).unwrap().run(|node| {
        let mut tuner = node.tuner_with("none", tune(&file))?;
        for _ in 0..500 {
            if node.rank() == 0 {
                tuner.pick(node, &Knob::new("rows", 1, [2]));
            }
            tuner.agree(node)?;
        }
        Ok(())
    });
    assert!(failed.unwrap_err().to_string().contains("call sites"));
}

#[test]
fn copies_choose_by_their_call_site() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copies.json");
    let mut tuner = Tuner::new("copies", Options::of(Mode::Tune(Some(file)))).unwrap();
    let from: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for round in 0..300 {
        let length = [0, 1, 100, 5000, 65_536][round % 5];
        let mut to = vec![0; length];
        copy(&mut tuner, Hint::default(), &mut to, &from[..length]);
        assert_eq!(to, from[..length]);
    }
    let report = tuner.close().unwrap();
    assert_eq!(report.sites, 2, "two sizes of one place: {report}");
    assert!(report.intervals[0].sites[0].starts_with("copy at "), "{report}");
}
