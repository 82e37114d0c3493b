//! Other work between two timings, so that a call is timed as a program makes it.
//!
//! A program does other work between two calls of a library, and the threads of a pool go to sleep
//! meanwhile. Timings that follow each other at once keep a pool awake and underestimate a parallel
//! task. Every node therefore computes for a while before a timing.

use super::Node;
use super::timer::Clock;

/// Seconds of other work before a timing. The workers of a rayon pool look for work for 110 to
/// 150 µs on an AMD EPYC before they sleep.
pub(crate) const SECONDS: f64 = 300e-6;

/// Steps of arithmetic between two readings of the clock, about 1 µs.
const STRETCH: usize = 1000;

/// The other work of one node: arithmetic in registers, which leaves the caches as timings of other
/// points left them.
pub(crate) struct OtherWork {
    seconds: f64,
    state: u64,
}

impl OtherWork {
    /// Work that lasts `seconds`.
    pub(crate) fn new(seconds: f64) -> Self {
        Self { seconds, state: 1 }
    }

    /// Works until the time is over. Local.
    pub(crate) fn work(&mut self, node: &Node, clock: &mut dyn Clock) {
        let began = clock.now(node);
        while clock.now(node) - began < self.seconds {
            for _ in 0..STRETCH {
                self.state = std::hint::black_box(self.state.wrapping_mul(3).wrapping_add(1));
            }
        }
    }
}
