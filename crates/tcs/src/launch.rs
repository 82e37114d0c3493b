//! Runs a linked application: each cell is a node of the run-time.

use crate::barrier::Algorithm;
use crate::link::Image;
use crate::patterns::words;
use crate::run::{Cell, RunOptions, run_cells};
use strata_runtime::select::SelectError;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Error, Machine, Node};

/// Runs a linked application: `program` on the root task's cells. Cell c of the machine runs on
/// node c. Returns `None` on nodes without a cell.
///
/// ```
/// use strata_runtime::prelude::*;
/// use strata_tcs::{App, Target, link, run};
///
/// strata_tcs::communication! {
///     networks { Around, Home }
///     sets { Turn: Around; Collect: Home; }
/// }
/// let mut app = App::new("ring");
/// let root = app.task("ring", 3);
/// let next: Vec<_> = (0..3).map(|cell| app[root].connect::<u64, Around>(cell, (cell + 1) % 3)).collect();
/// let home: Vec<_> = (1..3).map(|cell| app[root].connect::<u64, Home>(cell, 0)).collect();
/// app[root].set::<Turn>();
/// app[root].set::<Collect>();
/// let image = link(&app, root, &Target::crossbar(3))?;
/// let sums = Machine::threads(3)?.run(|node| {
///     run(node, &image, |cell| {
///         let me = cell.id();
///         let mut mine = [me as u64];
///         cell.phase::<Turn, _>(|net| {
///             net.send(next[me], &mine);
///             net.receive(next[(me + 2) % 3], &mut mine);
///             Ok(())
///         })?;
///         cell.phase::<Collect, _>(|net| {
///             let mut sum = mine[0];
///             for from in home.iter().filter(|_| me == 0) {
///                 net.receive(*from, &mut mine);
///                 sum += mine[0];
///             }
///             if me > 0 {
///                 net.send(home[me - 1], &mine);
///             }
///             Ok(sum)
///         })
///     })
/// })?;
/// assert_eq!(sums[0], Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Participation
/// Collective over all nodes, with the same image.
///
/// # Errors
/// If there are too few nodes. An error returned by `program` ends the job.
#[track_caller]
pub fn run<T>(
    node: &mut Node,
    image: &Image,
    program: impl FnOnce(&mut Cell<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let check = node.is_on("STRATA_CHECK");
    run_with(node, image, RunOptions { check, reservations: check, ..RunOptions::default() }, program)
}

/// As [`run`], with options.
///
/// # Participation
/// As [`run`].
///
/// # Errors
/// As [`run`].
#[track_caller]
pub fn run_with<T>(
    node: &mut Node,
    image: &Image,
    options: RunOptions,
    program: impl FnOnce(&mut Cell<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let root = &image.instances[0];
    let need = root.cells.iter().max().map_or(0, |cell| cell + 1);
    if need > node.size() {
        return Err(Error::program(format!(
            "{} is linked for cells up to {} of {}, and there are {} nodes; start {need}, or link it for fewer",
            image.name,
            need - 1,
            image.target.name,
            node.size()
        )));
    }
    let native = image.barriers.iter().any(|barrier| barrier.algorithm == Algorithm::Native);
    if native && node.size() != image.target.cells {
        return Err(Error::program(format!(
            "{} uses the machine's own barrier of {} cells, and there are {} nodes; start {}",
            image.name,
            image.target.cells,
            node.size(),
            image.target.cells
        )));
    }
    // On the simulated machine that the image was linked for, connections use its circuits.
    let circuits = image.target.machine.as_ref().and_then(|machine| machine.circuits);
    let clocked = circuits.is_some() && node.circuits() == circuits;
    let options = RunOptions { simulated: options.simulated || clocked, ..options };
    if image.messages {
        // All nodes must choose the same form, and must receive while they wait.
        let (words, alike) = loop {
            let words = words(node);
            let mine = words
                .as_ref()
                .map_or(0, |words| words.iter().fold(1, |all: u64, word| all.rotate_left(5) ^ word));
            let alike = node.all_gather(&[mine]).windows(2).all(|pair| pair[0] == pair[1]);
            if !node.must_compare_again(alike) {
                break (words, alike);
            }
        };
        words?;
        if !alike {
            return Err(SelectError::Unlike.into());
        }
        node.install(node.handlers());
    }
    run_cells(node, image, options, clocked, program)
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated<T> {
    /// The program's results, by the root task's cells.
    pub results: Vec<T>,
    /// Cycles that each cell's program took.
    pub clocks: Vec<f64>,
}

impl<T> Simulated<T> {
    /// The time at which the last cell ended.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.clocks.iter().copied().fold(0.0, f64::max)
    }
}

/// Runs a linked application in the simulated time of its machine: the same program, with the
/// linker's rates and the machine's costs. Connections are FIFOs with one sender and one receiver,
/// so the times depend only on the program (Kahn 1974). If the rates of the machine's links are not
/// known, bytes take no time, so that only the results count.
///
/// With `STRATA_CHECK=1` senders that exceed their reservations end the simulation.
///
/// # Errors
/// As [`run`].
pub fn simulate<T: Send>(
    image: &Image,
    program: impl Fn(&mut Cell<'_>) -> Result<T, Error> + Sync,
) -> Result<Simulated<T>, Error> {
    // The host is the machine itself or any simulated one: all its nodes share a thread, and its
    // own times are not used.
    let host = match image.target.host() {
        Some(host) => host,
        None => SimulatedMachine::find("ethernet-25g")?,
    };
    let root = &image.instances[0];
    let nodes = root.cells.iter().max().map_or(1, |cell| cell + 1);
    let run = Machine::sim(&host, nodes)?.run(|node| {
        let reservations = node.is_on("STRATA_CHECK");
        let options = RunOptions { simulated: true, check: true, reservations, apart: false };
        run_with(node, image, options, |cell| {
            let start = cell.clocks();
            let result = program(cell)?;
            Ok((result, cell.clocks() - start))
        })
    })?;
    let mut by_cell: Vec<Option<(T, f64)>> = run.results;
    let ended = root.cells.iter().filter_map(|cell| by_cell.get_mut(*cell)?.take());
    let (results, clocks) = ended.unzip();
    Ok(Simulated { results, clocks })
}
