//! Reserved circuits of simulated machines, for libraries that reserve them.
//!
//! A simulation's network carries only packets. A configured circuit carries none, and its times
//! are sums of constants, so a library computes them itself. Data are passed between nodes in
//! memory, with their times of arrival, and the nodes' clocks are advanced accordingly.

use super::Node;
use crate::transport::{Action, Awaited, Call};
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;
use strata_sim::Time;

pub use strata_sim::platform::Circuits;

impl Node {
    /// The costs of reserved circuits on the simulated machine to which this node belongs; `None`
    /// if it has none, or the node is not simulated. The other methods named `circuit_…` require
    /// such a machine.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn circuits(&mut self) -> Option<Circuits> {
        self.transport.simulated()?.circuits()
    }

    /// The time of this node's clock; reading it costs nothing. Zero if time is not simulated.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn circuit_time(&self) -> Time {
        self.clock.simulated_time()
    }

    /// Advances this node's clock to at least `time`.
    ///
    /// # Participation
    /// Local.
    pub fn circuit_pass_until(&mut self, time: Time) {
        if let Some(simulated) = self.transport.simulated() {
            simulated.pass_until(time);
        }
    }

    /// Advances this node's clock to at least `time`, and lets everything happen first that is
    /// earlier: what this node then does in shared memory comes in the order of time.
    ///
    /// # Participation
    /// Local.
    pub fn circuit_come_to(&mut self, time: Time) {
        if let Some(simulated) = self.transport.simulated() {
            simulated.pass_until(time);
            simulated.catch_up();
        }
    }

    /// Gives every node a reference to the value of each node, by rank, at the time when the last
    /// node has arrived. `None`, on every node, if time is not simulated.
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

    /// Receives until `there` is true; another node makes it true and then
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
            // Polling the networks costs time, so it is done only if a packet has arrived.
            if self.transport.simulated().is_some_and(|simulated| simulated.has_packets()) {
                self.receive_all();
            }
        }
    }
}
