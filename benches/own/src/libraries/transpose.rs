//! Transposing a square matrix by blocks: of how many rows?

use crate::library::{Candidate, Input, Library, Way};
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

/// The library.
pub struct Transpose;

/// A matrix and its transpose, of so many rows.
pub struct Matrices {
    from: Vec<f64>,
    to: Vec<f64>,
    n: usize,
}

impl Library for Transpose {
    const NAME: &'static str = "transpose";
    const OLD: &'static str = "blocks of 16";
    const INPUTS: &'static [Input] = &[Input::new("n", 16, 1024)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::over("blocked", 4, 128)];
    type Problem = Matrices;
    type Answer = ();

    fn problem(x: &[usize], seed: u64) -> Matrices {
        let n = x[0];
        Matrices { from: matrix(n, seed), to: vec![1.0; n * n], n }
    }

    fn solve(Matrices { from, to, n }: &mut Matrices, way: Way) {
        transpose(from, to, *n, way.value());
    }

    fn numbers(matrices: &Matrices, (): &()) -> Vec<f64> {
        matrices.to.clone()
    }

    fn old(_: &[usize]) -> Way {
        Way::with(16)
    }
}
