//! Random programs on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-global --features mpi --test mpi`; without `mpirun` it says so and skips.

mod common;

use common::{How, check};
use std::process::{Command, ExitCode};
use strata_runtime::prelude::*;

/// Programs in each job.
const SEEDS: u64 = 40;

/// Set in the processes that `mpirun` starts.
const INSIDE: &str = "STRATA_GLOBAL_MPI_TEST";

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
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Starts this program again as `nodes` MPI processes.
fn outside(nodes: usize) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let status = Command::new("mpirun")
        .args(["-n", &nodes.to_string()])
        .arg(program)
        .env(INSIDE, "1")
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
    let run = launch(|node| (0..SEEDS).try_for_each(|seed| check(node, seed, How::Usual)));
    match run {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
