//! The hash of some bytes by `blake3` on one core or on all. Its documentation says 128 KiB.

use crate::Random;

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
