//! Buffers that a node keeps from one sort to the next.
//!
//! Fresh pages cost the system about as much time as a pass of a radix sort takes, and on threads
//! all nodes compete for it. So received blocks and unused buffers are kept here for the next sort
//! of this node (of this thread), up to a limit. Blocks move between nodes: what a node sends is
//! replaced by what it receives.
//!
//! Sizes are rounded up to four classes an octave. So a block's length determines its class
//! wherever it comes from, and the slightly different lengths of consecutive sorts use the same
//! memory.

use bytemuck::Pod;
use std::cell::RefCell;
use std::collections::VecDeque;
use strata_runtime::Block;

/// The most bytes kept on each node; the oldest buffers are freed first.
const MOST_BYTES: usize = 64 << 20;

/// Smaller buffers are not kept: the allocator provides them quickly.
const LEAST_BYTES: usize = 16 << 10;

/// The buffers, oldest first, and the total bytes of their classes.
#[derive(Default)]
struct Pool {
    blocks: VecDeque<Block<u8>>,
    bytes: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// The memory size of a block of this many bytes.
fn class(bytes: usize) -> usize {
    bytes.next_multiple_of(1 << (bytes.ilog2() - 2))
}

/// A block of `len` elements of arbitrary value: write them before reading.
pub(crate) fn take<T: Pod>(len: usize) -> Block<T> {
    let bytes = len * size_of::<T>();
    if bytes < LEAST_BYTES {
        return Block::zeroed(len);
    }
    let class = class(bytes);
    let kept = POOL.with_borrow_mut(|pool| {
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
    if bytes < LEAST_BYTES || class(bytes) > MOST_BYTES {
        return;
    }
    let class = class(bytes);
    POOL.with_borrow_mut(|pool| {
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
        for bytes in (LEAST_BYTES..1 << 20).step_by(777) {
            let class = class(bytes);
            assert!(bytes <= class && class < bytes + bytes / 3, "{bytes} {class}");
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

        give(Block::<u8>::zeroed(MOST_BYTES + 1));
        assert!(POOL.with_borrow(|pool| pool.blocks.is_empty()), "too much to keep");
        (0..5).for_each(|_| give(Block::<u8>::zeroed(MOST_BYTES / 4)));
        assert_eq!(POOL.with_borrow(|pool| (pool.blocks.len(), pool.bytes)), (4, MOST_BYTES));
    }
}
