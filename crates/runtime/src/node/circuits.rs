//! Reserved circuits of simulated machines, for libraries that reserve them.
//!
//! The network of a simulation knows packets. A circuit that was configured beforehand takes none,
//! and its times are sums of constants, so a library computes them itself: data go from node to
//! node in memory, each with the time at which they are there, and the nodes' clocks follow.

use super::Node;
use crate::transport::{Action, Awaited, Call};
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;
use strata_sim::Time;

pub use strata_sim::platform::Circuits;

impl Node {
    /// What reserved circuits cost on the simulated machine that this node is part of; `None` if it
    /// has none, or is not simulated. The other methods named `circuit_…` are for machines that
    /// have.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn circuits(&mut self) -> Option<Circuits> {
        self.transport.simulated()?.circuits()
    }

    /// The time that this node's clock shows; reading it takes none. Zero where nothing is
    /// simulated.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn circuit_time(&self) -> Time {
        self.clock.simulated_time()
    }

    /// Lets this node's clock show at least `time`.
    ///
    /// # Participation
    /// Local.
    pub fn circuit_pass_until(&mut self, time: Time) {
        if let Some(simulated) = self.transport.simulated() {
            simulated.pass_until(time);
        }
    }

    /// Gives every node a reference to the value of each node, by rank, at the time when the last
    /// has come. `None`, on every node, where nothing is simulated.
    ///
    /// # Participation
    /// Collective, with values of the same type; otherwise the job ends.
    #[track_caller]
    pub fn circuit_share<T: Any + Send + Sync>(&mut self, value: Arc<T>) -> Option<Vec<Arc<T>>> {
        let call = Call::plain(Action::Share, Location::caller());
        let round = self.transport.simulated()?.place(value);
        self.wait_for_memory(&call, |node| {
            node.transport.simulated().is_none_or(|simulated| simulated.is_placed(round))
        });
        if !self.may_go_on() {
            return None;
        }
        let values = self.transport.simulated()?.take(round);
        let all: Option<Vec<Arc<T>>> = values.into_iter().map(|value| Arc::downcast(value).ok()).collect();
        if all.is_none() {
            self.misuse(&call, "the nodes share values of different types");
        }
        all
    }

    /// Wakes node `to` at `time` at the latest, if it is in [`circuit_wait`](Self::circuit_wait).
    ///
    /// # Participation
    /// Local. There must be a node `to`.
    pub fn circuit_wake(&mut self, to: usize, time: Time) {
        if to < self.size()
            && let Some(simulated) = self.transport.simulated()
        {
            simulated.wake(to, time);
        }
    }

    /// Receives until `there`, which another node makes true that then
    /// [wakes](Self::circuit_wake) this one.
    ///
    /// # Participation
    /// Local.
    #[track_caller]
    pub fn circuit_wait(&mut self, mut there: impl FnMut() -> bool) {
        let call = Call::plain(Action::WaitUntil, Location::caller());
        self.wait_for_memory(&call, |_| there());
    }

    fn wait_for_memory(&mut self, call: &Call, mut there: impl FnMut(&mut Self) -> bool) {
        let mut pauses = 0;
        while self.may_go_on() && !there(self) {
            self.pause(call, Awaited::Memory { pauses });
            pauses = pauses.saturating_add(1);
            // A look at the networks costs time, so that it is taken only where something has come.
            if self.transport.simulated().is_some_and(|simulated| simulated.has_packets()) {
                self.receive_all();
            }
        }
    }
}
