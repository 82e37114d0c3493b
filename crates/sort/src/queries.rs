//! Queries on elements distributed over all nodes: whether they are sorted, the position of a key,
//! the n-th element.

use crate::item::Item;
use crate::problem::Problem;
use crate::{cuts, work};
use strata_runtime::Node;

/// True if the nodes' elements, concatenated in rank order, are sorted.
///
/// # Participation
/// Collective; nodes may have different numbers of elements, also none.
pub fn is_sorted<T: Item>(node: &mut Node, items: &[T]) -> bool {
    let sorted = work::copy::<T, _>(node, items.len(), || items.is_sorted_by_key(T::bits));
    let ends = items.first().zip(items.last()).map(|(first, last)| (first.bits(), last.bits()));
    let (first, last) = ends.unwrap_or((0, 0));
    let all = node.all_gather(&[u64::from(sorted), u64::from(ends.is_some()), first, last]);
    let mut before = 0;
    all.as_chunks().0.iter().all(|&[sorted, any, first, last]| {
        let fits = sorted == 1 && (any == 0 || before <= first);
        before = if any == 1 { last } else { before };
        fits
    })
}

/// For each of `keys` (their [`bits`](Item::bits)), the number of elements below it on all nodes:
/// its position, if the elements are [sorted](crate::sort).
///
/// # Participation
/// Collective, with equal `keys`; each node's elements must be sorted.
pub fn rank_of<T: Item>(node: &mut Node, sorted: &[T], keys: &[u64]) -> Vec<u64> {
    let mut below: Vec<u64> = work::probe(node, keys.len(), sorted.len(), || {
        keys.iter().map(|key| sorted.partition_point(|item| item.bits() < *key) as u64).collect()
    });
    below.resize(keys.len(), 0);
    node.reduce_add(&mut below);
    below
}

/// The element at position `n` (from 0) of the sorted sequence of all elements, on every node;
/// `None` if there are fewer. The elements are unchanged. Of equal keys, the element is the one
/// that a stable sort puts at this position.
///
/// It takes a few passes over the elements, with a reduction of one number each: for evenly
/// distributed keys about lg lg of their number (see Harsh and others, SPAA 2019), never more
/// than 192.
///
/// # Participation
/// Collective, with equal `n`; any node may have no elements.
pub fn select_nth<T: Item>(node: &mut Node, items: &[T], n: u64) -> Option<T> {
    let problem = Problem::agree(node, items, 0);
    let total = problem.layout().total() as u64;
    if n >= total {
        return None;
    }
    let found = cuts::find(node, problem.range, (total, 0), &[n], |node, probes| {
        work::copy::<T, _>(node, items.len(), || {
            let below = |probe: &u64| items.iter().filter(|item| item.bits() < *probe).count() as u64;
            probes.iter().map(below).collect()
        })
    });
    let cut = found.first()?;
    // The key at the position is the least key not below the cut.
    let bits = items.iter().map(Item::bits).filter(|bits| *bits >= cut.bits).min().unwrap_or(u64::MAX);
    let bits = node.reduce_min(bits);
    let mut equal = items.iter().filter(|item| item.bits() == bits);
    let mine = equal.clone().count() as u64;
    let before = node.scan_add(mine);
    let place = (n - cut.below).checked_sub(before).filter(|place| *place < mine);
    let mut element = [place.and_then(|place| equal.nth(place as usize)).copied().unwrap_or_else(T::zeroed)];
    let owner = node.reduce_max(if place.is_some() { node.rank() as u64 } else { 0 });
    node.broadcast(owner as usize, &mut element);
    Some(element[0])
}

/// The distribution of keys over the nodes, for searches after a [`sort`](crate::sort).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitters {
    /// The least and greatest bits of each node that has elements, with its rank.
    nodes: Vec<(usize, u64, u64)>,
}

impl Splitters {
    /// Determines the splitters of sorted elements.
    ///
    /// # Participation
    /// Collective; the elements must be [sorted](crate::sort) over all nodes.
    pub fn of<T: Item>(node: &mut Node, sorted: &[T]) -> Self {
        let ends = sorted.first().zip(sorted.last()).map(|(first, last)| (first.bits(), last.bits()));
        let (first, last) = ends.unwrap_or((0, 0));
        let all = node.all_gather(&[u64::from(ends.is_some()), first, last]);
        let parts = all.as_chunks::<3>().0.iter().enumerate();
        Self {
            nodes: parts.filter(|(_, part)| part[0] == 1).map(|(rank, &[_, a, b])| (rank, a, b)).collect(),
        }
    }

    /// The ranks of the nodes that can have elements with these [`bits`](Item::bits); empty if no
    /// node can.
    ///
    /// # Participation
    /// Local.
    pub fn nodes_of(&self, bits: u64) -> impl Iterator<Item = usize> {
        let start = self.nodes.partition_point(|(_, _, last)| *last < bits);
        self.nodes[start..].iter().take_while(move |(_, first, _)| *first <= bits).map(|(rank, ..)| *rank)
    }

    /// The span of the keys; `None` if there are no elements.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((self.nodes.first()?.1, self.nodes.last()?.2))
    }
}
