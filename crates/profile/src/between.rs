//! Other work between two timings, so that a call is timed as a program makes it.
//!
//! A program does something else between two calls of a library: meanwhile the threads of a pool
//! go to sleep, and other data come into the caches. Timings that follow each other at once keep a
//! pool awake, and then promise a parallel task less time than it takes. So every node works for a
//! while on a buffer of its own before a timing.

use strata_runtime::Node;

use super::timer::Clock;

/// Seconds of other work before a timing. The workers of a rayon pool look for work for 110 to
/// 150 µs on an AMD EPYC before they sleep.
pub(crate) const SECONDS: f64 = 300e-6;

/// Bytes of the buffer where the machine does not tell the size of its second cache.
const USUAL_BYTES: f64 = 1024.0 * 1024.0;
/// At most, as a cache of several cores may be large.
const MOST_BYTES: f64 = 4.0 * 1024.0 * 1024.0;

/// Words of a cache line, of which one is written.
const LINE: usize = 8;
/// Lines between two readings of the clock, about 4 µs.
const STRETCH: usize = 4096;

/// The other work of one node.
pub(crate) struct OtherWork {
    seconds: f64,
    lines: Vec<[u64; LINE]>,
    /// Where the next stretch begins.
    at: usize,
}

impl OtherWork {
    /// Work that lasts `seconds` on a buffer of the size of `node`'s second cache.
    pub(crate) fn new(node: &Node, seconds: f64) -> Self {
        let bytes = node.platform().machine_number("cache2").unwrap_or(USUAL_BYTES).min(MOST_BYTES);
        let lines = (bytes as usize / size_of::<[u64; LINE]>()).max(STRETCH);
        // Not zero, so that the pages exist before the first timing.
        Self { seconds, lines: vec![[1; LINE]; lines], at: 0 }
    }

    /// Works until the time is over and all of the buffer was used. Local.
    pub(crate) fn work(&mut self, node: &Node, clock: &mut dyn Clock) {
        let began = clock.now(node);
        let mut used = 0;
        while used < self.lines.len() || clock.now(node) - began < self.seconds {
            let end = (self.at + STRETCH).min(self.lines.len());
            for line in &mut self.lines[self.at..end] {
                line[0] = line[0].wrapping_mul(3).wrapping_add(1);
            }
            used += end - self.at;
            self.at = if end == self.lines.len() { 0 } else { end };
        }
        std::hint::black_box(&mut self.lines);
    }
}
