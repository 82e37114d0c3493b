//! All of the package that knows Strata: which multiplication is chosen.

mod models;

use crate::{Matrix, blocked, naive, transposed};
use models::Matmul;

/// The product of two matrices of one size, by the way that is predicted to be fastest, and why
/// that one.
pub fn multiply(x: &Matrix, y: &Matrix) -> (Matrix, String) {
    let chosen = Matmul::explain(x.n);
    let product = match chosen.candidate {
        Matmul::Naive => naive(x, y),
        Matmul::Transposed => transposed(x, y),
        Matmul::Blocked { b } => blocked(x, y, b),
    };
    (product, chosen.choice.to_string())
}
