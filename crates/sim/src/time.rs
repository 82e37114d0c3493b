//! Simulated time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A time since the beginning of the simulation, or a span, in whole picoseconds: exact, and equal
/// on every host. The maximum is 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);
    /// Later than anything.
    pub const NEVER: Self = Self(u64::MAX);

    /// The nearest time to `seconds`; 0 for negative values and NaN, [`NEVER`](Self::NEVER) if too
    /// long.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e12).round() as u64)
    }

    /// In seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// `count` times this time.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    /// 0 if `other` is later.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Time {
    /// With a suitable unit, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            0..1_000 => ("ps", 1.0),
            1_000..1_000_000 => ("ns", 1e3),
            1_000_000..1_000_000_000 => ("us", 1e6),
            1_000_000_000..1_000_000_000_000 => ("ms", 1e9),
            _ => ("s", 1e12),
        };
        write!(f, "{} {unit}", self.0 as f64 / size)
    }
}
