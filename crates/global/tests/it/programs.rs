//! The programs of `examples/` on threads and simulated machines; each tests its own result.

use super::common::programs;
use strata_runtime::{prelude::*, simulation::SimulatedMachine};

const NODES: [usize; 6] = [1, 2, 3, 4, 5, 8];

#[test]
fn threads() -> Result<(), Error> {
    NODES.iter().try_for_each(|nodes| Machine::threads(*nodes)?.run(programs::check).map(drop))
}

#[test]
fn simulated() -> Result<(), Error> {
    let cm5 = SimulatedMachine::find("cm5")?;
    NODES.iter().try_for_each(|nodes| Machine::sim(&cm5, *nodes)?.run(programs::check).map(drop))
}
