//! Spread arrays: blocks of elements, assigned to the nodes in turn.

use crate::pointer::{Global, Spread};
use std::iter::repeat_n;
use std::marker::PhantomData;

/// An array over all nodes, in the heap: block b is on node b mod P.
///
/// Split-C's `T a[blocks]::[block]`. It is a handle, equal on all nodes, that owns its memory.
/// [`Space::free`](crate::Space::free) frees the memory; otherwise it stays allocated as long as
/// the space.
#[derive(Debug)]
pub struct Array<T> {
    pub(crate) base: u64,
    blocks: usize,
    block: usize,
    nodes: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> Array<T> {
    pub(crate) fn new(base: u64, blocks: usize, block: usize, nodes: usize) -> Self {
        Self { base, blocks, block, nodes, element: PhantomData }
    }

    /// The bytes that each node needs for such an array; `None` if the number overflows.
    pub(crate) fn bytes(blocks: usize, block: usize, nodes: usize) -> Option<u64> {
        let elements = blocks.div_ceil(nodes).checked_mul(block)?;
        u64::try_from(elements.checked_mul(size_of::<T>())?).ok()
    }

    /// The number of elements on all nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks * self.block
    }

    /// True if it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements of a block.
    #[must_use]
    pub fn block_len(&self) -> usize {
        self.block
    }

    /// Element `i` in the order of blocks: element i mod b of block ⌊i/b⌋, for blocks of b.
    ///
    /// # Panics
    /// (which ends the job) if there is no element `i`.
    #[must_use]
    #[track_caller]
    #[inline]
    pub fn at(&self, i: usize) -> Global<T> {
        assert!(i < self.len(), "element {i} of a spread array of {}", self.len());
        let (block, within) = if self.block == 1 { (i, 0) } else { (i / self.block, i % self.block) };
        let slot = block / self.nodes * self.block + within;
        Global::new(block % self.nodes, self.base + (slot * size_of::<T>()) as u64)
    }

    /// The pointer that steps through an array of blocks of one element.
    #[must_use]
    pub fn pointer(&self) -> Spread<T> {
        Spread::new(Global::new(0, self.base), self.nodes)
    }

    /// The first element on node `node`; the node's elements are contiguous.
    #[must_use]
    pub fn first_of(&self, node: usize) -> Global<T> {
        Global::new(node, self.base)
    }

    /// The number of elements on node `node`.
    #[must_use]
    pub fn len_of(&self, node: usize) -> usize {
        self.blocks.saturating_sub(node).div_ceil(self.nodes) * self.block
    }

    /// The elements on node `node`, with their positions in the array (Split-C's `for_my_1d`).
    pub fn of(&self, node: usize) -> impl Iterator<Item = (usize, Global<T>)> + use<T> {
        let (first, block, nodes) = (self.first_of(node), self.block, self.nodes);
        let blocks = (node..self.blocks).step_by(nodes);
        let places = blocks.flat_map(move |b| repeat_n(b * block, block).zip(0..)).map(|(b, j)| b + j);
        places.zip(0..).map(move |(i, slot)| (i, first + slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_its_place() {
        for (blocks, block, nodes) in [(0, 1, 3), (5, 0, 2), (1, 1, 1), (10, 1, 3), (7, 4, 5), (3, 2, 8)] {
            let array = Array::<[u8; 3]>::new(64, blocks, block, nodes);
            let mut seen = vec![0; array.len()];
            for node in 0..nodes {
                let mut slots = 0;
                for (slot, (i, at)) in array.of(node).enumerate() {
                    assert_eq!((at, at.offset()), (array.at(i), 64 + 3 * slot as u64));
                    seen[i] += 1;
                    slots += 1;
                }
                assert_eq!(slots, array.len_of(node));
                assert!(3 * slots as u64 <= Array::<[u8; 3]>::bytes(blocks, block, nodes).unwrap());
            }
            assert!(seen.iter().all(|times| *times == 1));
            if block == 1 {
                (0..blocks).for_each(|i| assert_eq!((array.pointer() + i as i64).global(), array.at(i)));
            }
        }
        assert_eq!(Array::<u64>::bytes(usize::MAX, 2, 1), None);
    }
}
