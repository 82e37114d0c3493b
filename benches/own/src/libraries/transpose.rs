//! Transposing a square matrix by blocks: of how many rows?

use crate::random::fractions;

/// A matrix of `n` rows.
pub fn matrix(n: usize, seed: u64) -> Vec<f64> {
    fractions(n * n, seed)
}

/// Writes the transpose of `from`, a matrix of `n` rows, by blocks of `block` rows and columns.
pub fn transpose(from: &[f64], to: &mut [f64], n: usize, block: usize) {
    for top in (0..n).step_by(block) {
        for left in (0..n).step_by(block) {
            for row in top..n.min(top + block) {
                for column in left..n.min(left + block) {
                    to[column * n + row] = from[row * n + column];
                }
            }
        }
    }
}
