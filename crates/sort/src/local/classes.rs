//! Classes of problems, whose choices are cached.

use super::{Features, LocalSort, choose, inputs_of, others};
use crate::item::Item;
use strata_select::{
    Input as _, Kept, Library,
    learn::{Learning, Started},
    models::Models,
    table::Parameters,
};

static KEPT: Kept<1024> = Kept::new();

/// What calls have taken, with `STRATA_LEARN=1`.
pub(super) static LEARNING: Learning<1024> = Learning::new();

/// The class of these features, and the choice for it: the cached one, or a new one.
pub(super) fn choice<T: Item>(features: Features) -> (u32, LocalSort) {
    let (class, middle) = class::<T>(features);
    if let Some(candidate) = KEPT.get(class) {
        return (class, candidate);
    }
    let (candidate, choice) = choose::<T>(middle);
    KEPT.keep(class, choice.index, &[]);
    (class, candidate)
}

/// Learns from the time of a sort with this candidate which one the next sort of the class takes.
#[cold]
pub(super) fn learn<T: Item>(class: u32, features: Features, candidate: LocalSort, started: Started) {
    let mut rows = LocalSort::TABLE.entries.iter().enumerate();
    let is_it = |index| LocalSort::candidate(index, &Parameters::NONE) == Some(candidate);
    let Some(index) = rows.find_map(|(index, _)| is_it(index).then_some(index)) else { return };
    let next = LEARNING.end(class, index, started, || {
        let (_, middle) = self::class::<T>(features);
        let choice = choose::<T>(middle).1;
        choice.predicted(Models::of::<LocalSort>(1).source, 1, inputs_of(middle).values().as_ref())
    });
    if let Some(next) = next {
        KEPT.keep(class, next, &[]);
    }
}

/// The class of runs, or of numbers of different keys, that equal the number of keys.
const ALL: u32 = 31;

/// The number of the class of these features, of [`Kept::BITS`], and the features at its middle. Class
/// boundaries: sizes at quarters of powers of two, runs at powers of two, numbers of different keys
/// at powers of four, widths at 32 and every eighth bit above.
fn class<T: Item>(features: Features) -> (u32, Features) {
    let kind = match (T::PLAIN, others::integer::<T>()) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    };
    let keys = features.keys.max(4);
    let octave = keys.ilog2();
    let quarter = keys >> (octave - 2) & 3;
    let middle = (1 << octave) + (quarter << (octave - 2)) + (1 << octave >> 3);
    // Widths to 32, and up to each eighth bit above.
    let (width_class, width) = match features.width {
        width @ 0..=32 => (width, width),
        width => (32 + (width - 32).div_ceil(8), width.next_multiple_of(8)),
    };
    let power = |value: usize, by: u32| match value < features.keys {
        true => (value.max(1).ilog2() / by).min(ALL - 1),
        false => ALL,
    };
    let (run, distinct) = (power(features.run, 1), power(features.distinct, 2));
    let Features { skewed, ordered, .. } = features;
    let class = [
        (octave, 6),
        (quarter as u32, 2),
        (width_class.min(63), 6),
        (run, 5),
        (distinct, 5),
        (skewed.into(), 1),
        (ordered.into(), 1),
    ]
    .into_iter()
    .fold(kind, |class, (part, bits)| class << bits | part);
    // Two is the least number of runs greater than one.
    let run = if run == ALL { middle } else { (3 << run >> 1).min(middle / 2) };
    let distinct = if distinct == ALL { middle } else { (2 << (2 * distinct)).min(middle) };
    (class, Features { keys: middle, width, run, ordered, distinct, skewed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;

    fn is_kept<T: Item>(features: Features) {
        let (class, candidate) = choice::<T>(features);
        assert_eq!(KEPT.get(class), Some(candidate), "{features:?}");
    }

    #[test]
    fn what_lies_together_is_one_class_and_choices_are_kept() {
        let features = |keys, width, run, distinct| Features {
            keys,
            width,
            run,
            ordered: false,
            distinct,
            skewed: false,
        };
        let number = |features| class::<u64>(features).0;
        let a = features(1000, 50, 1, 1000);
        assert_eq!(number(a), number(features(1020, 51, 1, 1020)));
        for other in [
            features(1030, 50, 1, 1000),
            features(1000, 32, 1, 1000),
            features(1000, 50, 16, 1000),
            features(1000, 50, 1, 9),
        ] {
            assert_ne!(number(a), number(other), "{other:?}");
        }
        assert_ne!(number(a), class::<f64>(a).0);
        assert_ne!(number(a), number(Features { ordered: true, ..a }));
        for keys in [0, 1, 5, 100, 1 << 20, usize::MAX] {
            let (_, middle) = class::<u64>(features(keys, 64, keys, keys));
            assert!(middle.run <= middle.keys && middle.distinct <= middle.keys, "{middle:?}");
            let most = Features { ordered: true, skewed: true, ..features(keys, 64, keys, keys) };
            is_kept::<u64>(most);
            is_kept::<f64>(most);
            is_kept::<Pair<u64, u32>>(most);
        }
        assert_eq!(choice::<u64>(a), choice::<u64>(a));
        assert_eq!(choice::<u64>(a).1, choose::<u64>(class::<u64>(a).1).0);
    }
}
