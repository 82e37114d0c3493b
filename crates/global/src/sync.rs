//! The atomics of shared memory: those of `std`, or those of loom, which tests every interleaving.

#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
