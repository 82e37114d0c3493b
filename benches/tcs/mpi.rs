//! Connections between two MPI processes, beside active messages and beside the program that one
//! writes with MPI alone, in one run.
//!
//! `cargo bench -p strata-benches --features mpi --bench tcs_mpi`; with `-- --quick` for a trial.

#![forbid(unsafe_code)]

mod steps;

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use serde_json::{Map, Value};
use std::process::ExitCode;
use steps::{granularity, messages, pair, print_granularity, print_messages};
use strata_benches::{Timings, machine};
use strata_runtime::prelude::*;
use strata_tcs::switch::Mode;

/// Distinguishes a rank started by `mpirun` from the program started by hand.
const INSIDE: &str = "STRATA_BENCH_RANK";
/// Set for a trial.
const QUICK: &str = "STRATA_BENCH_QUICK";

fn main() -> ExitCode {
    let outcome = match std::env::var_os(INSIDE) {
        Some(_) => inside(std::env::var_os(QUICK).is_some()).map_err(|error| error.to_string()),
        None => outside(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tcs_mpi: {message}");
            ExitCode::FAILURE
        }
    }
}

fn outside() -> Result<(), String> {
    println!("{}", machine());
    if std::env::args().any(|argument| argument == "--quick") {
        // The ranks inherit it.
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let status = std::process::Command::new("mpirun")
            .args(["-n", "2"])
            .arg(program)
            .env(INSIDE, "1")
            .env(QUICK, "1")
            .envs(strata_benches::MPI_ENVIRONMENT.iter().copied())
            .status()
            .map_err(|error| format!("cannot start mpirun: {error}"))?;
        return if status.success() { Ok(()) } else { Err(format!("mpirun ended with {status}")) };
    }
    strata_benches::mpirun(2, INSIDE).map(drop)
}

/// What one writes without a library: send 8 bytes, receive 8 bytes, the lower rank first.
fn naive(world: &SimpleCommunicator, value: u64) -> u64 {
    let other = world.process_at_rank(1 - world.rank());
    if world.rank() == 0 {
        other.send(&value);
        other.receive::<u64>().0
    } else {
        let theirs = other.receive::<u64>().0;
        other.send(&value);
        theirs
    }
}

type Found = ([Timings; 2], Vec<[Timings; 3]>);

fn inside(quick: bool) -> Result<(), Error> {
    let (rounds, times) = if quick { (10, 200) } else { (100, 2000) };
    let pair = pair(Mode::Triple)?;
    let found: Option<Found> = launch(|node| {
        let world = SimpleCommunicator::world();
        let steps = granularity(node, &pair, rounds / 4, &mut |_, value| naive(&world, value))?;
        Ok((messages(node, &pair, rounds, times)?, steps))
    })?;
    let Some((messages, steps)) = found else { return Ok(()) };
    println!("\n8 bytes from a process to another one, half of there and back:\n");
    let ratio = print_messages(&messages);
    println!("\nSteps of work between exchanges of 8 bytes, two processes:\n");
    let [connections, naive] = print_granularity(&steps, "MPI alone");
    let number = |value: Option<f64>| value.map_or(Value::Null, Value::from);
    let mut summary = Map::new();
    summary.insert("connection_ns".into(), (messages[0].median() * 1e9).into());
    summary.insert("connection_to_active_message".into(), ratio.into());
    summary.insert("metg_connections_us".into(), number(connections));
    summary.insert("metg_mpi_us".into(), number(naive));
    println!("\nsummary {}", Value::Object(summary));
    Ok(())
}
