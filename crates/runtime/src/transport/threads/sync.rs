//! The atomics and cells of the queues: those of `std`, or those of loom, which tests every
//! interleaving.
//!
//! The cell has loom's interface, which marks the beginning and end of an access.

#[cfg(not(all(test, loom)))]
pub(super) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicUsize, Ordering, fence},
};

#[cfg(all(test, loom))]
pub(super) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicUsize, Ordering, fence},
};

/// `std`'s cell with loom's interface.
#[cfg(not(all(test, loom)))]
#[derive(Default)]
pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(all(test, loom)))]
impl<T> UnsafeCell<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// For reading, while nobody writes.
    #[inline]
    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// For writing, while nobody else reads or writes.
    #[inline]
    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// A counter on its own cache line (two, as some processors fetch lines in pairs).
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Counter(pub(super) AtomicUsize);
