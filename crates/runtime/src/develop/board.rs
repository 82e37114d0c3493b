//! The position of each node of this process, for the watchdog.

use crate::transport::{AbortHandle, Call};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use strata_develop::log::Standing;
use strata_develop::log::standing;

/// The position of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The number of the last collective that it has entered, from 1.
    pub(crate) number: u64,
    pub(crate) call: Option<Call>,
    pub(crate) doing: Doing,
    /// The time at which its activity began, in ns by the node's clock.
    pub(crate) since: u64,
}

/// Its activity; see [`standing::Doing`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
    Inside,
    Started,
    Works,
    Waits(Call),
    Ended,
    Stopped,
}

impl Position {
    const START: Self = Self { number: 0, call: None, doing: Doing::Works, since: 0 };

    /// The time for which the node has waited at `now`; `None` if it does not wait.
    pub(crate) fn waited(&self, now: u64) -> Option<u64> {
        matches!(self.doing, Doing::Inside | Doing::Waits(_)).then(|| now.saturating_sub(self.since))
    }

    fn standing(&self, rank: usize, now: u64) -> Standing {
        let doing = match self.doing {
            Doing::Inside => standing::Doing::Inside,
            Doing::Started => standing::Doing::Started,
            Doing::Works => standing::Doing::Works,
            Doing::Waits(call) => standing::Doing::Waits(call.to_string()),
            Doing::Ended => standing::Doing::Ended,
            Doing::Stopped => standing::Doing::Stopped,
        };
        let call = self.call.map(|call| call.to_string()).unwrap_or_default();
        Standing { rank, number: self.number, call, doing, since: now.saturating_sub(self.since) }
    }
}

/// A cell on its own cache lines, because nodes often write theirs.
#[repr(align(128))]
struct Cell(Mutex<Position>);

/// The nodes' positions.
pub(crate) struct Board {
    /// The rank of the first node.
    first: usize,
    cells: Box<[Cell]>,
    /// The abort handle, once a node has stored it; on MPI only the process can be ended.
    pub(crate) abort_handle: OnceLock<AbortHandle>,
}

impl Board {
    /// A board for `nodes` nodes of this process, from rank `first` on.
    pub(crate) fn new(first: usize, nodes: usize) -> Self {
        let cells = (0..nodes).map(|_| Cell(Mutex::new(Position::START))).collect();
        Self { first, cells, abort_handle: OnceLock::new() }
    }

    /// Records the position of node `rank`. The lock is contended only by the watchdog's rare
    /// check.
    #[inline]
    pub(crate) fn show(&self, rank: usize, position: Position) {
        if let Some(cell) = self.cells.get(rank - self.first) {
            *lock(cell) = position;
        }
    }

    pub(crate) fn positions(&self) -> Vec<Position> {
        self.cells.iter().map(|cell| *lock(cell)).collect()
    }

    /// All nodes' standings at `now`.
    pub(crate) fn standings(&self, positions: &[Position], now: u64) -> Vec<Standing> {
        (self.first..).zip(positions).map(|(rank, position)| position.standing(rank, now)).collect()
    }
}

fn lock(cell: &Cell) -> MutexGuard<'_, Position> {
    cell.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Position {
    fn default() -> Self {
        Self::START
    }
}
