//! How one timing of a kernel is taken (Ganapati 1993, §3.1).
//!
//! Every timing starts and stops on one *test node*: clocks of several nodes are never compared, so
//! a kernel ends in something that this node observes. An operation is repeated inside one timing,
//! because clocks are coarse; a batch is kept far shorter than the system's time slices, so that a
//! preemption spoils one timing and not all. The first operations are not timed. What an empty loop
//! and reading the clock take is subtracted.

use std::hint::black_box;
use std::ops::DerefMut;

use strata_runtime::{Node, usual_cost};

use super::trial::Trial;

/// How long one timing lasts at least, s: short beside a time slice of 1 to 4 ms.
const BATCH: f64 = 1e-4;

/// Ticks of the clock that one timing lasts at least.
const TICKS: f64 = 100.0;

/// The most operations of one timing.
const MOST: f64 = 1e8;

/// By how much their number grows at most from one guess to the next: a coarse clock sees nothing
/// of few operations.
const GROWTH: usize = 100;

/// Guesses at that number.
const GUESSES: usize = 6;

/// A step above which a clock is coarse, s: timings that last a few of them tell nothing.
const COARSE: f64 = 1e-6;

/// Steps of a coarse clock that a time has to have.
const SEEN: f64 = 10.0;

/// Readings of the clock in which it has to make a step.
const READINGS: usize = 1 << 26;

/// Operations before the first timing, which allocate, connect and fill caches.
const WARM: usize = 4;

/// Operations between the barrier before a timing and its start.
const LEAD: usize = 2;

/// Operations of one timing on a simulated machine, whose time is exact. Even, so that packets that
/// take two networks in turn leave them as they found them.
const SIMULATED: usize = 8;

/// The test node where a kernel has no reason for another one.
pub(super) const TEST: usize = 0;

/// A node's clock, and what it costs.
pub(super) struct Instrument {
    /// A coarser clock than there is, s; zero for the clock as it is.
    coarse: f64,
    /// Seconds between two readings one after the other.
    cost: f64,
    /// The least step, s.
    tick: f64,
}

impl Instrument {
    /// Calibrates the clock.
    pub(super) fn new(node: &mut Node) -> Self {
        let coarse = node.local::<Trial>().tick;
        let clock = Self { coarse, cost: 0.0, tick: 0.0 };
        if node.is_simulated() {
            let start = node.now().get();
            return Self { cost: node.now().get() - start, ..clock };
        }
        let cost = usual_cost(|| {
            let start = clock.now(node);
            clock.now(node) - start
        });
        let tick = clock.step(node);
        Self { cost, tick, ..clock }
    }

    /// The least of a few steps that the clock makes. Reading it may take longer than its
    /// resolution, which then does not matter.
    fn step(&self, node: &Node) -> f64 {
        let (mut least, mut steps) = (f64::INFINITY, 0);
        let mut last = self.now(node);
        for _ in 0..READINGS {
            let now = self.now(node);
            if now > last {
                (least, steps) = (least.min(now - last), steps + 1);
            }
            // A coarse clock's steps are all alike.
            if steps == 16 || least.is_finite() && least > COARSE {
                break;
            }
            last = now;
        }
        least
    }

    /// `seconds`, if a clock with these steps can tell so short a time; else NaN, by which the
    /// point is left out.
    pub(super) fn told(&self, seconds: f64) -> f64 {
        if self.tick > COARSE && seconds < SEEN * self.tick { f64::NAN } else { seconds }
    }

    /// Seconds since some moment.
    #[inline]
    pub(super) fn now(&self, node: &Node) -> f64 {
        let now = node.now().get();
        if self.coarse > 0.0 { (now / self.coarse).floor() * self.coarse } else { now }
    }

    /// Seconds since `start`, without the cost of the clock.
    #[inline]
    pub(super) fn since(&self, node: &Node, start: f64) -> f64 {
        self.now(node) - start - self.cost
    }

    /// How long a timing lasts at least.
    fn batch(&self) -> f64 {
        BATCH.max(TICKS * self.tick)
    }

    /// How many operations make a batch, by the seconds that `before` of them have taken. Equal on
    /// all nodes.
    ///
    /// # Participation
    /// Collective.
    pub(super) fn agreed_count(&self, node: &mut Node, seconds: f64, before: usize) -> usize {
        let count = self.count(seconds / before as f64).min(GROWTH * before);
        node.broadcast_value(TEST, count as u64) as usize
    }

    /// How many operations of `each` seconds make a batch.
    pub(super) fn count(&self, each: f64) -> usize {
        let wanted = self.batch() / each.max(1e-10);
        // Even: operations may take two mailboxes in turn.
        (wanted.ceil().clamp(2.0, MOST) as usize).next_multiple_of(2)
    }
}

/// The seconds of one `operation`, of which every node does its part; the number of the operation
/// is passed to it. Zero on all nodes but node 0, which is the test node.
///
/// # Participation
/// Collective.
pub(super) fn time(mut node: &mut Node, mut operation: impl FnMut(&mut Node, usize)) -> f64 {
    time_with(&mut node, |node, number| operation(node, number))
}

/// As [`time`], with what stands for the node.
///
/// # Participation
/// Collective.
pub(super) fn time_with<N: DerefMut<Target = Node>>(
    node: &mut N,
    mut operation: impl FnMut(&mut N, usize),
) -> f64 {
    let clock = Instrument::new(node);
    let mut done = 0;
    let mut run = |node: &mut N, count: usize| {
        node.barrier();
        // Nodes leave a barrier one after the other; the first operations bring them together.
        for _ in 0..LEAD {
            operation(node, done);
            done += 1;
        }
        let start = clock.now(node);
        for _ in 0..count {
            operation(node, done);
            done = black_box(done) + 1;
        }
        clock.since(node, start)
    };
    if node.is_simulated() {
        run(node, 2);
        return on_test_node(node, &clock, run, SIMULATED);
    }
    // The first guess counts what the first operations pay, the second is better.
    let mut count = WARM;
    for guess in 0..GUESSES {
        let (seconds, before) = (run(node, count), count);
        count = clock.agreed_count(node, seconds, before);
        if guess > 0 && count < GROWTH / 10 * before {
            break;
        }
    }
    on_test_node(node, &clock, run, count)
}

fn on_test_node<N: DerefMut<Target = Node>>(
    node: &mut N,
    clock: &Instrument,
    mut run: impl FnMut(&mut N, usize) -> f64,
    count: usize,
) -> f64 {
    let seconds = clock.told(run(node, count));
    if node.rank() != TEST {
        return 0.0;
    }
    if seconds.is_nan() {
        return seconds;
    }
    ((seconds - empty_loop(node, count)) / count as f64).max(0.0)
}

/// What the loop itself takes.
fn empty_loop(node: &Node, count: usize) -> f64 {
    if node.is_simulated() {
        return 0.0;
    }
    let start = node.now().get();
    let mut done = 0usize;
    for _ in 0..count {
        done = black_box(done) + 1;
    }
    black_box(done);
    node.now().get() - start
}

/// The mean of what `operation` itself times on the test node, in seconds: for parts of an
/// exchange. Each value has the cost of reading the clock already taken off. Zero on all other
/// nodes.
///
/// # Participation
/// Collective.
pub(super) fn mean_of(
    node: &mut Node,
    count: usize,
    mut operation: impl FnMut(&mut Node, &Instrument, usize) -> f64,
) -> f64 {
    let clock = Instrument::new(node);
    let count = if node.is_simulated() { SIMULATED } else { count };
    node.barrier();
    (0..WARM).for_each(|number| _ = operation(node, &clock, number));
    node.barrier();
    let total: f64 = (WARM..WARM + count).map(|number| operation(node, &clock, number)).sum();
    match clock.told(total) {
        _ if node.rank() != TEST => 0.0,
        total if total.is_nan() => total,
        total => (total / count as f64).max(0.0),
    }
}

/// Lets time pass without looking at messages.
///
/// # Participation
/// Local.
pub(super) fn pass(node: &mut Node, seconds: f64) {
    if node.is_simulated() {
        // Cycles are what simulated work is told in; reading the clock takes one.
        let start = node.now().get();
        let cycle = (node.now().get() - start).max(1e-12);
        node.compute(seconds / cycle, || ());
        return;
    }
    let until = node.now().get() + seconds;
    while node.now().get() < until {
        std::hint::spin_loop();
    }
}
