//! Switches of connection sets as data: steps that are executed, priced and checked.
//!
//! A switch must ensure that no cell sends in the new set before the receiver has armed it.
//! [`check`] tries every order in which cells and messages may proceed.

use self::Mode::{Double, Neighbour, Single, Triple};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The protocol with which a task changes its active set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Three barriers: before events are turned off, before the new set is entered, and before
    /// events are turned on (Warfel 1996, §5.2).
    #[default]
    Triple,
    /// Without the first barrier: this run-time has no background services that need it.
    Double,
    /// One barrier: by then all sent data has arrived and the new set is armed. The two sets must
    /// not share buffers; in this run-time they do not.
    Single,
    /// No barrier: each receiver of the new set notifies its senders that it is ready. Cells may be
    /// in different sets at once, so a set's guaranteed rates hold only between cells that have
    /// switched.
    Neighbour,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Triple, Double, Single, Neighbour];

    /// Its steps.
    #[must_use]
    pub fn steps(self) -> &'static [SwitchStep] {
        use SwitchStep::{Arm, AwaitReady, Barrier, Drain, TellReady};
        match self {
            Triple => &[Barrier, Barrier, Arm, Barrier],
            Double => &[Barrier, Arm, Barrier],
            Single => &[Drain, Arm, Barrier],
            Neighbour => &[Drain, Arm, TellReady, AwaitReady],
        }
    }

    /// The number of its barriers.
    #[must_use]
    pub fn barriers(self) -> usize {
        self.steps().iter().filter(|step| **step == SwitchStep::Barrier).count()
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Triple => "triple",
            Double => "double",
            Single => "single",
            Neighbour => "neighbour",
        })
    }
}

/// A step of a switch, the same on all cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchStep {
    /// Waits for all cells of the task.
    Barrier,
    /// Waits until what this cell has sent has arrived.
    Drain,
    /// Leaves the old set and enters the new one.
    Arm,
    /// Notifies the senders of its connections in the new set.
    TellReady,
    /// Waits for the notifications of the receivers of its connections in the new set.
    AwaitReady,
}

/// Guarantees of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ensured {
    /// True if data of the old and of the new set are never under way at once: only then does every
    /// connection have its guaranteed rate, whatever the order of events.
    pub isolated: bool,
}

/// Why a sequence of steps is not a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// Data of the new set arrive before their receiver has armed it.
    #[error("data from cell {from} reach cell {to} before it has switched")]
    Early {
        /// Their sender.
        from: usize,
        /// Their receiver.
        to: usize,
    },
    /// A cell waits for ever.
    #[error("cell {0} waits for ever")]
    Stuck(usize),
    /// There are more states than can be tried.
    #[error("more than {0} states")]
    TooMany(usize),
}

/// The most states that are tried.
const MOST: usize = 2_000_000;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// The next step of each cell. The first two steps send and receive in the old set, the last
    /// one sends in the new one.
    at: Vec<u8>,
    armed: Vec<bool>,
    /// By connection, true if under way: data of the old set, of the new one, and readiness.
    old: Vec<bool>,
    new: Vec<bool>,
    ready: Vec<bool>,
}

/// Tries every order of events of a switch: each cell sends on its connections of the old set,
/// receives all data sent to it in that set, takes the steps, and sends on those of the new set.
/// Connections are pairs of cells, sender first; both sets have the same connections.
///
/// # Errors
/// [`SwitchError`] with the first fault found.
pub fn check(
    steps: &[SwitchStep],
    cells: usize,
    connections: &[(usize, usize)],
) -> Result<Ensured, SwitchError> {
    let none = vec![false; connections.len()];
    let start = State {
        at: vec![0; cells],
        armed: vec![false; cells],
        old: none.clone(),
        new: none.clone(),
        ready: none,
    };
    let last = steps.len() + 2;
    let mut seen = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    let mut ensured = Ensured { isolated: true };
    while let Some(state) = open.pop() {
        let mut nexts = Vec::new();
        for cell in 0..cells {
            if let Some(next) = advance(&state, cell, steps, connections) {
                nexts.push(next);
            }
        }
        for (connection, (from, to)) in connections.iter().enumerate() {
            if state.old[connection] {
                let mut next = state.clone();
                next.old[connection] = false;
                nexts.push(next);
            }
            if state.new[connection] {
                if !state.armed[*to] {
                    return Err(SwitchError::Early { from: *from, to: *to });
                }
                let mut next = state.clone();
                next.new[connection] = false;
                nexts.push(next);
            }
        }
        if nexts.is_empty()
            && let Some(cell) = (0..cells).find(|cell| usize::from(state.at[*cell]) <= last)
        {
            return Err(SwitchError::Stuck(cell));
        }
        ensured.isolated &= !(state.old.contains(&true) && state.new.contains(&true));
        for next in nexts {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        if seen.len() > MOST {
            return Err(SwitchError::TooMany(MOST));
        }
    }
    Ok(ensured)
}

/// The state after a cell's next step, or `None` if the step must wait.
fn advance(
    state: &State,
    cell: usize,
    steps: &[SwitchStep],
    connections: &[(usize, usize)],
) -> Option<State> {
    let at = usize::from(state.at[cell]);
    let out = || (0..connections.len()).filter(|connection| connections[*connection].0 == cell);
    let into = || (0..connections.len()).filter(|connection| connections[*connection].1 == cell);
    let mut next = state.clone();
    next.at[cell] += 1;
    let may = match at.checked_sub(2).map(|at| steps.get(at)) {
        None if at == 0 => {
            out().for_each(|connection| next.old[connection] = true);
            true
        }
        None => into().all(|connection| state.at[connections[connection].0] > 0 && !state.old[connection]),
        // A barrier: all cells have reached it or are past it.
        Some(Some(SwitchStep::Barrier)) => state.at.iter().all(|other| usize::from(*other) >= at),
        Some(Some(SwitchStep::Drain)) => !out().any(|connection| state.old[connection]),
        Some(Some(SwitchStep::Arm)) => {
            next.armed[cell] = true;
            true
        }
        Some(Some(SwitchStep::TellReady)) => {
            into().for_each(|connection| next.ready[connection] = true);
            true
        }
        Some(Some(SwitchStep::AwaitReady)) => out().all(|connection| state.ready[connection]),
        Some(None) => {
            out().for_each(|connection| next.new[connection] = true);
            at == steps.len() + 2
        }
    };
    may.then_some(next)
}
