//! What a machine has for barriers besides its usual barrier messages (Warfel 1996, §4.3.1).

use super::{Algorithm, Costs};
use serde::{Deserialize, Serialize};

/// A kind of signals that barriers may use, with its costs in cycles and its capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// Its name in reports.
    pub name: String,
    /// How it signals.
    pub way: Way,
    /// Barriers that may be pending on it at a cell; `None`: no limit.
    pub pending: Option<usize>,
    /// True if it joins all cells of the machine, and no fewer (class M1).
    pub whole: bool,
}

/// How a machine signals that cells have come to a barrier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Wires that combine the signals of all cells and show the result to all: class S1, and S2 if
    /// several channels take turns on them.
    Combining {
        /// Cycles of a signal besides what follows.
        settle: f64,
        /// Cycles for each cell of the machine: wires without buffers settle in proportion to their
        /// length.
        cell: f64,
        /// Cycles for each doubling of the cells: of buffers, a stage each.
        stage: f64,
        /// Channels that take turns; 1: it is always this one's.
        channels: usize,
        /// Cycles of a turn.
        turn: f64,
        /// True if each cell's interface keeps what the wires have shown until the cell has seen it.
        memory: bool,
    },
    /// A channel over which a cell tells all others at once.
    Broadcast {
        /// Cycles of a message.
        message: f64,
        /// True if cells also have private messages of this time, several at once.
        private: bool,
    },
    /// Messages from one cell to another.
    Messages {
        /// Their costs.
        costs: Costs,
    },
}

impl Signal {
    /// The algorithms that suit it, for a block of these extents, if it is one.
    pub(crate) fn algorithms(&self, extents: Option<&[usize]>) -> Vec<Algorithm> {
        match self.way {
            Way::Combining { memory: true, .. } => vec![Algorithm::Combining],
            Way::Combining { memory: false, .. } => vec![Algorithm::CombiningTwice],
            // On a channel alone, what goes up a tree would take turns, too.
            Way::Broadcast { private: false, .. } => vec![Algorithm::Broadcast],
            Way::Broadcast { private: true, .. } => vec![Algorithm::TreeBroadcast, Algorithm::Broadcast],
            Way::Messages { .. } => Algorithm::all(extents),
        }
    }

    /// The costs of its messages on a machine of `cells` cells. What a channel tells all cells takes its
    /// sender no time of its own for each of them.
    pub(crate) fn costs(&self, cells: usize) -> Costs {
        let channel = |latency: f64| Costs { startup: 0.0, send: 0.0, latency, receive: 0.0, hop: 0.0 };
        match self.way {
            Way::Combining { settle, cell, stage, channels, turn, .. } => {
                let stages = f64::from(cells.max(1).next_power_of_two().ilog2());
                // A signal that has just missed its turn waits for those of the others.
                let turns = if channels > 1 { channels as f64 * turn } else { 0.0 };
                channel(settle + cell * cells as f64 + stage * stages + turns)
            }
            Way::Broadcast { message, .. } => channel(message),
            Way::Messages { costs } => costs,
        }
    }

    /// What cannot be about it, in words.
    pub(crate) fn faults(&self) -> Vec<String> {
        let numbers = match self.way {
            Way::Combining { settle, cell, stage, turn, .. } => vec![settle, cell, stage, turn],
            Way::Broadcast { message, .. } => vec![message],
            Way::Messages { costs } => {
                vec![costs.startup, costs.send, costs.latency, costs.receive, costs.hop]
            }
        };
        let wrong = numbers.iter().filter(|value| !(value.is_finite() && **value >= 0.0));
        let name = &self.name;
        let mut faults: Vec<String> = wrong
            .map(|value| format!("signal `{name}` takes {value} cycles: it is a finite number, not below 0"))
            .collect();
        if matches!(self.way, Way::Combining { channels: 0, .. }) {
            faults.push(format!("signal `{name}` has 0 channels: it has at least 1"));
        }
        faults
    }
}
