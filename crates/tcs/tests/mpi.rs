//! Applications whose cells are MPI processes: starts itself again under `mpirun`.
//!
//! `cargo test -p strata-tcs --features mpi --test mpi`; without `mpirun` it says so and skips.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "it/common/mod.rs"]
mod common;
#[path = "it/every/mod.rs"]
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
    // Processes of one host share windows; where the library has none, they exchange messages.
    let apart: &[(&str, &str)] = &[("OMPI_MCA_osc", "pt2pt")];
    for (case, windows) in [("shifts", true), ("shifts", false), ("forms", true), ("again", true)] {
        for nodes in mpirun::nodes(&[1, 2, 3, 5, 8]) {
            let run = mpirun::run(case, nodes, &[], if windows { &[] } else { apart });
            let run = run.and_then(|run| if run.status.success() { Ok(()) } else { run.wrong("it failed") });
            count(if windows { case } else { "without windows" }, nodes, run);
        }
    }
    for nodes in mpirun::nodes(&[2]) {
        let run = mpirun::run("unread", nodes, &[], &[("STRATA_WATCHDOG", "1s")]);
        count("unread", nodes, run.and_then(|run| run.failed_with(&["node 0", "mpi.rs"])));
        let run = mpirun::run("panics", nodes, &[], &[]);
        count("panics", nodes, run.and_then(|run| run.failed_with(&["a bug of cell 1"])));
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
        if case == "again" {
            return again(node, options);
        }
        if case == "unread" || case == "panics" {
            let (image, program) = shifts(node.size(), Mode::Triple, None);
            run_with(node, &image, options, |cell| match (case, cell.id()) {
                ("unread", _) => program.unread(cell),
                ("panics", 1) => panic!("a bug of cell 1"),
                _ => {
                    cell.sync();
                    Ok(())
                }
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

/// Runs of applications that need less and more memory than those before them.
fn again(node: &mut Node, options: RunOptions) -> Result<(), Error> {
    for time in 0..40 {
        let (image, program) = shifts(node.size(), Mode::ALL[time % Mode::ALL.len()], None);
        let found = run_with(node, &image, options, |cell| program.body(cell, 3))?;
        assert_eq!(found, Some(program.expected(node.rank(), 3)), "run {time}");
        if time % 7 == 3 {
            let all = every::all(&Target::crossbar(node.size()), 64 << (time / 4));
            run_with(node, &all.image, options, |cell| all.check(cell, Some(Form::Sets), 1000))?;
        }
    }
    Ok(())
}
