//! Every layout on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-stencil --features mpi --test mpi`; without `mpirun` it says so and skips.

mod common;

use common::{cases, compare};
use std::process::{Command, ExitCode};
use strata_runtime::prelude::*;
use strata_stencil::{Grid, Layout, profile};

/// Set in the processes that `mpirun` starts.
const INSIDE: &str = "STRATA_STENCIL_MPI_TEST";

fn main() -> ExitCode {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    if let Err(error) = Command::new("mpirun").arg("--version").output() {
        println!(
            "skipped: mpirun does not start ({error}); install Open MPI, for example `apt-get install openmpi-bin libopenmpi-dev`"
        );
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for nodes in 1..=4 {
        if outside(nodes) {
            passed += 1;
        } else {
            println!("failed: mpirun -n {nodes}");
            failed += 1;
        }
    }
    // A process is lost in the middle: the job ends, and says so by its status.
    if outside_with(3, "lost") {
        println!("failed: mpirun -n 3, of which one is lost");
        failed += 1;
    } else {
        passed += 1;
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Starts this program again as `nodes` MPI processes.
fn outside(nodes: usize) -> bool {
    outside_with(nodes, "1")
}

/// As [`outside`], to do what `inside` says.
fn outside_with(nodes: usize, inside: &str) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let status = Command::new("mpirun")
        .args(["-n", &nodes.to_string()])
        .arg(program)
        .env(INSIDE, inside)
        // Open MPI refuses root and more processes than cores unless it is told otherwise.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        .status();
    status.is_ok_and(|status| status.success())
}

/// One of the MPI processes.
fn inside() -> ExitCode {
    let lost = std::env::var(INSIDE).is_ok_and(|value| value == "lost");
    let solved = launch(|node| {
        if lost {
            let grid = Grid::<f64>::new(40, 40).threshold(0.0).iterations(50);
            let grid = grid.progress(|state| {
                if state.iteration == 7 {
                    std::process::abort()
                }
            });
            profile::solve(&grid, node, Layout::new(1, node.size(), 1))?;
        }
        for case in [[24, 18], [7, 40], [1, 9], [17, 16]].into_iter().flat_map(cases) {
            compare::<f64>(node, &case)?;
        }
        Ok(())
    });
    match solved {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
