//! Normal equations in twice the working precision.
//!
//! Normal equations square the condition number, which is poor in doubles. With 32 digits a
//! condition of 10⁷ leaves 18 of them, more than a double has, at about the cost of one
//! factorisation in doubles: most of the work is dot products, which vectorise. Columns with a
//! worse condition are solved by [`orthogonal`](super::orthogonal).
//!
//! Source: Golub and Van Loan, *Matrix Computations*, 4th ed., §5.3.2.

use nalgebra::{DMatrix, DVector};

use super::lanes::{dot, residual};
use super::triangle::Triangle;
use super::wide::Wide;

/// The least share of a column's square that may be left beside the columns before it.
const LEAST_PIVOT: f64 = 1e-13;
/// If residuals are below this share of the right-hand side, another step follows.
const SMALL: f64 = 1e-6;
/// The result of least squares, in twice the working precision where needed.
pub(super) struct Wideness {
    pub(super) triangle: Triangle,
    pub(super) x: Vec<Wide>,
    /// b − Ax.
    pub(super) residual: Vec<f64>,
}

/// Solves min ‖Ax − b‖ for entries of at most 2; `None` if the columns are too dependent.
pub(super) fn solve(a: &DMatrix<f64>, b: &DVector<f64>) -> Option<Wideness> {
    let m = a.nrows();
    let columns: Vec<&[f64]> = a.as_slice().chunks_exact(m).collect();
    let triangle = cholesky(&columns)?;
    let mut x: Vec<Wide> = columns.iter().map(|c| dot(c, b.as_slice())).collect();
    triangle.solve_transposed(&mut x);
    triangle.solve(&mut x);
    let mut left = residual(a.as_slice(), b.as_slice(), &x);
    let largest = left.0.iter().zip(&left.1).fold(0.0, |most: f64, (r, lost)| most.max((r + lost).abs()));
    if largest < SMALL * b.amax() && largest > 0.0 {
        // The fit is nearly exact: the residual must not be the rounding of x.
        let mut step: Vec<Wide> = columns.iter().map(|c| dot(c, &left.0) + dot(c, &left.1)).collect();
        triangle.solve_transposed(&mut step);
        triangle.solve(&mut step);
        for (x, step) in x.iter_mut().zip(step) {
            *x = *x + step;
        }
        left = residual(a.as_slice(), b.as_slice(), &x);
    }
    Some(Wideness { triangle, residual: settle(a, b, &x, left), x })
}

fn cholesky(columns: &[&[f64]]) -> Option<Triangle> {
    let n = columns.len();
    let mut r = Triangle::zero(n);
    for j in 0..n {
        for i in 0..=j {
            let product = dot(columns[i], columns[j]);
            let mut rest = product;
            for k in 0..i {
                rest = rest - r.get(k, i) * r.get(k, j);
            }
            if i < j {
                r.set(i, j, rest / r.get(i, i));
            } else if rest.hi > LEAST_PIVOT * product.hi {
                r.set(j, j, rest.sqrt());
            } else {
                return None;
            }
        }
    }
    Some(r)
}

/// Rounds residuals to doubles; those below the error of twice the precision are zero.
pub(super) fn settle(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    x: &[Wide],
    (sums, lost): (Vec<f64>, Vec<f64>),
) -> Vec<f64> {
    let noise = 2f64.powi(-94);
    let mut residual = sums;
    for (i, (r, lost)) in residual.iter_mut().zip(lost).enumerate() {
        *r += lost;
        // A cheap test for most rows: the size is needed only if the residual is tiny.
        if r.abs() <= noise * 1e6 * b[i].abs().max(f64::MIN_POSITIVE) {
            let size = x.iter().enumerate().map(|(j, x)| (a[(i, j)] * x.hi).abs()).sum::<f64>() + b[i].abs();
            if r.abs() <= noise * size {
                *r = 0.0;
            }
        }
    }
    residual
}
