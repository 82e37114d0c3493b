//! Singular values of a small square matrix by one-sided Jacobi rotations.
//!
//! The matrix is the triangle of a QR factorisation, one column for each term, so it is small, and
//! accuracy matters more than time. One-sided Jacobi finds even the small singular values of a
//! column-scaled matrix to high relative accuracy, which the rank rule needs; the bidiagonal
//! iteration of nalgebra has been seen to stop too early.
//!
//! Source: Golub and Van Loan, *Matrix Computations*, 4th ed., §8.6.3; Demmel and Veselić,
//! *Jacobi's method is more accurate than QR* (1992).

use nalgebra::DMatrix;

/// Rotations converge quadratically: ten sweeps are usual, and this many are an error.
const MAX_SWEEPS: usize = 60;
/// Smaller products of columns are zero: columns have length one at first. The square of a column
/// with a greater product is far from underflow, so its angle can be computed.
const NEGLIGIBLE: f64 = 1e-140;

/// A = U Σ Vᵀ with the singular values in falling order.
pub(crate) struct Svd {
    /// Left singular vectors; zero columns where the singular value is zero.
    pub(crate) u: DMatrix<f64>,
    /// Singular values, largest first.
    pub(crate) sigma: Vec<f64>,
    /// Right singular vectors, as columns.
    pub(crate) v: DMatrix<f64>,
}

/// Decomposes a square matrix with finite entries; `None` if the rotations do not converge.
pub(crate) fn svd(mut a: DMatrix<f64>) -> Option<Svd> {
    let n = a.ncols();
    let mut v = DMatrix::identity(n, n);
    // The rounding of a dot product of n numbers: a stricter test might never end.
    let orthogonal = n.max(8) as f64 * f64::EPSILON;
    let mut settled = n < 2;
    for _ in 0..MAX_SWEEPS {
        if settled {
            break;
        }
        settled = true;
        for p in 0..n {
            for q in p + 1..n {
                let alpha = a.column(p).norm_squared();
                let beta = a.column(q).norm_squared();
                let gamma = a.column(p).dot(&a.column(q));
                if gamma.abs() <= orthogonal * (alpha * beta).sqrt() || gamma.abs() < NEGLIGIBLE {
                    continue;
                }
                settled = false;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let size = zeta.abs();
                // For larger values the square is equal, or overflows.
                let t =
                    if size > 1e9 { 0.5 / zeta } else { zeta.signum() / (size + (1.0 + size * size).sqrt()) };
                let cos = 1.0 / (1.0 + t * t).sqrt();
                rotate(&mut a, p, q, cos, cos * t);
                rotate(&mut v, p, q, cos, cos * t);
            }
        }
    }
    if !settled {
        return None;
    }
    let norms: Vec<f64> = (0..n).map(|j| a.column(j).norm()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let sigma: Vec<f64> = order.iter().map(|&j| norms[j]).collect();
    let u = DMatrix::from_fn(n, n, |i, k| if sigma[k] > 0.0 { a[(i, order[k])] / sigma[k] } else { 0.0 });
    let v = DMatrix::from_fn(n, n, |i, k| v[(i, order[k])]);
    Some(Svd { u, sigma, v })
}

/// Rotates columns `p` and `q` in their plane.
fn rotate(m: &mut DMatrix<f64>, p: usize, q: usize, cos: f64, sin: f64) {
    for i in 0..m.nrows() {
        let (x, y) = (m[(i, p)], m[(i, q)]);
        m[(i, p)] = cos * x - sin * y;
        m[(i, q)] = sin * x + cos * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_multiply_to_the_matrix() {
        let a = DMatrix::from_row_slice(3, 3, &[2.0, -1.0, 0.5, 0.0, 1e-9, 3.0, 0.0, 0.0, 1e-12]);
        let svd = svd(a.clone()).unwrap();
        let sigma = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(svd.sigma.clone()));
        let again = &svd.u * sigma * svd.v.transpose();
        assert!((again - &a).norm() < 1e-15 * 4.0);
        assert!((svd.v.transpose() * &svd.v - DMatrix::identity(3, 3)).norm() < 1e-14);
        assert!(svd.sigma.windows(2).all(|w| w[0] >= w[1]));
    }

    #[test]
    fn a_zero_matrix_has_zero_singular_values() {
        let svd = svd(DMatrix::zeros(2, 2)).unwrap();
        assert_eq!(svd.sigma, [0.0, 0.0]);
    }

    #[test]
    fn a_column_whose_square_underflows_settles() {
        // Nearly orthogonal columns: their product is rounding, and a rotation of the tiny one is
        // below its own rounding.
        for power in 100..300 {
            let tiny = 10f64.powi(-power);
            for third in 1..=20 {
                let (x, y) = (f64::from(third) / 7.0, 1.1);
                let svd = svd(DMatrix::from_row_slice(2, 2, &[x, -y * tiny, y, x * tiny])).expect("settles");
                let (largest, least) = ((x * x + y * y).sqrt(), svd.sigma[1] / tiny);
                assert!((svd.sigma[0] - largest).abs() <= 1e-15 * largest);
                assert!(power > 140 || (least - largest).abs() <= 1e-15 * largest, "{power} {x} {least}");
            }
        }
    }
}
