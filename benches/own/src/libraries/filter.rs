//! The numbers below a limit: with a branch that may be mispredicted, or without one.

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
