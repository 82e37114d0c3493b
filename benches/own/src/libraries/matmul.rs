//! Products of square matrices by blocks: of how many rows?

pub use super::transpose::matrix;
use crate::library::{Candidate, Input, Library, Way};

/// The product of two matrices of `n` rows, by blocks of `block` rows and columns.
pub fn multiply(x: &[f64], y: &[f64], n: usize, block: usize) -> Vec<f64> {
    let mut product = vec![0.0; n * n];
    for top in (0..n).step_by(block) {
        for middle in (0..n).step_by(block) {
            for left in (0..n).step_by(block) {
                let right = n.min(left + block);
                for row in top..n.min(top + block) {
                    let sums = &mut product[row * n + left..row * n + right];
                    for inner in middle..n.min(middle + block) {
                        let factor = x[row * n + inner];
                        for (sum, value) in sums.iter_mut().zip(&y[inner * n + left..inner * n + right]) {
                            *sum += factor * value;
                        }
                    }
                }
            }
        }
    }
    product
}

/// The library.
pub struct Matmul;

impl Library for Matmul {
    const NAME: &'static str = "matmul";
    const OLD: &'static str = "blocks of 64";
    const INPUTS: &'static [Input] = &[Input::new("n", 16, 362)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::over("blocked", 8, 256)];
    type Problem = (Vec<f64>, Vec<f64>, usize);
    type Answer = Vec<f64>;

    fn problem(x: &[usize], seed: u64) -> Self::Problem {
        (matrix(x[0], seed), matrix(x[0], seed ^ 1), x[0])
    }

    fn solve((x, y, n): &mut Self::Problem, way: Way) -> Vec<f64> {
        multiply(x, y, *n, way.value())
    }

    fn numbers(_: &Self::Problem, product: &Vec<f64>) -> Vec<f64> {
        product.clone()
    }

    fn old(_: &[usize]) -> Way {
        Way::with(64)
    }
}
