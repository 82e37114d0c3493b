//! The launcher of a library's tests under MPI: the same checks on jobs of 1 to 4 processes.

#[path = "mod.rs"]
#[allow(dead_code, reason = "other tests ask for more")]
pub(crate) mod mpirun;

use std::process::ExitCode;
use strata_runtime::prelude::*;

/// What each node of a job does.
pub(crate) type Checks = fn(&mut Node) -> Result<(), Error>;

/// Starts this program again as MPI jobs; in their processes, runs `checks`, or `fails` in a job
/// of three that must not succeed. Without `mpirun` it says so and skips.
pub(crate) fn main(checks: Checks, fails: Option<Checks>) -> ExitCode {
    match (std::env::var(mpirun::CASE).as_deref(), fails) {
        (Ok("fails"), Some(fails)) => return inside(fails),
        (Ok(_), _) => return inside(checks),
        (Err(_), _) => {}
    }
    if !mpirun::is_there() {
        println!(
            "skipped: mpirun does not start; install Open MPI, for example \
             `apt-get install openmpi-bin libopenmpi-dev`"
        );
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed) = (0, 0);
    for nodes in mpirun::nodes(&[1, 2, 3, 4]) {
        let run = mpirun::run("all", nodes, &[], &[]).and_then(|outcome| {
            if outcome.status.success() { Ok(()) } else { outcome.wrong("the job failed") }
        });
        match run {
            Ok(()) => passed += 1,
            Err(error) => {
                println!("failed: mpirun -n {nodes}: {error}");
                failed += 1;
            }
        }
    }
    if fails.is_some() {
        match mpirun::run("fails", 3, &[], &[]) {
            Ok(outcome) if !outcome.status.success() => passed += 1,
            Ok(_) => {
                println!("failed: a job that must fail did not");
                failed += 1;
            }
            Err(error) => {
                println!("failed: a job that must fail: {error}");
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
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
