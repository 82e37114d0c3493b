//! Sorting by sending all elements to every node, for problems so small that only the number of
//! messages matters.
//!
//! Each node sorts its elements, and one exchange brings all of them to every node. A node then
//! finds in the sorted blocks where its share begins and ends, by multisequence selection (P. J.
//! Varman, S. D. Scheufler, B. R. Iyer and G. R. Ricard, "Merging multiple lists on
//! hierarchical-memory multiprocessors", JPDC 12, 1991), and merges only that part.

use crate::item::Item;
use crate::local::{self, runs};
use crate::problem::Problem;
use crate::{layout, leading, pool, work};
use strata_runtime::Node;

/// Up to this many elements in all are sorted on every node: finding its share takes longer.
pub(crate) const FEW: usize = 128;

/// Number of elements in its buffers: all elements, this node's share before and after it is
/// merged, and as many as a node sorts first.
pub(crate) fn memory(problem: &Problem) -> usize {
    let rows = problem.nodes().saturating_mul(problem.most_on_a_node());
    rows.saturating_add(2 * problem.keys()).saturating_add(problem.most_on_a_node())
}

/// Sorts through one exchange of all elements. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem) {
    let (range, layout) = (problem.range, problem.layout());
    if problem.nodes() == 1 {
        return work::sort::<T, _>(node, items.len(), range.width, || {
            leading::sort(items, &mut Vec::new(), range)
        });
    }
    let is_even = problem.largest() <= 2 * problem.keys();
    let (lens, longest) = match is_even {
        true => (problem.lens.clone(), problem.largest()),
        false => {
            layout::rebalance(node, items, &problem.lens);
            ((0..problem.nodes()).map(|rank| layout.len(rank)).collect(), problem.keys())
        }
    };
    let few = layout.total() <= FEW;
    if !few {
        work::sort::<T, _>(node, items.len(), range.width, || local::sort(items));
    }
    items.resize(longest, T::zeroed());
    let mut all = pool::take(longest * problem.nodes());
    node.all_gather_into(items, &mut all);
    let (low, high) = (layout.start(node.rank()), layout.end(node.rank()));
    if few {
        work::sort::<T, _>(node, layout.total(), range.width, || {
            let mut end = 0;
            for (row, len) in lens.iter().enumerate() {
                all.copy_within(row * longest..row * longest + len, end);
                end += len;
            }
            local::sort(&mut all[..end]);
        });
        items.clear();
        items.extend_from_slice(&all[low..high]);
        return pool::give(all);
    }
    let rows = all.chunks_exact(longest.max(1)).zip(&lens);
    let rows: Vec<&[T]> = rows.map(|(row, &len)| &row[..len]).collect();
    // About so many halvings find a position in all rows.
    let probes = 2 * rows.len() * (layout.total() + 1).ilog2() as usize;
    let (starts, ends) = work::probe(node, probes, 1, || (cut(&rows, low), cut(&rows, high)));
    work::merge::<T, _>(node, high - low, || {
        items.clear();
        let mut run_ends = Vec::with_capacity(rows.len());
        for ((row, start), end) in rows.iter().zip(starts).zip(ends) {
            items.extend_from_slice(&row[start..end]);
            if start < end {
                run_ends.push(items.len());
            }
        }
        if run_ends.len() > 1 {
            let mut scratch = pool::take(items.len());
            runs::merge_all(items, &mut scratch, run_ends);
            pool::give(scratch);
        }
    });
    pool::give(all);
}

/// The number of elements of each sorted row among the first `position` of all, of which equal ones
/// come in the order of the rows.
fn cut<T: Item>(rows: &[&[T]], position: usize) -> Vec<usize> {
    let mut least = vec![0; rows.len()];
    let mut most: Vec<usize> = rows.iter().map(|row| row.len()).collect();
    let mut below = vec![0; rows.len()];
    loop {
        let widest = (0..rows.len()).max_by_key(|row| most[*row] - least[*row]);
        let Some(row) = widest.filter(|row| least[*row] < most[*row]) else { return least };
        let middle = least[row].midpoint(most[row]);
        let bits = rows[row][middle].bits();
        for (at, items) in rows.iter().enumerate() {
            let open = &items[least[at]..most[at]];
            below[at] = match at.cmp(&row) {
                std::cmp::Ordering::Less => least[at] + open.partition_point(|item| item.bits() <= bits),
                std::cmp::Ordering::Equal => middle,
                std::cmp::Ordering::Greater => least[at] + open.partition_point(|item| item.bits() < bits),
            };
        }
        if below.iter().sum::<usize>() > position {
            most.copy_from_slice(&below);
        } else if below.iter().sum::<usize>() == position {
            return below;
        } else {
            least.copy_from_slice(&below);
            // The element in the middle is one of the first, too.
            least[row] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cut_at_each_position(
            keys in proptest::collection::vec(proptest::collection::vec(0u64..20, 0..12), 1..6),
        ) {
            let mut rows = keys;
            rows.iter_mut().for_each(|row| row.sort_unstable());
            let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
            let mut all: Vec<(u64, usize)> =
                rows.iter().enumerate().flat_map(|(at, row)| row.iter().map(move |key| (*key, at))).collect();
            all.sort_unstable();
            for position in 0..=all.len() {
                let expected: Vec<usize> =
                    (0..rows.len()).map(|row| all[..position].iter().filter(|(_, of)| *of == row).count()).collect();
                prop_assert_eq!(cut(&rows, position), expected);
            }
        }
    }
}
