//! A parallel map in pieces of at least `grain` elements (rayon's `with_min_len`): how many?

use rayon::prelude::*;

pub use crate::random::fractions as values;

/// Each value after `work` rounds, in pieces of at least `grain`.
pub fn map(values: &[f64], work: usize, grain: usize) -> Vec<f64> {
    values.par_iter().with_min_len(grain).map(|value| rounds(*value, work)).collect()
}

fn rounds(mut value: f64, work: usize) -> f64 {
    for _ in 0..work {
        value = 3.7 * value * (1.0 - value);
    }
    value
}
