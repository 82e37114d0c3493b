//! Random programs on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-global --features mpi --test mpi`; without `mpirun` it says so and skips.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
mod common;

use common::{How, check};
use std::process::ExitCode;
use strata_global::Way;
use strata_runtime::prelude::*;

/// Programs in each job.
const SEEDS: u64 = 40;

fn main() -> ExitCode {
    alike::main(checks, None)
}

/// Usually in a shared window, as all processes are of one host.
fn checks(node: &mut Node) -> Result<(), Error> {
    let ways = [How::Usual, How::By(Way::Messages), How::By(Way::Gathered)];
    (0..SEEDS).try_for_each(|seed| check(node, seed, ways[(seed / 5 % 3) as usize]))
}
