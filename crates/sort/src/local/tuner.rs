//! A tuner for the crate `rdst` that chooses among its algorithms by models.

mod models;

use models::{RdstStep, RdstStepInput};
use rdst::tuner::{Algorithm, Tuner, TuningParams};
use strata_select::Kept;

/// Chooses the algorithms of a sort by `rdst` on one thread, with models measured by
/// `specs/sort/rdst`: one at the top, and one for each bucket of more than 128 elements that an
/// algorithm leaves unsorted.
///
/// A choice depends on the number of elements, the number of remaining digits, and the number of
/// values of the leading one. Choices are cached by classes of these. [`local::sort`](super::sort)
/// chooses by models of whole sorts, and uses `rdst` only if it is the fastest.
///
/// ```
/// use rdst::RadixSort as _;
/// use strata_sort::local::ModelTuner;
///
/// let mut keys: Vec<u64> = (0..10_000).map(|i| i * 7919 % 10_007).collect();
/// keys.radix_sort_builder().with_tuner(&ModelTuner).with_parallel(false).sort();
/// assert!(keys.is_sorted());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelTuner;

impl Tuner for ModelTuner {
    fn pick_algorithm(&self, asked: &TuningParams, counts: &[usize]) -> Algorithm {
        let numerals = counts.iter().filter(|count| **count > 0).count();
        known(asked.input_len, asked.level + 1, numerals)
    }
}

static KEPT: Kept<4096> = Kept::new();

/// The names of the algorithms in the models, in the order of their library.
const ALGORITHMS: [(&str, Algorithm); 4] = [
    ("comparative", Algorithm::Comparative),
    ("lsb", Algorithm::Lsb),
    ("lr_lsb", Algorithm::LrLsb),
    ("ska", Algorithm::Ska),
];

/// The cached algorithm for a class of problems. Sizes have class boundaries at quarters of powers
/// of two, up to 2^32; numbers of digit values have boundaries at powers of two; eight and more
/// digits are one class.
fn known(keys: usize, digits: usize, numerals: usize) -> Algorithm {
    let octave = keys.max(4).ilog2().min(31);
    let quarter = (keys.max(4) >> (octave - 2)) & 3;
    let (digits, power) = (digits.clamp(1, 8), numerals.max(1).ilog2().min(15));
    let class = ((octave * 4 + quarter as u32) * 8 + digits as u32 - 1) * 16 + power;
    let index = KEPT.candidate(class).unwrap_or_else(|| {
        // The size at the middle of the class.
        let middle = (1usize << octave) + (quarter << (octave - 2)) + (1 << octave >> 3);
        let index = choose(middle, digits, (1 << power) + (1 << power >> 1));
        KEPT.keep(class, index, &[]);
        index
    });
    ALGORITHMS[index].1
}

/// The index of the algorithm of the least predicted time.
fn choose(keys: usize, digits: usize, numerals: usize) -> usize {
    RdstStep::explain(RdstStepInput { keys, digits, numerals }).choice.index
}

/// The algorithm of this name, for calibration.
pub(crate) fn named(name: &str) -> Option<Algorithm> {
    ALGORITHMS.iter().find(|(other, _)| *other == name).map(|(_, algorithm)| *algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_select::Library as _;

    #[test]
    fn what_is_kept_is_what_models_say_in_the_middle_of_a_class() {
        for keys in [129, 1_000, 1 << 20, usize::MAX] {
            for digits in [1, 2, 8, 16] {
                for numerals in [1, 2, 100, 256] {
                    let first = known(keys, digits, numerals);
                    assert_eq!(first, known(keys, digits, numerals));
                }
            }
        }
        assert_eq!(known(1 << 10, 3, 64), ALGORITHMS[choose(1152, 3, 96)].1);
    }

    #[test]
    fn names_are_those_of_the_models() {
        let names: Vec<&str> = RdstStep::TABLE.entries.iter().map(|entry| entry.name).collect();
        assert!(ALGORITHMS.iter().map(|(name, _)| *name).eq(names));
        assert!(named("lr_lsb") == Some(Algorithm::LrLsb) && named("quick").is_none());
    }
}
