//! Batcher's merge exchange on sorted blocks, for few elements a node.
//!
//! K. E. Batcher, "Sorting networks and their applications" (1968), in the form for any number of
//! nodes of D. E. Knuth, *The Art of Computer Programming*, vol. 3, §5.2.2, Algorithm M. Each
//! comparator is a pair of nodes that exchange their sorted blocks; the lower keeps the least
//! elements, the upper the rest (§5.3.4, exercise 38). There are t(t + 1)/2 steps, t = ⌈lg P⌉. In
//! each step a node sends at most one message; an exchange with all nodes sends P - 1. A node's
//! elements move up to that often, so the algorithm is slow if they are many.
//!
//! Blocks have the lengths of the balanced layout throughout: short blocks at the end are padded
//! with elements greater than all others, which stay there. Elements that can be distinguished are
//! also compared by their positions, so that the sort is stable.
//!
//! **Guarantee:** the algorithm is deterministic; the result is balanced exactly. **Precondition:**
//! at most [`MOST`] elements a node, because the blocks of all steps are in memory.

use crate::item::Item;
use crate::layout::Layout;
use crate::placed::{self, Merge};
use crate::problem::Problem;
use crate::{pool, work};
use strata_runtime::Node;

/// Most elements a node.
const MOST: usize = 1 << 14;

/// The first of the ports for arriving blocks, one for each step. Programs use lower numbers.
const PORTS: usize = 3840;

/// True if there is memory for the blocks of all steps.
#[inline]
pub(crate) fn applies(problem: &Problem) -> bool {
    problem.keys() <= MOST
}

/// Number of elements of the blocks of all steps, and of two blocks for merging.
pub(crate) fn memory(problem: &Problem) -> usize {
    let steps = problem.nodes().next_power_of_two().ilog2() as usize;
    2 * problem.most_on_a_node() + (steps * (steps + 1) / 2 + 2) * problem.keys()
}

/// Sorts. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem) {
    placed::sort(node, items, problem, Exchange(problem.layout()));
}

struct Exchange(Layout);

impl Merge for Exchange {
    fn merge<T: Item>(self, node: &mut Node, items: &mut Vec<T>, order: impl Fn(&T) -> (u64, u64) + Copy) {
        merge_all(node, items, self.0, order);
    }
}

/// Merges the nodes' sorted blocks, which have the lengths of the layout.
fn merge_all<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    layout: Layout,
    order: impl Fn(&T) -> (u64, u64) + Copy,
) {
    let me = node.rank();
    // If one of the two nodes has no elements, it is the upper one: nothing moves.
    let partners: Vec<(usize, usize)> = partners(node.size(), me)
        .into_iter()
        .enumerate()
        .filter(|(_, other)| *other != me && layout.len(*other) > 0 && layout.len(me) > 0)
        .collect();
    if node.size() == 1 || layout.total() == 0 {
        return;
    }
    node.receiving(|node| {
        for &(step, other) in &partners {
            node.open_port(PORTS + step, pool::take::<T>(layout.len(other)));
            node.expect::<T>(PORTS + step, layout.len(other));
        }
        node.barrier();
        let mut merged = Vec::with_capacity(items.len());
        for &(step, other) in &partners {
            node.put(other, PORTS + step, 0, items);
            node.wait_for_port(PORTS + step);
            let theirs = node.close_port::<T>(PORTS + step);
            merged.clear();
            work::merge::<T, _>(node, items.len(), || {
                if me < other {
                    least(items, &theirs, &mut merged, order);
                } else {
                    greatest(items, &theirs, &mut merged, order);
                }
            });
            std::mem::swap(items, &mut merged);
            pool::give(theirs);
        }
    });
}

/// Appends the `mine.len()` least elements of two sorted blocks, in order.
fn least<T: Item>(mine: &[T], theirs: &[T], merged: &mut Vec<T>, order: impl Fn(&T) -> (u64, u64)) {
    let (mut a, mut b) = (0, 0);
    while merged.len() < mine.len() {
        let take_theirs = theirs.get(b).is_some_and(|their| order(their) < order(&mine[a]));
        merged.push(if take_theirs { theirs[b] } else { mine[a] });
        a += usize::from(!take_theirs);
        b += usize::from(take_theirs);
    }
}

/// Appends the `mine.len()` greatest elements of two sorted blocks, in order.
fn greatest<T: Item>(mine: &[T], theirs: &[T], merged: &mut Vec<T>, order: impl Fn(&T) -> (u64, u64)) {
    let (mut a, mut b) = (mine.len(), theirs.len());
    while merged.len() < mine.len() {
        let take_theirs = b > 0 && order(&theirs[b - 1]) > order(&mine[a - 1]);
        merged.push(if take_theirs { theirs[b - 1] } else { mine[a - 1] });
        a -= usize::from(!take_theirs);
        b -= usize::from(take_theirs);
    }
    merged.reverse();
}

/// The other node of node `rank` in each step, or `rank` itself in one in which it has none.
fn partners(nodes: usize, rank: usize) -> Vec<usize> {
    let top = nodes.next_power_of_two() / 2;
    let mut partners = Vec::new();
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut distance) = (top, 0, p);
        loop {
            let lower = |i: usize| i & p == r && i + distance < nodes;
            partners.push(match rank.checked_sub(distance) {
                _ if lower(rank) => rank + distance,
                Some(other) if lower(other) => other,
                _ => rank,
            });
            if q == p {
                break;
            }
            (distance, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_agree_and_the_network_sorts_every_sequence_of_zeros_and_ones() {
        for nodes in 1..=12 {
            let all: Vec<Vec<usize>> = (0..nodes).map(|rank| partners(nodes, rank)).collect();
            let steps: Vec<Vec<usize>> =
                (0..all[0].len()).map(|step| all.iter().map(|mine| mine[step]).collect()).collect();
            assert!(steps.iter().all(|others| (0..nodes).all(|rank| others[others[rank]] == rank)));
            // Zeros and ones suffice (Knuth, §5.3.4, Theorem Z).
            for bits in 0..1u32 << nodes {
                let mut values: Vec<u32> = (0..nodes).map(|rank| bits >> rank & 1).collect();
                for others in &steps {
                    for (rank, &other) in others.iter().enumerate() {
                        if rank < other && values[rank] > values[other] {
                            values.swap(rank, other);
                        }
                    }
                }
                assert!(values.is_sorted(), "{bits:b} on {nodes}");
            }
        }
        assert_eq!((partners(64, 5).len(), partners(33, 0).len()), (21, 21));
    }

    #[test]
    fn two_blocks_split_into_the_least_and_the_greatest() {
        let order = |x: &u64| (*x, 0);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        least(&[2, 4, 6], &[1, 5], &mut low, order);
        greatest(&[1, 5], &[2, 4, 6], &mut high, order);
        assert_eq!((low, high), (vec![1, 2, 4], vec![5, 6]));
    }
}
