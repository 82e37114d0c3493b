//! Householder's factorisation in twice the working precision, for columns that nearly depend on
//! each other.
//!
//! Source: Golub and Van Loan, *Matrix Computations*, 4th ed., §5.2.2.

use nalgebra::{DMatrix, DVector};

use super::lanes::{WideColumn, residual};
use super::normal::{Wideness, settle};
use super::triangle::Triangle;
use super::wide::Wide;

/// Solves min ‖Ax − b‖ for a matrix of full rank; `None` if a column depends on those before it.
pub(super) fn solve(a: &DMatrix<f64>, b: &DVector<f64>) -> Option<Wideness> {
    let (m, n) = a.shape();
    let mut columns: Vec<WideColumn> = a.as_slice().chunks_exact(m).map(WideColumn::new).collect();
    let mut rhs = WideColumn::new(b.as_slice());
    let mut triangle = Triangle::zero(n);
    for k in 0..n {
        let (done, open) = columns.split_at_mut(k + 1);
        let pivot = done.get_mut(k)?;
        let length = pivot.dot(pivot, k).sqrt();
        if length.hi <= 0.0 {
            return None;
        }
        let first = pivot.get(k);
        let diagonal = if first.hi > 0.0 { -length } else { length };
        // v = x − diagonal·e, so that v'v = 2 diagonal (diagonal − x₁).
        let half_square = diagonal * (diagonal - first);
        pivot.set(k, first - diagonal);
        triangle.set(k, k, diagonal);
        for other in open.iter_mut().chain(std::iter::once(&mut rhs)) {
            let factor = pivot.dot(other, k) / half_square;
            other.take_off(factor, pivot, k);
        }
        for (j, other) in open.iter().enumerate() {
            triangle.set(k, k + 1 + j, other.get(k));
        }
    }
    let mut x: Vec<Wide> = (0..n).map(|k| rhs.get(k)).collect();
    triangle.solve(&mut x);
    let left = residual(a.as_slice(), b.as_slice(), &x);
    Some(Wideness { triangle, residual: settle(a, b, &x, left), x })
}
