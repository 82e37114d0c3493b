//! Measuring short times in processor cycles.

use strata_model::Seconds;
use strata_model::platform::usual_cost;

/// Times short sections in cycles; the cost of the timing itself is subtracted (Brewer, manual,
/// §9.4).
///
/// Cycles are those of the processor's time stamp counter if it runs at a constant rate, otherwise
/// the system's nanoseconds; 64 bits last for centuries. Time in which the node is descheduled is
/// included.
///
/// ```
/// use strata_runtime::CycleTimer;
/// let timer = CycleTimer::new();
/// let start = timer.start();
/// let cycles = timer.elapsed(start);          // nothing in between: about zero
/// assert!(timer.seconds(cycles).get() < 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct CycleTimer {
    clock: quanta::Clock,
    cost: u64,
    seconds_per_cycle: f64,
}

impl CycleTimer {
    /// Creates a timer and measures its cost. The first timer of a process also measures the length
    /// of a cycle, for up to 0.2 s.
    #[must_use]
    pub fn new() -> Self {
        let clock = quanta::Clock::new();
        let cost = usual_cost(|| {
            let start = clock.raw();
            clock.raw().saturating_sub(start) as f64
        });
        // Measured over many cycles, so that rounding to nanoseconds does not matter.
        let many = 1u64 << 40;
        let seconds_per_cycle = clock.delta_as_nanos(0, many) as f64 * 1e-9 / many as f64;
        Self { clock, cost: cost as u64, seconds_per_cycle }
    }

    /// The present cycle, from which [`elapsed`](Self::elapsed) counts.
    #[inline]
    #[must_use]
    pub fn start(&self) -> u64 {
        self.clock.raw()
    }

    /// The cycles since `start`, less the cost of a timing; at least 0.
    #[inline]
    #[must_use]
    pub fn elapsed(&self, start: u64) -> u64 {
        self.clock.raw().saturating_sub(start).saturating_sub(self.cost)
    }

    /// The cost of a timing, in cycles, which [`elapsed`](Self::elapsed) has subtracted.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The duration of this many cycles.
    #[must_use]
    pub fn seconds(&self, cycles: u64) -> Seconds {
        Seconds::new(cycles as f64 * self.seconds_per_cycle).unwrap_or_default()
    }

    /// The number of cycles in a duration, rounded.
    #[must_use]
    pub fn cycles(&self, time: Seconds) -> u64 {
        (time.get() / self.seconds_per_cycle).round() as u64
    }
}

impl Default for CycleTimer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn an_empty_timing_is_usually_nothing() {
        let timer = CycleTimer::new();
        let raw = usual_cost(|| {
            let start = timer.start();
            timer.elapsed(start) as f64
        });
        assert!(raw <= timer.cost() as f64, "{raw} of {}", timer.cost());
    }

    #[test]
    fn cycles_and_seconds_convert_and_agree_with_the_clock() {
        let timer = CycleTimer::new();
        let (start, clock) = (timer.start(), Instant::now());
        std::thread::sleep(Duration::from_millis(40));
        let (cycles, seconds) = (timer.elapsed(start), clock.elapsed().as_secs_f64());
        let ratio = timer.seconds(cycles).get() / seconds;
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
        for cycles in [0, 1, 1000, 1 << 40, 1 << 52] {
            assert_eq!(timer.cycles(timer.seconds(cycles)), cycles);
        }
    }
}
