//! Programs on nodes: of a simulated machine, or threads of this process.

use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Error, Machine, Node};

/// The simulated machine of a name, or of a file.
///
/// # Errors
/// There is none.
pub fn platform(name: &str) -> Result<SimulatedMachine, String> {
    SimulatedMachine::find(name).map_err(|error| error.to_string())
}

/// What the nodes of a simulated machine return.
///
/// # Errors
/// The machine cannot have so many nodes, or the program fails.
pub fn simulated<T: Send>(
    machine: &SimulatedMachine,
    nodes: usize,
    program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, String> {
    let run = Machine::sim(machine, nodes).and_then(|simulation| simulation.run(program));
    run.map(|run| run.results).map_err(|error| error.to_string())
}

/// What the first of so many threads returns.
///
/// # Errors
/// The program fails.
pub fn on_threads<T: Send>(
    nodes: usize,
    program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
) -> Result<T, String> {
    let run = Machine::threads(nodes).and_then(|machine| machine.run(program));
    run.map(|mut results| results.swap_remove(0)).map_err(|error| error.to_string())
}
