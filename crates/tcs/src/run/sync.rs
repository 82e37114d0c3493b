//! The atomics of shared memory: those of `std`, or those of loom, which tests every interleaving.

#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
