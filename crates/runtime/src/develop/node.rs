//! What a program calls.

use super::{Reporter, State};
use crate::node::Node;
use crate::transport::{Action, Call};
use std::fmt::Display;
use std::panic::Location;
use strata_develop::log::What;

impl Node {
    /// This node's printing, logging and states, for handlers to use.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter(self.notes().clone())
    }

    /// Queues a line to be printed on standard output; usable anywhere, as it neither waits nor
    /// (after the first) allocates. False if the queue of 64 KiB had no room for it: then the line
    /// is lost, and counted.
    ///
    /// A line stays whole. With MPI what [`mpirun` forwards](https://www.open-mpi.org) at once is 4
    /// KiB, so longer lines may be torn by other nodes' there.
    ///
    /// # Participation
    /// Local.
    pub fn print(&self, message: impl Display) -> bool {
        self.notes().print(message)
    }

    /// Prints what was queued on this node; also done at the end of the program, and when it fails.
    /// Returns how many messages that were.
    ///
    /// # Participation
    /// Local.
    pub fn flush_prints(&self) -> usize {
        self.notes().flush_prints()
    }

    /// Adds a line to this node's log, if the job keeps logs. A system call: not for inner loops.
    ///
    /// # Participation
    /// Local.
    pub fn log(&self, message: impl Display) {
        self.notes().log(What::Say(message));
    }

    /// Names states of the program's own, and gives them; a name that was named before gives the
    /// same state again.
    ///
    /// There is room for eight. Names beyond that give [`State::BUSY`], so that a library may name
    /// its own without harm.
    ///
    /// # Participation
    /// Local; every node names the same ones in the same order, else their traces do not fit
    /// together. An empty name, one longer than 40 bytes, and one that does not fit into a line end
    /// the job.
    #[track_caller]
    pub fn name_states<const N: usize>(&mut self, names: [&str; N]) -> [State; N] {
        let place = Location::caller();
        names.map(|name| match self.notes().name_state(name) {
            Ok(state) => state,
            Err(message) => self.fail_at(&message, place),
        })
    }

    /// Sets what this node does from now on; returns what it did before.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn set_state(&self, state: State) -> State {
        self.notes().set_state(state)
    }

    /// Turns the recording of states and packets on (as it is in the beginning, in a job that keeps
    /// traces) or off; returns what it was.
    ///
    /// # Participation
    /// Local.
    pub fn record_states(&self, on: bool) -> bool {
        self.notes().record_states(on)
    }

    /// Writes what was recorded so far to the trace. That is also done at the end, and whenever
    /// 32,768 events have gathered; done here, all nodes pause at a time of the program's choice.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn write_trace(&mut self) {
        self.barrier();
        let notes = self.notes();
        notes.set_own(Some(State::LOGGING));
        notes.write_trace();
        notes.set_own(None);
        self.barrier();
    }

    #[cold]
    fn fail_at(&mut self, message: &str, place: &'static Location<'static>) -> ! {
        let call = Call::plain(Action::NameStates, place);
        self.misuse(&call, message)
    }
}
