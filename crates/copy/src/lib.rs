//! Copies that are as fast as this machine allows, behind one safe call.
//!
//! [`copy`] does the same as `copy_from_slice`, with the one of 38 routines that models of this
//! machine predict to be the fastest for the length. The routines are the C library's `memcpy`,
//! `rep movsb`, and loops that differ in width, direction, streaming, prefetch and order (Borg
//! 2006, §3.2). A routine is used only if it is *significantly* better than `memcpy`; short copies
//! are always `memcpy`, inlined.
//!
//! ```
//! let from = vec![7u8; 100_000];
//! let mut to = vec![0u8; 100_000];
//! strata_copy::copy(&mut to, &from);
//! assert_eq!(to, from);
//! ```
//!
//! Hints about the caches improve the choice: a source that was not used for a long time, a target
//! that this thread does not read soon. [`Hint::SEND`] is for a buffer that another thread empties,
//! [`Hint::RECEIVE`] for one that it has filled.
//!
//! ```
//! use strata_copy::{Hint, copy_hinted};
//! # let (from, mut to) = (vec![7u8; 100_000], vec![0u8; 100_000]);
//! copy_hinted(Hint::default().cold().left(), &mut to, &from);
//! ```
//!
//! [`copy_with`] uses a given routine, and [`routine_for`] returns the one that [`copy_hinted`]
//! uses. [`pack`] and [`unpack`] move blocks at a stride with the strided kernel ([`Mover`]) of the
//! least predicted time.
//!
//! Overlapping slices cannot be passed: a mutable slice overlaps no other. On processors other than
//! x86_64 every copy is `memcpy`. The only dependency is `strata-select`, which has none.

#![deny(missing_docs)]

mod choose;
mod exchange_models;
mod models;
pub mod profile;
mod routine;
mod strided;
mod strided_models;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use choose::{Hint, Source, Target, candidates, read_settings, routine_for};
pub use routine::{DEFAULT, Routine, routines};
pub use strided::{Direction, Mover, Strided, StridedError, mover_for, movers, pack, unpack};

/// Copies of fewer bytes are `memcpy`: reading the table of choices would take longer than any
/// routine gains.
pub const SHORT: usize = 2048;

/// Copies all of `from` to `to`.
///
/// The written bytes are visible to other threads as after any copy.
///
/// # Panics
/// If the lengths differ, as with `copy_from_slice`.
#[inline]
#[track_caller]
pub fn copy(to: &mut [u8], from: &[u8]) {
    copy_hinted(Hint::default(), to, from);
}

/// As [`copy`], with a hint about the caches.
///
/// # Panics
/// If the lengths differ.
#[inline]
#[track_caller]
pub fn copy_hinted(hint: Hint, to: &mut [u8], from: &[u8]) {
    // Nothing but this comparison is added to a short copy.
    if from.len() >= SHORT {
        return choose::long(to, from, hint.row());
    }
    to.copy_from_slice(from);
}

/// Copies all of `from` to `to` with this routine, regardless of models.
///
/// # Panics
/// If the lengths differ.
#[inline]
#[track_caller]
pub fn copy_with(routine: &Routine, to: &mut [u8], from: &[u8]) {
    routine.copy(to, from);
}
