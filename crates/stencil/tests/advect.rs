//! The two versions of `examples/advect_rsmpi.rs`, with a halo exchange by hand and with `Halo`:
//! the same bits on 1, 2, 4 and 6 processes, and few lines changed.
//!
//! `cargo test -p strata-stencil --features mpi --test advect`; without `mpirun` it says so and
//! skips.

// A program of its own, as each MPI process is one, which initialises MPI itself.

#[path = "../../../examples/advect_rsmpi.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod by_hand;
#[path = "../../runtime/tests/mpirun/mod.rs"]
mod mpirun;
#[path = "../../../examples/advect_halo_rsmpi.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod with_halo;

use mpirun::Job;
use std::process::ExitCode;
use strata_runtime::Error;

/// The most lines that a program has to change.
const MOST_LINES: usize = 15;

fn main() -> ExitCode {
    if std::env::var_os(mpirun::CASE).is_some() {
        return mpirun::exit(compare());
    }
    let jobs = mpirun::on(&[1, 2, 4, 6], "advect");
    mpirun::all(jobs.chain([Job::new("few lines", 1, few_lines)]).collect())
}

/// One of the processes: both versions on its communicator.
fn compare() -> Result<(), Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    let world = universe.world();
    let by_hand = by_hand::advect(&world, 37);
    let with_halo = with_halo::advect(&world, 37)?;
    match by_hand.map(f64::to_bits) == with_halo.map(f64::to_bits) {
        true => Ok(()),
        false => Err(Error::program(format!("by hand {by_hand:?}, with a halo {with_halo:?}"))),
    }
}

/// The lines of the version with `Halo` that the other one lacks, without comments and indentation.
fn few_lines() -> Result<(), String> {
    let lines = |text: &'static str| -> Vec<&str> {
        let lines = text.lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect()
    };
    let by_hand = lines(include_str!("../../../examples/advect_rsmpi.rs"));
    let with_halo = lines(include_str!("../../../examples/advect_halo_rsmpi.rs"));
    let changed: Vec<&str> = with_halo.into_iter().filter(|line| !by_hand.contains(line)).collect();
    match changed.len() {
        0..=MOST_LINES => Ok(()),
        count => Err(format!("{count} lines are changed, more than {MOST_LINES}: {changed:#?}")),
    }
}
