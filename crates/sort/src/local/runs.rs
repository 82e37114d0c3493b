//! A natural merge sort, for elements in few ascending or descending runs.
//!
//! Runs are merged in pairs, each from both ends at once. The two chains of comparisons are
//! independent, without branches that depend on the keys (as `std`'s driftsort merges short runs;
//! O. Peters and L. Bergdoll 2024). Stable: of equal keys those of the earlier run come first, and
//! only strictly descending runs are reversed (Knuth, *The Art of Computer Programming*, vol. 3,
//! §5.2.4, algorithm N).

use crate::item::Item;
use crate::pool;

/// Sorts `items`; `scratch` has the same length.
pub(super) fn sort<T: Item>(items: &mut [T], scratch: &mut [T]) {
    let ends = ends(items, usize::MAX);
    merge_all(items, scratch, ends);
}

/// Sorts elements of at most `most` runs, and allocates scratch only for these; `false` if there
/// are more, and then some descending runs may have been reversed.
pub(super) fn sort_few<T: Item>(items: &mut [T], most: usize) -> bool {
    let ends = ends(items, most);
    let few = ends.last().is_none_or(|end| *end == items.len());
    if few && ends.len() > 1 {
        let mut scratch = pool::take::<T>(items.len());
        merge_all(items, &mut scratch, ends);
        pool::give(scratch);
    }
    few
}

/// Merges ascending runs that end at `ends`; `scratch` has the length of `items`.
pub(crate) fn merge_all<T: Item>(items: &mut [T], scratch: &mut [T], mut ends: Vec<usize>) {
    let mut swapped = false;
    while ends.len() > 1 {
        let (from, to) = if swapped { (&*scratch, &mut *items) } else { (&*items, &mut *scratch) };
        let mut start = 0;
        for pair in ends.chunks(2) {
            let (middle, end) = (pair[0], pair[pair.len() - 1]);
            merge(&from[start..middle], &from[middle..end], &mut to[start..end]);
            start = end;
        }
        ends = ends.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
        swapped = !swapped;
    }
    if swapped {
        items.copy_from_slice(scratch);
    }
}

/// Reverses the descending ones of the first `most` runs, and returns the ends of these runs.
fn ends<T: Item>(items: &mut [T], most: usize) -> Vec<usize> {
    let (mut start, mut ends) = (0, Vec::new());
    while start < items.len() && ends.len() < most {
        let rest = &mut items[start..];
        let falls = rest.len() > 1 && rest[0].bits() > rest[1].bits();
        let length = match falls {
            true => 1 + steps(rest, |a, b| a > b),
            false => 1 + steps(rest, |a, b| a <= b),
        };
        if falls {
            rest[..length].reverse();
        }
        start += length;
        ends.push(start);
    }
    ends
}

/// The number of first steps from an element to the next for which `holds` is true.
fn steps<T: Item>(items: &[T], holds: impl Fn(u64, u64) -> bool) -> usize {
    let step = |pair: &[T]| holds(pair[0].bits(), pair[1].bits());
    let mut at = 0;
    // One branch for many steps.
    while let Some(block) = items.get(at..at + 33) {
        if !block.windows(2).fold(true, |all, pair| all & step(pair)) {
            break;
        }
        at += 32;
    }
    at + items[at..].windows(2).take_while(|pair| step(pair)).count()
}

/// Merges sorted `a` and `b` into `target`, whose length is the sum of theirs; of equal keys those
/// of `a` come first.
fn merge<T: Item>(mut a: &[T], mut b: &[T], target: &mut [T]) {
    let mut target = target;
    loop {
        // This many steps from the front and from the back exhaust neither run.
        let steps = a.len().min(b.len()) / 2;
        if steps == 0 {
            break;
        }
        let (mut i, mut j, mut p, mut q) = (0, 0, a.len() - 1, b.len() - 1);
        let last = target.len() - 1;
        for step in 0..steps {
            let (x, y) = (a[i], b[j]);
            let second = y.bits() < x.bits();
            target[step] = if second { y } else { x };
            i += usize::from(!second);
            j += usize::from(second);
            let (x, y) = (a[p], b[q]);
            let first = y.bits() < x.bits();
            target[last - step] = if first { x } else { y };
            p -= usize::from(first);
            q -= usize::from(!first);
        }
        (a, b) = (&a[i..=p], &b[j..=q]);
        let len = target.len();
        target = &mut target[steps..len - steps];
    }
    // One of them has one element at most.
    let (single, others, before) = match a.len() < b.len() {
        true => (a, b, a.first().map_or(0, |x| b.partition_point(|y| y.bits() < x.bits()))),
        false => (b, a, b.first().map_or(0, |y| a.partition_point(|x| x.bits() <= y.bits()))),
    };
    target[..before].copy_from_slice(&others[..before]);
    target[before..before + single.len()].copy_from_slice(single);
    target[before + single.len()..].copy_from_slice(&others[before..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;
    use proptest::prelude::*;

    fn numbered(keys: &[u64]) -> Vec<Pair<u64, u32>> {
        keys.iter().zip(0..).map(|(&key, number)| Pair::new(key, number)).collect()
    }

    #[test]
    fn few_runs_are_sorted_and_more_are_left() {
        let organ_pipe: Vec<u64> = (0..500).chain((0..500).rev()).collect();
        let three: Vec<u64> = (0..100).chain(50..60).chain((0..30).rev()).collect();
        for (keys, most, few) in
            [(&organ_pipe, 1, false), (&organ_pipe, 2, true), (&three, 2, false), (&three, 3, true)]
        {
            let mut items = numbered(keys);
            assert_eq!(sort_few(&mut items, most), few);
            let mut expected = numbered(keys);
            expected.sort_by_key(Item::bits);
            assert_eq!(items == expected, few);
        }
        assert!(sort_few::<u64>(&mut [], 1) && sort_few(&mut [3u64, 2, 1], 1));
    }

    proptest! {
        #[test]
        fn any_runs(
            mut keys in proptest::collection::vec(0u64..300, 0..1200),
            run in 1usize..400,
            descending: u8,
        ) {
            for (number, run) in keys.chunks_mut(run).enumerate() {
                run.sort_unstable();
                if descending >> (number % 8) & 1 == 1 {
                    run.reverse();
                }
            }
            let mut items = numbered(&keys);
            let mut scratch = items.clone();
            sort(&mut items, &mut scratch);
            let mut expected = numbered(&keys);
            expected.sort_by_key(Item::bits);
            prop_assert_eq!(items, expected);
        }
    }
}
