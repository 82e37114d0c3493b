//! The symmetric heap: an allocator of offsets, equal on all nodes.

use std::collections::BTreeMap;

/// The granularity of allocations in bytes: a cache line, so that arrays share none.
const GRAIN: u64 = 64;

/// The free and allocated parts of a heap. Every node makes the same calls, so the heaps are equal
/// on all nodes.
#[derive(Debug)]
pub(crate) struct Heap {
    /// Lengths of the parts, by offset; adjacent free parts are merged.
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// A heap of `bytes`, rounded up.
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes = bytes.next_multiple_of(GRAIN);
        let free = (bytes > 0).then_some((0, bytes)).into_iter().collect();
        Self { free, used: BTreeMap::new() }
    }

    /// Allocates `bytes` bytes at the first offset where they fit; `None` if there is none.
    pub(crate) fn alloc(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.max(1).checked_next_multiple_of(GRAIN)?;
        let (&at, &length) = self.free.iter().find(|(_, length)| **length >= bytes)?;
        self.free.remove(&at);
        if length > bytes {
            self.free.insert(at + bytes, length - bytes);
        }
        self.used.insert(at, bytes);
        Some(at)
    }

    /// Frees an offset that `alloc` returned; false if it is not allocated.
    pub(crate) fn free(&mut self, mut at: u64) -> bool {
        let Some(mut length) = self.used.remove(&at) else { return false };
        if let Some(after) = self.free.remove(&(at + length)) {
            length += after;
        }
        if let Some((&before, &bytes)) = self.free.range(..at).next_back()
            && before + bytes == at
        {
            (at, length) = (before, bytes + length);
        }
        self.free.insert(at, length);
        true
    }

    /// The number of free bytes, and the length of the largest free part.
    pub(crate) fn left(&self) -> (u64, u64) {
        (self.free.values().sum(), self.free.values().copied().max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};

    #[test]
    fn parts_never_overlap_and_all_comes_back() {
        let mut random = chacha20::ChaCha8Rng::seed_from_u64(1);
        let mut heap = Heap::new(10_000);
        let whole = heap.left();
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for _ in 0..5000 {
            if random.random_bool(0.5) || parts.is_empty() {
                let bytes = random.random_range(0..900);
                if let Some(at) = heap.alloc(bytes) {
                    assert!(at + bytes <= whole.0);
                    assert!(parts.iter().all(|(other, length)| at + bytes <= *other || other + length <= at));
                    parts.push((at, bytes.max(1)));
                } else {
                    assert!(heap.left().1 < bytes.max(1).next_multiple_of(GRAIN));
                }
            } else {
                let (at, _) = parts.swap_remove(random.random_range(0..parts.len()));
                assert!(heap.free(at));
                assert!(!heap.free(at), "freed twice");
            }
        }
        parts.iter().for_each(|(at, _)| assert!(heap.free(*at)));
        assert_eq!((heap.left(), heap.free.len()), (whole, 1));
        assert_eq!(Heap::new(0).alloc(0), None);
        assert_eq!(heap.alloc(u64::MAX), None);
    }
}
