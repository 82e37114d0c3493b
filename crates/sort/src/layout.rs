//! The layout of the sorted elements, and the exchange that establishes it without changing their
//! order.
//!
//! Of n elements on P nodes, element i belongs on node ⌊i/k⌋ with k = ⌈n/P⌉ (Brewer 1994, §4.5.1,
//! eq. 34): all nodes hold k elements, except the last ones, which may hold fewer or none.

use crate::work;
use crate::{leading, pool};
use bytemuck::Pod;
use strata_runtime::Node;

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

/// Moves elements between nodes until every node holds its share; their order is unchanged.
///
/// `lens[r]` is the present number of elements on node r. Collective, unless the elements are
/// balanced already.
pub(crate) fn rebalance<T: Pod>(node: &mut Node, items: &mut Vec<T>, lens: &[usize]) {
    if !balanced(lens) {
        let mine = std::mem::take(items);
        spread(node, &mine, lens, items);
    }
}

/// True if `lens` are the shares of the balanced layout.
fn balanced(lens: &[usize]) -> bool {
    let layout = Layout::new(lens.iter().sum(), lens.len());
    lens.iter().enumerate().all(|(r, &len)| len == layout.len(r))
}

/// Gives every node its share of the sequence of which this node has `mine`; the share is written
/// to `out`.
///
/// `lens[r]` is the number of its elements on node r. Collective, unless the elements are balanced
/// already.
pub(crate) fn spread<T: Pod>(node: &mut Node, mine: &[T], lens: &[usize], out: &mut Vec<T>) {
    let layout = Layout::new(lens.iter().sum(), lens.len());
    let me = node.rank();
    let start: usize = lens[..me].iter().sum();
    let end = start + mine.len();
    // The part of start..end that belongs to the share of `r`.
    let part = |r| {
        let from = layout.start(r).clamp(start, end);
        &mine[from - start..layout.end(r).clamp(from, end) - start]
    };
    let mut blocks = Vec::new();
    if !balanced(lens) {
        let block = |r| {
            let part = if r == me { &[] } else { part(r) };
            let mut block = pool::take(part.len());
            work::keep(&mut block, part);
            block
        };
        blocks = node.all_to_all_v((0..lens.len()).map(block).collect());
    }
    leading::reserve(out, layout.len(me));
    out.truncate(layout.len(me));
    let before = blocks.iter().take(me).map(|b| &**b);
    let after = blocks.iter().skip(me + 1).map(|b| &**b);
    let mut rest = &mut **out;
    work::copy::<T, _>(node, rest.len(), || {
        for source in before.chain([part(me)]).chain(after) {
            let (target, tail) = std::mem::take(&mut rest).split_at_mut(source.len());
            work::receive(target, source);
            rest = tail;
        }
    });
    blocks.into_iter().for_each(pool::give);
}

/// Gives every node its share of all elements in reverse order, beginning with the last element of
/// the last node. Collective.
pub(crate) fn reverse<T: Pod>(node: &mut Node, items: &mut Vec<T>, lens: &[usize]) {
    work::copy::<T, _>(node, items.len(), || items.reverse());
    if lens.len() == 1 {
        return;
    }
    let (layout, me) = (Layout::new(lens.iter().sum(), lens.len()), node.rank());
    let start: usize = lens[me + 1..].iter().sum();
    let end = start + items.len();
    let block = |r| {
        let from = layout.start(r).clamp(start, end);
        let part = &items[from - start..layout.end(r).clamp(from, end) - start];
        let mut block = pool::take(part.len());
        work::keep(&mut block, part);
        block
    };
    let blocks = node.all_to_all_v((0..lens.len()).map(block).collect());
    items.clear();
    work::copy::<T, _>(node, layout.len(me), || {
        blocks.iter().rev().for_each(|block| items.extend_from_slice(block));
    });
    blocks.into_iter().for_each(pool::give);
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
