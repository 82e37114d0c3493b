//! Times of single algorithms of the crate `rdst`, for the profiling program generated from
//! `specs/sort/rdst`.

use super::local::AT_ONCE;
use crate::local::tuner;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rdst::tuner::{Algorithm, Tuner, TuningParams};
use rdst::{RadixKey, RadixSort};
use std::hint::black_box;

/// A key that consists of its lowest `DIGITS` bytes.
#[derive(Clone, Copy)]
struct Low<const DIGITS: usize>(u64);

impl<const DIGITS: usize> RadixKey for Low<DIGITS> {
    const LEVELS: usize = DIGITS;

    #[inline]
    fn get_level(&self, level: usize) -> u8 {
        (self.0 >> (8 * level)) as u8
    }
}

/// Selects one algorithm for all elements, and least-significant-digit sorts for parts of them.
struct First(Algorithm);

impl Tuner for First {
    fn pick_algorithm(&self, asked: &TuningParams, _: &[usize]) -> Algorithm {
        match asked.parent_len {
            None => self.0,
            Some(_) => Algorithm::Lsb,
        }
    }
}

/// The mean time in seconds for the algorithm of this name to sort `keys` random elements of
/// `digits` (1 to 8) digits of 8 bits, the leading one of which has `numerals` (1 to 256) values.
/// NaN for another name.
///
/// # Participation
/// Local.
pub fn sample(now: impl FnMut() -> f64, algorithm: &str, keys: usize, digits: usize, numerals: usize) -> f64 {
    let Some(algorithm) = tuner::named(algorithm) else { return f64::NAN };
    let time = match digits {
        1 => seconds::<1>,
        2 => seconds::<2>,
        3 => seconds::<3>,
        4 => seconds::<4>,
        5 => seconds::<5>,
        6 => seconds::<6>,
        7 => seconds::<7>,
        _ => seconds::<8>,
    };
    time(now, algorithm, keys.max(1), numerals.clamp(1, 256) as u64)
}

fn seconds<const DIGITS: usize>(
    mut now: impl FnMut() -> f64,
    algorithm: Algorithm,
    keys: usize,
    numerals: u64,
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(super::next_seed());
    let arrays = (AT_ONCE / keys).max(1);
    let shift = 8 * (DIGITS - 1);
    let mut all: Vec<Low<DIGITS>> = (0..keys * arrays)
        .map(|_| {
            let random = random.next_u64();
            let numeral = (random >> 56) * numerals / 256 * (256 / numerals);
            Low(numeral << shift | random & ((1 << shift) - 1))
        })
        .collect();
    let start = now();
    for array in all.chunks_mut(keys) {
        array.radix_sort_builder().with_tuner(&First(algorithm)).with_parallel(false).sort();
    }
    let seconds = now() - start;
    black_box(&all);
    seconds / arrays as f64
}
