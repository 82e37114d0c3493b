//! The run-time's own calls tuned, in programs that are not changed: equal answers, on all nodes
//! the same ways, and a schedule that is found.

use std::path::Path;
use strata_runtime::patterns::{Schedule, all_to_all};
use strata_runtime::prelude::*;
use strata_runtime::simulation::{SimulatedMachine, Time};
use strata_tune::{Mode, Options, Phase, Report, Tuner};

/// Tries other ways whatever they lose.
fn tune(file: &Path) -> Options {
    Options { budget: Some(30), loss: 1e9, ..Options::of(Mode::Tune(Some(file.to_owned()))) }
}

/// A number of all bits, in their order.
fn note(so_far: &mut u64, bytes: &[u8]) {
    *so_far = bytes.iter().fold(*so_far, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
}

fn bits(so_far: &mut u64, values: &[f64]) {
    values.iter().for_each(|value| note(so_far, &value.to_bits().to_ne_bytes()));
}

/// Puts, collectives and exchanges of several lengths; all that a node has got, as a number.
pub(crate) fn everything(node: &mut Node, rounds: usize) -> u64 {
    const LONG: usize = 2500;
    let (rank, size) = (node.rank(), node.size());
    let mut got = 1469;
    node.install(node.handlers());
    for round in 0..rounds {
        let value = |at: usize| ((rank + 3) * (at + 7 * round) % 1009) as f64 / 7.0;
        let mine: Vec<f64> = (0..LONG).map(value).collect();
        let (to, short) = ((rank + 1) % size, mine.len() / 8);
        node.open_port(1, Block::<f64>::zeroed(LONG));
        node.expect::<f64>(1, LONG);
        node.barrier();
        node.put(to, 1, 0, &mine[..short]);
        node.put(to, 1, short, &mine[short..]);
        node.wait_for_port(1);
        bits(&mut got, &node.close_port::<f64>(1));
        let mut sums = mine.clone();
        node.reduce_add(&mut sums);
        bits(&mut got, &sums);
        let mut before = mine.clone();
        node.scan(Op::Add, &mut before);
        bits(&mut got, &before);
        let mut roots = mine.clone();
        node.broadcast(round % size, &mut roots);
        bits(&mut got, &roots);
        bits(&mut got, &node.all_gather(&mine[..600]));
        let blocks = (0..size).map(|to| Block::from_slice(&mine[..100 * (to + rank)])).collect();
        node.all_to_all_v(blocks).iter().for_each(|block| bits(&mut got, block));
        let parts = &mine[..size * 300.min(LONG / size)];
        let schedule = Schedule::ALL[round / 7 % 4];
        bits(&mut got, &all_to_all(node, parts, Block::default(), schedule));
        let most = node.reduce_max(got as f64);
        bits(&mut got, &[most]);
    }
    node.uninstall();
    got
}

/// What was found, by the file of it.
fn report(file: &Path) -> Report {
    Tuner::look(file).map_err(|error| format!("{}: {error}", file.display())).unwrap().report()
}

/// The number of evaluations of other options than the default.
fn others_tried(report: &Report) -> u64 {
    let knobs = report.intervals.iter().flat_map(|interval| &interval.knobs);
    knobs.flat_map(|knob| &knob.options[1..]).map(|option| option.tried.evaluations).sum()
}

#[test]
fn tuned_calls_give_equal_answers_on_threads_and_by_messages() {
    let (folder, cm5) = (tempfile::tempdir().unwrap(), SimulatedMachine::find("cm5").unwrap());
    for nodes in [1, 2, 3, 5, 8] {
        let machines = [Machine::threads(nodes).unwrap(), format!("sim:cm5:{nodes}").parse().unwrap()];
        assert_eq!(Machine::sim(&cm5, nodes).unwrap().run(|node| Ok(node.size())).unwrap().results[0], nodes);
        for (number, machine) in machines.iter().enumerate() {
            // Simulated machines have fewer ways; many threads on few cores take long.
            let rounds = match (number, nodes) {
                (0, 1..=3) => 100,
                (0, _) => 10,
                _ => 15,
            };
            let file = folder.path().join(format!("{nodes}-{number}.json"));
            let program = |node: &mut Node| Ok(everything(node, rounds));
            let usual = machine.run(program).unwrap();
            assert_eq!(machine.run_tuned(&tune(&file), program).unwrap(), usual, "{nodes} nodes");
            let found = report(&file.with_extension("calls.json"));
            if rounds == 100 {
                assert!(others_tried(&found) > 0, "{nodes} nodes: {found}");
                let of_puts = report(&file.with_extension(format!("puts-{}.json", nodes - 1)));
                assert!(others_tried(&of_puts) > 0, "{nodes} nodes: {of_puts}");
            }
            // What was found is used.
            let using = Options::of(Mode::Use(file));
            assert_eq!(machine.run_tuned(&using, program).unwrap(), usual, "{nodes} nodes");
        }
    }
}

/// Barriers keep the nodes in step, where the program did not want them.
#[test]
fn a_schedule_is_found_for_a_program_that_is_not_changed() {
    let (folder, cm5) = (tempfile::tempdir().unwrap(), SimulatedMachine::find("cm5").unwrap());
    let file = folder.path().join("found.json");
    let machine = Machine::sim(&cm5, 4).unwrap();
    let program = |rounds: usize, schedule: Schedule| {
        move |node: &mut Node| {
            let mine: Vec<u64> = (0..4 * 64).map(|at| (node.rank() * 5000 + at) as u64).collect();
            let mut sum = 0u64;
            for _ in 0..rounds {
                // Nodes are not in step.
                node.compute((node.rank() * 331 % 1000) as f64, || ());
                let came = all_to_all(node, &mine, Block::default(), schedule);
                sum = came.iter().fold(sum, |sum, value| sum.wrapping_mul(31).wrapping_add(*value));
            }
            Ok(sum)
        }
    };
    let time = |times: &[Time]| times.iter().map(|time| time.0).max();
    let usual = machine.run(program(50, Schedule::Barriers)).unwrap();
    let options = Options { budget: Some(20), ..Options::of(Mode::Tune(Some(file.clone()))) };
    machine.run_tuned(&options, program(2500, Schedule::Barriers)).unwrap();
    let found = report(&file.with_extension("calls.json"));
    let phases: Vec<Phase> = found.intervals.iter().map(|each| each.phase).collect();
    assert_eq!(phases, [Phase::Adopted], "{found}");
    let later = machine.run_tuned(&Options::of(Mode::Use(file)), program(50, Schedule::Barriers)).unwrap();
    assert_eq!(later.results, usual.results);
    assert!(time(&later.times) < time(&usual.times));
}

/// One node calls its collectives at places of its own, which is allowed: they are not tuned, and
/// the job goes on.
#[test]
#[expect(clippy::if_same_then_else, reason = "two places of the program are what is tested")]
fn collectives_at_places_that_differ_go_on_as_usual() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.json");
    let sums = Machine::threads(3).unwrap().run_tuned(&tune(&file), |node| {
        let mut values = vec![1u64; 1000];
        for _ in 0..300 {
            if node.rank() == 1 {
                node.reduce_max(&mut values);
            } else {
                node.reduce_max(&mut values);
            }
            node.broadcast(0, &mut values);
        }
        Ok(values.iter().sum::<u64>())
    });
    assert_eq!(sums.unwrap(), [1000; 3]);
    assert!(!file.with_extension("calls.json").exists());
}

#[test]
fn a_file_to_use_that_is_not_there_is_named() {
    let file = tempfile::tempdir().unwrap().path().join("none.json");
    let failed = Machine::threads(2).unwrap().run_tuned(&Options::of(Mode::Use(file)), |_| Ok(()));
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("none.puts-") && error.contains("STRATA_TUNE=tune:FILE writes one"), "{error}");
}
