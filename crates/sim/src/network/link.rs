//! The state of a link.

use super::fifo::{List, NONE};
use crate::Time;

/// Time per byte, in 2⁻²⁰ ps: an integer, so that sums are equal on every host. For bandwidths from
/// 1 byte a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate(u64);

impl Rate {
    const FRACTION: u32 = 20;

    pub(super) fn new(bandwidth: f64) -> Self {
        Self((1e12 * f64::from(1u32 << Self::FRACTION) / bandwidth).round() as u64)
    }

    /// The nearest picosecond.
    pub(super) fn time(self, bytes: u64) -> Time {
        let scaled = u128::from(self.0) * u128::from(bytes) + (1 << (Self::FRACTION - 1));
        Time(u64::try_from(scaled >> Self::FRACTION).unwrap_or(u64::MAX))
    }
}

/// Properties shared by many links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) rate: Rate,
    pub(super) latency: Time,
    /// True if it ends at a node.
    pub(super) delivers: bool,
}

/// A link: its properties, its waiting packets and its statistics.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Link {
    /// The index of its properties in a table.
    pub(super) class: u32,
    /// The first of the queues at its far end, on channel 0.
    pub(super) first_fifo: u32,
    /// The queue whose packet it transmits; `NONE` if idle.
    pub(super) serving: u32,
    /// Number of heads that request it, including those without a place at the far end.
    pub(super) waiting: u32,
    pub(super) most_waiting: u32,
    /// Queues whose heads request it and have a place at the far end, in the order in which they
    /// got the place.
    pub(super) askers: List,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Time that it has been busy, to the end of the current packet.
    pub(super) busy: Time,
    /// The end of the current packet.
    pub(super) until: Time,
}

impl Link {
    pub(super) fn new(class: u32, first_fifo: u32) -> Self {
        Self {
            class,
            first_fifo,
            serving: NONE,
            waiting: 0,
            most_waiting: 0,
            askers: List::EMPTY,
            packets: 0,
            bytes: 0,
            busy: Time::ZERO,
            until: Time::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_bytes_are_the_nearest_picosecond() {
        for (bandwidth, bytes, picoseconds) in [
            (1e9, 36, 36_000),
            (3e9, 1, 333),
            (3e9, 2, 667),
            (3e9, 3, 1_000),
            (3e9, 3_000_000_000, 1_000_000_000_000),
            (20e6, 20, 1_000_000),
            (1.0, 1_000_000, 1_000_000_000_000_000_000),
            (1.0, u64::MAX, u64::MAX),
            (400e9, 1, 3),
            (f64::INFINITY, u64::MAX, 0),
        ] {
            let time = Rate::new(bandwidth).time(bytes).0;
            // The effect of a rounding error of 2⁻²¹ ps a byte on the longest packet.
            assert!(time.abs_diff(picoseconds) <= bytes >> 21, "{bandwidth} B/s, {bytes} B: {time}");
        }
    }

    #[test]
    fn links_and_queues_fill_cache_lines() {
        assert_eq!((size_of::<Link>(), size_of::<super::super::fifo::Fifo>()), (64, 32));
    }
}
