//! Sorting by sending all elements to every node, for problems so small that only the number of
//! messages matters.
//!
//! After one exchange each node has all the elements, sorts and keeps its share. If they are many,
//! it first counts the leading digit to find the digit values that its share can contain, and sorts
//! only their elements.

use crate::item::Item;
use crate::leading::{self, Digit, Range};
use crate::local;
use crate::pool;
use crate::problem::Problem;
use crate::work;
use strata_runtime::Node;

/// From this many elements in all, selecting before sorting is faster.
const SELECT: usize = 256;

/// From this many elements with the digit values of the share, the share is selected among them if
/// it is less.
const SELECT_AGAIN: usize = 128;

/// Keys of so many bits are sorted in one pass.
const ONE_PASS: u32 = 8;

/// Number of elements in three buffers: all elements, this node's share, and the sorted share.
pub(crate) fn memory(problem: &Problem) -> usize {
    let rows = problem.nodes().saturating_mul(problem.most_on_a_node());
    problem.layout().total().saturating_add(rows).saturating_add(2 * problem.keys())
}

/// Sorts through one exchange of all elements. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem) {
    let range = problem.range;
    if problem.nodes() == 1 {
        return work::sort::<T, _>(node, items.len(), range.width, || {
            leading::sort(items, &mut Vec::new(), range)
        });
    }
    let longest = problem.largest();
    if longest <= 2 * problem.keys() {
        items.resize(longest, T::zeroed());
        let mut all = pool::take(longest * problem.nodes());
        node.all_gather_into(items, &mut all);
        let rows = all.chunks_exact(longest.max(1)).zip(&problem.lens);
        let parts: Vec<&[T]> = rows.map(|(row, &len)| &row[..len]).collect();
        keep_share(node, &parts, items, problem);
        pool::give(all);
    } else {
        let copy = |_| {
            let mut block = pool::take(items.len());
            work::keep(&mut block, items);
            block
        };
        let blocks = node.all_to_all_v((0..problem.nodes()).map(copy).collect());
        let parts: Vec<&[T]> = blocks.iter().map(|b| &**b).collect();
        keep_share(node, &parts, items, problem);
        blocks.into_iter().for_each(pool::give);
    }
}

/// Sorts the part of `parts` that belongs on this node into `out`.
fn keep_share<T: Item>(node: &mut Node, parts: &[&[T]], out: &mut Vec<T>, problem: &Problem) {
    let (layout, range) = (problem.layout(), problem.range);
    let me = node.rank();
    let (low, high) = (layout.start(me), layout.end(me));
    if low == high {
        return out.clear();
    }
    if layout.total() < SELECT || range.width == 0 {
        let sorted =
            work::sort::<T, _>(node, layout.total(), range.width, || leading::sort_parts(parts, range));
        out.clear();
        out.extend_from_slice(&sorted[low..high]);
        return pool::give(sorted);
    }
    let bits = range.width.min(layout.total().ilog2() - 3).min(12);
    let digit = Digit::new(range.base, range.width - bits, bits);
    let mut counts = vec![0; digit.bins()];
    work::histogram(node, layout.total(), digit.bins(), || {
        parts.iter().for_each(|part| leading::count(part, digit, &mut counts));
    });
    // Digit values first..last cover positions base..end, which include low..high.
    let (mut first, mut last, mut base, mut end) = (0, 0, 0, 0);
    for (numeral, &count) in counts.iter().enumerate() {
        if end <= low {
            (first, base) = (numeral, end);
        }
        if end < high {
            (last, end) = (numeral + 1, end + count as usize);
        }
    }
    // One extra element, so that an element can be written without a branch before its digit value
    // is tested.
    let mut mine = pool::take::<T>(end - base + 1);
    let mut at = 0;
    work::copy::<T, _>(node, layout.total(), || {
        for item in parts.iter().copied().flatten() {
            mine[at] = *item;
            at += usize::from((first..last).contains(&digit.of(item)));
        }
    });
    let shift = range.width - bits;
    let least = range.base + ((first as u64) << shift);
    let span = (((last - first) as u128) << shift) - 1;
    let greatest = u64::try_from(u128::from(least) + span).unwrap_or(u64::MAX);
    let narrow = Range::new(least, greatest);
    let (skip, wanted) = (low - base, high - low);
    // Skewed keys: one digit value has many more elements than the share. Those of few bits are
    // sorted in one pass.
    let again = T::PLAIN && at >= SELECT_AGAIN && at > wanted + wanted / 4 && narrow.width > ONE_PASS;
    if again {
        work::select::<T, _>(node, at, || {
            let all = &mut mine[..at];
            if skip > 0 {
                all.select_nth_unstable_by_key(skip, T::bits);
            }
            let rest = &mut all[skip..];
            if wanted < rest.len() {
                rest.select_nth_unstable_by_key(wanted, T::bits);
            }
        });
    }
    let (chosen, skip) = if again { (&mine[skip..skip + wanted], 0) } else { (&mine[..at], skip) };
    let sorted =
        work::sort::<T, _>(node, chosen.len(), narrow.width, || local::sort_parts(&[chosen], narrow));
    out.clear();
    out.extend_from_slice(&sorted[skip..skip + wanted]);
    pool::give(sorted);
    pool::give(mine);
}
