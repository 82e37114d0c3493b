//! Random programs against what they must compute, on threads (shared memory, and messages) and on
//! simulated machines.
//!
//! The long version: `cargo test --release -p strata-global --test it random -- --ignored`.

use crate::common::{How, check, counters};
use strata_global::Way;
use strata_runtime::{prelude::*, simulation::SimulatedMachine};

const NODES: [usize; 5] = [1, 2, 3, 5, 8];

/// A random program: [`check`] or [`counters::check`].
type Check = fn(&mut Node, u64, How) -> Result<(), Error>;

fn on_threads(check: Check, seeds: std::ops::Range<u64>) -> Result<(), Error> {
    for seed in seeds {
        let nodes = NODES[(seed / 5 % 5) as usize];
        let ways = [How::By(Way::Shared), How::By(Way::Messages), How::By(Way::Gathered), How::Checked];
        let way = ways[(seed / 25 % 4) as usize];
        Machine::threads(nodes)?.run(|node| check(node, seed, way))?;
    }
    Ok(())
}

/// The seed is also that of the network, which delivers packets out of order.
fn on_simulated_machines(check: Check, seeds: std::ops::Range<u64>) -> Result<(), Error> {
    let cm5 = SimulatedMachine::find("cm5")?;
    for seed in seeds {
        let nodes = NODES[(seed / 5 % 5) as usize];
        let way = How::By([Way::Messages, Way::Gathered][(seed / 25 % 2) as usize]);
        Machine::sim(&cm5, nodes)?.seed(seed).run(|node| check(node, seed, way))?;
    }
    Ok(())
}

#[test]
fn threads() -> Result<(), Error> {
    on_threads(check, 0..200)
}

#[test]
fn simulated() -> Result<(), Error> {
    on_simulated_machines(check, 0..200)
}

#[test]
fn counters_on_threads() -> Result<(), Error> {
    on_threads(counters::check, 0..300)
}

#[test]
fn counters_simulated() -> Result<(), Error> {
    on_simulated_machines(counters::check, 0..300)
}

#[test]
#[ignore = "takes minutes"]
fn threads_long() -> Result<(), Error> {
    on_threads(check, 0..10_000)?;
    on_threads(counters::check, 0..10_000)
}

#[test]
#[ignore = "takes minutes"]
fn simulated_long() -> Result<(), Error> {
    on_simulated_machines(check, 0..10_000)?;
    on_simulated_machines(counters::check, 0..10_000)
}
