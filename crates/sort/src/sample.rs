//! Parallel sample sort (Brewer 1994, §4.5.2, Fig. 4-12; Blelloch et al. 1991): move each element
//! once, then sort locally.
//!
//! Each node draws `oversample` keys at random, one from each of as many equal strata; they
//! determine the P - 1 splitters. Elements and splitters are compared by (key, rank, index), which
//! is unique: however many keys are equal, the buckets are even, and equal keys keep their order.
//! That comparison depends on the element's index only for a splitter from the same node, so each
//! node classifies a few segments of its elements by plain thresholds, without branches.
//!
//! The buckets are seldom exactly even, so a final exchange between neighbours moves the surplus,
//! unless the buckets satisfy the requested [`Balance`](crate::Balance). If a bucket would hold
//! more than about 2n/P elements plus a tolerance, new splitters are drawn, by a seed that depends
//! on the buckets; after three draws radix sort is used, which is always balanced. The received
//! elements are sorted as their sample suggests: by leading bits, or, if they have few different
//! keys, long runs or skewed bits, by the candidate of [`local`] that its models choose.

use crate::item::Item;
use crate::layout;
use crate::leading::{self, Range};
use crate::local;
use crate::pool;
use crate::problem::Problem;
use crate::radix;
use crate::work;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use strata_runtime::{Block, Node};

/// The most draws of splitters before radix sort is used.
const DRAWS: u64 = 3;

/// From this number of nodes on, a bucket may hold 2n/P elements.
const MANY_NODES: usize = 8;

/// Tolerance over the elements that a bucket may hold: small buckets may be uneven.
const SLACK: usize = 1024;

/// Bits of a digit of the fallback radix sort.
const LAST_RESORT_BITS: u32 = 8;

/// A bound between two buckets; elements at or above it belong to the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Splitter {
    bits: u64,
    rank: usize,
    index: usize,
}

/// Sorts with `oversample` samples a node, at least one. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem, oversample: usize) {
    let (keys, nodes) = (problem.keys(), problem.nodes());
    // On two nodes a bucket of 2n/P has all elements; on many, the greatest of their buckets comes
    // near that by chance.
    let less = if nodes < MANY_NODES { keys / nodes } else { 0 };
    sort_within(node, items, problem, oversample.max(1), 2 * keys - less + SLACK);
}

/// True if bucket numbers fit in 16 bits.
#[inline]
pub(crate) fn applies(problem: &Problem) -> bool {
    problem.nodes() <= 1 << 16
}

/// A bucket may hold twice the share, needs a buffer for sorting, and is balanced.
pub(crate) fn memory(problem: &Problem) -> usize {
    2 * problem.most_on_a_node() + 3 * (2 * problem.keys() + SLACK)
}

/// Sorts so that no node receives more than `limit` elements.
fn sort_within<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    problem: &Problem,
    oversample: usize,
    limit: usize,
) {
    if problem.nodes() == 1 {
        let range = problem.range;
        return work::sort::<T, _>(node, items.len(), range.width, || {
            leading::sort(items, &mut Vec::new(), range)
        });
    }
    let mut problem = problem.clone();
    if problem.largest() > 2 * problem.keys() {
        // Sampling assumes that the nodes have about equally many elements; this also bounds what a
        // node must classify.
        layout::rebalance(node, items, &problem.lens);
        let layout = problem.layout();
        problem.lens = (0..problem.nodes()).map(|r| layout.len(r)).collect();
    }
    let mut seed = 0;
    for _ in 0..DRAWS {
        let splitters = draw_splitters(node, items, &problem, oversample, seed);
        let (me, nodes) = (node.rank(), problem.nodes());
        let (buckets, counts) =
            work::search(node, items.len(), splitters.len(), || classify(items, me, nodes, &splitters));
        let mut lens = counts.clone();
        node.reduce_add(&mut lens);
        let lens: Vec<usize> = lens.iter().map(|&l| l as usize).collect();
        if lens.iter().all(|&len| len <= limit) {
            let blocks =
                work::scatter::<T, _>(node, items.len(), nodes, || distribute(items, &buckets, &counts));
            let blocks = node.all_to_all_v(blocks);
            pool::give(buckets);
            let parts: Vec<&[T]> = blocks.iter().map(|b| &**b).collect();
            let range = bucket_range(problem.range, &splitters, me);
            let sorted = work::sort::<T, _>(node, lens[me], range.width, || local::sort_parts(&parts, range));
            blocks.into_iter().for_each(pool::give);
            if problem.may_stay(&lens) {
                items.clear();
                items.extend_from_slice(&sorted);
            } else {
                layout::spread(node, &sorted, &lens, items);
            }
            return pool::give(sorted);
        }
        // The next draw depends on the keys, so that no keys are bad for all draws by construction.
        seed = lens.iter().fold(seed + 1, |seed, len| {
            (seed.rotate_left(23) ^ *len as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
    }
    radix::sort(node, items, &problem, LAST_RESORT_BITS);
}

/// The number of samples from a node with `len` elements, so that every sample represents equally
/// many elements.
fn share_of_samples(problem: &Problem, oversample: usize, len: usize) -> usize {
    (oversample as u128 * len as u128).div_ceil(problem.keys().max(1) as u128).min(len as u128) as usize
}

/// The indices that node `rank` samples of its `len` elements: a random one of each of `share`
/// equal strata.
pub(crate) fn sampled(rank: usize, len: usize, share: usize, seed: u64) -> impl Iterator<Item = usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(rank as u64);
    (0..share).map(move |stratum| {
        let bound = |i: usize| (i as u128 * len as u128 / share as u128) as usize;
        let (from, to) = (bound(stratum), bound(stratum + 1));
        from + ((u128::from(rng.next_u64()) * (to - from) as u128) >> 64) as usize
    })
}

/// The splitters, equal on all nodes: P - 1 of them, ascending; none if there are no elements.
fn draw_splitters<T: Item>(
    node: &mut Node,
    items: &[T],
    problem: &Problem,
    oversample: usize,
    seed: u64,
) -> Vec<Splitter> {
    let shares: Vec<usize> =
        problem.lens.iter().map(|&len| share_of_samples(problem, oversample, len)).collect();
    let longest = shares.iter().copied().max().unwrap_or(0);
    let mut mine = vec![[0u64; 2]; longest];
    let indices = sampled(node.rank(), items.len(), shares[node.rank()], seed);
    for (sample, index) in mine.iter_mut().zip(indices) {
        *sample = [items[index].bits(), index as u64];
    }
    let all = node.all_gather(&mine);
    let mut samples: Vec<Splitter> = all
        .chunks_exact(longest.max(1))
        .zip(&shares)
        .enumerate()
        .flat_map(|(rank, (row, &share))| {
            row[..share].iter().map(move |&[bits, index]| Splitter { bits, rank, index: index as usize })
        })
        .collect();
    work::sort::<[u64; 3], _>(node, samples.len(), problem.range.width, || samples.sort_unstable());
    let nodes = problem.nodes();
    if samples.is_empty() {
        return Vec::new();
    }
    (1..nodes).map(|j| samples[j * samples.len() / nodes]).collect()
}

/// The keys that bucket `rank` can hold.
fn bucket_range(range: Range, splitters: &[Splitter], rank: usize) -> Range {
    let least = rank.checked_sub(1).and_then(|r| splitters.get(r)).map_or(range.base, |s| s.bits);
    let greatest = splitters.get(rank).map_or_else(|| range.greatest(), |s| s.bits);
    Range::new(least, greatest)
}

/// The bucket of every element, and the number of elements in each bucket.
fn classify<T: Item>(items: &[T], me: usize, nodes: usize, splitters: &[Splitter]) -> (Block<u16>, Vec<u64>) {
    let mut buckets = pool::take(items.len());
    let mut counts = vec![0; nodes];
    let mut starts = vec![0];
    starts.extend(splitters.iter().filter(|s| s.rank == me).map(|s| s.index));
    starts.push(items.len());
    starts.sort_unstable();
    for pair in starts.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let reached = |s: &Splitter| (s.rank, s.index) <= (me, from);
        // The least bits at or above each splitter; splitters above MAX are left out.
        let thresholds: Vec<u64> = splitters
            .iter()
            .map_while(|s| if reached(s) { Some(s.bits) } else { s.bits.checked_add(1) })
            .collect();
        search_all(&thresholds, &items[from..to], &mut buckets[from..to], &mut counts);
    }
    (buckets, counts)
}

/// For each item the number of ascending thresholds at or below its bits; counts each result.
pub(crate) fn search_all<T: Item>(thresholds: &[u64], items: &[T], buckets: &mut [u16], counts: &mut [u64]) {
    match thresholds.len() {
        0..=1 => compare_all::<T, 1>(thresholds, items, buckets, counts),
        2..=3 => compare_all::<T, 3>(thresholds, items, buckets, counts),
        4..=7 => compare_all::<T, 7>(thresholds, items, buckets, counts),
        _ => {
            let tree = Tree::new(thresholds);
            items.iter().zip(&mut *buckets).for_each(|(x, b)| *b = tree.search(x.bits()));
            buckets.iter().for_each(|&b| counts[usize::from(b)] += 1);
        }
    }
}

/// The search for at most `N` thresholds: few enough to compare with each, and to count in
/// registers.
fn compare_all<T: Item, const N: usize>(
    thresholds: &[u64],
    items: &[T],
    buckets: &mut [u16],
    counts: &mut [u64],
) {
    let mut all = [u64::MAX; N];
    all[..thresholds.len()].copy_from_slice(thresholds);
    let mut reached = [0u64; N];
    for (item, bucket) in items.iter().zip(buckets) {
        let bits = item.bits();
        let mut number = 0;
        for (&threshold, reached) in all.iter().zip(&mut reached) {
            let reaches = u64::from(bits >= threshold);
            number += reaches;
            *reached += reaches;
        }
        // The array is padded with MAX; a key of MAX counts the padding, too.
        *bucket = number.min(thresholds.len() as u64) as u16;
    }
    let mut above = items.len() as u64;
    for (count, &reached) in counts.iter_mut().zip(&reached[..thresholds.len()]) {
        *count += above - reached;
        above = reached;
    }
    counts[thresholds.len()] += above;
}

/// A complete search tree over ascending thresholds, stored level by level from index 1.
struct Tree {
    levels: usize,
    nodes: Vec<u64>,
    len: usize,
}

impl Tree {
    fn new(thresholds: &[u64]) -> Self {
        let levels = (thresholds.len() + 1).next_power_of_two().ilog2() as usize;
        let mut nodes = vec![u64::MAX; 1 << levels];
        for (index, node) in nodes.iter_mut().enumerate().skip(1) {
            // Node `index` of level l is the middle of the (index - 2^l)-th of 2^l equal spans.
            let level = index.ilog2() as usize;
            let step = 1 << (levels - level);
            let at = (index - (1 << level)) * step + step / 2 - 1;
            *node = thresholds.get(at).copied().unwrap_or(u64::MAX);
        }
        Self { levels, nodes, len: thresholds.len() }
    }

    #[inline]
    fn search(&self, bits: u64) -> u16 {
        let mut at = 1;
        for _ in 0..self.levels {
            at = 2 * at + usize::from(bits >= self.nodes[at]);
        }
        // The tree is padded with MAX; a key of MAX counts the padding, too.
        (at - (1 << self.levels)).min(self.len) as u16
    }
}

/// Copies the elements into one block a bucket, in their order.
pub(crate) fn distribute<T: Item>(items: &[T], buckets: &[u16], counts: &[u64]) -> Vec<Block<T>> {
    let mut blocks: Vec<Block<T>> = counts.iter().map(|&len| pool::take(len as usize)).collect();
    let mut slots: Vec<_> = blocks.iter_mut().map(|b| b.iter_mut()).collect();
    for (item, &bucket) in items.iter().zip(buckets) {
        if let Some(slot) = slots[usize::from(bucket)].next() {
            *slot = *item;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_thresholds_at_or_below() {
        let keys: Vec<u64> = (0..150).chain([u64::MAX]).collect();
        for len in 0..40 {
            let thresholds: Vec<u64> = (0..len).map(|i| i / 3 * 10).collect();
            let (mut buckets, mut counts) = (vec![7; keys.len()], vec![0; 40]);
            search_all(&thresholds, &keys, &mut buckets, &mut counts);
            let expected = |key| thresholds.iter().filter(|&&t| t <= key).count();
            assert!(keys.iter().zip(&buckets).all(|(&key, &b)| usize::from(b) == expected(key)), "{len}");
            assert!((0..40).all(|b| counts[b] == keys.iter().filter(|&&k| expected(k) == b).count() as u64));
        }
    }

    #[test]
    fn equal_keys_fall_into_even_buckets() {
        let items = [u64::MAX; 100];
        let splitters: Vec<Splitter> =
            [(0, 50), (1, 0), (1, 50)].map(|(rank, index)| Splitter { bits: u64::MAX, rank, index }).into();
        assert_eq!(classify(&items, 0, 4, &splitters).1, [50, 50, 0, 0]);
        assert_eq!(classify(&items, 1, 4, &splitters).1, [0, 0, 50, 50]);
        assert_eq!(classify(&items, 2, 4, &splitters).1, [0, 0, 0, 100]);
    }

    #[test]
    fn hopeless_splitters_end_in_radix_sort() {
        let parts = strata_runtime::Machine::threads(3).unwrap().run(|node| {
            let mut items: Vec<u64> = (0..100).map(|i| (i * 7919 + 31 * node.rank() as u64) % 997).collect();
            let problem = Problem::agree(node, &items, 0);
            sort_within(node, &mut items, &problem, 4, 0);
            Ok(items)
        });
        let parts = parts.unwrap();
        assert!(parts.concat().is_sorted());
        assert!(parts.iter().all(|part| part.len() == 100));
    }
}
