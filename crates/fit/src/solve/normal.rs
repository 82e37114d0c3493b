//! Normal equations in twice the working precision.
//!
//! Squaring the condition number is what makes normal equations poor in doubles. With 32 digits a condition of 10⁷
//! leaves 18 of them, more than a double can hold, for about the price of one factorisation in doubles: most of the work
//! is dot products, which vectorise. What is worse conditioned is left to [`orthogonal`](super::orthogonal).
//!
//! Source: Ogita, Rump and Oishi, *Accurate sum and dot product* (2005), algorithm Dot2; Golub and Van Loan, *Matrix
//! Computations*, 4th ed., §5.3.2.

use nalgebra::{DMatrix, DVector};

use super::triangle::Triangle;
use super::wide::{Wide, product_of_split, two_product, two_sum, upper};

/// The least share of a column's square that may be left beside the columns before it.
const LEAST_PIVOT: f64 = 1e-13;
/// Residuals below this share of the right-hand side are worth another step.
const SMALL: f64 = 1e-6;
/// Independent sums in a dot product, so that they vectorise.
const LANES: usize = 4;

/// What least squares yields, in twice the working precision where it matters.
pub(super) struct Wideness {
    pub(super) triangle: Triangle,
    pub(super) x: Vec<Wide>,
    /// b − Ax.
    pub(super) residual: Vec<f64>,
}

/// A column beside its upper halves.
struct Column<'a> {
    values: &'a [f64],
    upper: Vec<f64>,
}

impl<'a> Column<'a> {
    fn new(values: &'a [f64]) -> Self {
        Self { values, upper: values.iter().map(|v| upper(*v)).collect() }
    }

    /// The dot product, rounded about once.
    fn dot(&self, other: &Self) -> Wide {
        let (mut sums, mut lost) = ([0.0; LANES], [0.0; LANES]);
        let (a, a_rest) = self.values.as_chunks::<LANES>();
        let (b, b_rest) = other.values.as_chunks::<LANES>();
        let halves = self.upper.as_chunks::<LANES>().0.iter().zip(other.upper.as_chunks::<LANES>().0);
        for ((a, b), (ah, bh)) in a.iter().zip(b).zip(halves) {
            for lane in 0..LANES {
                let (product, error) = product_of_split(a[lane], ah[lane], b[lane], bh[lane]);
                let (sum, rounding) = two_sum(sums[lane], product);
                sums[lane] = sum;
                lost[lane] += rounding + error;
            }
        }
        for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
            let (product, error) = two_product(*a, *b);
            let (sum, rounding) = two_sum(sums[lane], product);
            sums[lane] = sum;
            lost[lane] += rounding + error;
        }
        (0..LANES).fold(Wide::ZERO, |sum, lane| sum + Wide::of_sum(sums[lane], lost[lane]))
    }
}

/// Solves min ‖Ax − b‖ for entries of at most 2; `None` if the columns depend on each other too closely for that.
pub(super) fn solve(a: &DMatrix<f64>, b: &DVector<f64>) -> Option<Wideness> {
    let m = a.nrows();
    let columns: Vec<Column<'_>> = a.as_slice().chunks_exact(m).map(Column::new).collect();
    let rhs = Column::new(b.as_slice());
    let triangle = cholesky(&columns)?;
    let mut x: Vec<Wide> = columns.iter().map(|c| c.dot(&rhs)).collect();
    triangle.solve_transposed(&mut x);
    triangle.solve(&mut x);
    let mut residual = residual_of(a, b, &x);
    let largest = residual.iter().fold(0.0, |most: f64, r| most.max(r.hi.abs()));
    if largest < SMALL * b.amax() && largest > 0.0 {
        // The fit is nearly exact: what is left must not be the rounding of x.
        let (hi, lo): (Vec<f64>, Vec<f64>) = residual.iter().map(|r| (r.hi, r.lo)).unzip();
        let (hi, lo) = (Column::new(&hi), Column::new(&lo));
        let mut step: Vec<Wide> = columns.iter().map(|c| c.dot(&hi) + c.dot(&lo)).collect();
        triangle.solve_transposed(&mut step);
        triangle.solve(&mut step);
        for (x, step) in x.iter_mut().zip(step) {
            *x = *x + step;
        }
        residual = residual_of(a, b, &x);
    }
    Some(Wideness { triangle, residual: settle(a, b, &x, residual), x })
}

fn cholesky(columns: &[Column<'_>]) -> Option<Triangle> {
    let n = columns.len();
    let mut r = Triangle::zero(n);
    for j in 0..n {
        for i in 0..=j {
            let product = columns[i].dot(&columns[j]);
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

/// b − Ax, row by row.
pub(super) fn residual_of(a: &DMatrix<f64>, b: &DVector<f64>, x: &[Wide]) -> Vec<Wide> {
    // Two arrays rather than one of pairs, so that the loop vectorises.
    let (mut sums, mut lost) = (b.as_slice().to_vec(), vec![0.0; b.len()]);
    for (column, x) in a.as_slice().chunks_exact(b.len().max(1)).zip(x) {
        let (hi, half, lo) = (-x.hi, upper(-x.hi), x.lo);
        for ((sum, lost), a) in sums.iter_mut().zip(&mut lost).zip(column) {
            let (product, error) = product_of_split(*a, upper(*a), hi, half);
            let (next, rounding) = two_sum(*sum, product);
            *sum = next;
            *lost += rounding + (error - a * lo);
        }
    }
    sums.into_iter().zip(lost).map(|(sum, lost)| Wide::of_sum(sum, lost)).collect()
}

/// Rounds residuals to doubles; what even twice the precision cannot tell from zero is zero.
pub(super) fn settle(a: &DMatrix<f64>, b: &DVector<f64>, x: &[Wide], residual: Vec<Wide>) -> Vec<f64> {
    let noise = 2f64.powi(-94);
    let rows = residual.into_iter().enumerate().map(|(i, r)| {
        let r = r.get();
        // Cheap for most rows: the size is needed only where the residual is tiny.
        if r.abs() > noise * 1e6 * b[i].abs().max(f64::MIN_POSITIVE) {
            return r;
        }
        let size = x.iter().enumerate().map(|(j, x)| (a[(i, j)] * x.hi).abs()).sum::<f64>() + b[i].abs();
        if r.abs() <= noise * size { 0.0 } else { r }
    });
    rows.collect()
}
