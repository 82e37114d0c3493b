//! Running a program on a simulated machine.

use super::Sim;
use super::coroutine::Coroutine;
use super::setup::Setup;
use super::world::{NodeState, World};
use crate::error::Error;
use crate::transport::deadlock::{Standing, explain};
use crate::transport::{Endpoint, Failure, Stop, panic_text};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use strata_sim::network::Statistics;
use strata_sim::{Network, Time};

/// A node's stack; the memory is only reserved.
const STACK: usize = 1 << 20;

thread_local! {
    /// The simulation that this thread runs. Nodes get it from here, because the values passed to
    /// them must be `Send`.
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

pub(crate) struct Outcome<T> {
    pub(crate) results: Vec<T>,
    /// The time at which each node's program ended.
    pub(crate) times: Vec<Time>,
    pub(crate) network: Statistics,
    pub(crate) hash: u64,
    pub(crate) steps: u64,
    /// The factor by which time slices lengthen times.
    pub(crate) dilation: f64,
}

/// Runs `program` on every node of a simulated machine.
pub(crate) fn run<T: Send>(
    setup: &Setup,
    program: impl Fn(Box<dyn Endpoint>) -> Result<T, Error> + Sync,
) -> Result<Outcome<T>, Error> {
    let start = |reason: String| Error::Start { transport: "sim", reason };
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    maps_suffice(setup.nodes, most.and_then(|most| most.trim().parse().ok())).map_err(start)?;
    // On a separate thread, because a simulation may be started from within another one.
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("simulation".to_owned());
        thread.spawn_scoped(scope, || simulate(setup, &program)).map(std::thread::ScopedJoinHandle::join)
    });
    match result {
        Err(error) => Err(start(error.to_string())),
        // The error of a coroutine whose stack was too small.
        Ok(Err(payload)) if payload.is::<generator::Error>() => Err(start(format!(
            "a node needs more than its stack of {} KiB: put large arrays on the heap",
            STACK >> 10
        ))),
        Ok(Err(payload)) => Err(start(format!("the simulator panicked: {}", panic_text(&*payload)))),
        Ok(Ok(outcome)) => outcome,
    }
}

/// Whether the system maps as many stacks: two maps each, one of them the guard page.
fn maps_suffice(nodes: usize, most: Option<usize>) -> Result<(), String> {
    /// Maps of the program itself, more or less.
    const OTHERS: usize = 1000;
    let need = nodes.saturating_mul(2).saturating_add(OTHERS);
    match most {
        Some(most) if most < need => Err(format!(
            "{nodes} nodes take about {need} memory maps, and the system allows {most}: `sysctl -w \
             vm.max_map_count={need}` allows as many"
        )),
        _ => Ok(()),
    }
}

fn simulate<T: Send>(
    setup: &Setup,
    program: &(impl Fn(Box<dyn Endpoint>) -> Result<T, Error> + Sync),
) -> Result<Outcome<T>, Error> {
    let network = Network::new(&setup.platform, setup.nodes, setup.seed)
        .map_err(|error| Error::Start { transport: "sim", reason: error.to_string() })?;
    let world = Rc::new(World::new(setup, network));
    WORLD.set(Some(Rc::clone(&world)));
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..setup.nodes).map(|_| None).collect());
    let results = &results;
    let mut nodes: Vec<Coroutine<'_>> =
        (0..setup.nodes).map(|rank| Coroutine::new(STACK, move || node(rank, program, results))).collect();
    loop {
        let Some(rank) = world.next_node() else {
            let mut state = world.state.borrow_mut();
            let now = state.network.now();
            let standing = |(rank, node): (usize, &super::world::Shown)| match &node.state {
                NodeState::Ended => Some((rank, Standing::Ended)),
                NodeState::Waits(wait) => Some((rank, Standing::waits(wait.call, wait.awaited))),
                // No node runs if none is next.
                NodeState::Runs | NodeState::Due(_) => None,
            };
            let standings: Vec<_> = state.nodes.iter().enumerate().filter_map(standing).collect();
            state.failure = explain(standings, &format!(" at {now}"));
            break;
        };
        if !world.advances(rank) {
            nodes[rank].resume();
        }
        if world.state.borrow().failure.is_some() {
            break;
        }
    }
    if world.state.borrow().failure.is_some() {
        // The nodes unwind when they are resumed, which drops their values.
        for node in &mut nodes {
            while !node.resume() {}
        }
    }
    drop(nodes);
    WORLD.set(None);
    let mut state = world.state.borrow_mut();
    if let Some(Failure { rank, message }) = state.failure.take() {
        return Err(Error::Node { rank, message });
    }
    let results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
    let network = state.network.statistics();
    let slices = setup.platform.slices.filter(|_| setup.disturbed);
    Ok(Outcome {
        dilation: slices.map_or(1.0, |slices| slices.factor(network.standing, setup.seed)),
        results: results.into_iter().flatten().collect(),
        times: (0..setup.nodes).map(|rank| world.time(rank)).collect(),
        network,
        hash: state.network.hash(),
        steps: state.network.steps(),
    })
}

/// Runs one node to its end; does not unwind.
fn node<T: Send>(
    rank: usize,
    program: &impl Fn(Box<dyn Endpoint>) -> Result<T, Error>,
    results: &Mutex<Vec<Option<T>>>,
) {
    let Some(world) = WORLD.with_borrow(Clone::clone) else { return };
    if world.state.borrow().failure.is_some() {
        return;
    }
    let result = catch_unwind(AssertUnwindSafe(|| program(Box::new(Sim::new(Rc::clone(&world), rank)))));
    let message = match result {
        Ok(Ok(result)) => {
            if let Some(place) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(rank) {
                *place = Some(result);
            }
            return;
        }
        Ok(Err(error)) => error.to_string(),
        Err(payload) if payload.is::<Stop>() => return,
        Err(payload) => format!("panicked: {}", panic_text(&*payload)),
    };
    world.state.borrow_mut().failure.get_or_insert(Failure { rank, message });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_than_the_system_maps_are_refused() {
        let why = maps_suffice(65_536, Some(65_530)).unwrap_err();
        assert!(why.contains("65536 nodes") && why.contains("vm.max_map_count=132072"), "{why}");
        assert_eq!(maps_suffice(16_384, Some(65_530)), Ok(()));
        assert_eq!(maps_suffice(usize::MAX, None), Ok(()));
    }
}
