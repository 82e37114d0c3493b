//! Which of `m` numbers are among `n`: looked up one by one, in a sorted copy, or in a table.

use hashbrown::HashSet;

use crate::library::{Candidate, Input, Library, Way};
use crate::random::words;

/// So many numbers below `end`.
pub fn numbers(count: usize, end: usize, seed: u64) -> Vec<u32> {
    words(count, seed).into_iter().map(|word| word % end as u32).collect()
}

/// How many are found, by looking at all.
pub fn linear(known: &[u32], wanted: &[u32]) -> usize {
    wanted.iter().filter(|number| known.contains(number)).count()
}

/// The same by halves of a sorted copy.
pub fn sorted(known: &[u32], wanted: &[u32]) -> usize {
    let mut copy = known.to_vec();
    copy.sort_unstable();
    wanted.iter().filter(|number| copy.binary_search(number).is_ok()).count()
}

/// The same by hashes.
pub fn hashed(known: &[u32], wanted: &[u32]) -> usize {
    let set: HashSet<u32> = known.iter().copied().collect();
    wanted.iter().filter(|number| set.contains(*number)).count()
}

/// The library.
pub struct Lookup;

impl Library for Lookup {
    const NAME: &'static str = "lookup";
    const OLD: &'static str = "linear up to n = 32 or m = 1, else hashed";
    const INPUTS: &'static [Input] = &[Input::new("n", 4, 4096), Input::new("m", 1, 1024)];
    const CANDIDATES: &'static [Candidate] =
        &[Candidate::new("linear"), Candidate::new("sorted"), Candidate::new("hashed")];
    type Problem = (Vec<u32>, Vec<u32>);
    type Answer = usize;

    fn problem(x: &[usize], seed: u64) -> Self::Problem {
        (numbers(x[0], 2 * x[0], seed), numbers(x[1], 2 * x[0], seed ^ 1))
    }

    fn solve((known, wanted): &mut Self::Problem, way: Way) -> usize {
        match way.candidate {
            0 => linear(known, wanted),
            1 => sorted(known, wanted),
            _ => hashed(known, wanted),
        }
    }

    fn numbers(_: &Self::Problem, found: &usize) -> Vec<f64> {
        vec![*found as f64]
    }

    fn old(x: &[usize]) -> Way {
        Way::of(if x[0] <= 32 || x[1] == 1 { 0 } else { 2 })
    }
}
