//! Exchanges of halos that fit themselves to the machine: in programs of their own.

use std::path::Path;

use crate::itself;
use strata_runtime::prelude::*;
use strata_stencil::{Grid, Halo};

/// A part of others: solves and makes a halo on the nodes of `STRATA_ON`.
#[test]
#[ignore = "a part of others"]
fn program() {
    let solves = |node: &mut Node| {
        let halo = Halo::<f64>::around([8, 8]).width(1).prepare(node)?;
        let solution = Grid::<f64>::new(40, 30).solve(node)?;
        drop(halo);
        Ok(solution.iterations)
    };
    let all = Machine::from_env().unwrap().run(solves).unwrap();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    println!("\nsolved in {}", all[0]);
}

fn run(cache: &Path, on: &str, settings: &[(&str, &str)]) -> (String, String) {
    itself::run(("fitting::program", "solved"), cache, on, settings)
}

#[test]
fn exchanges_fit_themselves_once_and_solve_the_same() {
    for nodes in [1, 2, 3, 4] {
        let cache = tempfile::tempdir().unwrap();
        let on = format!("threads:{nodes}");
        let (plain, _) = run(cache.path(), &on, &[]);
        let set = [("STRATA_CALIBRATE", "100ms"), ("STRATA_EXPLAIN", "1")];
        for again in [false, true] {
            let (line, error) = run(cache.path(), &on, &set);
            assert_eq!(line, plain, "{on}");
            // Models of this machine need none, and one node exchanges nothing.
            let may = !again && nodes > 1;
            for library in ["stencil_exchange", "halo_exchange"] {
                assert!(may || !error.contains(&format!("strata: {library}: ")), "{on}: {error}");
            }
        }
    }
    // No simulated machine has models of its own.
    let cache = tempfile::tempdir().unwrap();
    let run = |set: &[_]| run(cache.path(), "sim:paragon:8", set);
    let ((plain, silent), (fitted, error)) = (run(&[]), run(&[("STRATA_CALIBRATE", "1ms")]));
    assert_eq!(plain, fitted);
    for library in ["stencil_exchange", "halo_exchange"].map(|name| format!("strata: {name}: ")) {
        assert!(error.contains(&library) && !silent.contains(&library), "{error}");
    }
}
