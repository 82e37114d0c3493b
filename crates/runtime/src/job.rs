//! A job's nodes: set-up and completion around each node's program.

use crate::clock::{Clock, HostClock};
use crate::develop::{Board, Development, Notes, Watchdog, observe, synchronise};
use crate::error::Error;
use crate::node::Node;
use crate::settings::Settings;
use crate::transport::{Endpoint, Stop, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use strata_develop::log::What;

/// State of the job that the nodes of this process share.
pub(crate) struct Job {
    clock: HostClock,
    development: Development,
    board: Option<Arc<Board>>,
    /// The watchdog, while the job runs.
    _watchdog: Option<Watchdog>,
}

impl Job {
    /// `nodes` nodes of this process, from rank `first` on. It is called before any of them runs.
    pub(crate) fn new(
        first: usize,
        nodes: usize,
        clock: HostClock,
        development: Development,
        settings: &Settings,
    ) -> Self {
        if first == 0 {
            settings.report_misspelt();
        }
        strata_model::find_installed();
        // Errors in pins and models are reported here. The first copy may occur between two
        // rendezvous, and all nodes would wait if standard error is a full pipe.
        strata_copy::read_settings();
        // The watchdog's thread must not read a clock that an MPI library simulates; and simulated
        // processes that wait for ever are found by the library.
        let limit = development.watchdog.filter(|_| !clock.is_simulated());
        let board = limit.map(|limit| (limit, Arc::new(Board::new(first, nodes))));
        let watchdog = board
            .as_ref()
            .map(|(limit, board)| Watchdog::watch(board, clock, *limit, development.log.as_deref()));
        Self { clock, development, board: board.map(|(_, board)| board), _watchdog: watchdog }
    }

    /// Begins a node's program.
    pub(crate) fn begin(
        &self,
        mut transport: Box<dyn Endpoint>,
        settings: Arc<Settings>,
    ) -> Result<Node, Error> {
        let clock = match transport.simulated() {
            Some(simulated) => Clock::Simulated(simulated.clock()),
            None => Clock::Host(self.clock),
        };
        let notes = Notes::new(transport.rank(), transport.size(), clock.clone(), &self.development)?;
        // Before observation begins, because these collectives are not the program's.
        if self.development.trace.is_some() {
            notes.clock_is(synchronise(&mut *transport, &clock));
        }
        if !self.development.is_nothing() {
            transport = observe(transport, &notes, self.board.clone());
        }
        #[cfg(feature = "tune")]
        if let Some(options) = crate::collectives::tuned::wanted(&settings)? {
            transport =
                crate::collectives::tuned::tuned(transport, &clock, &settings.platform.transport, &options)?;
        }
        Ok(Node::new(transport, settings, notes))
    }

    /// Ends a node's program, and receives until all nodes' programs have ended.
    pub(crate) fn end(node: &mut Node) {
        node.report_pins();
        #[cfg(feature = "tune")]
        node.keep_tuning();
        node.leave();
    }

    /// Runs one node's program, and receives until all nodes' programs have ended.
    pub(crate) fn run_node<T>(
        &self,
        program: &impl Fn(&mut Node) -> Result<T, Error>,
        transport: Box<dyn Endpoint>,
        settings: Arc<Settings>,
    ) -> Result<T, Error> {
        let mut node = self.begin(transport, settings)?;
        let notes = Rc::clone(node.notes());
        let result: thread::Result<Result<T, Error>> = catch_unwind(AssertUnwindSafe(|| {
            let result = program(&mut node)?;
            Self::end(&mut node);
            Ok(result)
        }));
        match &result {
            Ok(Ok(_)) => notes.finish(),
            Ok(Err(error)) => notes.end(What::Fail(error.to_string())),
            // The failing node has recorded its failure.
            Err(payload) if payload.is::<Stop>() => notes.end(What::<&str>::Stop),
            Err(payload) => notes.end(What::Fail(format_args!("panicked: {}", panic_text(&**payload)))),
        }
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }
}
