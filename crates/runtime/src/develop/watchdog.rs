//! The watchdog: a thread that checks the nodes' positions, and ends a job in which a node has
//! waited too long.

use super::board::{Board, Position};
use crate::clock::HostClock;
use crate::transport::Failure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use strata_develop::log::standing::{Doing, Report};
use strata_develop::log::{Log, Standing};
use strata_model::Seconds;
use strata_select::say;

/// Time for the other waiting processes to report before the first one ends the process.
const COURTESY: Duration = Duration::from_secs(1);

/// Checks a board until it is dropped.
pub(crate) struct Watchdog {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Watch {
    board: Arc<Board>,
    clock: HostClock,
    limit: Duration,
    log: Option<PathBuf>,
    over: Arc<AtomicBool>,
}

impl Watchdog {
    /// Starts the watchdog. If the thread cannot be created, a line on standard error reports it.
    pub(crate) fn watch(board: &Arc<Board>, clock: HostClock, limit: Duration, log: Option<&Path>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            board: Arc::clone(board),
            clock,
            limit,
            log: log.map(Path::to_owned),
            over: Arc::clone(&over),
        };
        let started = thread::Builder::new().name("watchdog".to_owned()).spawn(move || watch.run());
        let thread = started.map_err(|error| say!("strata: there is no watchdog: {error}")).ok();
        Self { over, thread }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread does not panic; even then, the job is over.
            let _ = thread.join();
        }
    }
}

impl Watch {
    fn run(&self) {
        let step = (self.limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(500));
        let mut suspects: Vec<Option<u64>> = Vec::new();
        loop {
            thread::park_timeout(step);
            if self.over.load(Ordering::Acquire) {
                return;
            }
            let (positions, now) = (self.board.positions(), self.clock.ns());
            let stuck = |position: &Position| {
                let long =
                    position.waited(now).is_some_and(|waited| u128::from(waited) >= self.limit.as_nanos());
                long.then_some(position.since)
            };
            let seen: Vec<Option<u64>> = positions.iter().map(stuck).collect();
            // Two checks in a row are required, because the first may follow a suspension of the
            // process.
            if seen.iter().zip(&suspects).any(|(now, before)| now.is_some() && now == before) {
                self.end(&positions, now, &seen);
                return;
            }
            suspects = seen;
        }
    }

    fn end(&self, positions: &[Position], now: u64, stuck: &[Option<u64>]) {
        let standings = self.board.standings(positions, now);
        let limit = Seconds::new(self.limit.as_secs_f64()).unwrap_or_default();
        let report = Report(&standings).to_string();
        match self.board.abort_handle.get() {
            Some(end) => {
                let missing = missing(&standings);
                let stuck = standings.iter().zip(stuck).find(|(_, stuck)| stuck.is_some());
                let (rank, what) = match (missing, stuck) {
                    (Some(rank), _) => (rank, "has kept others waiting"),
                    (None, Some((standing, _))) => (standing.rank, "has waited"),
                    (None, None) => return,
                };
                let message =
                    format!("{what} for more than {limit}, and the watchdog ended the job:\n{report}");
                let failure = Failure { rank, message };
                let text = failure.message.clone();
                end(failure);
                self.end_the_rest(rank, &text);
            }
            None => self.end_process(&report, limit),
        }
    }

    /// Ends the process if a node that does not wait is still running: it may never notice the
    /// abort, and the job would hang.
    fn end_the_rest(&self, rank: usize, message: &str) {
        let patience = self.limit.max(COURTESY);
        let until = self.clock.ns().saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
        while self.clock.ns() < until {
            thread::park_timeout(Duration::from_millis(50).min(patience));
            if self.over.load(Ordering::Acquire) {
                return;
            }
        }
        last_words(&format!(
            "error: node {rank}: {message}\nstrata: a node neither waits nor ends, so the watchdog ends the process"
        ));
        std::process::abort();
    }

    /// This process is one node among many.
    fn end_process(&self, report: &str, limit: Seconds) {
        last_words(&format!("strata: {report}; the watchdog ends the job after {limit}"));
        thread::sleep(COURTESY);
        if let Some(folder) = &self.log {
            let tell = Log::read_folder(folder).map(|logs| Standing::of_logs(&logs));
            // Of all waiting nodes, one reports the other nodes' positions from the logs.
            if let Ok(standings) = tell
                && self.is_first_to_wait(&standings)
            {
                let report = Report(&standings);
                last_words(&format!("strata: the logs in {} say:\n{report}", folder.display()));
            }
        } else {
            last_words("strata: with STRATA_LOG=DIR and `strata-job log DIR` you see who has not come");
        }
        std::process::abort();
    }

    fn is_first_to_wait(&self, standings: &[Standing]) -> bool {
        let mine = self.board.standings(&[Position::default()], 0).first().map(|standing| standing.rank);
        let waits = |standing: &&Standing| matches!(standing.doing, Doing::Inside | Doing::Waits(_));
        standings.iter().find(waits).map(|standing| standing.rank) == mine
    }
}

/// Writes a message to standard error, and waits no longer than [`COURTESY`] for it. Standard error
/// may be a full pipe without a reader, and a node may be blocked in it with its lock held: the
/// process must end all the same.
fn last_words(message: &str) {
    let (done, said) = mpsc::channel();
    let text = message.to_owned();
    let speaker = thread::Builder::new().name("last words".to_owned()).spawn(move || {
        say!("{text}");
        // The watchdog may have given up waiting.
        let _ = done.send(());
    });
    match speaker {
        // If it takes longer, the pipe has no reader.
        Ok(_) => drop(said.recv_timeout(COURTESY)),
        // There may be no room for another thread: waiting for a reader is better than losing the
        // message.
        Err(_) => say!("{message}"),
    }
}

/// The node for which the first of the collectives in progress is waiting.
fn missing(standings: &[Standing]) -> Option<usize> {
    let inside = standings.iter().filter(|standing| standing.doing == Doing::Inside);
    let first = inside.map(|standing| standing.number).min()?;
    standings.iter().find(|standing| standing.number < first).map(|standing| standing.rank)
}
