//! Random programs on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-global --features mpi --test mpi`; without `mpirun` it says so and skips.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
mod common;

use common::{How, check};
use std::process::ExitCode;

/// Programs in each job.
const SEEDS: u64 = 40;

fn main() -> ExitCode {
    alike::main(|node| (0..SEEDS).try_for_each(|seed| check(node, seed, How::Usual)), None)
}
