//! Every algorithm on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-sort --features mpi --test mpi`; without `mpirun` it says so and skips.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
#[path = "it/common/mod.rs"]
mod common;

use common::{algorithms, check, numbered, shapes};
use std::process::ExitCode;
use strata_runtime::prelude::*;

fn main() -> ExitCode {
    let checks = |node: &mut Node| {
        for (name, parts) in &shapes(node.size()) {
            for algorithm in algorithms() {
                check(node, algorithm, name, &numbered(parts))?;
            }
        }
        Ok(())
    };
    alike::main(checks, None)
}
