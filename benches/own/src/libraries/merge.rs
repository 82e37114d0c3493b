//! Merge sort that begins with runs sorted by insertion: how long?

use super::quick::insertion_sort;
pub use crate::random::words as keys;

/// Sorts: runs of `run` keys by insertion, then passes that merge two and two.
pub fn merge_sort(keys: &mut Vec<u32>, run: usize) {
    keys.chunks_mut(run).for_each(insertion_sort);
    let mut other = vec![0; keys.len()];
    let mut width = run;
    while width < keys.len() {
        for (from, to) in keys.chunks(2 * width).zip(other.chunks_mut(2 * width)) {
            merge(from.split_at(width.min(from.len())), to);
        }
        std::mem::swap(keys, &mut other);
        width *= 2;
    }
}

fn merge((mut left, mut right): (&[u32], &[u32]), to: &mut [u32]) {
    for place in to {
        let side = match (left.first(), right.first()) {
            (Some(a), Some(b)) if b < a => &mut right,
            (Some(_), _) => &mut left,
            _ => &mut right,
        };
        if let Some((first, rest)) = side.split_first() {
            *place = *first;
            *side = rest;
        }
    }
}
