//! The numbers below a limit: with a branch that may be mispredicted, or without one.

use crate::library::{Candidate, Input, Library, Way, as_floats};
pub use crate::random::words as numbers;

/// The limit that `share` per cent of random numbers are below.
pub fn limit(share: usize) -> u32 {
    (share as f64 / 100.0 * 2f64.powi(32)) as u32
}

/// Those below the limit, appended one by one.
pub fn branchy(numbers: &[u32], limit: u32) -> Vec<u32> {
    let mut kept = Vec::with_capacity(numbers.len());
    for number in numbers {
        if *number < limit {
            kept.push(*number);
        }
    }
    kept
}

/// The same: each is written, and the next place depends on whether it counts.
pub fn branchless(numbers: &[u32], limit: u32) -> Vec<u32> {
    let mut kept = vec![0; numbers.len()];
    let mut end = 0;
    for number in numbers {
        kept[end] = *number;
        end += usize::from(*number < limit);
    }
    kept.truncate(end);
    kept
}

/// The library.
pub struct Filter;

impl Library for Filter {
    const NAME: &'static str = "filter";
    const OLD: &'static str = "branchy";
    const INPUTS: &'static [Input] = &[Input::new("n", 16, 65536), Input::new("share", 1, 99).evenly()];
    const CANDIDATES: &'static [Candidate] = &[Candidate::new("branchy"), Candidate::new("branchless")];
    type Problem = (Vec<u32>, u32);
    type Answer = Vec<u32>;

    fn problem(x: &[usize], seed: u64) -> Self::Problem {
        (numbers(x[0], seed), limit(x[1]))
    }

    fn solve((numbers, limit): &mut Self::Problem, way: Way) -> Vec<u32> {
        if way.candidate == 0 { branchy(numbers, *limit) } else { branchless(numbers, *limit) }
    }

    fn numbers(_: &Self::Problem, kept: &Vec<u32>) -> Vec<f64> {
        as_floats(kept)
    }

    fn old(_: &[usize]) -> Way {
        Way::of(0)
    }
}
