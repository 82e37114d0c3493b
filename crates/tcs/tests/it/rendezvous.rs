//! Random programs give the same on every transport, and every planted fault is found on each.

use crate::common::planned::Planned;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Error, Machine};
use strata_tcs::switch::Mode;
use strata_tcs::{Cell, RunOptions, run_with, simulate};

/// The ways to run a program.
const WAYS: [&str; 3] = ["threads", "messages", "simulated"];

fn by(way: &str, planned: &Planned) -> Result<Vec<u64>, String> {
    let (image, nodes) = (&planned.image, planned.image.cells());
    let body = |cell: &mut Cell<'_>| planned.body(cell);
    let plain = RunOptions::default();
    let said = |error: Error| error.to_string();
    match way {
        "threads" => {
            let machine = Machine::threads(nodes).map_err(said)?;
            let found = machine.run(|node| run_with(node, image, plain, body)).map_err(said)?;
            Ok(found.into_iter().flatten().collect())
        }
        "messages" => {
            let host = SimulatedMachine::find("ethernet-25g").unwrap();
            let machine = Machine::sim(&host, nodes).map_err(said)?;
            let found = machine.run(|node| run_with(node, image, plain, body)).map_err(said)?;
            Ok(found.results.into_iter().flatten().collect())
        }
        _ => simulate(image, body).map(|run| run.results).map_err(said),
    }
}

/// What an error about a planted fault says: the place of each cell, or, where a simulated machine
/// has found that all wait, the lines.
fn names_places(way: &str, error: &str) -> bool {
    let here = |text: &str| error.contains(text);
    here("cells are not at the same place: cell ")
        || here("cells wait for each other: cell ") && error.matches("of the machine").count() > 1
        || here("has ended its program") && here("waits")
        || here("was not received before")
        || here("came before this cell had switched")
        || way != "threads" && here("deadlock at") && here("planned.rs:")
}

fn seeds(seeds: std::ops::Range<u64>) -> [usize; 2] {
    let mut counts = [0; 2];
    for seed in seeds {
        let cells = [1, 2, 3, 5, 8][seed as usize % 5];
        let mode = Mode::ALL[seed as usize / 5 % Mode::ALL.len()];
        let right = Planned::new(seed, cells, mode, false);
        let found = WAYS.map(|way| by(way, &right).map_err(|error| format!("seed {seed}: {way}: {error}")));
        assert!(found[0].is_ok() && found.iter().all(|each| *each == found[0]), "seed {seed}: {found:?}");
        counts[0] += 1;
        let wrong = Planned::new(seed, cells, mode, true);
        let Some(fault) = wrong.fault else { continue };
        counts[1] += 1;
        for way in WAYS {
            let error = by(way, &wrong).err();
            let named = error.as_deref().is_some_and(|error| names_places(way, error));
            assert!(named, "seed {seed}, {mode}, {cells} cells: {way} with {fault:?}: {error:?}");
        }
    }
    counts
}

#[test]
fn planted_mismatches_are_found() {
    let [right, wrong] = seeds(0..150);
    assert!(right == 150 && wrong > 90, "{right} right programs, {wrong} faults");
}

#[test]
#[ignore = "ten thousand programs: minutes"]
fn planted_mismatches_are_found_in_ten_thousand_programs() {
    let [right, wrong] = seeds(0..10_000);
    println!("{right} right programs, {wrong} planted faults, all found");
}
