//! Programs on nodes: of a simulated machine, or threads of this process.

use std::cell::Cell;
use std::rc::Rc;

use strata_runtime::message::Request;
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

/// Installs a request that is answered and one that is not, each of two words; counts the answers.
pub fn asked_and_told(node: &mut Node) -> (Rc<Cell<usize>>, [Request<[u64; 2]>; 2]) {
    let came = Rc::new(Cell::new(0));
    let mut handlers = node.handlers();
    let counted = Rc::clone(&came);
    let answer = handlers.reply(move |_, _: [u64; 2]| counted.set(counted.get() + 1));
    let ask = handlers.request(move |context, words: [u64; 2]| context.reply(answer, words));
    let tell = handlers.request(|_, _: [u64; 2]| ());
    node.install(handlers);
    (came, [ask, tell])
}
