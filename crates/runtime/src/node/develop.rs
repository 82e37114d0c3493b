//! The methods of a node for printing, logs and traces.

use super::Node;
use crate::develop::{ClockOffset, Exchange, Reporter, State, compare_clocks};
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

    /// Estimates the offset of this node's clock ([`now`](Self::now)) from node 0's, and a bound on
    /// the error; adds them to the trace. On threads all nodes share one clock, and both are zero.
    ///
    /// Clocks of different hosts also run at different rates: the bound is valid at the time of the
    /// call.
    ///
    /// # Participation
    /// Collective.
    pub fn synchronise_clocks(&mut self) -> ClockOffset {
        let (clock, rank) = (self.notes().clock.clone(), self.rank());
        let offset = compare_clocks(&clock, rank, |step| match step {
            Exchange::Meet => self.barrier(),
            Exchange::Tell(times) => self.broadcast(0, times),
        });
        self.notes().clock_is(offset);
        offset
    }

    #[cold]
    fn fail_at(&mut self, message: &str, place: &'static Location<'static>) -> ! {
        let call = Call::plain(Action::NameStates, place);
        self.misuse(&call, message)
    }
}

/// Ends the job unless a condition holds, naming the node, the condition and the place.
///
/// ```
/// use strata_runtime::{ensure, prelude::*};
/// let failed = Machine::threads(2)?.run(|node| {
///     let sum = node.reduce_add(1u32);
///     ensure!(node, sum == 3, "{sum} nodes");
///     Ok(())
/// });
/// let message = failed.unwrap_err().to_string();
/// assert!(message.contains(": `sum == 3` does not hold: 2 nodes (at "), "{message}");
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! ensure {
    ($node:expr, $condition:expr $(,)?) => {
        if !$condition {
            $crate::Node::fail($node, ::core::concat!("`", ::core::stringify!($condition), "` does not hold"))
        }
    };
    ($node:expr, $condition:expr, $($text:tt)+) => {
        if !$condition {
            $crate::Node::fail($node, ::core::format_args!(
                ::core::concat!("`{}` does not hold: {}"),
                ::core::stringify!($condition),
                ::core::format_args!($($text)+),
            ))
        }
    };
}
