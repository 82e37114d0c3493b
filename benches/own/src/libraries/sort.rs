//! Sorting on one core or by `rayon`, whose `par_sort_unstable` takes one up to 2000 keys.

use rayon::prelude::*;

use crate::Random;
use crate::library::{Candidate, Input, Library, Way};

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

/// The library.
pub struct Sort;

impl Library for Sort {
    const NAME: &'static str = "sort";
    const OLD: &'static str = "rayon: par_sort_unstable (serial up to 2000)";
    const INPUTS: &'static [Input] = &[Input::new("n", 256, 262_144)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::new("serial"), Candidate::new("parallel")];
    type Problem = Vec<u64>;
    type Answer = ();

    fn problem(x: &[usize], seed: u64) -> Vec<u64> {
        keys(x[0], seed)
    }

    fn solve(keys: &mut Vec<u64>, way: Way) {
        if way.candidate == 0 { serial(keys) } else { parallel(keys) }
    }

    fn numbers(keys: &Vec<u64>, (): &()) -> Vec<f64> {
        keys.iter().map(|key| *key as f64).collect()
    }

    fn old(_: &[usize]) -> Way {
        Way::of(1)
    }
}
