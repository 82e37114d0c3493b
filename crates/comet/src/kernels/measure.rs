//! The method of one timing of a kernel (Ganapati 1993, §3.1).
//!
//! Every timing starts and stops on one *test node*: clocks of different nodes are never compared,
//! so a kernel must end in an event on this node. An operation is repeated within one timing,
//! because clocks are coarse. A batch is far shorter than the system's time slices, so that a
//! preemption spoils one timing and not all. The first operations are not timed. The time of an
//! empty loop and of reading the clock is subtracted.

use std::hint::black_box;
use std::ops::DerefMut;

use strata_model::platform::usual_cost;
use strata_runtime::Node;

use super::trial::Trial;
use crate::suite::{IN_TURN, REPETITIONS, ROOTS, WARM_UP};

/// The least length of one timing in s: short compared with a time slice of 1 to 4 ms.
const BATCH: f64 = 1e-4;

/// The least length of one timing in ticks of the clock.
const TICKS: f64 = 100.0;

/// The most operations of one timing.
const MOST: f64 = 1e8;

/// The largest growth of the number of operations from one estimate to the next: a coarse clock
/// measures nothing of few operations.
const GROWTH: usize = 100;

const GUESSES: usize = 6;

/// The step above which a clock is coarse, in s: timings of only a few steps are meaningless.
const COARSE: f64 = 1e-6;

/// The least length of a time in steps of a coarse clock.
const SEEN: f64 = 10.0;

/// Readings of the clock within which it must make a step.
const READINGS: usize = 1 << 26;

/// Untimed operations before the first timing: they allocate, connect and fill caches.
const WARM: usize = 4;

/// Operations between the barrier before a timing and its start.
const LEAD: usize = 2;

/// Operations of one timing on a simulated machine, whose time is exact. It is even, so that
/// packets that alternate between two networks leave them in the original state.
const SIMULATED: usize = 8;

/// Numbers of operations that the user has fixed, and whether each node in turn is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    /// Timed operations.
    pub(super) count: usize,
    /// Operations before them.
    pub(super) warm: usize,
}

/// The setting of this name as a number; the job ends if it is none.
fn number(node: &mut Node, name: &str) -> Option<usize> {
    let text = node.setting(name)?.to_owned();
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => node.fail(format!("{name}={text}: a number is expected")),
    }
}

/// The numbers of operations that [`REPETITIONS`] and [`WARM_UP`] fix, with the usual warm-up of so
/// many operations where only the first is given.
pub(super) fn fixed(node: &mut Node, usual: impl Fn(usize) -> usize) -> Option<Fixed> {
    let warm = number(node, WARM_UP);
    let count = number(node, REPETITIONS).map(|count| count.max(1));
    count.map(|count| Fixed { count, warm: warm.unwrap_or_else(|| usual(count)) })
}

/// The root of this operation of a kernel with roots: node 0, or each node in turn.
pub(super) fn root(node: &Node, operation: usize) -> usize {
    if node.setting(ROOTS) == Some(IN_TURN) { operation % node.size() } else { TEST }
}

/// The operations of one timing on a simulated machine.
pub(super) fn simulated(node: &mut Node) -> usize {
    node.local::<Trial>().operations.unwrap_or(SIMULATED)
}

/// The test node of kernels that need no other one.
pub(super) const TEST: usize = 0;

/// A node's clock, and the cost of reading it.
pub(super) struct Instrument {
    /// The step of an artificially coarse clock in s; zero for the real clock.
    coarse: f64,
    /// Seconds between two consecutive readings.
    cost: f64,
    /// The least step in s.
    tick: f64,
}

impl Instrument {
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

    /// The least of several steps of the clock. If reading takes longer than the resolution, the
    /// resolution does not matter.
    fn step(&self, node: &Node) -> f64 {
        let (mut least, mut steps) = (f64::INFINITY, 0);
        let mut last = self.now(node);
        for _ in 0..READINGS {
            let now = self.now(node);
            if now > last {
                (least, steps) = (least.min(now - last), steps + 1);
            }
            // The steps of a coarse clock are all alike; one or two long ones are interruptions.
            if steps == 16 || steps == 4 && least > COARSE {
                break;
            }
            last = now;
        }
        least
    }

    /// Returns `seconds` if a clock with these steps can measure it; otherwise NaN, so that the
    /// point is left out.
    pub(super) fn told(&self, seconds: f64) -> f64 {
        if self.tick > COARSE && seconds < SEEN * self.tick { f64::NAN } else { seconds }
    }

    /// Seconds since an arbitrary moment.
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

    fn batch(&self) -> f64 {
        BATCH.max(TICKS * self.tick)
    }

    /// The number of operations of a batch, estimated from the `seconds` that `before` operations
    /// took on the test node. It is equal on all nodes.
    ///
    /// # Participation
    /// Collective.
    fn agreed_count(&self, node: &mut Node, seconds: f64, before: usize) -> usize {
        let count = self.count(seconds / before as f64).min(GROWTH * before);
        node.broadcast_value(TEST, count as u64) as usize
    }

    /// The number of operations of `each` seconds in a batch.
    pub(super) fn count(&self, each: f64) -> usize {
        let wanted = self.batch() / each.max(1e-10);
        // Even, because operations may alternate between two mailboxes.
        (wanted.ceil().clamp(2.0, MOST) as usize).next_multiple_of(2)
    }
}

/// The seconds of one `operation`, in which every node does its part; the operation's number is
/// passed to it. Zero on all nodes but node 0, the test node.
///
/// # Participation
/// Collective.
pub(super) fn time(mut node: &mut Node, mut operation: impl FnMut(&mut Node, usize)) -> f64 {
    time_with(&mut node, |node, number| operation(node, number))
}

/// As [`time`], with a value that dereferences to the node.
///
/// # Participation
/// Collective.
pub(super) fn time_with<N: DerefMut<Target = Node>>(
    node: &mut N,
    operation: impl FnMut(&mut N, usize),
) -> f64 {
    let seconds = own_time(node, operation, |_, seconds| seconds);
    if node.rank() == TEST { seconds } else { 0.0 }
}

/// As [`time`], as node `test` sees it; the result is on node 0.
///
/// # Participation
/// Collective, with equal `test`.
pub(super) fn time_of(node: &mut Node, test: usize, mut operation: impl FnMut(&mut Node, usize)) -> f64 {
    let own = own_time(
        &mut &mut *node,
        |node, number| operation(node, number),
        |node, seconds| node.broadcast_value(test, seconds),
    );
    let seconds = node.broadcast_value(test, own);
    if node.rank() == TEST { seconds } else { 0.0 }
}

/// As [`time`], of the node that takes longest, where test nodes other than node 0 take part.
///
/// # Participation
/// Collective.
pub(super) fn time_of_slowest(node: &mut Node, mut operation: impl FnMut(&mut Node, usize)) -> f64 {
    let own = own_time(
        &mut &mut *node,
        |node, number| operation(node, number),
        |node, seconds| node.reduce_max(seconds),
    );
    // A clock that is too coarse on one node is too coarse for the result.
    let most = node.reduce_max(if own.is_nan() { f64::INFINITY } else { own });
    match node.rank() {
        TEST if most.is_finite() => most,
        TEST => f64::NAN,
        _ => 0.0,
    }
}

/// The seconds of one `operation` as each node sees them. `of_test` makes those that count for the
/// number of operations out of every node's.
fn own_time<N: DerefMut<Target = Node>>(
    node: &mut N,
    mut operation: impl FnMut(&mut N, usize),
    of_test: impl Fn(&mut Node, f64) -> f64,
) -> f64 {
    let clock = Instrument::new(node);
    let mut done = 0;
    let mut run = |node: &mut N, count: usize| {
        node.barrier();
        // Nodes leave a barrier one after the other; the first operations synchronize them.
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
    if let Some(Fixed { count, warm }) = fixed(node, |_| WARM) {
        run(node, warm);
        return of_one(node, &clock, run, count);
    }
    if node.is_simulated() {
        run(node, 2);
        let count = simulated(node);
        return of_one(node, &clock, run, count);
    }
    // The first estimate includes first-time costs; the second one is better.
    let mut count = WARM;
    for guess in 0..GUESSES {
        let (seconds, before) = (run(node, count), count);
        let seconds = of_test(node, seconds);
        count = clock.agreed_count(node, seconds, before);
        if guess > 0 && count < GROWTH / 10 * before {
            break;
        }
    }
    of_one(node, &clock, run, count)
}

/// The time of one operation, of a batch of `count`.
fn of_one<N: DerefMut<Target = Node>>(
    node: &mut N,
    clock: &Instrument,
    mut run: impl FnMut(&mut N, usize) -> f64,
    count: usize,
) -> f64 {
    let seconds = clock.told(run(node, count));
    if seconds.is_nan() {
        return seconds;
    }
    ((seconds - empty_loop(node, count)) / count as f64).max(0.0)
}

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

/// The mean of the times that `operation` itself measures on the test node, in seconds: for parts
/// of an exchange. The cost of reading the clock is already subtracted from each value. Zero on all
/// other nodes.
///
/// # Participation
/// Collective.
pub(super) fn mean_of(
    node: &mut Node,
    count: usize,
    mut operation: impl FnMut(&mut Node, &Instrument, usize) -> f64,
) -> f64 {
    let clock = Instrument::new(node);
    let usual = Fixed { count: if node.is_simulated() { simulated(node) } else { count }, warm: WARM };
    let Fixed { count, warm } = fixed(node, |_| WARM).unwrap_or(usual);
    node.barrier();
    (0..warm).for_each(|number| _ = operation(node, &clock, number));
    node.barrier();
    let total: f64 = (warm..warm + count).map(|number| operation(node, &clock, number)).sum();
    match clock.told(total) {
        _ if node.rank() != TEST => 0.0,
        total if total.is_nan() => total,
        total => (total / count as f64).max(0.0),
    }
}

/// Lets time pass without receiving messages.
///
/// # Participation
/// Local.
pub(super) fn pass(node: &mut Node, seconds: f64) {
    if node.is_simulated() {
        // Simulated work is given in cycles; reading the clock takes one.
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
