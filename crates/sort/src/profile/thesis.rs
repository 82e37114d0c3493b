//! The sorts of the thesis as it describes them, for its experiments on simulated machines; those of
//! the library differ where that is faster.
//!
//! They know that all nodes have equally many keys of a known width, and exchange nothing to learn it.

use crate::layout::Layout;
use crate::leading::{self, Digit};
use crate::radix::Counts;
use crate::{local, packets, profile, sample, work};
use std::ops::Range;
use strata_runtime::Node;

/// Keys of a node whose order gives the splitters.
const SAMPLES: usize = 64;

/// Bits of a digit by which these are sorted.
const SAMPLE_BITS: u32 = 8;

/// Bits of a key, as in `Radix(64, 8, 32)` of the models of sample sort.
const SAMPLE_WIDTH: u32 = 32;

/// The mean time in seconds to sort `len` random keys a node of `width` bits, as
/// [`profile::seconds`]: by radix sort with digits of `bits` bits, or else by sample sort.
///
/// # Participation
/// Collective, with equal arguments.
pub fn seconds(node: &mut Node, len: usize, width: u32, bits: Option<u32>, seeds: Range<u64>) -> f64 {
    profile::seconds(node, len, width, seeds, |node, keys| match bits {
        Some(bits) => radix(node, keys, bits, width),
        None => sample(node, keys),
    })
}

/// Radix sort (Brewer 1994, Fig. 4-11): each key goes to its place in a message of its own. Digits have
/// `bits` bits, at most 16, and as many counts, the last one too (his `bins*iter`).
///
/// # Participation
/// Collective, with equally many keys on all nodes, of `width` bits.
pub fn radix(node: &mut Node, keys: &mut Vec<u64>, bits: u32, width: u32) {
    let layout = Layout::new(keys.len() * node.size(), node.size());
    let digits = (0..width.div_ceil(bits)).map(|pass| Digit::new(0, pass * bits, bits));
    packets::run(node, keys, layout, digits, true, share);
    node.barrier();
}

/// One operation in the models (2.70 * bins * logP is one `CombineVector`), as a scan's last sums are
/// the totals.
fn share(node: &mut Node, counts: &[u32]) -> Counts {
    let mut before = counts.to_vec();
    node.scan_add(&mut before);
    let mut totals: Vec<u32> = before.iter().zip(counts).map(|(before, count)| before + count).collect();
    node.broadcast(node.size() - 1, &mut totals);
    Counts::of(before, totals)
}

/// Sample sort (Fig. 4-12): samples are sorted by [`radix`] on all nodes, all nodes get one of each, and
/// each key moves once. What a node has at the end is not made even.
///
/// # Participation
/// Collective, with equally many keys on all nodes, at least one.
pub fn sample(node: &mut Node, keys: &mut Vec<u64>) {
    let (me, nodes) = (node.rank(), node.size());
    let mut samples: Vec<u64> = sample::sampled(me, keys.len(), SAMPLES, 0).map(|at| keys[at]).collect();
    radix(node, &mut samples, SAMPLE_BITS, SAMPLE_WIDTH);
    let splitters = node.all_gather(&samples[..1]);
    let splitters = &splitters[1..];
    let (mut buckets, mut counts) = (vec![0; keys.len()], vec![0; nodes]);
    work::search(node, keys.len(), splitters.len(), || {
        sample::search_all(splitters, keys, &mut buckets, &mut counts);
    });
    let blocks =
        work::scatter::<u64, _>(node, keys.len(), nodes, || sample::distribute(keys, &buckets, &counts));
    let blocks = node.all_to_all_v(blocks);
    let parts: Vec<&[u64]> = blocks.iter().map(|block| &**block).collect();
    let len = parts.iter().map(|part| part.len()).sum();
    let range = leading::Range::new(0, u64::from(u32::MAX));
    let sorted = work::sort::<u64, _>(node, len, SAMPLE_WIDTH, || local::sort_parts(&parts, range));
    keys.clear();
    keys.extend_from_slice(&sorted);
}
