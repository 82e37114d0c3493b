//! Estimates of features from a sample of the elements.

use crate::item::Item;

/// Estimated mean length of sorted runs: 1 for random input, `items.len()` if no change of
/// direction was sampled.
///
/// Samples up to 16 stretches of elements; if they have hardly a change of direction, samples
/// stretches that cover an eighth of all elements.
pub(super) fn run<T: Item>(items: &[T]) -> usize {
    let len = items.len();
    let (mut steps, mut turns) = match len {
        0..4096 => turns(items, (len / 64).clamp(1, 4), 17),
        _ => turns(items, 16, 65),
    };
    if turns <= 2 && len >= super::MANY {
        (steps, turns) = self::turns(items, 16, len / 128);
    }
    match turns {
        0 => len,
        // Between two sorted runs are two changes of direction; of three random elements two are
        // changes.
        _ if 3 * turns > steps => 1,
        _ => (2 * steps / turns).clamp(1, len.div_ceil(2)),
    }
}

/// The steps between neighbours in `stretches` stretches, and the number of changes of direction in
/// them.
fn turns<T: Item>(items: &[T], stretches: usize, length: usize) -> (usize, usize) {
    let (mut steps, mut turns) = (0, 0);
    let space = items.len() / stretches;
    for stretch in 0..stretches {
        let at = stretch * space + within(stretch, space.saturating_sub(length));
        let part = &items[at..(at + length).min(items.len())];
        let rises = |a: &T, b: &T| a.bits() <= b.bits();
        // No comparison waits for the one before it.
        let turn = |three: &[T]| usize::from(rises(&three[0], &three[1]) != rises(&three[1], &three[2]));
        turns += part.windows(3).map(turn).sum::<usize>();
        steps += part.len().saturating_sub(1);
    }
    (steps, turns)
}

/// A pseudo-random index below `space` that depends on `number`: regular indices could coincide
/// with patterns in the data.
fn within(number: usize, space: usize) -> usize {
    (number * 7919) & ((space + 2).next_power_of_two() / 2 - 1)
}

/// True if elements far apart are in order, or in descending order, as most are where all elements
/// are sorted but for some. Of independent runs they are in a random order.
pub(super) fn is_ordered<T: Item>(items: &[T]) -> bool {
    let space = items.len() / SPREAD;
    let mut far = items.iter().step_by(space.max(1)).take(SPREAD).map(T::bits);
    let Some(mut last) = far.next() else { return false };
    let (mut rises, mut falls) = (0, 0);
    for bits in far {
        rises += usize::from(last < bits);
        falls += usize::from(last > bits);
        last = bits;
    }
    // Two may be out of place, each of which makes one step wrong. Four runs are not in order.
    rises >= SPREAD - 3 || falls >= SPREAD - 3
}

/// The number of elements far apart whose order is looked at.
const SPREAD: usize = 16;

/// The mean length of sorted runs, counted over all elements; for few elements.
pub(super) fn run_of_all<T: Item>(items: &[T]) -> usize {
    let (steps, turns) = turns(items, 1, items.len());
    match turns {
        0 => items.len(),
        _ => (2 * steps / turns).clamp(1, items.len().div_ceil(2)),
    }
}

/// The number of low bits in which the elements' keys differ.
pub(super) fn width<T: Item>(items: &[T]) -> u32 {
    let first = items.first().map_or(0, T::bits);
    64 - items.iter().fold(0, |differ, item| differ | (item.bits() ^ first)).leading_zeros()
}

/// The estimated number of different keys (`items.len()` if they are not few), and true if most
/// keys have the same leading bits although they differ: from a sample of 16 or 64.
pub(super) fn spread<T: Item>(items: &[T], width: u32) -> (usize, bool) {
    let len = items.len();
    let sample = if len < 1024 { 16 } else { 64 };
    if len < 2 * sample {
        return (len, false);
    }
    // The leading bits by which a radix sort sorts.
    let low = width.saturating_sub(len.ilog2() + 4);
    // One bit for each of 1,024 hash values; different keys rarely collide as long as they are few.
    let (mut keys, mut leading) = ([0u64; 16], [0u64; 16]);
    let mark = |places: &mut [u64; 16], bits: u64| {
        // Fibonacci hashing (Knuth, vol. 3, §6.4).
        let hash = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
        let (word, place) = (&mut places[hash as usize / 64], 1 << (hash % 64));
        let new = *word & place == 0;
        *word |= place;
        u32::from(new)
    };
    let (mut different, mut ahead) = (0, 0);
    let space = len / sample;
    for at in 0..sample {
        let bits = items[at * space + within(at, space - 1)].bits();
        different += mark(&mut keys, bits);
        ahead += mark(&mut leading, bits >> low.min(63));
    }
    (distinct(different, sample).unwrap_or(len), 2 * ahead < different)
}

/// The number of equally frequent keys from which a sample of this size has `found` different ones;
/// `None` if nearly all are different.
fn distinct(found: u32, sample: usize) -> Option<usize> {
    // Of k keys a sample of s has k(1 - (1 - 1/k)^s).
    let expected = |k: f64| k * (1.0 - (1.0 - 1.0 / k).powi(sample as i32));
    let few = f64::from(found) <= 0.82 * sample as f64;
    few.then(|| std::iter::successors(Some(1), |k| Some(k + k / 4 + 1)))
        .and_then(|mut all| all.find(|k| expected(*k as f64) >= f64::from(found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::local::Cell;

    #[test]
    fn runs_are_estimated() {
        let cell = |keys, run| Cell { keys, width: 60, run, distinct: keys, ordered: false }.arrays(1, 5);
        for keys in [100, 1_000, 10_000, 100_000] {
            assert_eq!(run(&cell(keys, 1)), 1);
            assert_eq!(run(&cell(keys, keys)), keys, "sorted but for the extremes");
            let reversed: Vec<u64> = (0..keys as u64).rev().collect();
            assert_eq!(run(&reversed), keys);
            for length in [16, 64, 300].into_iter().filter(|length| 8 * length < keys) {
                let found = run(&cell(keys, length));
                let within = length / 3..=length * 3;
                assert!(within.contains(&found), "{keys} in runs of {length}: {found}");
            }
        }
        for len in 0..200 {
            let items: Vec<u64> = (0..len).map(|i| i * 7919 % 101).collect();
            assert!((1..=len.max(1) as usize).contains(&run(&items)) || len == 0);
        }
    }

    #[test]
    fn an_order_but_for_some_is_seen() {
        let cell = |keys, run, ordered| Cell { keys, width: 60, run, distinct: keys, ordered };
        for keys in [100, 1_000, 3_000] {
            let mut found = [0, 0, 0, 0];
            for seed in 0..100 {
                let runs = [(1, false), (20, false), (20, true), (keys, true)];
                for (found, (run, ordered)) in found.iter_mut().zip(runs) {
                    let mut items = cell(keys, run, ordered).arrays(1, seed);
                    *found += usize::from(is_ordered(&items));
                    items.reverse();
                    *found += usize::from(is_ordered(&items));
                }
            }
            assert!(found[0] <= 2 && found[1] <= 20, "{keys}: random and in runs: {found:?}");
            assert!(found[2] >= 180 && found[3] >= 195, "{keys}: but for some: {found:?}");
        }
        assert!(!is_ordered::<u64>(&[]) && !is_ordered(&[7u64; 300]));
    }

    #[test]
    fn few_different_keys_are_seen() {
        for keys in [300, 5_000, 100_000] {
            for values in [1, 2, 5, 16, 40].into_iter().filter(|values| 20 * values <= keys) {
                let items = Cell { keys, width: 64, run: 1, distinct: values, ordered: false }.arrays(1, 3);
                let found = spread(&items, width(&items)).0;
                assert!((values / 3..=2 * values + 3).contains(&found), "{values} of {keys}: {found}");
            }
            let items = Cell { keys, width: 64, run: 1, distinct: keys, ordered: false }.arrays(1, 3);
            assert_eq!(spread(&items, width(&items)), (keys, false));
        }
        assert_eq!(spread::<u64>(&[], 0), (0, false));
    }

    #[test]
    fn skewed_keys_are_seen() {
        let mut random = Cell { keys: 5000, width: 64, run: 1, distinct: 5000, ordered: false }.arrays(1, 8);
        random.iter_mut().for_each(|key| *key = u64::MAX / (1 + *key % 100_000));
        assert!(spread(&random, width(&random)).1);
        random.iter_mut().for_each(|key| *key %= 1 << 16);
        assert!(!spread(&random, width(&random)).1, "all bits are sorted by");
    }
}
