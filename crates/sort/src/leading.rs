//! Sorting inside one node: counting, scattering, and a radix sort of the leading bits only.
//!
//! A radix sort of n keys need not sort by all their bits. Once the leading lg n + 4 bits are in
//! order, few neighbours can still be out of order, and one pass over the nearly sorted keys
//! corrects them. So 64-bit keys need two passes instead of eight; half a million keys and more are
//! first split by their highest bits, and each group is sorted so. If many keys share
//! their leading bits, the final pass sorts the whole group by the range that it spans: skewed keys
//! cost more passes but are never misordered. The passes are stable (Knuth, *The Art of Computer
//! Programming*, vol. 3, §5.2.5), and so is the final pass for elements that can be distinguished.

use crate::item::Item;
use crate::{pool, work};
use bytemuck::Pod;
use strata_runtime::Block;

/// Below this many elements a comparison sort is used.
const SMALL: usize = 24;

/// The highest bits of the keys by which long arrays are split: few enough groups to be written to
/// at once, as by a digit of a radix sort.
const SPLIT_BITS: u32 = 8;

/// The distance back over which a key's place is searched before its whole group is sorted.
const NEAR: usize = 8;

/// The span of keys: the least of them, and the number of bits of the greatest difference from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Least bits of any key.
    pub(crate) base: u64,
    /// Significant bits of (greatest - least): 0..=64.
    pub(crate) width: u32,
}

impl Range {
    /// The range of keys whose bits lie in `least..=greatest`.
    pub(crate) fn new(least: u64, greatest: u64) -> Self {
        Self { base: least, width: 64 - (greatest - least).leading_zeros() }
    }

    /// The greatest bits that a key of this width can have.
    pub(crate) fn greatest(self) -> u64 {
        let span = if self.width == 0 { 0 } else { u64::MAX >> (64 - self.width) };
        self.base.saturating_add(span)
    }

    /// The least and greatest bits of `items`; (MAX, 0) if empty.
    pub(crate) fn bounds<T: Item>(items: &[T]) -> (u64, u64) {
        // In four lanes: independent comparisons run in parallel.
        let mut lanes = [(u64::MAX, 0); 4];
        let (groups, rest) = items.as_chunks::<4>();
        for group in groups {
            for ((least, greatest), x) in lanes.iter_mut().zip(group) {
                (*least, *greatest) = (x.bits().min(*least), x.bits().max(*greatest));
            }
        }
        let join = |(a, b): (u64, u64), (c, d): (u64, u64)| (a.min(c), b.max(d));
        rest.iter().map(|x| (x.bits(), x.bits())).chain(lanes).fold((u64::MAX, 0), join)
    }
}

/// A digit of a key: consecutive bits of (key - base).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digit {
    base: u64,
    shift: u32,
    mask: u64,
}

impl Digit {
    /// The digit of `bits` bits (1..=16) that begins at bit `shift` (0..=63).
    pub(crate) fn new(base: u64, shift: u32, bits: u32) -> Self {
        Self { base, shift, mask: (1 << bits) - 1 }
    }

    /// The number of digit values.
    pub(crate) fn bins(self) -> usize {
        self.mask as usize + 1
    }

    /// The digit value of `item`.
    #[inline(always)]
    pub(crate) fn of<T: Item>(self, item: &T) -> usize {
        ((item.bits().wrapping_sub(self.base) >> self.shift) & self.mask) as usize
    }
}

/// Adds the digit values of `items` to `counts`, which has `digit.bins()` entries.
pub(crate) fn count<T: Item>(items: &[T], digit: Digit, counts: &mut [u32]) {
    let counts = &mut counts[..digit.bins()];
    for item in items {
        counts[digit.of(item)] += 1;
    }
}

/// Replaces each count by the sum of those before it.
fn counts_to_starts(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Copies each of `items` to the cursor of its digit value, and advances that cursor.
fn scatter<T: Item>(items: &[T], digit: Digit, cursors: &mut [u32], target: &mut [T]) {
    let cursors = &mut cursors[..digit.bins()];
    for item in items {
        let cursor = &mut cursors[digit.of(item)];
        target[*cursor as usize] = *item;
        *cursor += 1;
    }
}

/// Grows `buffer` to at least `len` elements of arbitrary value.
pub(crate) fn reserve<T: Pod>(buffer: &mut Vec<T>, len: usize) {
    if buffer.capacity() < len {
        // Fresh zero pages from the system cost nothing until they are written.
        *buffer = bytemuck::zeroed_vec(len);
    } else if buffer.len() < len {
        buffer.resize(len, T::zeroed());
    }
}

/// Sorts by comparison; stable unless equal elements are indistinguishable.
pub(crate) fn compare<T: Item>(items: &mut [T]) {
    if T::PLAIN {
        items.sort_unstable_by_key(T::bits);
    } else {
        items.sort_by_key(T::bits);
    }
}

/// The digits of a radix sort: `passes` digits of `bits` bits, the lowest beginning at bit `low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    passes: u32,
    bits: u32,
    low: u32,
}

impl Plan {
    /// All of `width` bits in digits of at most `bits` bits, as equal as possible (Brewer eq. 43).
    pub(crate) fn all(width: u32, bits: u32) -> Self {
        let passes = width.div_ceil(bits);
        Self { passes, bits: if passes == 0 { 0 } else { width.div_ceil(passes) }, low: 0 }
    }

    /// The leading bits that put most of `len` keys in order, or all of `width` if they cost no
    /// more.
    fn leading(len: usize, width: u32) -> Self {
        let enough = len.max(2).ilog2() + 4;
        let passes = match enough {
            0..=8 => 1,
            9..=22 => 2,
            _ => enough.div_ceil(9),
        };
        let bits = enough.div_ceil(passes);
        // A larger digit saves a pass, or the repair, as long as its counters fit in the first-level
        // cache and are not many more than the keys.
        let most = (bits + 1).max(if len >= 1 << 12 { 10 } else { 8 });
        if width <= passes * most {
            return Self::all(width, most);
        }
        Self { passes, bits, low: width - passes * bits }
    }

    fn digit(self, range: Range, pass: u32) -> Digit {
        Digit::new(range.base, self.low + pass * self.bits, self.bits)
    }

    /// True if elements are first split by their highest bits. Three or more passes would each go
    /// through the memory of all elements; so does the split, but the passes over a group of even
    /// keys stay in a second-level cache. Keys of more than 20 bits only: others need two passes.
    fn splits(self) -> bool {
        self.passes > 2
    }
}

/// Copies the elements of `parts` to `target`, grouped by the highest bits of their keys; returns
/// where the groups end. Stable. The keys have more than [`SPLIT_BITS`] bits ([`Plan::splits`]).
fn split<T: Item>(parts: &[&[T]], range: Range, target: &mut [T]) -> Vec<u32> {
    let digit = Digit::new(range.base, range.width - SPLIT_BITS, SPLIT_BITS);
    let mut cursors = vec![0; digit.bins()];
    parts.iter().for_each(|part| count(part, digit, &mut cursors));
    counts_to_starts(&mut cursors);
    parts.iter().for_each(|part| scatter(part, digit, &mut cursors, target));
    cursors
}

/// Sorts each of the groups that end at `ends`. A long group is split again, by the bits in which its
/// own keys differ, which are fewer by [`SPLIT_BITS`] at least: seven levels at most.
fn sort_groups<T: Item>(items: &mut [T], scratch: &mut [T], ends: &[u32]) {
    let mut start = 0;
    for end in ends.iter().map(|end| *end as usize) {
        sort_slice(&mut items[start..end], &mut scratch[..end - start]);
        start = end;
    }
}

/// The length of the longest group.
fn longest(ends: &[u32]) -> usize {
    let starts = std::iter::once(&0).chain(ends);
    ends.iter().zip(starts).map(|(end, start)| end - start).max().unwrap_or(0) as usize
}

/// The counts of every digit of a plan over `parts`, from a single read, converted to starting
/// positions. A digit's flag is true if all keys have the same value of the digit.
fn cursors<T: Item>(parts: &[&[T]], plan: Plan, range: Range, len: usize) -> Vec<(Vec<u32>, bool)> {
    let mut all: Vec<Vec<u32>> = (0..plan.passes).map(|_| vec![0; 1 << plan.bits]).collect();
    let digit = |pass| plan.digit(range, pass);
    for part in parts {
        match all.as_mut_slice() {
            [] => {}
            [a] => count(part, digit(0), a),
            [a, b] => {
                let (da, db) = (digit(0), digit(1));
                let (a, b) = (&mut a[..da.bins()], &mut b[..db.bins()]);
                for item in *part {
                    a[da.of(item)] += 1;
                    b[db.of(item)] += 1;
                }
            }
            [a, b, c] => {
                let (da, db, dc) = (digit(0), digit(1), digit(2));
                let (a, b, c) = (&mut a[..da.bins()], &mut b[..db.bins()], &mut c[..dc.bins()]);
                for item in *part {
                    a[da.of(item)] += 1;
                    b[db.of(item)] += 1;
                    c[dc.of(item)] += 1;
                }
            }
            more => {
                for (pass, counts) in more.iter_mut().enumerate() {
                    count(part, digit(pass as u32), counts);
                }
            }
        }
    }
    all.into_iter()
        .map(|mut counts| {
            let constant = counts.iter().any(|&c| c as usize == len);
            counts_to_starts(&mut counts);
            (counts, constant)
        })
        .collect()
}

/// Continues to sort `a` by the remaining digits, alternating with `b`; true if the result is in
/// `b`.
fn alternate<T: Item>(
    a: &mut [T],
    b: &mut [T],
    plan: Plan,
    range: Range,
    cursors: &mut [(Vec<u32>, bool)],
) -> bool {
    let first = plan.passes - cursors.len() as u32;
    let mut swapped = false;
    for (pass, (cursors, constant)) in cursors.iter_mut().enumerate() {
        if *constant {
            continue;
        }
        let digit = plan.digit(range, first + pass as u32);
        if swapped {
            scatter(b, digit, cursors, a);
        } else {
            scatter(a, digit, cursors, b);
        }
        swapped = !swapped;
    }
    swapped
}

/// Fully sorts keys that are already grouped by their bits from `low` up.
fn repair<T: Item>(items: &mut [T], scratch: &mut [T], base: u64, low: u32) {
    if low == 0 {
        return;
    }
    let top = |x: &T| x.bits().wrapping_sub(base) >> low;
    let mut i = 1;
    while i < items.len() {
        let bits = items[i].bits();
        if items[i - 1].bits() > bits {
            // A key usually belongs a few places before.
            let near = i.saturating_sub(NEAR);
            if near == 0 || items[near].bits() <= bits {
                let (item, mut at) = (items[i], i);
                while at > near && items[at - 1].bits() > bits {
                    items[at] = items[at - 1];
                    at -= 1;
                }
                items[at] = item;
                i += 1;
                continue;
            }
            let group = top(&items[i]);
            let start = items[..i - 1].iter().rposition(|x| top(x) != group).map_or(0, |p| p + 1);
            let end = items[i + 1..].iter().position(|x| top(x) != group).map_or(items.len(), |p| i + 1 + p);
            sort_slice(&mut items[start..end], &mut scratch[start..end]);
            i = end;
        }
        i += 1;
    }
}

/// Sorts a slice in place; `scratch` has the same length.
fn sort_slice<T: Item>(items: &mut [T], scratch: &mut [T]) {
    if items.len() <= 2 * SMALL {
        return compare(items);
    }
    let (least, greatest) = Range::bounds(items);
    sort_in_place(items, scratch, Range::new(least, greatest));
}

/// Sorts `items`, all of whose keys are in `range`; stable. `scratch` is a buffer of any length.
pub(crate) fn sort<T: Item>(items: &mut Vec<T>, scratch: &mut Vec<T>, range: Range) {
    if items.len() <= SMALL || items.len() > u32::MAX as usize {
        return compare(items);
    }
    let (len, plan) = (items.len(), Plan::leading(items.len(), range.width));
    if !plan.splits() {
        return sort_by_plan(items, scratch, range, plan);
    }
    reserve(scratch, len);
    let ends = split(&[items], range, &mut scratch[..len]);
    sort_groups(&mut scratch[..len], items, &ends);
    std::mem::swap(items, scratch);
    items.truncate(len);
}

/// As [`sort`], in place; `scratch` has the same length.
pub(crate) fn sort_in_place<T: Item>(items: &mut [T], scratch: &mut [T], range: Range) {
    if items.len() <= SMALL || items.len() > u32::MAX as usize {
        return compare(items);
    }
    let plan = Plan::leading(items.len(), range.width);
    if plan.splits() {
        let ends = split(&[items], range, scratch);
        sort_groups(scratch, items, &ends);
        return work::keep(items, scratch);
    }
    let mut cursors = cursors(&[items], plan, range, items.len());
    if alternate(items, scratch, plan, range, &mut cursors) {
        work::keep(items, scratch);
    }
    repair(items, scratch, range.base, plan.low);
}

/// Sorts `items` (fewer than 2^32) by the digits of `plan`, then fully.
pub(crate) fn sort_by_plan<T: Item>(items: &mut Vec<T>, scratch: &mut Vec<T>, range: Range, plan: Plan) {
    let len = items.len();
    reserve(scratch, len);
    let mut cursors = cursors(&[items], plan, range, len);
    if alternate(items, &mut scratch[..len], plan, range, &mut cursors) {
        std::mem::swap(items, scratch);
        items.truncate(len);
        reserve(scratch, len);
    }
    repair(items, &mut scratch[..len], range.base, plan.low);
}

/// The sorted concatenation of `parts`; stable. The first pass reads the parts in place.
///
/// The block comes from the pool and should be returned to it.
pub(crate) fn sort_parts<T: Item>(parts: &[&[T]], range: Range) -> Block<T> {
    let len = parts.iter().map(|p| p.len()).sum();
    let plan = Plan::leading(len, range.width);
    let mut sorted = pool::take::<T>(len);
    if len <= SMALL || len > u32::MAX as usize || plan.passes == 0 {
        let mut rest = &mut *sorted;
        for part in parts {
            let (target, tail) = rest.split_at_mut(part.len());
            work::receive(target, part);
            rest = tail;
        }
        if plan.passes > 0 {
            compare(&mut sorted);
        }
        return sorted;
    }
    if plan.splits() {
        let ends = split(parts, range, &mut sorted);
        let mut scratch = pool::take::<T>(longest(&ends));
        sort_groups(&mut sorted, &mut scratch, &ends);
        pool::give(scratch);
        return sorted;
    }
    let mut scratch = pool::take::<T>(len);
    let mut cursors = cursors(parts, plan, range, len);
    // The first pass runs even if its digit is constant: it gathers the parts.
    let (first, rest) = cursors.split_first_mut().expect("a plan with passes has a digit");
    for part in parts {
        scatter(part, plan.digit(range, 0), &mut first.0, &mut sorted);
    }
    if alternate(&mut sorted, &mut scratch, plan, range, rest) {
        std::mem::swap(&mut sorted, &mut scratch);
    }
    repair(&mut sorted, &mut scratch, range.base, plan.low);
    pool::give(scratch);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;
    use proptest::prelude::*;

    fn check(keys: &[u64]) {
        let mut expected: Vec<Pair<u64, u32>> = keys.iter().zip(0..).map(|(&k, i)| Pair::new(k, i)).collect();
        let input = expected.clone();
        expected.sort_by_key(Item::bits);
        let (least, greatest) = if keys.is_empty() { (0, 0) } else { Range::bounds(keys) };
        let range = Range::new(least, greatest);

        let mut scratch = Vec::new();
        let mut items = input.clone();
        sort(&mut items, &mut scratch, range);
        assert_eq!(items, expected, "stable sort of pairs");

        let (a, b) = input.split_at(input.len() / 3);
        let sorted = sort_parts(&[a, &[], b], range);
        assert_eq!(*sorted, expected, "stable sort of parts");

        for bits in [1, 5, 8, 13, 16] {
            items.clone_from(&input);
            sort_by_plan(&mut items, &mut scratch, range, Plan::all(range.width, bits));
            assert_eq!(items, expected, "all digits of {bits} bits");
        }

        let mut plain = keys.to_vec();
        sort(&mut plain, &mut Vec::new(), range);
        assert!(plain.iter().eq(expected.iter().map(Item::bits).collect::<Vec<_>>().iter()));
    }

    #[test]
    fn awkward_keys() {
        let n = 5000u64;
        check(&[]);
        check(&[u64::MAX]);
        check(&vec![u64::MAX; 1000]);
        check(&(0..n).collect::<Vec<_>>());
        check(&(0..n).rev().collect::<Vec<_>>());
        check(&(0..n).map(|i| if i % 2 == 0 { u64::MAX } else { i }).collect::<Vec<_>>());
        // Skewed: nearly all keys share their leading bits, at several scales.
        check(&(0..n).map(|i| 1 << (i * 7919 % 64)).collect::<Vec<_>>());
        check(&(0..n).map(|i| if i == 77 { u64::MAX } else { i * 7919 % 4099 }).collect::<Vec<_>>());
    }

    #[test]
    fn long_arrays_are_split_by_their_highest_bits() {
        let n = 1 << 19;
        assert!(Plan::leading(n, 64).splits() && !Plan::leading(n - 1, 64).splits());
        assert!(!Plan::leading(n, 20).splits() && Plan::leading(n, 21).splits());
        assert_eq!(longest(&[3, 3, 10, 12]), 7);
        let random = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        check(&(0..n as u64).map(random).collect::<Vec<_>>());
        // All but one in the same group, which is split again; then groups of very uneven lengths.
        check(&(0..=n as u64).map(|i| if i == 77 { u64::MAX } else { random(i) >> 20 }).collect::<Vec<_>>());
        check(&(0..n as u64).map(|i| random(i) >> (random(i) % 50)).collect::<Vec<_>>());
        let mut items: Vec<Pair<u64, u32>> =
            (0..n as u64).map(|i| Pair::new(random(i) >> 30, i as u32)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(Item::bits);
        let (mut scratch, (least, greatest)) = (expected.clone(), Range::bounds(&items));
        sort_in_place(&mut items, &mut scratch, Range::new(least, greatest));
        assert_eq!(items, expected);
    }

    proptest! {
        #[test]
        fn any_keys(width in 1u32..=64, keys in proptest::collection::vec(any::<u64>(), 0..3000)) {
            let keys: Vec<u64> = keys.iter().map(|k| k >> (64 - width)).collect();
            check(&keys);
        }
    }

    #[test]
    fn plans_cover_the_leading_bits() {
        assert_eq!(Plan::leading(1 << 16, 64), Plan { passes: 2, bits: 10, low: 44 });
        assert_eq!(Plan::leading(1 << 20, 64), Plan { passes: 3, bits: 8, low: 40 });
        assert_eq!(Plan::leading(1 << 20, 16), Plan { passes: 2, bits: 8, low: 0 });
        assert_eq!(Plan::leading(1 << 20, 8), Plan { passes: 1, bits: 8, low: 0 });
        // Whole digits of 10 bits, instead of repairs, from 4,096 keys on.
        assert_eq!(Plan::leading(1 << 12, 20), Plan { passes: 2, bits: 10, low: 0 });
        assert_eq!(Plan::leading((1 << 12) - 1, 20), Plan { passes: 2, bits: 8, low: 4 });
        assert_eq!(Plan::all(32, 15), Plan { passes: 3, bits: 11, low: 0 });
        assert_eq!(Plan::all(0, 8), Plan { passes: 0, bits: 0, low: 0 });
    }
}
