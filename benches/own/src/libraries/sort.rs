//! Sorting on one core or by `rayon`, whose `par_sort_unstable` takes one up to 2000 keys.

use rayon::prelude::*;

use crate::Random;

/// `n` keys.
pub fn keys(n: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.bits()).collect()
}

/// On one core.
pub fn serial(keys: &mut [u64]) {
    keys.sort_unstable();
}

/// On all.
pub fn parallel(keys: &mut [u64]) {
    keys.par_sort_unstable();
}
