//! Waiting: spin, then yield, then sleep.
//!
//! A node waits for a condition on shared memory, which another node fulfils. Spinning detects the
//! condition soonest, but only if the other node runs on another core; otherwise spinning occupies
//! the core that the other node needs. This cannot be known in advance (more nodes than cores,
//! other programs, the scheduler's placement), so each node adapts: a spin that succeeds doubles
//! the spins of the next, one that fails quarters them. Long waits end in sleep, so that a node
//! with work to do has the machine to itself.
//!
//! Waking is the classical two-flag handshake: a sleeper sets its flag, then checks the condition
//! once more; a waker fulfils the condition, then checks the flags. A sequentially consistent fence
//! between the two steps on each side ensures that at least one of them sees the other.
//!
//! The node that goes to sleep last, with all others asleep or gone, detects that the job is stuck:
//! nodes wake each other, and none is left to do so. The count of sleeping nodes is never too high:
//! a sleeper adds itself as the last step before it sleeps, and the waker of a sleeper, or the
//! sleeper itself, subtracts it before it clears its flag. So at the full count no node runs, all
//! have found their conditions false after the last running node had done its last step, and none
//! can change any more.
//!
//! A node that waits for memory that others write polls it and is woken by no one. The job is stuck
//! if, from one moment to another, all other nodes sleep or poll in the same waits, and each poller
//! has polled in vain between them ([`Parkers::stood_still`]).

use super::sync::{
    AtomicBool, AtomicUsize, Ordering, Thread, UNDER_LOOM, current, fence, park, set, spin_loop, yield_now,
};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The most rounds of the spin loop before the first yield: some tens of microseconds.
const MOST_SPINS: u32 = if UNDER_LOOM { 0 } else { 2048 };
/// The fewest rounds: enough for a node that runs on another core at this moment.
const FEWEST_SPINS: u32 = if UNDER_LOOM { 0 } else { 16 };
/// The same with more nodes than cores, where the awaited node usually waits for this core.
const FEWEST_CROWDED: u32 = if UNDER_LOOM { 0 } else { 1 };
/// A node's wait is its number times this, and the number of its polls of memory, of which a node
/// that sleeps has none.
const POLLS: u64 = 1 << 32;
const YIELDS: u32 = if UNDER_LOOM { 0 } else { 200 };

/// A node's parker; padded, so that going to sleep touches no other node's cache line.
#[repr(align(128))]
#[derive(Default)]
struct Parker {
    /// The node's number of spins; written only by it, so loom has nothing to explore here.
    spins: AtomicU32,
    asleep: AtomicBool,
    /// A number chosen by the caller that identifies this node's awaited event; 0 if the node is
    /// not woken by number.
    awaits: AtomicUsize,
    /// This node's last wait ([`Parkers::begin_wait`]); written only by it.
    wait: AtomicU64,
    thread: OnceLock<Thread>,
}

pub(super) struct Parkers {
    parkers: Box<[Parker]>,
    /// The fewest spins of a wait.
    fewest: u32,
    /// Number of nodes that are asleep or about to be: while it is 0, waking costs one read of a
    /// line that no node writes.
    sleepers: AtomicUsize,
    /// Number of nodes that are certainly asleep, or gone; wrapping, because it may be too low for
    /// a moment.
    parked: AtomicUsize,
}

/// The actions of a node in a long wait.
pub(super) trait Waiting {
    /// Called between spins and before each sleep; may unwind.
    fn check(&self);
    /// Called before each sleep, after `check`: records the awaited event.
    fn note(&self);
    /// Called when all nodes sleep or are gone, so that none will be woken. The last node calls it
    /// before it sleeps; it may wake nodes.
    fn stuck(&self);
}

impl Parkers {
    /// `crowded`: there are more nodes than cores.
    pub(super) fn new(nodes: usize, crowded: bool) -> Self {
        Self {
            parkers: (0..nodes).map(|_| Parker::default()).collect(),
            fewest: if crowded { FEWEST_CROWDED } else { FEWEST_SPINS },
            sleepers: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
        }
    }

    /// Registers the calling thread as node `rank`'s.
    pub(super) fn enter(&self, rank: usize) {
        // A second call would be by the same thread.
        let _ = self.parkers[rank].thread.set(current());
    }

    /// Returns when `ready` is true.
    pub(super) fn wait(&self, rank: usize, ready: impl Fn() -> bool, waiting: &dyn Waiting) {
        if !self.spin(rank, &ready) {
            self.wait_long(rank, &ready, waiting);
        }
    }

    /// The beginning of a wait, which usually suffices: spins, and returns the value of `ready`. If
    /// it is false, [`wait_long`](Self::wait_long) must follow. Preparations for that are made only
    /// then.
    #[inline]
    pub(super) fn spin(&self, rank: usize, ready: impl Fn() -> bool) -> bool {
        if ready() {
            return true;
        }
        let spins = &self.parkers[rank].spins;
        let most = spins.load(Ordering::Relaxed).max(self.fewest);
        for _ in 0..most {
            spin_loop();
            if ready() {
                spins.store((most * 2).min(MOST_SPINS), Ordering::Relaxed);
                return true;
            }
        }
        spins.store(most / 4, Ordering::Relaxed);
        false
    }

    /// Records that node `rank` begins a wait in which it sleeps, or none.
    pub(super) fn begin_wait(&self, rank: usize) {
        let wait = &self.parkers[rank].wait;
        wait.store((wait.load(Ordering::Relaxed) / POLLS + 1) * POLLS, Ordering::Release);
    }

    /// Records that node `rank` has polled memory in vain, `first` in this wait.
    pub(super) fn polled(&self, rank: usize, first: bool) {
        if first {
            self.begin_wait(rank);
        }
        // Without a carry into the number of the wait: the count then seems to stand still.
        let wait = &self.parkers[rank].wait;
        let now = wait.load(Ordering::Relaxed);
        wait.store(now + u64::from(now % POLLS < POLLS - 1), Ordering::Release);
    }

    /// The last waits of all nodes, if at this moment each certainly sleeps, is gone, or polls
    /// memory in vain.
    pub(super) fn idle_waits(&self) -> Option<Vec<u64>> {
        let waits = || self.parkers.iter().map(|parker| parker.wait.load(Ordering::Acquire));
        let all: Vec<u64> = waits().collect();
        let sleeping = all.iter().filter(|wait| *wait % POLLS == 0).count();
        let same = || all.iter().zip(waits()).all(|(before, now)| before / POLLS == now / POLLS);
        (self.parked.load(Ordering::Acquire) == sleeping && same()).then_some(all)
    }

    /// True if no node has acted between `before` and `now`, and those that poll memory have polled
    /// it since `before`: nobody can change any more what they found.
    pub(super) fn stood_still(before: &[u64], now: &[u64]) -> bool {
        before.iter().zip(now).all(|(before, now)| {
            before / POLLS == now / POLLS
                && (before % POLLS == 0) == (now % POLLS == 0)
                && (now % POLLS == 0 || now - before >= 2)
        })
    }

    /// The rest of a wait: yields, then sleeps.
    #[cold]
    pub(super) fn wait_long(&self, rank: usize, ready: &dyn Fn() -> bool, waiting: &dyn Waiting) {
        self.begin_wait(rank);
        for _ in 0..YIELDS {
            if ready() {
                return;
            }
            waiting.check();
            yield_now();
        }
        let parker = &self.parkers[rank];
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let counted = Cell::new(false);
        // However the wait ends, including by unwinding.
        let _awake = OnDrop(|| {
            self.uncount(parker, counted.take());
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        });
        loop {
            set(&parker.asleep, true);
            fence(Ordering::SeqCst);
            if ready() {
                return;
            }
            waiting.check();
            waiting.note();
            counted.set(true);
            if self.count_parked() {
                waiting.stuck();
            }
            park();
            self.uncount(parker, counted.take());
        }
    }

    /// Counts one more node that certainly sleeps or is gone; returns true if all do.
    pub(super) fn count_parked(&self) -> bool {
        self.parked.fetch_add(1, Ordering::AcqRel).wrapping_add(1) == self.parkers.len()
    }

    /// Called when the calling node no longer sleeps; `counted` is true if it has been counted. A
    /// waker that has cleared its flag has subtracted one from the count.
    fn uncount(&self, parker: &Parker, counted: bool) {
        if counted {
            self.parked.fetch_sub(1, Ordering::AcqRel);
        }
        if !parker.asleep.swap(false, Ordering::Relaxed) {
            self.parked.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Wakes all sleepers; called after a condition that many nodes may await has become true.
    pub(super) fn wake_all(&self) {
        if self.someone_sleeps() {
            self.wake_sleepers();
        }
    }

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

    /// True if some node sleeps; called like [`Parkers::wake`], after a condition has become true.
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
        self.parked.fetch_sub(1, Ordering::AcqRel);
        if !parker.asleep.swap(false, Ordering::Relaxed) {
            self.parked.fetch_add(1, Ordering::AcqRel);
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_in_vain_looks_once_more_where_nodes_take_turns() {
        for (crowded, looks) in [(true, 2), (false, 17)] {
            let seen = Cell::new(0);
            let look = || {
                seen.set(seen.get() + 1);
                false
            };
            assert!(!Parkers::new(1, crowded).spin(0, look));
            assert_eq!(seen.get(), looks, "crowded: {crowded}");
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::transport::threads::explore::{explore, tests};
    use loom::thread;
    use std::sync::Arc;

    const SLEEPS: &str = "sleeps while a waker lives";

    /// If wakers are not nodes, the count of nodes has no meaning.
    impl<F: Fn()> Waiting for F {
        fn check(&self) {
            self();
        }
        fn note(&self) {}
        fn stuck(&self) {}
    }

    /// Nodes, in a job that must be found stuck, or must never be.
    struct Nodes<'a> {
        parkers: &'a Parkers,
        is_stuck: &'a AtomicBool,
        seen: &'a dyn Fn(),
    }

    impl Waiting for Nodes<'_> {
        fn check(&self) {}
        fn note(&self) {
            (self.seen)();
        }
        fn stuck(&self) {
            self.is_stuck.store(true, Ordering::Release);
            self.parkers.wake_all();
        }
    }

    /// Two nodes take turns, the last of which is `last`; each waits for its own turn. If one
    /// withholds the turn after `withheld`, the job must be found stuck, otherwise never.
    fn turns(last: usize, withheld: Option<usize>) {
        explore(Some(3), SLEEPS, move |seen| {
            let parkers = Arc::new(Parkers::new(2, false));
            let turn = Arc::new(AtomicUsize::new(0));
            let is_stuck = Arc::new(AtomicBool::new(false));
            let node = |rank: usize| {
                let (parkers, turn, seen) = (Arc::clone(&parkers), Arc::clone(&turn), Arc::clone(seen));
                let is_stuck = Arc::clone(&is_stuck);
                move || {
                    let event = || seen.event();
                    let waiting = Nodes { parkers: &parkers, is_stuck: &is_stuck, seen: &event };
                    parkers.enter(rank);
                    for mine in (rank..=last).step_by(2) {
                        let comes = || turn.load(Ordering::Acquire) == mine;
                        parkers.wait(rank, || comes() || is_stuck.load(Ordering::Acquire), &waiting);
                        if comes() && withheld != Some(mine) {
                            turn.store(mine + 1, Ordering::Release);
                            parkers.wake(1 - rank);
                        }
                    }
                    // Like a node that is gone.
                    if parkers.count_parked() && turn.load(Ordering::Acquire) <= last {
                        waiting.stuck();
                    }
                }
            };
            let living = seen.thread();
            let other = thread::spawn(node(1));
            node(0)();
            drop(living);
            other.join().unwrap();
            assert_eq!(is_stuck.load(Ordering::Acquire), withheld.is_some());
        });
    }

    #[test]
    fn loom_nodes_that_wake_each_other_are_not_stuck() {
        turns(3, None);
        turns(2, None);
    }

    tests! {
        loom_nodes_that_all_sleep_are_stuck: turns(3, Some(1));
        loom_a_node_that_sleeps_beside_one_that_is_gone_is_stuck: turns(2, Some(1));
    }

    /// Node 0 waits once, until each of `wakers` threads has raised a count and then woken it. A
    /// lost wake-up is a deadlock, which loom reports.
    fn one_sleeper(wakers: usize, preemptions: Option<usize>, wait_for: usize, wake: fn(&Parkers)) {
        explore(preemptions, SLEEPS, move |seen| {
            let (parkers, count) = (Arc::new(Parkers::new(1, false)), Arc::new(AtomicUsize::new(0)));
            parkers.enter(0);
            let wakers: Vec<_> = (0..wakers)
                .map(|_| {
                    let (parkers, count) = (Arc::clone(&parkers), Arc::clone(&count));
                    seen.spawn(move || {
                        count.fetch_add(1, Ordering::Release);
                        wake(&parkers);
                    })
                })
                .collect();
            let ready = || count.load(Ordering::Acquire) == wakers.len();
            // `check` comes before each sleep.
            match wait_for {
                0 => parkers.wait(0, ready, &|| seen.event()),
                awaits => parkers.wait_for(0, awaits, ready, &|| seen.event()),
            }
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
            assert!(!parkers.someone_sleeps());
        });
    }

    tests! {
        loom_a_sleeper_is_woken_with_all: one_sleeper(1, None, 0, Parkers::wake_all);
        loom_a_sleeper_is_woken_by_rank: one_sleeper(1, None, 0, |parkers| parkers.wake(0));
        loom_a_sleeper_is_woken_by_what_it_awaits: one_sleeper(1, None, 3, |parkers| parkers.wake_awaiting(3));
        loom_the_last_of_two_wakers_wakes: one_sleeper(2, Some(3), 0, Parkers::wake_all);
    }

    /// The first wait may end without a sleep, or by the other waker.
    #[test]
    fn loom_a_node_waits_twice_for_two_wakers() {
        explore(Some(3), SLEEPS, |seen| {
            let (parkers, count) = (Arc::new(Parkers::new(1, false)), Arc::new(AtomicUsize::new(0)));
            parkers.enter(0);
            let wakers = [0, 1].map(|_| {
                let (parkers, count) = (Arc::clone(&parkers), Arc::clone(&count));
                seen.spawn(move || {
                    count.fetch_add(1, Ordering::Release);
                    parkers.wake_all();
                })
            });
            parkers.wait(0, || count.load(Ordering::Acquire) >= 1, &|| seen.event());
            parkers.wait(0, || count.load(Ordering::Acquire) == 2, &|| seen.event());
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
        });
    }

    #[test]
    fn loom_two_sleepers_are_woken() {
        explore(Some(3), SLEEPS, |seen| {
            let (parkers, flag) = (Arc::new(Parkers::new(2, false)), Arc::new(AtomicUsize::new(0)));
            let sleep = |rank| {
                let (parkers, flag, seen) = (Arc::clone(&parkers), Arc::clone(&flag), Arc::clone(seen));
                move || {
                    parkers.enter(rank);
                    parkers.wait(rank, || flag.load(Ordering::Acquire) == 1, &|| seen.event());
                }
            };
            let waker = {
                let (parkers, flag) = (Arc::clone(&parkers), Arc::clone(&flag));
                seen.spawn(move || {
                    flag.store(1, Ordering::Release);
                    parkers.wake_all();
                })
            };
            let other = thread::spawn(sleep(1));
            sleep(0)();
            other.join().unwrap();
            waker.join().unwrap();
        });
    }
}
