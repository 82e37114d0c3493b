//! Where the sorted elements end up, and the exchange that brings them there without changing their order.
//!
//! Of n elements on P nodes, element i belongs on node ⌊i/k⌋ with k = ⌈n/P⌉ (Brewer 1994, §4.5.1, eq. 34): all
//! nodes hold k elements but the last ones, which may hold fewer or none.

use crate::item::Item;
use strata_runtime::{Block, Node};

/// The balanced layout of `total` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    total: usize,
    share: usize,
}

impl Layout {
    /// The layout of `total` elements on `nodes` nodes.
    pub(crate) fn new(total: usize, nodes: usize) -> Self {
        Self { total, share: total.div_ceil(nodes) }
    }

    /// The number of elements.
    pub(crate) fn total(self) -> usize {
        self.total
    }

    /// k: the most elements that any node holds.
    pub(crate) fn share(self) -> usize {
        self.share
    }

    /// The position of the first element of `node`.
    pub(crate) fn start(self, node: usize) -> usize {
        node.saturating_mul(self.share).min(self.total)
    }

    /// The position after the last element of `node`.
    pub(crate) fn end(self, node: usize) -> usize {
        self.start(node + 1)
    }

    /// How many elements `node` holds.
    pub(crate) fn len(self, node: usize) -> usize {
        self.end(node) - self.start(node)
    }
}

/// Moves elements between neighbours in rank order until every node holds its share; the order stays.
///
/// `lens[r]` is how many elements node r has now. Collective, unless the elements lie right already.
pub(crate) fn rebalance<T: Item>(node: &mut Node, items: &mut Vec<T>, lens: &[usize]) {
    let layout = Layout::new(lens.iter().sum(), lens.len());
    if lens.iter().enumerate().all(|(r, &len)| len == layout.len(r)) {
        return;
    }
    let me = node.rank();
    let start: usize = lens[..me].iter().sum();
    let end = start + items.len();
    // What of start..end lies in the share of `r`, counted from `start`.
    let part = |r| {
        let from = layout.start(r).clamp(start, end);
        (from - start, layout.end(r).clamp(from, end) - start)
    };
    let blocks = (0..lens.len())
        .map(|r| {
            let (from, to) = part(r);
            if r == me { Block::default() } else { Block::from_slice(&items[from..to]) }
        })
        .collect();
    let blocks = node.all_to_all_v(blocks);

    let (from, to) = part(me);
    let left: usize = blocks[..me].iter().map(|b| b.len()).sum();
    let (kept, len) = (to - from, layout.len(me));
    if items.len() < len {
        items.resize(len, T::zeroed());
    }
    items.copy_within(from..to, left);
    items.truncate(len);
    let mut at = 0;
    for (r, block) in blocks.iter().enumerate() {
        if r == me {
            at += kept;
        }
        items[at..at + block.len()].copy_from_slice(block);
        at += block.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for nodes in 1..9 {
            for total in 0..40 {
                let layout = Layout::new(total, nodes);
                assert_eq!((0..nodes).map(|r| layout.len(r)).sum::<usize>(), total);
                assert!((1..nodes).all(|r| layout.len(r) <= layout.len(r - 1)));
                assert_eq!(layout.len(0), layout.share());
            }
        }
    }
}
