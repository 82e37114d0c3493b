//! Applications whose cells are MPI processes: starts itself again under `mpirun`.
//!
//! `cargo test -p strata-tcs --features mpi --test mpi`; without `mpirun` it says so and skips.

mod common;
mod every;
#[path = "../../runtime/tests/mpirun/mod.rs"]
mod mpirun;

use common::{Tree, shifts};
use std::process::ExitCode;
use strata_runtime::prelude::*;
use strata_tcs::patterns::Form;
use strata_tcs::switch::Mode;
use strata_tcs::{RunOptions, Target, run_with};

fn main() -> ExitCode {
    if let Ok(case) = std::env::var(mpirun::CASE) {
        return inside(&case);
    }
    if !mpirun::is_there() {
        println!("skipped: mpirun does not start; install Open MPI");
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    let mut count = |case: &str, nodes: usize, result: Result<(), String>| match result {
        Ok(()) => passed += 1,
        Err(error) => {
            println!("failed: {case} on {nodes}: {error}");
            failed += 1;
        }
    };
    for nodes in mpirun::nodes(&[1, 2, 3, 4]) {
        let run = mpirun::run("shifts", nodes, &[], &[]);
        let run = run.and_then(|run| if run.status.success() { Ok(()) } else { run.wrong("it failed") });
        count("shifts", nodes, run);
    }
    for nodes in mpirun::nodes(&[1, 2, 3, 4]) {
        let run = mpirun::run("forms", nodes, &[], &[]);
        let run = run.and_then(|run| if run.status.success() { Ok(()) } else { run.wrong("it failed") });
        count("forms", nodes, run);
    }
    for nodes in mpirun::nodes(&[4]) {
        let run = mpirun::run("tree", nodes, &[], &[]);
        let run = run.and_then(|run| if run.status.success() { Ok(()) } else { run.wrong("it failed") });
        count("tree", nodes, run);
        let run = mpirun::run("failing", nodes, &[], &[]);
        count("failing", nodes, run.and_then(|run| run.failed_with(&["cell 0: deep trouble"])));
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// One of the MPI processes.
fn inside(case: &str) -> ExitCode {
    let ended = launch(|node| {
        let options = RunOptions { check: true, simulated: false };
        if case == "shifts" {
            for mode in Mode::ALL {
                let (image, program) = shifts(node.size(), mode, None);
                let found = run_with(node, &image, options, |cell| program.body(cell, 20))?;
                assert_eq!(found, Some(program.expected(node.rank(), 20)), "{mode}");
            }
            return Ok(());
        }
        if case == "forms" {
            let all = every::all(&Target::crossbar(node.size()), 64);
            run_with(node, &all.image, options, |cell| {
                for length in [0, 1, 100, 5000] {
                    all.check(cell, Some(Form::Sets), length)?;
                    all.check(cell, Some(Form::Messages), length)?;
                    all.check(cell, None, length)?;
                }
                Ok(())
            })?;
            return Ok(());
        }
        let tree = Tree::new();
        if case == "failing" {
            run_with(node, &tree.image, options, |cell| tree.failing(cell))?;
            return Ok(());
        }
        for values in [0, 1, 100] {
            let found = run_with(node, &tree.image, options, |cell| tree.body(cell, values))?;
            assert_eq!(found, Some(tree.expected(values)[node.rank()]));
        }
        Ok(())
    });
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
