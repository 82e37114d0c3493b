//! Copies that are as fast as this machine allows, behind one safe call.
//!
//! [`copy`] does what `copy_from_slice` does, by the routine of 38 that models of this machine
//! predict to be fastest for so many bytes: the C library's `memcpy`, `rep movsb`, and loops that
//! differ in width, direction, streaming, prefetch and order (Borg 2006, §3.2). A routine is used
//! only where it is *significantly* better than `memcpy`; short copies are always `memcpy`,
//! inlined.
//!
//! ```
//! let from = vec![7u8; 100_000];
//! let mut to = vec![0u8; 100_000];
//! strata_copy::copy(&mut to, &from);
//! assert_eq!(to, from);
//! ```
//!
//! What the program knows about the caches helps: a source that was not used for long, a target
//! that nobody here reads soon; [`Hint::SEND`] is for a buffer from which another thread takes what
//! is copied, [`Hint::RECEIVE`] for one that it has filled.
//!
//! ```
//! use strata_copy::{Hint, copy_hinted};
//! # let (from, mut to) = (vec![7u8; 100_000], vec![0u8; 100_000]);
//! copy_hinted(Hint::default().cold().left(), &mut to, &from);
//! ```
//!
//! [`copy_with`] takes one routine, [`routine_for`] tells which one [`copy_hinted`] takes, and
//! [`pack`] and [`unpack`] move blocks that lie a stride apart, by the [`Mover`] that models predict
//! to be fastest for them.
//!
//! Slices that overlap cannot be passed: a mutable one overlaps no other. On processors other than
//! x86_64 every copy is `memcpy`. No dependencies but `strata-select`, which has none.

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

/// Copies of less than so many bytes are `memcpy`: a look at the table would take longer than any
/// routine gains.
pub const SHORT: usize = 2048;

/// Copies all of `from` to `to`.
///
/// What was written is visible to other threads as after any copy.
///
/// # Panics
/// The lengths differ, as with `copy_from_slice`.
#[inline]
#[track_caller]
pub fn copy(to: &mut [u8], from: &[u8]) {
    copy_hinted(Hint::default(), to, from);
}

/// As [`copy`], with what the program knows about the caches.
///
/// # Panics
/// The lengths differ.
#[inline]
#[track_caller]
pub fn copy_hinted(hint: Hint, to: &mut [u8], from: &[u8]) {
    // Nothing but this comparison is added to a short copy.
    if from.len() >= SHORT {
        return choose::long(to, from, hint.row());
    }
    to.copy_from_slice(from);
}

/// Copies all of `from` to `to` by this routine, whatever the models say.
///
/// # Panics
/// The lengths differ.
#[inline]
#[track_caller]
pub fn copy_with(routine: &Routine, to: &mut [u8], from: &[u8]) {
    routine.copy(to, from);
}
