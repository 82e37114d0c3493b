//! Householder's factorisation in twice the working precision, for columns that nearly depend on each other.
//!
//! Source: Golub and Van Loan, *Matrix Computations*, 4th ed., §5.2.2.

use nalgebra::{DMatrix, DVector};

use super::normal::{Wideness, residual_of, settle};
use super::triangle::Triangle;
use super::wide::Wide;

/// Solves min ‖Ax − b‖ for a matrix of full rank; `None` if a column vanishes beside those before it.
pub(super) fn solve(a: &DMatrix<f64>, b: &DVector<f64>) -> Option<Wideness> {
    let (m, n) = a.shape();
    let mut columns: Vec<Vec<Wide>> =
        a.column_iter().map(|c| c.iter().map(|v| Wide::from(*v)).collect()).collect();
    let mut rhs: Vec<Wide> = b.iter().map(|v| Wide::from(*v)).collect();
    let mut triangle = Triangle::zero(n);
    for k in 0..n {
        let (done, open) = columns.split_at_mut(k + 1);
        let pivot = done.get_mut(k)?;
        let square = dot(&pivot[k..m], &pivot[k..m]);
        let length = square.sqrt();
        if length.hi <= 0.0 {
            return None;
        }
        let diagonal = if pivot[k].hi > 0.0 { -length } else { length };
        // v = x − diagonal·e, so that v'v = 2 diagonal (diagonal − x₁).
        let half_square = diagonal * (diagonal - pivot[k]);
        pivot[k] = pivot[k] - diagonal;
        triangle.set(k, k, diagonal);
        for other in open.iter_mut().chain(std::iter::once(&mut rhs)) {
            let factor = dot(&pivot[k..m], &other[k..m]) / half_square;
            for (value, v) in other[k..m].iter_mut().zip(&pivot[k..m]) {
                *value = *value - factor * *v;
            }
        }
        for (j, other) in open.iter().enumerate() {
            triangle.set(k, k + 1 + j, other[k]);
        }
    }
    let mut x = rhs.get(..n)?.to_vec();
    triangle.solve(&mut x);
    let residual = residual_of(a, b, &x);
    Some(Wideness { triangle, residual: settle(a, b, &x, residual), x })
}

fn dot(a: &[Wide], b: &[Wide]) -> Wide {
    a.iter().zip(b).fold(Wide::ZERO, |sum, (a, b)| sum + *a * *b)
}
