//! Sorting with only a comparison: for elements whose order cannot be expressed in 64 bits, such as
//! byte strings.
//!
//! Sample sort with regular samples (H. Shi and J. Schaeffer, "Parallel sorting by regular
//! sampling", 1992): every node sorts its elements and sends P evenly spaced ones, where P is the
//! number of nodes; the splitters are evenly spaced among all of these. If all nodes have equally
//! many elements, a node receives at most twice its share, whatever the keys: elements that compare
//! equal are distinguished by their positions.

use crate::{layout, work};
use bytemuck::{Pod, Zeroable};
use std::cmp::Ordering;
use strata_runtime::{Block, Node};

/// A sample and its position.
#[repr(C, packed)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Sample<T> {
    item: T,
    index: u64,
}

/// Sorts the elements of all nodes by `compare`, stably; the result is distributed as that of
/// [`sort`](crate::sort).
///
/// No models are needed: there is only one algorithm, sample sort with regular samples. If a number
/// of at most 64 bits has the same order as the elements, [`sort`](crate::sort) is faster.
///
/// ```
/// use strata_runtime::prelude::*;
///
/// let parts = Machine::threads(2)?.run(|node| {
///     let mut names = [[*b"Erica Mustermann", *b"Alan Turing     "], [*b"Ada Lovelace    ", *b"Grace Hopper    "]]
///         [node.rank()].to_vec();
///     strata_sort::sort_by(node, &mut names, |a, b| a.cmp(b));
///     Ok(names.iter().map(|name| name[..3].to_vec()).collect::<Vec<_>>().concat())
/// })?;
/// assert_eq!(parts, [b"AdaAla", b"EriGra"]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Participation
/// Collective, with comparisons that agree and are a total order; any node may have no elements.
pub fn sort_by<T: Pod + Send + Sync>(
    node: &mut Node,
    items: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    let nodes = node.size();
    let lens: Vec<usize> = node.all_gather(&[items.len() as u64]).iter().map(|len| *len as usize).collect();
    layout::rebalance(node, items, &lens);
    node.compute_always(comparisons(items.len()), || items.sort_by(&compare));
    let total: usize = lens.iter().sum();
    if nodes == 1 || total == 0 {
        return;
    }
    let share = total.div_ceil(nodes);
    let mut samples = vec![Sample { item: T::zeroed(), index: u64::MAX }; nodes];
    for (at, sample) in samples.iter_mut().enumerate() {
        if let Some(item) = items.get(at * share / nodes) {
            *sample = Sample { item: *item, index: (at * share / nodes) as u64 };
        }
    }
    let all = node.all_gather(&samples);
    // In the order of equal elements: by rank, then by index.
    let by_place = |a: &(usize, Sample<T>), b: &(usize, Sample<T>)| {
        let (x, y) = (a.1.item, b.1.item);
        compare(&x, &y).then_with(|| (a.0, { a.1.index }).cmp(&(b.0, { b.1.index })))
    };
    let mut all: Vec<(usize, Sample<T>)> =
        all.into_iter().enumerate().map(|(at, sample)| (at / nodes, sample)).collect();
    all.retain(|(_, sample)| sample.index != u64::MAX);
    node.compute_always(comparisons(all.len()), || all.sort_by(by_place));
    let me = node.rank();
    let mut start = 0;
    let mut blocks: Vec<Block<T>> = Vec::with_capacity(nodes);
    for bucket in 1..=nodes {
        let end = match all.get(bucket * all.len() / nodes) {
            Some(&(rank, splitter)) if bucket < nodes => {
                let bound = splitter.item;
                let below = items.partition_point(|item| compare(item, &bound) == Ordering::Less);
                let through = items.partition_point(|item| compare(item, &bound) != Ordering::Greater);
                match rank.cmp(&me) {
                    Ordering::Greater => through,
                    Ordering::Equal => (splitter.index as usize).clamp(below, through),
                    Ordering::Less => below,
                }
            }
            _ => items.len(),
        };
        let end = end.max(start);
        let mut block = node.block(0);
        if end > start {
            block = Block::zeroed(end - start);
            work::keep(&mut block, &items[start..end]);
        }
        blocks.push(block);
        start = end;
    }
    let blocks = node.all_to_all_v(blocks);
    let mut sorted: Vec<T> = blocks.iter().flat_map(|block| block.iter().copied()).collect();
    // The standard sort finds the sorted runs and merges them.
    node.compute_always(comparisons(sorted.len()), || sorted.sort_by(&compare));
    let lens: Vec<usize> = node.all_gather(&[sorted.len() as u64]).iter().map(|len| *len as usize).collect();
    layout::spread(node, &sorted, &lens, items);
}

/// The cycles of a sort: about ten a comparison.
fn comparisons(len: usize) -> f64 {
    10.0 * len as f64 * (len.max(2) as f64).log2()
}
