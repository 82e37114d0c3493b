//! A node's records about itself: queued text, its log, its state. Shared with handlers.

use super::Development;
use super::log_file::LogFile;
use super::prints::Prints;
use super::recorder::Recorder;
use super::state::{Names, State};
use crate::clock::Clock;
use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::path::Path;
use std::rc::Rc;
use strata_develop::log::{Head, What};
use strata_develop::trace;

/// A node's records, used only by its own thread.
pub(crate) struct Notes {
    rank: usize,
    pub(crate) clock: Clock,
    prints: RefCell<Prints>,
    log: RefCell<Option<LogFile>>,
    recorder: RefCell<Option<Recorder>>,
    names: RefCell<Names>,
    /// The state set by the program.
    state: Cell<State>,
    /// The state set by the run-time, which takes precedence.
    own: Cell<Option<State>>,
    /// True if there is a recorder.
    traced: bool,
    /// True if there is a log.
    logged: bool,
    /// True if the end was recorded in the trace.
    ended: Cell<bool>,
}

impl Notes {
    /// Creates the files that `development` requests.
    pub(crate) fn new(
        rank: usize,
        nodes: usize,
        clock: Clock,
        development: &Development,
    ) -> Result<Rc<Self>, Error> {
        let head = Head { node: rank, nodes, began: clock.began() };
        let failed = |folder: &Path, error: std::io::Error| {
            Error::program(format_args!("cannot write to {}: {error}", folder.display()))
        };
        let log = development.log.as_deref();
        let log = log.map(|folder| LogFile::create(folder, head).map_err(|error| failed(folder, error)));
        let log = log.transpose()?;
        let trace = development.trace.as_deref();
        let trace = trace.map(|folder| Recorder::create(folder, head).map_err(|error| failed(folder, error)));
        let trace = trace.transpose()?;
        let notes = Self {
            rank,
            clock,
            prints: RefCell::default(),
            logged: log.is_some(),
            log: RefCell::new(log),
            traced: trace.is_some(),
            recorder: RefCell::new(trace),
            names: RefCell::default(),
            state: Cell::new(State::BUSY),
            own: Cell::new(None),
            ended: Cell::new(false),
        };
        notes.record_state(State::BUSY);
        Ok(Rc::new(notes))
    }

    /// True if events are recorded, or could be.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.traced
    }

    /// True if there is a log.
    #[inline]
    pub(crate) fn is_logged(&self) -> bool {
        self.logged
    }

    /// Writes to the log, if there is one.
    pub(crate) fn log<T: Display>(&self, what: What<T>) {
        if let Some(log) = &mut *self.log.borrow_mut() {
            log.write(self.clock.ns(), what);
        }
    }

    /// Records an event, if there is a trace.
    #[inline]
    pub(crate) fn record(&self, what: trace::What) {
        if self.traced {
            self.record_at(self.clock.ns(), what);
        }
    }

    /// Records an event that occurred at an earlier time; no event may have been recorded since
    /// then.
    pub(crate) fn record_at(&self, at: u64, what: trace::What) {
        if let Some(recorder) = &mut *self.recorder.borrow_mut() {
            recorder.push(at, what);
            if recorder.is_full() {
                let began = self.clock.ns();
                recorder.flush(&self.names.borrow());
                recorder.push(began, trace::What::State(State::LOGGING.0));
                recorder.push(self.clock.ns(), trace::What::State(self.shown().0));
            }
        }
    }

    /// The state that the graph shows now.
    fn shown(&self) -> State {
        self.own.get().unwrap_or(self.state.get())
    }

    fn record_state(&self, state: State) {
        self.record(trace::What::State(state.0));
    }

    /// Sets or clears the state of the run-time.
    #[inline]
    pub(crate) fn set_own(&self, state: Option<State>) {
        if self.traced && self.own.replace(state) != state {
            self.record_state(self.shown());
        }
    }

    pub(crate) fn set_state(&self, state: State) -> State {
        let before = self.state.replace(state);
        // A state set by a handler while the run-time waits becomes visible when the wait is over.
        if before != state && self.own.get().is_none() {
            self.record_state(state);
        }
        before
    }

    pub(crate) fn record_states(&self, on: bool) -> bool {
        match &mut *self.recorder.borrow_mut() {
            Some(recorder) => recorder.switch(on, self.clock.ns(), self.shown()),
            None => false,
        }
    }

    pub(crate) fn name_state(&self, name: &str) -> Result<State, String> {
        self.names.borrow_mut().state(name)
    }

    pub(crate) fn print(&self, message: impl Display) -> bool {
        self.prints.borrow_mut().push(message)
    }

    pub(crate) fn flush_prints(&self) -> usize {
        let before = self.own.get();
        self.set_own(Some(State::PRINTING));
        let messages = self.prints.borrow_mut().flush(self.rank);
        self.set_own(before);
        messages
    }

    /// Adds the offset of this node's clock from node 0's to the trace.
    pub(crate) fn clock_is(&self, offset: trace::ClockOffset) {
        if let Some(recorder) = &mut *self.recorder.borrow_mut() {
            recorder.clock(offset);
        }
    }

    pub(crate) fn write_trace(&self) {
        if let Some(recorder) = &mut *self.recorder.borrow_mut() {
            recorder.flush(&self.names.borrow());
        }
    }

    /// The node's program has failed or was stopped: writes everything out.
    pub(crate) fn end<T: Display>(&self, how: What<T>) {
        self.log(how);
        self.finish();
    }

    /// The node's program has ended: writes everything out.
    pub(crate) fn finish(&self) {
        if !self.ended.replace(true) {
            self.set_own(None);
            if let Some(recorder) = &mut *self.recorder.borrow_mut() {
                recorder.end(self.clock.ns());
            }
            self.write_trace();
        }
        self.flush_prints();
    }
}

/// A node's queue of text, log and state, for handlers to use: capture a clone in the handler.
///
/// ```
/// use strata_runtime::prelude::*;
/// Machine::threads(2)?.run(|node| {
///     let reporter = node.reporter();
///     let mut handlers = node.handlers();
///     let _hello = handlers.request(move |context, value: u64| {
///         reporter.print(format_args!("{value} from node {}", context.from()));
///     });
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Reporter(pub(crate) Rc<Notes>);

impl Reporter {
    /// As [`Node::print`](crate::Node::print).
    pub fn print(&self, message: impl Display) -> bool {
        self.0.print(message)
    }

    /// As [`Node::log`](crate::Node::log).
    pub fn log(&self, message: impl Display) {
        self.0.log(What::Say(message));
    }

    /// As [`Node::set_state`](crate::Node::set_state).
    pub fn set_state(&self, state: State) -> State {
        self.0.set_state(state)
    }
}
