//! The atomics, cells and threads of this transport: those of `std`, or those of loom, which tests
//! every interleaving.
//!
//! The cell has loom's interface, which marks the beginning and end of an access.
//!
//! Under loom, `Arc`, `Mutex` and `OnceLock` remain those of `std`. Loom runs all threads of a
//! model as coroutines of one thread and changes between them only in its own operations, and no
//! lock of this transport is held during such an operation.

#[cfg(not(all(test, loom)))]
pub(super) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::{Thread, current, park, yield_now},
};

#[cfg(all(test, loom))]
pub(super) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::{Thread, current, park, yield_now},
};

/// True if loom runs this code. Spins and yields before a sleep are then removed: each would be one
/// more interleaving of the same accesses.
pub(super) const UNDER_LOOM: bool = cfg!(all(test, loom));

/// Sets a flag that only this thread stores to, and that others exchange (relaxed).
///
/// Under loom this is an exchange, too, because loom orders a store after an exchange only if the
/// storing thread has seen it. The language orders more: an exchange directly follows the value
/// that it read, so it precedes whatever this thread stores next. Without that order loom lets a
/// waker read the `false` of its last exchange although the sleeper's newer `true` happens before
/// the read, and reports a lost wake-up where a node waits twice. The exchange may show this thread
/// more than a store would, but only what the waker did before it unparks this thread anyway.
#[inline]
pub(super) fn set(flag: &AtomicBool, value: bool) {
    #[cfg(not(all(test, loom)))]
    flag.store(value, Ordering::Relaxed);
    #[cfg(all(test, loom))]
    flag.swap(value, Ordering::Relaxed);
}

/// `std`'s cell with loom's interface.
#[cfg(not(all(test, loom)))]
#[derive(Default)]
pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(all(test, loom)))]
impl<T> UnsafeCell<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Access for reading, while no other thread writes.
    #[inline]
    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Access for writing, while no other thread reads or writes.
    #[inline]
    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// A counter on its own cache line (two lines, because some processors fetch lines in pairs).
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Counter(pub(super) AtomicUsize);
