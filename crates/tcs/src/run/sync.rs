//! The atomics of shared memory: those of `std`, or those of loom, which tests every interleaving.

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
pub(super) use strata_runtime::memory::SharedWords;

/// True if loom runs this code: then rings are as short as can be.
pub(super) const UNDER_LOOM: bool = cfg!(all(test, loom));

/// The run-time's words, of loom's atomics.
#[cfg(all(test, loom))]
pub(super) struct SharedWords(Box<[AtomicU64]>);

#[cfg(all(test, loom))]
impl SharedWords {
    pub(super) fn zeroed(words: usize) -> Self {
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn write_from(&self, at: usize, from: &[u8]) {
        for (word, bytes) in self[at..].iter().zip(from.as_chunks().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }

    pub(super) fn read_into(&self, at: usize, into: &mut [u8]) {
        for (word, bytes) in self[at..].iter().zip(into.as_chunks_mut().0) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
    }
}

#[cfg(all(test, loom))]
impl std::ops::Deref for SharedWords {
    type Target = [AtomicU64];
    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}
