//! Products of square matrices by blocks: of how many rows?

pub use super::transpose::matrix;

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
