//! Radix sort of 32-bit keys, the least digit first: digits of how many bits?

use crate::library::{Candidate, Input, Library, Range, Way, as_floats};
pub use crate::random::words as keys;

/// Sorts by digits of `bits` bits.
pub fn radix_sort(keys: &mut Vec<u32>, bits: u32) {
    let mut other = vec![0; keys.len()];
    let mut ends = vec![0usize; 1 << bits];
    let mask = (1u32 << bits) - 1;
    let mut shift = 0;
    while shift < 32 {
        ends.fill(0);
        for key in &*keys {
            ends[((key >> shift) & mask) as usize] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        for key in keys.iter().rev() {
            let place = &mut ends[((key >> shift) & mask) as usize];
            *place -= 1;
            other[*place] = *key;
        }
        std::mem::swap(keys, &mut other);
        shift += bits;
    }
}

/// The library.
pub struct Radix;

impl Library for Radix {
    const NAME: &'static str = "radix";
    const OLD: &'static str = "digits of 8 bits";
    const INPUTS: &'static [Input] = &[Input::new("n", 64, 524_288)];
    const CANDIDATES: &'static [Candidate] =
        &[Candidate { name: "radix_sort", parameter: Some(Range { least: 4, greatest: 16, every: true }) }];
    type Problem = Vec<u32>;
    type Answer = ();

    fn problem(x: &[usize], seed: u64) -> Vec<u32> {
        keys(x[0], seed)
    }

    fn solve(keys: &mut Vec<u32>, way: Way) {
        radix_sort(keys, way.value() as u32);
    }

    fn numbers(keys: &Vec<u32>, (): &()) -> Vec<f64> {
        as_floats(keys)
    }

    fn old(_: &[usize]) -> Way {
        Way::with(8)
    }
}
