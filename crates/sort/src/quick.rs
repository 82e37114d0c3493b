//! Hypercube quicksort, for few elements on many nodes.
//!
//! B. Wagar, "Hyperquicksort" (*Hypercube Multiprocessors* 1987), with the extensions of M. Axtmann
//! and P. Sanders for inputs of any kind ("Robust massively parallel sorting", ALENEX 2017). Each
//! node sorts its elements. In each of lg P steps the nodes of a subcube split their elements by a
//! pivot, exchange one part with the node on the other side of the cube, and merge. So a node sends
//! lg P messages, fewer than the P - 1 of an exchange with all nodes, and each element moves lg P /
//! 2 times.
//!
//! The pivots of all subcubes are taken from one sample of about [`SAMPLES`] elements, evenly
//! spaced within each node. A node splits its elements equal to the pivot so that the parts are as
//! even as possible; so equal keys spread over all nodes. If P is not a power of two, the nodes
//! above the last one first give their elements to others, and at the end the nodes balance the
//! elements.
//!
//! **Guarantee:** the algorithm is deterministic; the result is balanced exactly. During the sort a
//! node may hold more than its share, by the error of the sample. **Precondition:** at most
//! [`MOST`] elements a node, each of at most 48 bytes.

use crate::item::Item;
use crate::layout::{self, Layout};
use crate::placed::{self, Merge};
use crate::problem::Problem;
use crate::{mail, work};
use strata_runtime::Node;

/// The most elements a node.
const MOST: usize = 1 << 12;

/// Number of sampled elements of all nodes from which pivots are taken; at least two of each node.
/// Every node sorts the sample: sorting a larger one takes longer than its better pivots save.
const SAMPLES: usize = 64;

/// True if the elements are few, and fit in messages.
pub(crate) fn applies<T: Item>(problem: &Problem) -> bool {
    let fits = if T::PLAIN { mail::fits::<T>() } else { mail::fits::<placed::Placed<T>>() };
    fits && problem.keys() <= MOST && problem.nodes().saturating_mul(problem.keys()) <= mail::MOST
}

/// During the sort a node may hold all elements, with their positions, as received and merged.
pub(crate) fn memory<T>(problem: &Problem) -> usize {
    let placed = 1 + 8_usize.div_ceil(size_of::<T>().max(1));
    (2 * problem.most_on_a_node() + 3 * problem.layout().total()).saturating_mul(placed)
}

/// Sorts. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem) {
    let hypercube = Hypercube { layout: problem.layout(), width: problem.range.width };
    placed::sort(node, items, problem, hypercube);
}

struct Hypercube {
    layout: Layout,
    width: u32,
}

impl Merge for Hypercube {
    fn merge<T: Item>(self, node: &mut Node, items: &mut Vec<T>, order: impl Fn(&T) -> (u64, u64) + Copy) {
        let (layout, nodes, me) = (self.layout, node.size(), node.rank());
        if nodes == 1 || layout.total() == 0 {
            return;
        }
        let dimensions = nodes.ilog2() as usize;
        let cube = 1 << dimensions;
        let lens = mail::with::<T, _>(node, dimensions + 1, |node, mail| {
            let pivots = pivots(node, items, &self, cube, order);
            let (mut theirs, mut merged) = (Vec::new(), Vec::new());
            let mut join = |node: &mut Node, mine: &mut Vec<T>, stream: usize| {
                mail.receive(node, stream, &mut theirs);
                work::merge::<T, _>(node, mine.len() + theirs.len(), || {
                    merge(mine, &theirs, &mut merged, order);
                });
                std::mem::swap(mine, &mut merged);
            };
            if me >= cube {
                mail.send(node, me - cube, dimensions, items);
                items.clear();
            } else if me + cube < nodes {
                join(node, items, dimensions);
            }
            for dimension in (0..dimensions).rev().filter(|_| me < cube) {
                let side = 1 << dimension;
                let pivot = pivots[(me & !(2 * side - 1)) + side - 1];
                let cut = work::probe(node, 2, items.len(), || {
                    let below = items.partition_point(|item| order(item) < pivot);
                    let through = items.partition_point(|item| order(item) <= pivot);
                    (items.len() / 2).clamp(below, through)
                });
                if me & side == 0 {
                    mail.send(node, me | side, dimension, &items[cut..]);
                    items.truncate(cut);
                } else {
                    mail.send(node, me & !side, dimension, &items[..cut]);
                    items.drain(..cut);
                }
                join(node, items, dimension);
            }
            node.all_gather(&[items.len()])
        });
        let mine = std::mem::take(items);
        if lens.iter().enumerate().all(|(rank, len)| *len == layout.len(rank)) {
            *items = mine;
        } else {
            layout::spread(node, &mine, &lens, items);
        }
    }
}

/// The pivots between `cube` parts of all elements, equal on all nodes.
fn pivots<T: Item>(
    node: &mut Node,
    items: &[T],
    &Hypercube { layout, width }: &Hypercube,
    cube: usize,
    order: impl Fn(&T) -> (u64, u64),
) -> Vec<(u64, u64)> {
    let nodes = node.size();
    let most = layout.share().min((SAMPLES / nodes).max(2));
    // Proportional to the node's number of elements.
    let count = |rank: usize| (layout.len(rank) * most).div_ceil(layout.share());
    let mut mine = vec![[0; 2]; most];
    let of_mine = count(node.rank());
    for (number, sample) in mine[..of_mine].iter_mut().enumerate() {
        let (bits, position) =
            order(&items[(number * nodes + node.rank()) * items.len() / (of_mine * nodes)]);
        *sample = [bits, position];
    }
    let all = node.all_gather(&mine);
    let rows = all.chunks_exact(most).enumerate();
    let mut samples: Vec<(u64, u64)> =
        rows.flat_map(|(rank, row)| row[..count(rank)].iter().map(|&[bits, at]| (bits, at))).collect();
    work::sort::<[u64; 2], _>(node, samples.len(), width, || samples.sort_unstable());
    (1..cube).map(|part| samples[(part * samples.len() / cube).saturating_sub(1)]).collect()
}

/// Merges two sorted blocks into `merged`; of equal elements those of `mine` come first.
fn merge<T: Item>(mine: &[T], theirs: &[T], merged: &mut Vec<T>, order: impl Fn(&T) -> (u64, u64)) {
    merged.clear();
    let mut rest = theirs;
    for item in mine {
        let before = rest.iter().take_while(|their| order(their) < order(item)).count();
        merged.extend_from_slice(&rest[..before]);
        merged.push(*item);
        rest = &rest[before..];
    }
    merged.extend_from_slice(rest);
}
