//! Buffers that a node keeps from one sort to the next.
//!
//! The system takes about as long for fresh pages as a pass of a radix sort, and threads compete
//! for it. So received blocks and unused buffers are kept for the next sort of this node (of this
//! thread), up to a limit. Blocks move between nodes: received blocks replace those sent.
//!
//! Small blocks are kept for another reason. Memory that one thread allocates and another frees
//! returns through a lock of the allocator, for which both threads compete. With 64 keys on each of
//! two nodes, a pass took six times as long if blocks were freed.
//!
//! Sizes are rounded up to four classes an octave, small ones to powers of two. So a block's length
//! alone determines its class, and consecutive sorts of slightly different lengths use the same
//! memory.

use bytemuck::Pod;
use std::cell::RefCell;
use std::collections::VecDeque;
use strata_runtime::Block;

/// The most bytes of large buffers kept on each node; the oldest are freed first.
const MOST_BYTES: usize = 64 << 20;

/// The least size of a large buffer.
const LARGE: usize = 16 << 10;

/// The smallest class, and the number of classes below [`LARGE`].
const LEAST: usize = 64;
const SMALL_CLASSES: usize = LARGE.ilog2() as usize - LEAST.ilog2() as usize + 1;

/// The most small buffers kept of each class: two exchanges of 64 nodes.
const MOST_SMALL: usize = 128;

#[derive(Default)]
struct Pool {
    /// Small buffers, by class.
    small: [Vec<Block<u8>>; SMALL_CLASSES],
    /// The large ones, oldest first, and the total bytes of their classes.
    blocks: VecDeque<Block<u8>>,
    bytes: usize,
}

impl Pool {
    /// The small buffers of a class; `None` for a large one.
    fn small(&mut self, class: usize) -> Option<&mut Vec<Block<u8>>> {
        self.small.get_mut((class.ilog2() - LEAST.ilog2()) as usize).filter(|_| class <= LARGE)
    }
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// The memory size of a block of this many bytes.
fn class(bytes: usize) -> usize {
    if bytes < LARGE {
        return bytes.next_power_of_two().max(LEAST);
    }
    bytes.next_multiple_of(1 << (bytes.ilog2() - 2))
}

/// A block of `len` elements of arbitrary value: write them before reading.
pub(crate) fn take<T: Pod>(len: usize) -> Block<T> {
    let bytes = len * size_of::<T>();
    if bytes == 0 {
        return Block::zeroed(len);
    }
    let class = class(bytes);
    let kept = POOL.with_borrow_mut(|pool| {
        if let Some(small) = pool.small(class) {
            return small.pop();
        }
        // The newest is most likely to be in the cache.
        let at = pool.blocks.iter().rposition(|block| block.len() == class)?;
        pool.bytes -= class;
        pool.blocks.remove(at)
    });
    kept.unwrap_or_else(|| Block::zeroed(class)).reuse(len)
}

/// Keeps the memory of `block` for later.
pub(crate) fn give<T: Pod>(block: Block<T>) {
    let bytes = block.bytes().len();
    if bytes == 0 || class(bytes) > MOST_BYTES {
        return;
    }
    let class = class(bytes);
    POOL.with_borrow_mut(|pool| {
        if let Some(small) = pool.small(class) {
            if small.len() < MOST_SMALL {
                small.push(block.reuse(class));
            }
            return;
        }
        pool.blocks.push_back(block.reuse(class));
        pool.bytes += class;
        while pool.bytes > MOST_BYTES
            && let Some(oldest) = pool.blocks.pop_front()
        {
            pool.bytes -= oldest.len();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_are_for() {
        for bytes in (1..1 << 20).step_by(777) {
            let class = class(bytes);
            let most = if bytes < LARGE { (2 * bytes).max(LEAST) } else { bytes + bytes / 3 };
            assert!(bytes <= class && class <= most, "{bytes} {class}");
            assert_eq!(super::class(class), class);
        }
    }

    #[test]
    fn what_is_given_is_taken_again() {
        let (small, large) = (take::<u64>(10_000), take::<u64>(50_000));
        let (at_small, at_large) = (small.as_ptr() as usize, large.as_ptr() as usize);
        give(large);
        give(small);
        let again = take::<u64>(9_500);
        assert_eq!((again.len(), again.as_ptr() as usize), (9_500, at_small));
        let again = take::<u32>(100_001);
        assert_eq!((again.len(), again.as_ptr() as usize), (100_001, at_large));
        assert_eq!(take::<u8>(100_000).len(), 100_000, "nothing is left: a new one");

        let few = take::<u64>(9);
        let at_few = few.as_ptr() as usize;
        give(few);
        assert_eq!(take::<u16>(40).as_ptr() as usize, at_few, "of 128 bytes, as 72 and 80 need");
        give(take::<u8>(0));
        assert_eq!(take::<u8>(LARGE).len(), LARGE);
        (0..2 * MOST_SMALL).for_each(|_| give(Block::<u8>::zeroed(1000)));
        let kept = POOL.with_borrow_mut(|pool| pool.small(1024).map(|small| small.len()));
        assert_eq!(kept, Some(MOST_SMALL));

        give(Block::<u8>::zeroed(MOST_BYTES + 1));
        assert!(POOL.with_borrow(|pool| pool.blocks.is_empty()), "too much to keep");
        (0..5).for_each(|_| give(Block::<u8>::zeroed(MOST_BYTES / 4)));
        assert_eq!(POOL.with_borrow(|pool| (pool.blocks.len(), pool.bytes)), (4, MOST_BYTES));
    }
}
