//! Hypercube quicksort, for few elements on many nodes.
//!
//! B. Wagar, "Hyperquicksort" (*Hypercube Multiprocessors* 1987), with what M. Axtmann and P.
//! Sanders made of it for inputs of any kind ("Robust massively parallel sorting", ALENEX 2017).
//! Each node sorts its elements. In each of lg P steps the nodes of a subcube split their elements
//! by a pivot, exchange one part with the node on the other side of the cube, and merge. So a node
//! sends lg P messages where an exchange with all nodes has P - 1, and each element moves lg P / 2
//! times.
//!
//! The pivots of all subcubes come from one sample of about [`SAMPLES`] elements, evenly spaced in
//! each node's, and in each elsewhere. Where elements equal the pivot, a node splits its own as
//! evenly as these allow: so equal keys fill all nodes. If P is no power of two, the nodes above
//! the last one first give their elements to others, and in the end the nodes even out.
//!
//! **Guarantee:** no chance is involved; in the end the result is balanced exactly. On the way a
//! node may hold more than its share, by as much as the sample is wrong. **Precondition:** at most
//! [`MOST`] elements a node, each of at most 48 bytes.

use crate::item::Item;
use crate::layout::{self, Layout};
use crate::placed::{self, Merge};
use crate::problem::Problem;
use crate::{mail, work};
use strata_runtime::Node;

/// Most elements a node.
const MOST: usize = 1 << 12;

/// Elements of all nodes that pivots are taken from; of each node at least two. Every node sorts
/// them: more of them take longer than the better pivots save.
const SAMPLES: usize = 64;

/// Whether the elements are few, and fit in messages.
pub(crate) fn applies<T: Item>(problem: &Problem) -> bool {
    let fits = if T::PLAIN { mail::fits::<T>() } else { mail::fits::<placed::Placed<T>>() };
    fits && problem.keys() <= MOST && problem.nodes().saturating_mul(problem.keys()) <= mail::MOST
}

/// On the way a node may come to hold all elements, with their positions, as they arrive and
/// merged.
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
    // As many of each node as it has elements in proportion.
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
