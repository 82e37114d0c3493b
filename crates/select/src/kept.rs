//! A cache of choices, by classes of problems.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The last chosen candidates of classes of problems: evaluating models takes a microsecond, as
/// long as many operations. There are `N` places, a power of two; classes that share a place
/// displace each other.
///
/// ```
/// static KEPT: strata_select::Kept<64> = strata_select::Kept::new();
///
/// assert_eq!(KEPT.candidate(5), None);
/// KEPT.keep(5, 2);
/// assert_eq!((KEPT.candidate(5), KEPT.candidate(6)), (Some(2), None));
/// ```
#[derive(Debug)]
pub struct Kept<const N: usize>([AtomicU32; N]);

impl<const N: usize> Kept<N> {
    /// The number of bits of a class.
    pub const BITS: u32 = 28;

    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        assert!(N.is_power_of_two(), "the number of places must be a power of two");
        Self([const { AtomicU32::new(0) }; N])
    }

    /// The candidate that was chosen for problems of this class.
    #[inline]
    pub fn candidate(&self, class: u32) -> Option<usize> {
        let word = self.place(class).load(Relaxed);
        if word >> 4 == class { ((word & 15) as usize).checked_sub(1) } else { None }
    }

    /// Keeps the candidate that was chosen for a class below 2^28. Only the first 15 candidates of
    /// a library can be kept.
    pub fn keep(&self, class: u32, candidate: usize) {
        if let Ok(index @ 0..15) = u32::try_from(candidate) {
            self.place(class).store(class << 4 | (index + 1), Relaxed);
        }
    }

    /// The place of a class: the lowest four bits hold the candidate's index plus one, the bits
    /// above the class.
    fn place(&self, class: u32) -> &AtomicU32 {
        let hash = class.wrapping_mul(0x9E37_79B9);
        &self.0[(hash >> 16) as usize % N]
    }
}

impl<const N: usize> Default for Kept<N> {
    fn default() -> Self {
        Self::new()
    }
}
