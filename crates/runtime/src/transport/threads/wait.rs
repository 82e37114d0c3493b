//! Waiting: spin, then yield, then sleep.
//!
//! What a node waits for is a condition on shared memory. Spinning answers soonest, but only if whoever is to fulfil
//! the condition has a core of its own; with more nodes than cores it takes that core away, so a node then gives up
//! its turn almost at once. Long waits end in sleep, so that a node alone at work has the machine to itself.
//!
//! Waking is the classical two-flag handshake: a sleeper says so, then looks at the condition once more; a waker
//! fulfils the condition, then looks for sleepers. A sequentially consistent fence between the two steps on each
//! side makes sure that at least one of them sees the other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::thread::Thread;

/// Rounds of a spin loop before the first yield where every node has a core: some tens of microseconds.
const SPINS_ALONE: u32 = 2000;
/// The same with more nodes than cores: long enough for a node that runs on another core at this moment.
const SPINS_SHARED: u32 = 20;
/// Yields before sleeping.
const YIELDS: u32 = 200;

/// A node's bed; padded so that falling asleep disturbs no neighbour.
#[repr(align(128))]
#[derive(Default)]
struct Bed {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Where nodes sleep.
pub(super) struct Beds {
    beds: Box<[Bed]>,
    /// How many are asleep or about to be: while it is 0, waking costs one read of a line that nobody writes.
    sleepers: AtomicUsize,
    spins: u32,
}

impl Beds {
    pub(super) fn new(nodes: usize, cores: usize) -> Self {
        let spins = if nodes <= cores { SPINS_ALONE } else { SPINS_SHARED };
        let beds = (0..nodes).map(|_| Bed::default()).collect();
        Self { beds, sleepers: AtomicUsize::new(0), spins }
    }

    /// Says which thread is node `rank`: the one that calls.
    pub(super) fn enter(&self, rank: usize) {
        // A second call would be the same thread again.
        let _ = self.beds[rank].thread.set(std::thread::current());
    }

    /// Returns when `ready` is true; between spins `patience` is asked, which may unwind.
    pub(super) fn wait(&self, rank: usize, ready: impl Fn() -> bool, patience: impl Fn()) {
        for _ in 0..self.spins {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        self.wait_long(rank, &ready, &patience);
    }

    #[cold]
    fn wait_long(&self, rank: usize, ready: &dyn Fn() -> bool, patience: &dyn Fn()) {
        for _ in 0..YIELDS {
            if ready() {
                return;
            }
            patience();
            std::thread::yield_now();
        }
        let bed = &self.beds[rank];
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Counts down again however the wait ends, also by unwinding.
        let _awake = OnDrop(|| {
            bed.asleep.store(false, Ordering::Relaxed);
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        });
        loop {
            bed.asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if ready() {
                return;
            }
            patience();
            std::thread::park();
        }
    }

    /// Wakes whoever sleeps; to be called after a condition that many may wait for has come true.
    pub(super) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake_sleepers();
        }
    }

    /// Wakes node `rank` if it sleeps.
    pub(super) fn wake(&self, rank: usize) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.beds[rank].wake();
        }
    }

    #[cold]
    fn wake_sleepers(&self) {
        self.beds.iter().for_each(Bed::wake);
    }
}

impl Bed {
    fn wake(&self) {
        if self.asleep.swap(false, Ordering::Relaxed)
            && let Some(thread) = self.thread.get()
        {
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
