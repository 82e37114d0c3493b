//! Random programs give the same on every transport, and every planted fault is found on each.

use crate::common::{by, planned::Planned};
use strata_tcs::RunOptions;
use strata_tcs::switch::Mode;

/// The ways to run a program.
const WAYS: [&str; 3] = ["threads", "ethernet-25g", "simulated"];

fn run(way: &str, planned: &Planned) -> Result<Vec<u64>, String> {
    by(way, &planned.image, RunOptions::default(), |cell| planned.body(cell))
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
        let found = WAYS.map(|way| run(way, &right).map_err(|error| format!("seed {seed}: {way}: {error}")));
        assert!(found[0].is_ok() && found.iter().all(|each| *each == found[0]), "seed {seed}: {found:?}");
        counts[0] += 1;
        let wrong = Planned::new(seed, cells, mode, true);
        let Some(fault) = wrong.fault else { continue };
        counts[1] += 1;
        for way in WAYS {
            let error = run(way, &wrong).err();
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
