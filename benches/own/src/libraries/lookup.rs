//! Which of `m` numbers are among `n`: looked up one by one, in a sorted copy, or in a table.

use hashbrown::HashSet;

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
