//! Sorted blocks whose elements go to other nodes and are merged there, stably.
//!
//! Elements that can be distinguished carry their positions, by which equal keys are ordered.

use crate::item::Item;
use crate::problem::Problem;
use crate::{layout, local, work};
use bytemuck::{Pod, Zeroable};
use strata_runtime::Node;

/// An element and its position.
#[repr(C, packed)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(crate) struct Placed<T> {
    item: T,
    position: u64,
}

impl<T: Item> Item for Placed<T> {
    fn bits(&self) -> u64 {
        let item = self.item;
        item.bits()
    }
}

/// Merges the sorted blocks of all nodes.
pub(crate) trait Merge {
    /// Merges elements: in the layout's lengths before and after, sorted by `order` first on each
    /// node, then over all nodes.
    fn merge<T: Item>(self, node: &mut Node, items: &mut Vec<T>, order: impl Fn(&T) -> (u64, u64) + Copy);
}

/// Balances the elements, sorts locally, and merges. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem, merge: impl Merge) {
    layout::rebalance(node, items, &problem.lens);
    work::sort::<T, _>(node, items.len(), problem.range.width, || {
        local::sort(items);
    });
    if T::PLAIN {
        return merge.merge(node, items, |item| (item.bits(), 0));
    }
    // Positions after a stable local sort are as good as the original ones.
    let start = problem.layout().start(node.rank()) as u64;
    let mut placed: Vec<Placed<T>> =
        items.iter().zip(start..).map(|(&item, position)| Placed { item, position }).collect();
    merge.merge(node, &mut placed, |placed| (placed.bits(), placed.position));
    items.clear();
    items.extend(placed.iter().map(|placed| placed.item));
}
