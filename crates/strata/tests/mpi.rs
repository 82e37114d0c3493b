//! `examples/sort_rsmpi.rs`, a program of its own that has this one dependency, on 1 to 3 processes.
//!
//! `cargo test -p strata-hpc --features mpi,sort --test mpi`; without `mpirun` it says so and skips.

// A program of its own, as each MPI process is one, which initialises MPI itself.

#[path = "../../runtime/tests/mpirun/mod.rs"]
mod mpirun;
#[path = "../../../examples/sort_rsmpi.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::var_os(mpirun::CASE).is_some() {
        return mpirun::exit(program::main());
    }
    mpirun::all(mpirun::on(&[1, 2, 3], "sorted").collect())
}
