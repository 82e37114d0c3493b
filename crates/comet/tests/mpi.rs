//! Every kernel on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-comet --features mpi --test mpi`; without `mpirun` it says so and skips.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
#[path = "it/common/mod.rs"]
mod common;

use std::process::ExitCode;

fn main() -> ExitCode {
    alike::main(common::everything, None, Vec::new())
}
