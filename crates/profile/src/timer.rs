//! START and STOP (Brewer Fig 3-5): one timing of one task on one node.
//! The timer's own cost, measured at the start of the run, is subtracted. A task shorter than a
//! hundred ticks of the clock is repeated `count` times inside one timing, so that the error of
//! reading the clock is below 1 %. The system's counters of the thread, read outside the timed
//! interval, show whether the node was preempted.
//!
//! A task of one node that lasts several time slices is always preempted if others use its core:
//! its time is then the processor's (Brewer section 3.4.2), unless the task waits by itself.
//!
//! The counters of the node's thread do not describe a task with threads of its own: they may take
//! that thread's core, or work on while it waits for one. Such a task is timed by the clock alone.

use strata_model::platform::usual_cost;

use super::Node;

/// Ticks that a reliable timing must last.
const LEAST_TICKS: f64 = 100.0;

/// Most repetitions inside one timing; otherwise an empty task would be repeated forever.
const MAX_COUNT: u32 = 1 << 20;

/// A timing of so many seconds is probably preempted now and then, so preemption does not exclude
/// it.
const TIME_SLICE: f64 = 0.1;

/// The share of a timing for which other threads of the process must have had a processor before
/// the task counts as one of several threads; and the error in seconds of that reading.
const SEVERAL_THREADS: (f64, f64) = (0.1, 5e-6);

/// Seconds that setups for fresh repetitions may take before those repetitions are timed; further
/// setups follow.
const MAX_PREPARING: f64 = 2e-3;

/// Least seconds of one execution that count as a task: the repeating loop alone takes one or two
/// cycles.
const LEAST_SECONDS: f64 = 5e-10;

/// A source of time. Tests set their own.
pub trait Clock: Send {
    /// Seconds since some fixed moment.
    fn now(&mut self, node: &Node) -> f64;

    /// The system's counters of this node's thread; `None` if it has none.
    fn usage(&mut self, node: &Node) -> Option<Usage> {
        let _ = node;
        None
    }
}

/// The system's counters of a node's thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// How often it was preempted so far.
    pub preempted: i64,
    /// How often it has waited by itself, as for a lock or a device.
    pub waited: i64,
    /// Seconds for which it has had a processor.
    pub processor: f64,
    /// Seconds for which the other threads of its process have had a processor, in sum.
    pub others: f64,
}

impl Usage {
    /// Whether other threads took part in the work of a single node since `before`, `interval`
    /// seconds ago.
    fn shows_threads(&self, before: &Self, interval: f64) -> bool {
        let (share, error) = SEVERAL_THREADS;
        self.others - before.others > share * interval + error
    }
}

/// The node's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeClock;

impl Clock for NodeClock {
    #[inline]
    fn now(&mut self, node: &Node) -> f64 {
        node.now().get()
    }

    fn usage(&mut self, node: &Node) -> Option<Usage> {
        if node.is_simulated() { None } else { usage_of_thread() }
    }
}

/// Times one task on one node; generated code calls [`Timer::start`] and [`Timer::stop`] around it.
pub struct Timer {
    clock: Box<dyn Clock>,
    overhead: f64,
    tick: f64,
    count: u32,
    began: f64,
    usage: Option<Usage>,
    /// Executions in this timing, in sum.
    executed: u32,
    /// When setups for fresh repetitions began.
    preparing: f64,
    /// Whether setups are made only as long as they take little time; else all at once.
    in_parts: bool,
    outcome: Option<Timing>,
    /// The inputs that a task which measures itself gives with the seconds.
    given: Vec<f64>,
}

/// One timing as one node measured it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// Seconds for one execution of the task, without the timer's own cost.
    pub(crate) seconds: f64,
    /// Seconds between START and STOP; infinite for a task that measures itself, which is never
    /// repeated.
    pub(crate) interval: f64,
    pub(crate) preempted: bool,
    /// Whether the task was long enough for the clock.
    pub(crate) resolved: bool,
}

impl Timer {
    pub(crate) fn new(clock: Box<dyn Clock>) -> Self {
        Self {
            clock,
            overhead: 0.0,
            tick: 0.0,
            count: 1,
            began: 0.0,
            usage: None,
            executed: 0,
            preparing: 0.0,
            in_parts: false,
            outcome: None,
            given: Vec::new(),
        }
    }

    /// Measures the clock's resolution and the cost of an empty timing. Local; call it while no
    /// other node works.
    pub(crate) fn calibrate(&mut self, node: &Node) {
        let mut ticks = Vec::with_capacity(500);
        let mut last = self.clock.now(node);
        for _ in 0..5_000 {
            let now = self.clock.now(node);
            if now > last {
                ticks.push(now - last);
            }
            last = now;
        }
        ticks.sort_by(f64::total_cmp);
        // The least step seen. If reading the clock takes longer than its resolution, the
        // resolution does not matter.
        self.tick = ticks.first().copied().unwrap_or(0.0);
        self.overhead = usual_cost(|| {
            let began = self.clock.now(node);
            self.clock.now(node) - began
        });
    }

    pub(crate) fn tick(&self) -> f64 {
        self.tick
    }

    /// Sets the tick. It must be equal on all nodes, as it decides how often a task is repeated.
    pub(crate) fn set_tick(&mut self, tick: f64) {
        self.tick = tick;
    }

    pub(crate) fn prepare(&mut self, count: u32) {
        self.count = count.max(1);
        self.usage = None;
        self.executed = 0;
        self.outcome = None;
    }

    /// How often the task is executed within this timing.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether repetitions are left that need a setup each. Nodes agree on this, since only a
    /// single node may use its own count of executions.
    pub fn again(&mut self, node: &Node) -> bool {
        self.in_parts = node.size() == 1 && !node.is_simulated();
        self.preparing = if self.in_parts { self.clock.now(node) } else { 0.0 };
        self.executed < self.count
    }

    /// Whether one more setup is needed after `made` of them: until there is one for each
    /// repetition, or the existing ones have taken two milliseconds, so that large setups of short
    /// tasks do not fill the memory.
    pub fn wants(&mut self, made: usize, node: &Node) -> bool {
        let left = (self.count - self.executed) as usize;
        made < left && (made == 0 || !self.in_parts || self.clock.now(node) - self.preparing < MAX_PREPARING)
    }

    /// START: a barrier, then the clock is read.
    ///
    /// # Participation
    /// Collective: a barrier.
    pub fn start(&mut self, node: &mut Node) {
        node.barrier();
        self.usage = self.clock.usage(node);
        self.began = self.clock.now(node);
    }

    /// STOP: the clock is read.
    pub fn stop(&mut self, node: &Node) {
        self.stop_after(self.count as usize, node);
    }

    /// STOP after so many executions, which may be a part of this timing's executions.
    pub fn stop_after(&mut self, executions: usize, node: &Node) {
        let mut interval = self.clock.now(node) - self.began;
        let mut preempted = false;
        if let (Some(before), Some(after)) = (self.usage, self.clock.usage(node))
            && after.preempted > before.preempted
            && !(node.size() == 1 && after.shows_threads(&before, interval))
        {
            preempted = interval < TIME_SLICE;
            // Other nodes' tasks wait for each other, which takes processor time or none.
            if !preempted && node.size() == 1 && after.waited == before.waited {
                interval = interval.min(after.processor - before.processor);
            }
        }
        let total = (interval - self.overhead).max(0.0);
        // The earlier parts of this timing are included.
        let before = self.outcome.take();
        let earlier = before.map_or((0.0, 0.0, false), |timing| {
            (timing.seconds * f64::from(self.executed), timing.interval, timing.preempted)
        });
        self.executed += executions as u32;
        self.outcome = Some(Timing {
            seconds: (earlier.0 + total) / f64::from(self.executed),
            interval: earlier.1 + interval,
            preempted: earlier.2 || preempted,
            resolved: true,
        });
    }

    /// Sets the seconds that a task measured itself (`sample { … }`).
    pub fn record(&mut self, seconds: f64) {
        self.outcome = Some(Timing { seconds, interval: f64::INFINITY, preempted: false, resolved: true });
    }

    /// The inputs of this point that only the task knows, in the order of the plan's `gives`.
    pub fn give(&mut self, inputs: &[f64]) {
        self.given = inputs.to_vec();
    }

    /// The inputs that the task gave.
    pub(crate) fn given(&self) -> &[f64] {
        &self.given
    }

    /// Takes the inputs that the task gave; none if it gave none.
    pub(crate) fn take_given(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.given)
    }

    /// Takes the timing; `None` if the task left before STOP.
    pub(crate) fn take(&mut self) -> Option<Timing> {
        self.outcome.take()
    }

    /// Whether a timing of the slowest node measures the task: it is long enough for this clock,
    /// and longer than an empty loop. True for tasks that measure themselves.
    pub(crate) fn resolves(&self, timing: &Timing) -> bool {
        timing.interval == f64::INFINITY
            || (timing.interval >= LEAST_TICKS * self.tick && timing.seconds >= LEAST_SECONDS)
    }

    /// How often to execute the task in one timing, if `count` executions took `interval` on the
    /// slowest node; `None` if that was long enough. Every node computes the same from equal
    /// arguments and [ticks](Self::set_tick).
    pub(crate) fn raise(&self, count: u32, interval: f64) -> Option<u32> {
        let needed = LEAST_TICKS * self.tick;
        if interval >= needed || count >= MAX_COUNT || needed.is_nan() || interval.is_nan() {
            return None;
        }
        // Includes the timer's own cost, which differs between nodes, while all must compute the
        // same count.
        let each = interval / f64::from(count);
        // Aim a little higher, so that the next timing is long enough; at most a hundredfold, since
        // such a short interval is imprecise.
        let aim = (1.25 * needed / each).min(100.0 * f64::from(count)).min(f64::from(MAX_COUNT));
        Some((aim.ceil() as u32).clamp(count + 1, MAX_COUNT))
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn usage_of_thread() -> Option<Usage> {
    use nix::sys::resource::{Usage as Rusage, UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    let all = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let processor =
        |usage: &Rusage| (usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6;
    Some(Usage {
        preempted: usage.involuntary_context_switches(),
        waited: usage.voluntary_context_switches(),
        processor: processor(&usage),
        others: processor(&all) - processor(&usage),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn usage_of_thread() -> Option<Usage> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(tick: f64) -> Timer {
        let mut timer = Timer::new(Box::new(NodeClock));
        timer.set_tick(tick);
        timer
    }

    #[test]
    fn a_long_task_is_executed_once() {
        assert_eq!(timer(1e-8).raise(1, 1e-6), None);
        assert_eq!(timer(1e-8).raise(1, 2.0), None);
    }

    #[test]
    fn a_short_task_is_repeated_until_it_lasts_a_hundred_ticks() {
        let timer = timer(1e-8);
        let each = 3e-9;
        let (mut count, mut timings) = (1, 0);
        while let Some(more) = timer.raise(count, each * f64::from(count)) {
            assert!(more > count);
            count = more;
            timings += 1;
        }
        assert!((334..=500).contains(&count), "{count}");
        assert!(timings <= 3);
    }

    /// A node that repeats a task containing a barrier once more than the others ends the job.
    #[test]
    fn nodes_whose_timers_cost_differently_come_to_the_same_count() {
        let cheap = timer(1e-8);
        let costly = Timer { overhead: 9e-8, ..timer(1e-8) };
        for interval in [1e-8, 9.5e-8, 1e-7, 5e-7, 9.99e-7] {
            assert_eq!(cheap.raise(1, interval), costly.raise(1, interval), "{interval}");
            assert!(cheap.raise(3, interval).is_some());
        }
    }

    #[test]
    fn what_the_clock_cannot_tell_from_nothing_is_known() {
        let timer = timer(1e-8);
        let timing = |seconds, interval| Timing { seconds, interval, preempted: false, resolved: true };
        assert!(timer.resolves(&timing(1e-6, 1e-6)));
        assert!(timer.resolves(&timing(0.0, f64::INFINITY)), "it has measured itself");
        assert!(!timer.resolves(&timing(9e-7, 9e-7)), "under a hundred ticks");
        assert!(!timer.resolves(&timing(1e-10, 1e-4)), "an empty loop");
        assert!(!timer.resolves(&timing(0.0, 1e-7)));
    }

    #[test]
    fn a_task_that_is_nothing_ends_too() {
        let timer = timer(1e-8);
        let mut count = 1;
        while let Some(more) = timer.raise(count, 0.0) {
            count = more;
        }
        assert_eq!(count, MAX_COUNT);
        assert_eq!(timer.raise(1, f64::NAN), None);
        assert_eq!(timer.raise(1, f64::INFINITY), None);
    }
}
