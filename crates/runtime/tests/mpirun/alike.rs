//! The launcher of a library's tests under MPI: the same checks on jobs of 1 to 4 processes.

#[path = "mod.rs"]
pub(crate) mod mpirun;

use mpirun::Job;
use std::process::ExitCode;
use strata_runtime::prelude::*;

/// What each node of a job does.
pub(crate) type Checks = fn(&mut Node) -> Result<(), Error>;

/// Starts this program again as MPI jobs, and as `more`; in their processes, runs `checks`, or
/// `fails` in a job of three that must not succeed.
pub(crate) fn main(checks: Checks, fails: Option<Checks>, more: Vec<Job>) -> ExitCode {
    match (std::env::var(mpirun::CASE).as_deref(), fails) {
        (Ok("fails"), Some(fails)) => return mpirun::exit(launch(fails)),
        (Ok(_), _) => return mpirun::exit(launch(checks)),
        (Err(_), _) => {}
    }
    let fails = fails.map(|_| Job::new("fails", 3, || mpirun::run("fails", 3, &[], &[])?.failed_with(&[])));
    mpirun::all(mpirun::on(&[1, 2, 3, 4], "all").chain(fails).chain(more).collect())
}
