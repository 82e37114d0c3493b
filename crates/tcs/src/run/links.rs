//! The links of a simulated machine with reserved circuits: what is idle is used.
//!
//! A link serves the connections on it in turns, each for some bytes (Warfel 1996, §3.1.3: an idle
//! connection leaves its share to the others). A turn is as long as the connection's guaranteed
//! share of a round, and a connection never gets less than its guarantee.

use super::cell::Active;
use super::messages::cycles;
use crate::link::Image;
use std::sync::{Arc, Mutex, PoisonError};
use strata_runtime::Node;
use strata_runtime::simulation::Time;

/// Bytes of a round in which every connection of a link has its turn.
const ROUND: f64 = 512.0;
/// The bytes of the shortest turn.
const LEAST: usize = 8;

/// The links, as a node knows them.
pub(super) struct Links {
    /// By link: the cycle at which it is idle. All nodes share the first node's.
    idle: Arc<Mutex<Vec<f64>>>,
    /// Bytes that a link carries in a cycle.
    rate: f64,
    /// Picoseconds of a cycle.
    clock: f64,
}

impl Links {
    /// Collective. `None` if the machine is not simulated.
    pub(super) fn open(node: &mut Node, image: &Image, clock: f64) -> Option<Self> {
        let own = Arc::new(Mutex::new(vec![0.0; image.target.links()]));
        let idle = node.circuit_share(own)?.into_iter().next()?;
        Some(Self { idle, rate: image.target.link_rate?, clock })
    }

    /// A cycle as the machine's time.
    pub(super) fn time(&self, clocks: f64) -> Time {
        Time((clocks * self.clock).round() as u64)
    }

    /// Cycles of so many bytes on a link.
    pub(super) fn cycles(&self, bytes: usize) -> f64 {
        cycles((0, bytes), self.rate)
    }

    /// Sends the bytes of a message from one count to another, from `time` on, turn by turn; returns
    /// the time at which the last has left.
    pub(super) fn pass(
        &self,
        node: &mut Node,
        active: Active<'_>,
        (mut sent, end): (usize, usize),
        mut time: f64,
    ) -> f64 {
        let turn = ((ROUND * active.rate / self.rate) as usize).max(LEAST);
        loop {
            let next = end.min(sent + turn);
            // Others that are earlier have their turns before.
            node.circuit_come_to(self.time(time));
            time = self.take(active, (sent, next), time);
            if next == end {
                return time;
            }
            sent = next;
        }
    }

    /// Uses the links of a path for some bytes, when they are idle, and no later than the
    /// connection's guarantee; returns the time at which the last has left.
    pub(super) fn take(&self, active: Active<'_>, bytes: (usize, usize), time: f64) -> f64 {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let start = active.links.iter().filter_map(|link| idle.get(*link)).fold(time, |a, b| a.max(*b));
        let guaranteed = time + cycles(bytes, active.rate);
        let end = guaranteed.min(start + cycles(bytes, self.rate));
        for link in active.links {
            if let Some(idle) = idle.get_mut(*link) {
                *idle = idle.max(end);
            }
        }
        end
    }
}
