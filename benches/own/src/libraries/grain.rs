//! A parallel map in pieces of at least `grain` elements (rayon's `with_min_len`): how many?

use rayon::prelude::*;

use crate::library::{Candidate, Input, Library, Way};
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

/// The library.
pub struct Grain;

impl Library for Grain {
    const NAME: &'static str = "grain";
    const OLD: &'static str = "pieces of 1024";
    const INPUTS: &'static [Input] = &[Input::new("n", 256, 65536), Input::new("work", 1, 64)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::over("map", 64, 65536)];
    type Problem = (Vec<f64>, usize);
    type Answer = Vec<f64>;

    fn problem(x: &[usize], seed: u64) -> Self::Problem {
        (values(x[0], seed), x[1])
    }

    fn solve((values, work): &mut Self::Problem, way: Way) -> Vec<f64> {
        map(values, *work, way.value())
    }

    fn numbers(_: &Self::Problem, mapped: &Vec<f64>) -> Vec<f64> {
        mapped.clone()
    }

    fn old(_: &[usize]) -> Way {
        Way::with(1024)
    }
}
