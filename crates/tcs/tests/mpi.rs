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

use common::long::long;
use common::planned::Planned;
use common::{Tree, shifts};
use mpirun::Job;
use std::process::ExitCode;
use strata_runtime::prelude::*;
use strata_tcs::patterns::Form;
use strata_tcs::switch::Mode;
use strata_tcs::{RunOptions, Target, run_with, simulate};

/// The argument of processes that exchange messages.
const APART: &str = "apart";

fn main() -> ExitCode {
    if let Ok(names) = std::env::var(mpirun::CASE) {
        return mpirun::exit(mpirun::begun(&names).try_for_each(inside));
    }
    let mut jobs = Vec::new();
    // Processes of one host share memory; those of several hosts exchange messages.
    let shared = ["shifts", "forms", "again", "right", "long"];
    for (cases, arguments) in [(&shared[..], &[][..]), (&["shifts", "right", "long"], &[APART])] {
        let names = cases.join(mpirun::THEN);
        for nodes in mpirun::nodes(&[1, 2, 3, 5, 8]) {
            let (case, name) = (names.clone(), format!("{names} {arguments:?}"));
            let job = Job::new(name, nodes, move || mpirun::run(&case, nodes, arguments, &[])?.succeeded());
            jobs.push(Job { cases: cases.len(), ..job });
        }
    }
    jobs.extend(mpirun::on(&[4], "tree"));
    let failing: [(_, _, &[&str]); 3] = [
        ("unread", 2, &["node 0", "has ended its program"]),
        ("panics", 2, &["a bug of cell 1"]),
        ("failing", 4, &["cell 0: deep trouble"]),
    ];
    for (case, nodes, says) in failing {
        for nodes in mpirun::nodes(&[nodes]) {
            jobs.push(Job::new(case, nodes, move || mpirun::run(case, nodes, &[], &[])?.failed_with(says)));
        }
    }
    for seed in 0..12 {
        for nodes in mpirun::nodes(&[2, 3, 5, 8]) {
            jobs.push(Job::new(format!("wrong, seed {seed}"), nodes, move || wrong(seed, nodes)));
        }
    }
    mpirun::all(jobs)
}

/// Runs a program with a fault, which has to be found; what is wrong with what it did.
fn wrong(seed: usize, nodes: usize) -> Result<(), String> {
    // Every other one by messages.
    let arguments = [&seed.to_string(), APART];
    let run = mpirun::run("wrong", nodes, &arguments[..1 + seed % 2], &[])?;
    match run.status.success() {
        true => run.wrong("the fault was not found"),
        // Not all programs can have one.
        false if run.err.contains("no fault can be planted") => Ok(()),
        false => {
            run.failed_with(&["of the machine"]).or_else(|_| run.failed_with(&["deadlock", "planned.rs"]))
        }
    }
}

fn inside(case: &str) -> Result<(), Error> {
    launch(|node| {
        let apart = std::env::args().any(|word| word == APART);
        let unchecked = RunOptions { apart, ..RunOptions::default() };
        let options = RunOptions { check: true, ..unchecked };
        let nodes = node.size();
        match case {
            "shifts" => {
                for mode in Mode::ALL {
                    let (image, program) = shifts(nodes, mode, None);
                    let found = run_with(node, &image, options, |cell| program.body(cell, 20))?;
                    assert_eq!(found, Some(program.expected(node.rank(), 20)), "{mode}");
                }
            }
            "forms" => {
                let all = every::all(&Target::crossbar(nodes), 64);
                run_with(node, &all.image, options, |cell| {
                    for length in [0, 1, 100, 5000] {
                        all.check(cell, Some(Form::Sets), length)?;
                        all.check(cell, Some(Form::Messages), length)?;
                        all.check(cell, None, length)?;
                    }
                    Ok(())
                })?;
            }
            "long" if nodes == 1 => {}
            "long" => {
                for (seed, depth) in [(1, 4096), (2, 64), (3, 100_000)] {
                    let long = long(nodes, depth);
                    let found = run_with(node, &long.image, options, |cell| long.body(cell, seed, 40))?;
                    let expected = simulate(&long.image, |cell| long.body(cell, seed, 40))?;
                    assert_eq!(found, Some(expected.results[node.rank()]), "depth {depth}");
                }
            }
            "right" => {
                for seed in 0..40 {
                    let mode = Mode::ALL[seed as usize % Mode::ALL.len()];
                    let planned = Planned::new(seed, nodes, mode, false);
                    let found = run_with(node, &planned.image, unchecked, |cell| planned.body(cell))?;
                    let expected = simulate(&planned.image, |cell| planned.body(cell))?.results[node.rank()];
                    assert_eq!(found, Some(expected), "seed {seed}, {mode}");
                }
            }
            "wrong" => {
                let seed: u64 = std::env::args().nth(1).and_then(|seed| seed.parse().ok()).unwrap_or(0);
                let planned = Planned::new(seed, nodes, Mode::ALL[seed as usize / 2 % Mode::ALL.len()], true);
                if planned.fault.is_none() {
                    return Err(Error::program("no fault can be planted in this program"));
                }
                run_with(node, &planned.image, unchecked, |cell| planned.body(cell))?;
            }
            "again" => again(node, options)?,
            "unread" | "panics" => {
                let (image, program) = shifts(nodes, Mode::Triple, None);
                run_with(node, &image, options, |cell| match (case, cell.id()) {
                    ("unread", _) => program.unread(cell),
                    ("panics", 1) => panic!("a bug of cell 1"),
                    _ => {
                        cell.sync();
                        Ok(())
                    }
                })?;
            }
            "failing" => {
                let tree = Tree::new();
                run_with(node, &tree.image, options, |cell| tree.failing(cell))?;
            }
            _ => {
                let tree = Tree::new();
                for values in [0, 1, 100] {
                    let found = run_with(node, &tree.image, options, |cell| tree.body(cell, values))?;
                    assert_eq!(found, Some(tree.expected(values)[node.rank()]));
                }
            }
        }
        Ok(())
    })
    .map(drop)
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
