//! The atomics of shared memory: those of `std`, or those of loom, which tests every interleaving.

#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{AtomicU64, Ordering};

/// True if loom runs this code: then rings are as short as can be.
pub(super) const UNDER_LOOM: bool = cfg!(all(test, loom));
