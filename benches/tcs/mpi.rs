//! Connections between two MPI processes, beside active messages and beside the program that one
//! writes with MPI alone, in one run.
//!
//!     cargo bench -p strata-benches --features mpi --bench tcs_mpi

#![forbid(unsafe_code)]

mod here;
mod lengths;
mod steps;

use clap::Parser;
use lengths::{Lanes, lanes, lengths, print_lengths};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use serde_json::{Map, Value};
use steps::{granularity, messages, pair, print_granularity, print_messages};
use strata_benches::{Timings, machine};
use strata_runtime::prelude::*;
use strata_tcs::switch::Mode;

#[derive(Parser)]
struct Arguments {
    /// A trial of few rounds
    #[arg(long)]
    quick: bool,
    /// Only messages of 8 bytes to 64 KiB
    #[arg(long)]
    lengths: bool,
    /// Only choices of forms of patterns, with 2 and 4 processes
    #[arg(long)]
    patterns: bool,
}

strata_benches::main!(|arguments: &Arguments| {
    if strata_benches::is_rank() {
        return inside(arguments).map_err(|error| error.to_string());
    }
    println!("{}", machine());
    if arguments.patterns {
        strata_benches::mpirun(2)?;
        return strata_benches::mpirun(4).map(drop);
    }
    strata_benches::mpirun(2).map(drop)
});

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

/// By connections in shared memory, and by messages.
type Lengths = [Vec<[Timings; 3]>; 2];
type Found = (Vec<Timings>, Vec<[Timings; 3]>, Lengths);

fn both_lengths(node: &mut Node, lanes: &Lanes, rounds: usize) -> Result<Lengths, Error> {
    Ok([lengths(node, lanes, rounds, false)?, lengths(node, lanes, rounds / 2, true)?])
}

fn of_lengths([shared, apart]: &Lengths, summary: &mut Map<String, Value>) {
    println!("\nA message from a process to another one, half of there and back:\n");
    print_lengths(shared, "connection", summary);
    println!("\nThe same, where connections go by messages as between hosts:\n");
    print_lengths(apart, "connection_by_messages", summary);
}

fn inside(arguments: &Arguments) -> Result<(), Error> {
    let quick = arguments.quick;
    let mut summary = Map::new();
    if arguments.patterns {
        if let Some((found, processes)) = launch(|node| Ok((here::choices(node, quick)?, node.size())))? {
            println!("\nPatterns on {processes} processes:\n");
            here::print(&found, &format!("processes_{processes}"), &mut summary);
            strata_benches::summary(&summary.into());
        }
        return Ok(());
    }
    if arguments.lengths {
        let lanes = lanes()?;
        if let Some(found) = launch(|node| both_lengths(node, &lanes, if quick { 20 } else { 200 }))? {
            of_lengths(&found, &mut summary);
            strata_benches::summary(&summary.into());
        }
        return Ok(());
    }
    let (rounds, times) = if quick { (10, 200) } else { (100, 2000) };
    let (pair, lanes) = (pair(Mode::Triple)?, lanes()?);
    let found: Option<Found> = launch(|node| {
        let world = SimpleCommunicator::world();
        let steps = granularity(node, &pair, rounds / 4, &mut |_, value| naive(&world, value))?;
        Ok((messages(node, &pair, rounds, times)?, steps, both_lengths(node, &lanes, rounds)?))
    })?;
    let Some((messages, steps, lengths)) = found else { return Ok(()) };
    println!("\n8 bytes from a process to another one, half of there and back:\n");
    let ratio = print_messages(&messages);
    println!("\nSteps of work between exchanges of 8 bytes, two processes:\n");
    let [connections, naive] = print_granularity(&steps, "MPI alone");
    of_lengths(&lengths, &mut summary);
    let number = |value: Option<f64>| value.map_or(Value::Null, Value::from);
    summary.insert("connection_ns".into(), (messages[0].median() * 1e9).into());
    summary.insert("connection_to_active_message".into(), ratio.into());
    summary.insert("metg_connections_us".into(), number(connections));
    summary.insert("metg_mpi_us".into(), number(naive));
    strata_benches::summary(&summary.into());
    Ok(())
}
