//! The methods of a node for printing, logs and traces.

use super::{Reporter, State};
use crate::node::Node;
use crate::transport::{Action, Call};
use std::fmt::Display;
use std::panic::Location;
use strata_develop::log::What;

impl Node {
    /// This node's reporter, for printing, logging and states in handlers.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter(self.notes().clone())
    }

    /// Queues a line to be printed on standard output; it can be called anywhere, because it does
    /// not wait and allocates only the first time. False if the queue of 64 KiB had no room for the
    /// line, which is then lost and counted.
    ///
    /// A line is not split. With MPI, [`mpirun`](https://www.open-mpi.org) forwards 4 KiB at a
    /// time, so longer lines may be mixed with other nodes' output.
    ///
    /// # Participation
    /// Local.
    pub fn print(&self, message: impl Display) -> bool {
        self.notes().print(message)
    }

    /// Prints the queued lines of this node; also done at the end of the program, and on failure.
    /// Returns the number of messages.
    ///
    /// # Participation
    /// Local.
    pub fn flush_prints(&self) -> usize {
        self.notes().flush_prints()
    }

    /// Adds a line to this node's log, if the job keeps logs. A system call, so not for inner
    /// loops.
    ///
    /// # Participation
    /// Local.
    pub fn log(&self, message: impl Display) {
        self.notes().log(What::Say(message));
    }

    /// Names states of the program and returns them; a name used before returns the same state
    /// again.
    ///
    /// There is room for 16. Further names return [`State::BUSY`], so that a library can name
    /// its own states safely.
    ///
    /// # Participation
    /// Local; every node must name the same states in the same order, otherwise their traces do not
    /// fit together. An empty name, one longer than 40 bytes, or one that does not fit on a line
    /// ends the job.
    #[track_caller]
    pub fn name_states<const N: usize>(&mut self, names: [&str; N]) -> [State; N] {
        let place = Location::caller();
        names.map(|name| match self.notes().name_state(name) {
            Ok(state) => state,
            Err(message) => self.fail_at(&message, place),
        })
    }

    /// Sets this node's state; returns the previous one.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn set_state(&self, state: State) -> State {
        self.notes().set_state(state)
    }

    /// Turns the recording of states and packets on (the initial state, in a job that keeps traces)
    /// or off; returns whether it was on.
    ///
    /// # Participation
    /// Local.
    pub fn record_states(&self, on: bool) -> bool {
        self.notes().record_states(on)
    }

    /// Writes the recorded events to the trace. This also happens at the end, and whenever 32,768
    /// events have accumulated; called here, all nodes pause at a time chosen by the program.
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
