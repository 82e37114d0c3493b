//! A job: the memory its nodes share, how they meet, and how a failure ends it everywhere.

#![allow(unsafe_code, reason = "reads pages under the meetings' order")]

use super::bind::Cores;
use super::meet::Pages;
use super::queue::Queue;
use super::wait::Beds;
use super::{MOST, Threads};
use crate::block::RawBlock;
use crate::error::Error;
use crate::transport::{Call, Failure, Stop, Transport, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

/// Blocks under way from one node to another. An exchange starts with a meeting, so there is never more than one.
type Way = Queue<RawBlock, 2>;

/// A node's stack. What runs on the main thread elsewhere should run on a node; the memory is only reserved.
const STACK: usize = 8 << 20;

/// The most nodes that each wait for every other's page: a guess, as each reads as many cache lines.
const MOST_EAGER: usize = 16;

/// A line of its own for a word that many wait for.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// What the nodes of one job share.
pub(super) struct Job {
    pages: Box<[Pages]>,
    /// Each node waits for every page, rather than for `complete`.
    eager: bool,
    /// Nodes that have come to the present meeting.
    come: Apart<AtomicUsize>,
    /// The last meeting to which all have come.
    complete: Apart<AtomicU64>,
    beds: Beds,
    /// From node i to node j at `i * size + j`, made when first used.
    ways: Box<[OnceLock<Box<Way>>]>,
    /// Which nodes' programs have ended.
    left: Box<[AtomicBool]>,
    some_left: AtomicBool,
    /// The failure that ended the job.
    failure: Mutex<Option<Failure>>,
    failed: AtomicBool,
}

impl Job {
    fn new(nodes: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            pages: (0..nodes).map(|_| Pages::new()).collect(),
            eager: nodes <= cores.min(MOST_EAGER),
            come: Apart::default(),
            complete: Apart::default(),
            beds: Beds::new(nodes),
            ways: (0..nodes * nodes).map(|_| OnceLock::new()).collect(),
            left: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            some_left: AtomicBool::new(false),
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.pages.len()
    }

    /// Node `rank` comes to meeting `turn` and waits until all have come.
    ///
    /// # Safety
    /// The caller is node `rank` and has attended all meetings before `turn`.
    pub(super) unsafe fn meet(&self, rank: usize, turn: u64, call: &Call, bytes: &[u8], lent: *mut u8) {
        // SAFETY: passed on to the caller.
        unsafe { self.pages[rank].write(turn, call, bytes, lent) };
        if self.eager {
            self.beds.wake_all();
            for pages in &self.pages {
                self.wait(rank, call, None, || pages.is_written(turn));
            }
        } else if self.come.0.fetch_add(1, Ordering::AcqRel) + 1 == self.size() {
            self.come.0.store(0, Ordering::Relaxed);
            self.complete.0.store(turn, Ordering::Release);
            self.beds.wake_all();
        } else {
            self.wait(rank, call, None, || self.complete.0.load(Ordering::Acquire) >= turn);
        }
    }

    /// The pages of every node, in rank order.
    pub(super) fn pages(&self) -> &[Pages] {
        &self.pages
    }

    /// The failure to report where not all came to meeting `turn` with the same call; equal on all nodes.
    ///
    /// # Safety
    /// The caller attends meeting `turn`, all have come, and it has not gone to the next.
    pub(super) unsafe fn mismatch(&self, turn: u64, call: &Call) -> Option<Failure> {
        // SAFETY: passed on to the caller.
        let calls = || self.pages.iter().map(|pages| unsafe { pages.call(turn) });
        if calls().all(|other| call.agrees(other.what, other.root, other.length)) {
            return None;
        }
        let first = calls().next()?;
        let (rank, other) =
            calls().enumerate().find(|(_, other)| !first.agrees(other.what, other.root, other.length))?;
        Some(other.differs(rank, &first))
    }

    /// Sends a block to node `to`.
    ///
    /// # Safety
    /// The caller is node `from`.
    pub(super) unsafe fn send(&self, from: usize, to: usize, call: &Call, mut block: RawBlock) {
        let way = self.way(from, to);
        // SAFETY: node `from` alone pushes here.
        while let Err(back) = unsafe { way.push(block) } {
            block = back;
            self.wait(from, call, Some(to), || !way.is_full());
        }
        self.beds.wake(to);
    }

    /// Waits for the next block from node `from`.
    ///
    /// # Safety
    /// The caller is node `to`.
    pub(super) unsafe fn receive(&self, from: usize, to: usize, call: &Call) -> RawBlock {
        let way = self.way(from, to);
        loop {
            // SAFETY: node `to` alone pops here.
            if let Some(block) = unsafe { way.pop() } {
                self.beds.wake(from);
                return block;
            }
            self.wait(to, call, Some(from), || !way.is_empty());
        }
    }

    fn way(&self, from: usize, to: usize) -> &Way {
        self.ways[from * self.size() + to].get_or_init(|| Box::new(Way::new()))
    }

    /// Waits until `ready`, which needs all nodes or one; unwinds where that can no longer be.
    fn wait(&self, rank: usize, call: &Call, whom: Option<usize>, ready: impl Fn() -> bool) {
        self.beds.wait(rank, &ready, || self.patience(rank, call, whom, &ready));
    }

    /// Unwinds if the job has failed, or if a node that is waited for has left: after it is seen to have left,
    /// whatever it did before is seen too, so a condition still not true never will be.
    fn patience(&self, rank: usize, call: &Call, whom: Option<usize>, ready: &dyn Fn() -> bool) {
        if self.failed.load(Ordering::Acquire) {
            self.unwind();
        }
        if !self.some_left.load(Ordering::Acquire) {
            return;
        }
        let gone = |node: &usize| self.left[*node].load(Ordering::Acquire);
        let missing = match whom {
            Some(node) => Some(node).filter(gone),
            None => (0..self.size()).find(gone),
        };
        if let Some(missing) = missing
            && !ready()
        {
            let message = format!("left the program while node {rank} waits in {call}");
            self.fail(Failure { rank: missing, message });
        }
    }

    /// Ends the job; the first failure is the one that is reported.
    pub(super) fn fail(&self, failure: Failure) -> ! {
        self.record(failure);
        self.unwind();
    }

    /// Leaves the node's program, because the job has failed.
    pub(super) fn unwind(&self) -> ! {
        resume_unwind(Box::new(Stop));
    }

    fn record(&self, failure: Failure) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        self.failed.store(true, Ordering::Release);
        self.beds.wake_all();
    }

    fn leave(&self, rank: usize) {
        self.left[rank].store(true, Ordering::Release);
        self.some_left.store(true, Ordering::Release);
        self.beds.wake_all();
    }

    /// Runs one node's program to its end, whatever that is.
    fn node<T>(
        self: &Arc<Self>,
        rank: usize,
        program: impl FnOnce(Box<dyn Transport>) -> Result<T, Error>,
    ) -> Option<T> {
        self.beds.enter(rank);
        let transport = Box::new(Threads::new(Arc::clone(self), rank));
        match catch_unwind(AssertUnwindSafe(|| program(transport))) {
            Ok(Ok(result)) => {
                self.leave(rank);
                return Some(result);
            }
            Ok(Err(error)) => self.record(Failure { rank, message: error.to_string() }),
            Err(payload) if payload.is::<Stop>() => {}
            Err(payload) => {
                self.record(Failure { rank, message: format!("panicked: {}", panic_text(&*payload)) });
            }
        }
        None
    }
}

/// Runs `program` on `nodes` threads; the results by rank.
pub(crate) fn run<T: Send>(
    nodes: usize,
    program: impl Fn(Box<dyn Transport>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if nodes == 0 || nodes > MOST {
        return Err(Error::Nodes { asked: nodes, most: MOST });
    }
    let job = Arc::new(Job::new(nodes));
    let cores = Cores::of_job(nodes);
    let (job, program, cores) = (&job, &program, &cores);
    let results: Vec<Option<T>> = thread::scope(|scope| {
        let start = |rank| {
            thread::Builder::new().name(format!("node {rank}")).stack_size(STACK).spawn_scoped(
                scope,
                move || {
                    cores.bind(rank);
                    job.node(rank, program)
                },
            )
        };
        let mut threads = Vec::with_capacity(nodes);
        for rank in 0..nodes {
            match start(rank) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    job.record(Failure { rank, message: format!("its thread did not start: {error}") });
                    break;
                }
            }
        }
        threads.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
    });
    match job.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(Failure { rank, message }) => Err(Error::Node { rank, message }),
        None => Ok(results.into_iter().flatten().collect()),
    }
}
