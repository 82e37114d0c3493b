//! Halos of a program's own arrays, on threads and simulated machines.
//!
//! The long version: `cargo test --release -p strata-stencil --test it halos -- --ignored`.

use crate::common::halos::check;
use strata_runtime::{prelude::*, simulation::SimulatedMachine};

const NODES: [usize; 7] = [1, 2, 3, 4, 5, 6, 8];

fn nodes_of(seed: u64) -> usize {
    NODES[(seed / 16 % NODES.len() as u64) as usize]
}

fn on_threads(seeds: std::ops::Range<u64>) -> Result<(), Error> {
    for seed in seeds {
        Machine::threads(nodes_of(seed))?.run(|node| check(node, seed))?;
    }
    Ok(())
}

/// The seed is also that of the network, which delivers packets out of order.
fn on_simulated_machines(seeds: std::ops::Range<u64>) -> Result<(), Error> {
    let cm5 = SimulatedMachine::find("cm5").map_err(Error::program)?;
    for seed in seeds {
        Machine::sim(&cm5, nodes_of(seed))?.seed(seed).run(|node| check(node, seed))?;
    }
    Ok(())
}

#[test]
fn random_halos_on_threads_are_the_global_array() -> Result<(), Error> {
    on_threads(0..300)
}

#[test]
fn random_halos_on_simulated_machines_are_the_global_array() -> Result<(), Error> {
    on_simulated_machines(1000..1300)
}

#[test]
#[ignore = "takes minutes"]
fn many_random_halos_on_threads() -> Result<(), Error> {
    on_threads(0..10_000)
}

#[test]
#[ignore = "takes minutes"]
fn many_random_halos_on_simulated_machines() -> Result<(), Error> {
    on_simulated_machines(0..10_000)
}
