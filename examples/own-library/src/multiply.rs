//! All of the package that knows Strata: which multiplication is chosen.

mod models;

use crate::{Matrix, blocked, naive, transposed};
use models::Matmul;

/// The product of two matrices of one size, by the way that is predicted to be fastest, and why
/// that one.
///
/// # Errors
/// `STRATA_PIN` is at fault.
pub fn multiply(x: &Matrix, y: &Matrix) -> Result<(Matrix, String), String> {
    let (way, why) = Matmul::choose(1, x.n as f64).map_err(|error| error.to_string())?;
    let product = match way {
        Matmul::Naive => naive(x, y),
        Matmul::Transposed => transposed(x, y),
        Matmul::Blocked { b } => blocked(x, y, b as usize),
    };
    Ok((product, why.to_string()))
}
