//! Histogram sort: splitters are found by counting, so that every element moves once, to its final
//! node.
//!
//! Each node sorts its elements. Then the nodes find the keys at the bounds of their shares, in
//! rounds of one reduction each (see [`cuts`](crate::cuts)); equal keys at a bound fill the left
//! node first, by rank. One exchange follows, and a sort of the received elements (L. V. Kale and
//! S. Krishnan, ICPP 1993). V. Harsh and others (SPAA 2019) accept an imbalance of ε for fewer
//! rounds; here it is zero unless another [`Balance`](crate::Balance) is requested.
//!
//! **Guarantee:** the algorithm is deterministic; each node receives its share as exactly as
//! requested, whatever the keys, so that a node holds at most twice its share besides its own
//! elements. **Precondition:** none.

use crate::item::Item;
use crate::problem::Problem;
use crate::{cuts, layout, leading, local, pool, work};
use strata_runtime::{Block, Node};

/// Number of elements of the blocks to send, those received, and a buffer to sort them.
pub(crate) fn memory(problem: &Problem) -> usize {
    2 * problem.most_on_a_node() + 3 * problem.keys()
}

/// Sorts. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem) {
    let range = problem.range;
    if problem.largest() > 2 * problem.keys() {
        layout::rebalance(node, items, &problem.lens);
    }
    work::sort::<T, _>(node, items.len(), range.width, || local::sort(items));
    if problem.nodes() == 1 {
        return;
    }
    let (layout, me) = (problem.layout(), node.rank());
    let starts = (1..problem.nodes()).map(|rank| layout.start(rank) as u64);
    let bounds: Vec<u64> = starts.filter(|start| *start < layout.total() as u64).collect();
    let below = |bits: u64| items.partition_point(|item| item.bits() < bits) as u64;
    let through = |bits: u64| items.partition_point(|item| item.bits() <= bits) as u64;
    // A node's share has two ends. Less than half of the share, so that its two ends stay in order.
    let tolerance = (problem.most - layout.share()) / 2;
    let tolerance = tolerance.min(layout.share().saturating_sub(1) / 2) as u64;
    let cuts = cuts::find(node, range, (layout.total() as u64, tolerance), &bounds, |node, probes| {
        work::probe(node, probes.len(), items.len(), || probes.iter().map(|&probe| below(probe)).collect())
    });
    let mut equal_before: Vec<u64> = cuts.iter().map(|cut| through(cut.bits) - below(cut.bits)).collect();
    node.scan_add(&mut equal_before);
    let mut ends: Vec<usize> = cuts
        .iter()
        .zip(&bounds)
        .zip(&equal_before)
        .map(|((cut, bound), before)| {
            let left = bound.saturating_sub(cut.below).saturating_sub(*before);
            (below(cut.bits) + left.min(through(cut.bits) - below(cut.bits))) as usize
        })
        .collect();
    ends.resize(problem.nodes(), items.len());
    let mut start = 0;
    let blocks: Vec<Block<T>> = work::copy::<T, _>(node, items.len(), || {
        let block = |end: usize| {
            let mut block = pool::take(end - start);
            work::keep(&mut block, &items[start..end]);
            start = end;
            block
        };
        ends.into_iter().map(block).collect()
    });
    let blocks = node.all_to_all_v(blocks);
    let parts: Vec<&[T]> = blocks.iter().map(|block| &**block).collect();
    let mine = leading::Range::new(
        me.checked_sub(1).and_then(|at| cuts.get(at)).map_or(range.base, |cut| cut.bits),
        cuts.get(me).map_or_else(|| range.greatest(), |cut| cut.bits),
    );
    let len = parts.iter().map(|part| part.len()).sum();
    let sorted = work::sort::<T, _>(node, len, mine.width, || local::sort_parts(&parts, mine));
    items.clear();
    items.extend_from_slice(&sorted);
    pool::give(sorted);
    blocks.into_iter().for_each(pool::give);
}
