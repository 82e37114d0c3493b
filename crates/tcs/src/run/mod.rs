//! A running cell: the phases and switches of its tasks, and its connections.

mod cell;
mod fabric;
mod links;
mod mail;
mod memory;
mod messages;
mod net;
mod place;
mod puts;
mod ring;
mod sink;
mod spool;
mod sync;
mod watch;

pub use cell::Cell;
pub(crate) use cell::Sent;
pub use net::Net;
pub use spool::Spool;

use crate::link::Image;
use fabric::Fabric;
use strata_runtime::{Error, Node};

/// What a library has installed, and the number of removals of handlers at that time.
struct Installed<T>(Option<(T, u64)>);

impl<T> Default for Installed<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// What `install` has installed, in this run or in one before. Collective.
fn installed<T: Clone + 'static>(node: &mut Node, install: impl FnOnce(&mut Node) -> T) -> T {
    let removed = node.handlers_removed();
    match &node.local::<Installed<T>>().0 {
        Some((known, before)) if *before == removed => known.clone(),
        _ => {
            let new = install(node);
            node.local::<Installed<T>>().0 = Some((new.clone(), removed));
            new
        }
    }
}

/// Options of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// True if time is that of the image's machine, computed from its costs: every message and
    /// barrier carries its time of sending. The times depend neither on the host nor on the order
    /// in which nodes arrive.
    pub simulated: bool,
    /// True if switches check that no data of the new set has arrived early. That all data of the
    /// old set has been received is checked always.
    pub check: bool,
    /// True if a sender that exceeds its reservation, or sends less than the shortest message that
    /// was described, ends the job. Otherwise it takes what others leave, as far as its buffer lets
    /// it.
    pub reservations: bool,
    /// True if connections go by messages although nodes share memory: as between hosts.
    pub apart: bool,
}

/// Runs `program` on the cells of the root task; `clocked` is true in the time of the simulated
/// machine that the image was linked for. Collective; `None` on nodes without a cell.
pub(crate) fn run_cells<T>(
    node: &mut Node,
    image: &Image,
    options: RunOptions,
    clocked: bool,
    program: impl FnOnce(&mut Cell<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let clock = clocked.then(|| 1e6 / image.target.mhz);
    let fabric = Fabric::open(node, image, options, clock);
    let me = node.rank();
    let id = image.instances[0].cells.iter().position(|cell| *cell == me);
    let result = id.map(|id| {
        let mut cell = Cell::new(node, image, fabric, options, id, clocked);
        let result = program(&mut cell);
        if let Err(error) = &result {
            cell.fail(error);
        }
        cell.ends();
        result
    });
    // Receive the messages that other nodes still send here: they may wait for room. The barrier
    // also keeps a node from leaving while another waits for its data.
    node.barrier();
    result.transpose()
}
