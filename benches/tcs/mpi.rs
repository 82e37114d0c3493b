//! Connections between two MPI processes, beside active messages and beside the program that one
//! writes with MPI alone, in one run.
//!
//!     cargo bench -p strata-benches --features mpi --bench tcs_mpi

#![forbid(unsafe_code)]

mod steps;

use clap::Parser;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use serde_json::{Map, Value};
use std::process::ExitCode;
use steps::{granularity, messages, pair, print_granularity, print_messages};
use strata_benches::{Timings, machine};
use strata_runtime::prelude::*;
use strata_tcs::switch::Mode;

#[derive(Parser)]
struct Arguments {
    /// A trial of few rounds
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    strata_benches::run(|arguments: &Arguments| {
        if strata_benches::is_rank() {
            return inside(arguments.quick).map_err(|error| error.to_string());
        }
        println!("{}", machine());
        strata_benches::mpirun(2).map(drop)
    })
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
    strata_benches::summary(&summary.into());
    Ok(())
}
