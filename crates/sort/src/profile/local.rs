//! Times of the [local sorts](crate::local), for the profiling program generated from
//! `specs/sort/local`, and for benches.

use crate::local::{self, LocalSort};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Instant;
use strata_select::{Library, transfer::Timed};

/// Keys sorted between two readings of the clock: smaller arrays are sorted several at a time. One
/// array sorted repeatedly would be faster, because a processor learns its branches.
pub(super) const AT_ONCE: usize = 1 << 15;

/// Random numbers: `keys` of `width` bits that ascend in runs of `run`, or all but for some.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The number of keys; at least one.
    pub keys: usize,
    /// The number of low bits in which they differ, 1 to 64.
    pub width: u32,
    /// The length of ascending runs; 1 for a random order.
    pub run: usize,
    /// The number of random values from which they are drawn; `keys` for all different.
    pub distinct: usize,
    /// True if all are sorted, but for one in `run` that is out of place.
    pub ordered: bool,
}

impl Cell {
    /// `count` arrays of such numbers, concatenated.
    #[must_use]
    pub fn arrays(self, count: usize, seed: u64) -> Vec<u64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let greatest = u64::MAX >> (64 - self.width.clamp(1, 64));
        let keys = self.keys.max(1);
        let few = self.distinct < keys;
        let mut values: Vec<u64> = (0..self.distinct.min(keys)).map(|_| rng.next_u64() & greatest).collect();
        // Makes the keys span the width.
        if let Some(last) = values.last_mut() {
            *last = greatest;
            values[0] = 0;
        }
        let mut any = || match few {
            true => values[below(&mut rng, values.len())],
            false => rng.next_u64() & greatest,
        };
        let mut all: Vec<u64> = (0..keys * count).map(|_| any()).collect();
        for array in all.chunks_mut(keys) {
            if !few {
                (array[keys / 3], array[keys / 2]) = (0, greatest);
            }
            if !self.ordered {
                array.chunks_mut(self.run.max(1)).for_each(<[u64]>::sort_unstable);
                continue;
            }
            array.sort_unstable();
            for _ in 0..(keys / 2).div_ceil(self.run.max(1)) {
                array.swap(below(&mut rng, keys), below(&mut rng, keys));
            }
        }
        all
    }
}

/// A random index below `limit`.
fn below(rng: &mut ChaCha8Rng, limit: usize) -> usize {
    ((u128::from(rng.next_u64()) * limit as u128) >> 64) as usize
}

/// The mean time in seconds for `sort` to sort such numbers; `now` is a clock in seconds.
///
/// # Participation
/// Local.
pub fn seconds(cell: Cell, now: &mut dyn FnMut() -> f64, sort: &mut dyn FnMut(&mut [u64])) -> f64 {
    let count = (AT_ONCE / cell.keys.max(1)).max(1);
    let mut all = cell.arrays(count, super::next_seed());
    let start = now();
    all.chunks_mut(cell.keys.max(1)).for_each(&mut *sort);
    let seconds = now() - start;
    black_box(&all);
    seconds / count as f64
}

/// The time of the candidate of this name, including the sampling of the keys. If the candidate is
/// unavailable, the time of `unstable`, so that it never seems to be faster.
///
/// # Panics
/// No candidate has this name.
///
/// # Participation
/// Local.
pub fn sample(now: impl FnMut() -> f64, candidate: &str, cell: Cell) -> f64 {
    let is_known = LocalSort::TABLE.entries.iter().any(|entry| entry.name == candidate);
    assert!(is_known, "no local sort is called `{candidate}`: its variant in `LocalSort` comes first");
    let found = local::candidates::<u64>().find(|(name, _)| *name == candidate);
    sample_of(now, found.map_or(LocalSort::Unstable, |(_, candidate)| candidate), cell)
}

fn sample_of(mut now: impl FnMut() -> f64, candidate: LocalSort, cell: Cell) -> f64 {
    seconds(cell, &mut now, &mut |items| {
        black_box(local::sort_by(items, candidate));
    })
}

/// The local sorts time themselves as the spec does.
impl Timed for LocalSort {
    fn seconds(self, inputs: &[f64], _: u64) -> Option<f64> {
        let &[keys, width, run, distinct, ordered] = inputs else { return None };
        let able = local::candidates::<u64>().any(|(_, candidate)| candidate == self);
        let start = Instant::now();
        let now = || start.elapsed().as_secs_f64();
        let (keys, width) = (keys as usize, width as u32);
        let (run, distinct) = (run as usize, distinct as usize);
        let cell = Cell { keys, width, run, distinct, ordered: ordered > 0.0 };
        able.then(|| sample_of(now, self, cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(candidate: &str) -> f64 {
        let (mut now, cell) = (0.0, Cell { keys: 9, width: 8, run: 1, distinct: 9, ordered: false });
        let clock = || {
            now += 1.0;
            now
        };
        sample(clock, candidate, cell)
    }

    #[test]
    fn a_candidate_that_is_built_or_not_has_a_time() {
        assert!(timed("stable") > 0.0 && timed("rdst") > 0.0);
    }

    #[test]
    #[should_panic(expected = "no local sort is called `stabel`")]
    fn no_other_sort_is_timed_in_the_place_of_an_unknown_one() {
        timed("stabel");
    }
}
