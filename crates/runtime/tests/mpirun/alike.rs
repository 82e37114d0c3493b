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
        (Ok("fails"), Some(fails)) => return inside(fails),
        (Ok(_), _) => return inside(checks),
        (Err(_), _) => {}
    }
    let alike = mpirun::nodes(&[1, 2, 3, 4]).into_iter();
    let alike =
        alike.map(|nodes| Job::new("all", nodes, move || mpirun::run("all", nodes, &[], &[])?.succeeded()));
    let fails = fails.map(|_| Job::new("fails", 3, || mpirun::run("fails", 3, &[], &[])?.failed_with(&[])));
    mpirun::all(alike.chain(fails).chain(more).collect())
}

/// One of the MPI processes.
fn inside(checks: Checks) -> ExitCode {
    match launch(checks) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
