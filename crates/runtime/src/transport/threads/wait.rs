//! Waiting: spin, then yield, then sleep.
//!
//! A node waits for a condition on shared memory. Spinning notices it soonest, but only if the node
//! that fulfils it runs on another core; otherwise spinning takes that node's core. This cannot be
//! known in advance (more nodes than cores, other programs, the scheduler's placement), so each
//! node adapts: a spin that succeeds doubles the spins of the next, one that fails quarters them.
//! Long waits end in sleep, so that a node with work to do has the machine to itself.
//!
//! Waking is the classical two-flag handshake: a sleeper sets its flag, then checks the condition
//! once more; a waker fulfils the condition, then checks the flags. A sequentially consistent fence
//! between the two steps on each side ensures that at least one of them sees the other.
//!
//! Who goes to sleep last, with all others asleep or gone, finds the job stuck: nodes wake each
//! other, and none is left to do so. The count of those asleep is never too high: a sleeper enters
//! it as the last step before it sleeps, and whoever wakes a sleeper, or the sleeper itself, takes
//! it out before it clears its flag. So at the full count no node runs, all have found their
//! conditions false after the last one that ran had done its last step, and none can change any
//! more.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::thread::Thread;

/// The most rounds of the spin loop before the first yield: some tens of microseconds.
const MOST_SPINS: u32 = 2048;
/// The fewest: enough for a node that runs on another core at this moment.
const FEWEST_SPINS: u32 = 16;
/// Yields before sleeping.
const YIELDS: u32 = 200;

/// A node's parker; padded, so that going to sleep touches no other node's cache line.
#[repr(align(128))]
#[derive(Default)]
struct Parker {
    /// The node's number of spins; written only by it.
    spins: AtomicU32,
    asleep: AtomicBool,
    /// A number chosen by the caller for what this node awaits; 0 if it is not woken by number.
    awaits: AtomicUsize,
    thread: OnceLock<Thread>,
}

/// The parkers of all nodes.
pub(super) struct Parkers {
    parkers: Box<[Parker]>,
    /// How many are asleep or about to be: while it is 0, waking costs one read of a line that no
    /// node writes.
    sleepers: AtomicUsize,
    /// How many are asleep for certain, or gone; wrapping, as it may be too low for a moment.
    resting: AtomicUsize,
}

/// What a node does in a long wait.
pub(super) trait Waiting {
    /// Called between spins and before each sleep; may unwind.
    fn check(&self);
    /// Called before each sleep, after `check`: what the node waits for.
    fn note(&self);
    /// All nodes sleep or are gone: none will be woken. Called by the last one, before it sleeps;
    /// may wake nodes.
    fn stuck(&self);
}

impl Parkers {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            parkers: (0..nodes).map(|_| Parker::default()).collect(),
            sleepers: AtomicUsize::new(0),
            resting: AtomicUsize::new(0),
        }
    }

    /// Registers the calling thread as node `rank`'s.
    pub(super) fn enter(&self, rank: usize) {
        // A second call would be by the same thread.
        let _ = self.parkers[rank].thread.set(std::thread::current());
    }

    /// Returns when `ready` is true.
    pub(super) fn wait(&self, rank: usize, ready: impl Fn() -> bool, waiting: &dyn Waiting) {
        if ready() {
            return;
        }
        let spins = &self.parkers[rank].spins;
        let most = spins.load(Ordering::Relaxed).max(FEWEST_SPINS);
        for _ in 0..most {
            std::hint::spin_loop();
            if ready() {
                spins.store((most * 2).min(MOST_SPINS), Ordering::Relaxed);
                return;
            }
        }
        spins.store(most / 4, Ordering::Relaxed);
        self.wait_long(rank, &ready, waiting);
    }

    #[cold]
    fn wait_long(&self, rank: usize, ready: &dyn Fn() -> bool, waiting: &dyn Waiting) {
        for _ in 0..YIELDS {
            if ready() {
                return;
            }
            waiting.check();
            std::thread::yield_now();
        }
        let parker = &self.parkers[rank];
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let counted = Cell::new(false);
        // However the wait ends, including by unwinding.
        let _awake = OnDrop(|| {
            self.get_up(parker, counted.take());
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        });
        loop {
            parker.asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if ready() {
                return;
            }
            waiting.check();
            waiting.note();
            counted.set(true);
            if self.rest() {
                waiting.stuck();
            }
            std::thread::park();
            self.get_up(parker, counted.take());
        }
    }

    /// One more node sleeps for certain, or is gone; whether all do.
    pub(super) fn rest(&self) -> bool {
        self.resting.fetch_add(1, Ordering::AcqRel).wrapping_add(1) == self.parkers.len()
    }

    /// The calling node no longer sleeps; `counted` says whether it has been counted. A waker that
    /// has cleared its flag has taken one from the count.
    fn get_up(&self, parker: &Parker, counted: bool) {
        if counted {
            self.resting.fetch_sub(1, Ordering::AcqRel);
        }
        if !parker.asleep.swap(false, Ordering::Relaxed) {
            self.resting.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Wakes all sleepers; called after a condition that many may await has become true.
    pub(super) fn wake_all(&self) {
        if self.someone_sleeps() {
            self.wake_sleepers();
        }
    }

    /// Wakes node `rank` if it sleeps.
    pub(super) fn wake(&self, rank: usize) {
        if self.someone_sleeps() {
            self.wake_one(&self.parkers[rank]);
        }
    }

    /// As [`Parkers::wait`], but also woken by [`Parkers::wake_awaiting`].
    pub(super) fn wait_for(
        &self,
        rank: usize,
        awaits: usize,
        ready: impl Fn() -> bool,
        waiting: &dyn Waiting,
    ) {
        // Before the fence of the wait, after which the condition is checked once more.
        self.parkers[rank].awaits.store(awaits, Ordering::Relaxed);
        self.wait(rank, ready, waiting);
        self.parkers[rank].awaits.store(0, Ordering::Relaxed);
    }

    /// Whether some node sleeps; called like [`Parkers::wake`], after a condition has become true.
    pub(super) fn someone_sleeps(&self) -> bool {
        fence(Ordering::SeqCst);
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    /// Wakes the nodes that sleep with the number `awaits`.
    pub(super) fn wake_awaiting(&self, awaits: usize) {
        if self.someone_sleeps() {
            let waiting = |parker: &&Parker| parker.awaits.load(Ordering::Relaxed) == awaits;
            self.parkers.iter().filter(waiting).for_each(|parker| self.wake_one(parker));
        }
    }

    #[cold]
    fn wake_sleepers(&self) {
        self.parkers.iter().for_each(|parker| self.wake_one(parker));
    }

    fn wake_one(&self, parker: &Parker) {
        if !parker.asleep.load(Ordering::Relaxed) {
            return;
        }
        // Before the flag is cleared, so that the count is never too high.
        self.resting.fetch_sub(1, Ordering::AcqRel);
        if !parker.asleep.swap(false, Ordering::Relaxed) {
            self.resting.fetch_add(1, Ordering::AcqRel);
        } else if let Some(thread) = parker.thread.get() {
            thread.unpark();
        }
    }
}

/// Runs a closure when dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
