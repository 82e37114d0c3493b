//! The hash of some bytes by `blake3` on one core or on all. Its documentation says 128 KiB.

use crate::Random;
use crate::library::{Candidate, Input, Library, Way};

/// So many bytes.
pub fn block(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..bytes.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes()).take(bytes).collect()
}

/// On one core.
pub fn serial(block: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(block).finalize()
}

/// On all.
pub fn parallel(block: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update_rayon(block).finalize()
}

/// The library.
pub struct Hash;

impl Library for Hash {
    const NAME: &'static str = "hash";
    const OLD: &'static str = "blake3: serial below 128 KiB";
    const INPUTS: &'static [Input] = &[Input::new("bytes", 1024, 4_194_304)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::new("serial"), Candidate::new("parallel")];
    type Problem = Vec<u8>;
    type Answer = blake3::Hash;

    fn problem(x: &[usize], seed: u64) -> Vec<u8> {
        block(x[0], seed)
    }

    fn solve(block: &mut Vec<u8>, way: Way) -> blake3::Hash {
        if way.candidate == 0 { serial(block) } else { parallel(block) }
    }

    fn numbers(_: &Vec<u8>, hash: &blake3::Hash) -> Vec<f64> {
        hash.as_bytes().iter().copied().map(f64::from).collect()
    }

    fn old(x: &[usize]) -> Way {
        Way::of(usize::from(x[0] >= 128 << 10))
    }
}
