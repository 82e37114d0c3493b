//! Accurate least squares: column scaling, a relative rank rule, twice the precision, and a test of
//! the result.
//!
//! The columns of a design matrix are cost terms: some are huge, some tiny, and some may depend on
//! others (with a fixed number of nodes `logP` is a multiple of the constant). Columns are
//! therefore scaled first, the rank is read from singular values relative to the largest, and
//! dependent terms share their weight: of all solutions the one with equal contributions is taken,
//! as in Brewer §3.6.2.
//!
//! Independent columns are solved in twice the working precision: by normal equations if the
//! condition allows it (`normal`), else by Householder's factorisation (`orthogonal`). Coefficients
//! and standard errors are then accurate for the given doubles to nearly the last digit. For
//! dependent columns residuals in twice the working precision refine the solution. Every result
//! must pass the residual ratio test that LAPACK uses for its own solvers.
//!
//! Source: Golub and Van Loan, *Matrix Computations*, 4th ed., §5.3, §5.5; Björck, *Numerical
//! Methods for Least Squares Problems*, §2.9 (refinement of solution and residual together); LAPACK
//! `TESTING/LIN/dqrt17` (the test).

mod double;
mod jacobi;
mod lanes;
mod normal;
mod orthogonal;
mod triangle;
mod wide;

pub(crate) use double::{dot, sum};

use nalgebra::{DMatrix, DVector};

/// A result with a residual ratio at or above this is refused, as in LAPACK's test suite.
const MAX_RATIO: f64 = 30.0;
/// The most refinement steps; each gains the digits that the condition number leaves, so a few
/// suffice.
const MAX_STEPS: usize = 8;
/// The least share in the null space of a term of a dependency (shares are 1 or rounding).
const SHARE: f64 = 1e-7;

/// Why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SolveError {
    /// An entry is infinite or not a number.
    NotFinite,
    /// A coefficient or its variance is too large or too small for a double.
    Overflow,
    /// The result failed the residual ratio test (its ratio is given; 30 is allowed).
    Inaccurate(f64),
}

/// A least-squares solution with the data for its statistics.
#[derive(Clone, Debug)]
pub struct Solution {
    /// One coefficient a column, in units of the right-hand side per unit of the column.
    pub coefficients: DVector<f64>,
    /// (AᵀA)⁺: times the noise variance it is the covariance of the coefficients.
    pub covariance: DMatrix<f64>,
    /// b − Ax, row by row; accurate even if tiny beside b.
    pub residual: DVector<f64>,
    /// How many independent columns there are.
    pub rank: usize,
    /// The largest over the least singular value above zero, of the matrix with columns scaled to
    /// length one.
    pub condition: f64,
    /// Groups of columns that depend on each other, each in rising order; a column of zeros is a
    /// group of its own.
    pub dependent: Vec<Vec<usize>>,
    /// The residual ratio of the answer.
    pub ratio: f64,
}

/// Solves min ‖Ax − b‖₂; of several solutions, the one whose scaled coefficients are least.
///
/// # Shapes
/// - `a`: m × n, a row a sample, a column a term, n ≥ 1; m < n is allowed. Any finite magnitudes.
/// - `b`: m values.
///
/// # Rank
/// Columns are scaled to length one; singular values at or below 10 max(m, n) ε σ₁ count as zero
/// (max(m, n) is limited to 8 to 1000). That is well above the rounding of terms and weights and
/// below any real dependence on a term.
///
/// # Errors
/// See [`SolveError`]; a result that fails the residual ratio test is never returned.
///
/// # Panics
/// If `a` and `b` differ in their number of rows, or `a` has no column.
pub fn solve(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<Solution, SolveError> {
    assert!(a.nrows() == b.len() && a.ncols() > 0, "a system of {}x{} and {}", a.nrows(), a.ncols(), b.len());
    if a.iter().chain(b.iter()).any(|x| !x.is_finite()) {
        return Err(SolveError::NotFinite);
    }
    let (m, n) = a.shape();
    let exponents: Vec<i32> = a.column_iter().map(|c| exponent(c.amax())).collect();
    let b_exponent = exponent(b.amax());
    // Rows of zeros make a wide matrix square and do not change the solution.
    let rows = m.max(n);
    let mut scaled = DMatrix::zeros(rows, n);
    for (j, exponent) in exponents.iter().enumerate() {
        shift_all(a.column(j).as_slice(), -exponent, &mut scaled.as_mut_slice()[j * rows..j * rows + m]);
    }
    let mut rhs = DVector::zeros(rows);
    shift_all(b.as_slice(), -b_exponent, &mut rhs.as_mut_slice()[..m]);

    let answer = answer(&scaled, &rhs)?;
    let coefficients = DVector::from_fn(n, |j, _| shift(answer.x[j], b_exponent - exponents[j]));
    let covariance =
        DMatrix::from_fn(n, n, |i, j| shift(answer.covariance[(i, j)], -exponents[i] - exponents[j]));
    let residual = DVector::from_fn(m, |i, _| shift(answer.r[i], b_exponent));
    let lost = |before: f64, after: f64| !after.is_finite() || (before != 0.0 && after == 0.0);
    if (0..n).any(|j| lost(answer.x[j], coefficients[j])) || covariance.iter().any(|c| !c.is_finite()) {
        return Err(SolveError::Overflow);
    }
    Ok(Solution {
        coefficients,
        covariance,
        residual,
        rank: answer.rank,
        condition: answer.condition,
        dependent: answer.dependent,
        ratio: answer.ratio,
    })
}

/// A solution of the scaled system.
struct Answer {
    x: DVector<f64>,
    r: DVector<f64>,
    covariance: DMatrix<f64>,
    rank: usize,
    condition: f64,
    dependent: Vec<Vec<usize>>,
    ratio: f64,
}

fn answer(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<Answer, SolveError> {
    let wide = normal::solve(a, b).or_else(|| orthogonal::solve(a, b));
    if let Some(wide) = wide
        && let Some(svd) = jacobi::svd(wide.triangle.scaled())
        && rank(&svd.sigma, a.nrows()) == a.ncols()
    {
        return independent(a, wide, &svd.sigma);
    }
    let factors = Factors::new(a).ok_or(SolveError::Inaccurate(f64::INFINITY))?;
    let (x, r) = factors.refine(a, b)?;
    let ratio = accepted(residual_ratio(a, &x, b))?;
    Ok(Answer {
        x,
        r,
        covariance: factors.covariance(),
        rank: factors.rank,
        condition: factors.condition(),
        dependent: factors.dependent(),
        ratio,
    })
}

/// The number of nonzero singular values of a matrix with columns of length one.
fn rank(sigma: &[f64], rows: usize) -> usize {
    let least = 10.0 * (rows.max(sigma.len()).clamp(8, 1000) as f64) * f64::EPSILON * sigma[0];
    sigma.iter().filter(|&&s| s > least).count()
}

/// The solution for independent columns.
fn independent(a: &DMatrix<f64>, wide: normal::Wideness, sigma: &[f64]) -> Result<Answer, SolveError> {
    let n = a.ncols();
    let r = DVector::from_vec(wide.residual);
    Ok(Answer {
        x: DVector::from_iterator(n, wide.x.iter().map(|x| x.get())),
        covariance: wide.triangle.inverse_square(),
        rank: n,
        condition: sigma[0] / sigma[n - 1],
        dependent: Vec::new(),
        ratio: accepted(orthogonality(a, &r))?,
        r,
    })
}

/// The ratio, if the result is accepted.
fn accepted(ratio: f64) -> Result<f64, SolveError> {
    if ratio.is_nan() || ratio >= MAX_RATIO { Err(SolveError::Inaccurate(ratio)) } else { Ok(ratio) }
}

/// ‖Aᵀr‖₁ / (‖A‖₁ ‖r‖₁ max(m, n) ε) of an accurate residual.
fn orthogonality(a: &DMatrix<f64>, r: &DVector<f64>) -> f64 {
    let size = lanes::absolute_sum(r.as_slice());
    if size == 0.0 {
        return 0.0;
    }
    let columns = || a.as_slice().chunks_exact(r.len().max(1));
    let norm_a = columns().map(lanes::absolute_sum).fold(0.0, f64::max);
    let products: f64 = columns().map(|c| lanes::dot(c, r.as_slice()).get().abs()).sum();
    products / (norm_a * size * a.nrows().max(a.ncols()) as f64 * f64::EPSILON)
}

/// A = Q · U Σ Vᵀ · D with orthogonal Q (m × n), U and V and the column lengths D.
struct Factors {
    q: DMatrix<f64>,
    svd: jacobi::Svd,
    lengths: Vec<f64>,
    rank: usize,
}

impl Factors {
    /// Factors a matrix with at least as many rows as columns.
    fn new(a: &DMatrix<f64>) -> Option<Self> {
        let n = a.ncols();
        let qr = a.clone().qr();
        let r = qr.r();
        let lengths: Vec<f64> =
            a.column_iter().map(|c| c.norm()).map(|l| if l > 0.0 { l } else { 1.0 }).collect();
        let svd = jacobi::svd(DMatrix::from_fn(n, n, |i, j| r[(i, j)] / lengths[j]))?;
        let rank = rank(&svd.sigma, a.nrows());
        Some(Self { q: qr.q(), svd, lengths, rank })
    }

    /// A⁺ f: the least coefficients of the best fit of `f`.
    fn pseudo_solve(&self, f: &DVector<f64>) -> DVector<f64> {
        let y = self.svd.u.tr_mul(&self.q.tr_mul(f));
        self.back(|k| y[k] / self.svd.sigma[k])
    }

    /// (AᵀA)⁺ g.
    fn normal_solve(&self, g: &DVector<f64>) -> DVector<f64> {
        let scaled = DVector::from_fn(g.len(), |j, _| g[j] / self.lengths[j]);
        let y = self.svd.v.tr_mul(&scaled);
        self.back(|k| y[k] / self.svd.sigma[k] / self.svd.sigma[k])
    }

    /// D⁻¹ V y over the nonzero singular values.
    fn back(&self, y: impl Fn(usize) -> f64) -> DVector<f64> {
        DVector::from_fn(self.lengths.len(), |j, _| {
            sum((0..self.rank).map(|k| self.svd.v[(j, k)] * y(k))) / self.lengths[j]
        })
    }

    /// Solution and residual, refined together until they converge.
    fn refine(&self, a: &DMatrix<f64>, b: &DVector<f64>) -> Result<(DVector<f64>, DVector<f64>), SolveError> {
        let mut x = self.pseudo_solve(b);
        let mut r = DVector::from_fn(b.len(), |i, _| defect(a, b, &x, None, i));
        let mut last = f64::INFINITY;
        for _ in 0..MAX_STEPS {
            let f = DVector::from_fn(b.len(), |i, _| defect(a, b, &x, Some(&r), i));
            let g = DVector::from_fn(x.len(), |j, _| -dot(a.column(j).iter(), r.iter()));
            let dx = self.pseudo_solve(&f) - self.normal_solve(&g);
            let dr = f - a * &dx;
            let change = dx.component_mul(&DVector::from_column_slice(&self.lengths)).norm();
            // If refinement no longer halves its steps, it has reached the last digit (or cannot
            // gain one, near the limit of the rank rule): the residual test judges the result.
            if !change.is_finite() || change > last / 2.0 {
                break;
            }
            x += dx;
            r += dr;
            last = change;
            if change == 0.0 {
                break;
            }
        }
        if x.iter().chain(r.iter()).all(|v| v.is_finite()) { Ok((x, r)) } else { Err(SolveError::Overflow) }
    }

    /// (AᵀA)⁺.
    fn covariance(&self) -> DMatrix<f64> {
        let n = self.lengths.len();
        let w =
            DMatrix::from_fn(n, self.rank, |j, k| self.svd.v[(j, k)] / self.svd.sigma[k] / self.lengths[j]);
        &w * w.transpose()
    }

    fn condition(&self) -> f64 {
        if self.rank == 0 { 1.0 } else { self.svd.sigma[0] / self.svd.sigma[self.rank - 1] }
    }

    /// Columns linked through the null space, as groups.
    fn dependent(&self) -> Vec<Vec<usize>> {
        let n = self.lengths.len();
        let null = self.svd.v.columns(self.rank, n - self.rank);
        let projector = null * null.transpose();
        let mut group: Vec<Option<usize>> = vec![None; n];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for start in 0..n {
            if group[start].is_some() || projector[(start, start)].abs() <= SHARE {
                continue;
            }
            let (id, mut open, mut members) = (groups.len(), vec![start], Vec::new());
            group[start] = Some(id);
            while let Some(j) = open.pop() {
                members.push(j);
                for k in 0..n {
                    if group[k].is_none() && projector[(j, k)].abs() > SHARE {
                        group[k] = Some(id);
                        open.push(k);
                    }
                }
            }
            members.sort_unstable();
            groups.push(members);
        }
        groups
    }
}

/// Row `i` of b − r − Ax, rounded once.
fn defect(a: &DMatrix<f64>, b: &DVector<f64>, x: &DVector<f64>, r: Option<&DVector<f64>>, i: usize) -> f64 {
    let mut total = double::Sum::default();
    total.add(b[i]);
    if let Some(r) = r {
        total.add(-r[i]);
    }
    for j in 0..x.len() {
        total.add_product(-a[(i, j)], x[j]);
    }
    total.get()
}

/// ‖Aᵀr‖₁ / (‖A‖₁ ‖r‖₁ max(m, n) ε): below 30, `x` is as good a least-squares solution as doubles
/// allow.
///
/// If `b` is met exactly, r is only the rounding of x to doubles, which need not be orthogonal to
/// A. The greatest effect of that rounding, 2ε |Aᵀ|(|A||x| + |b|), is therefore subtracted first;
/// an exact fit has ratio 0.
pub fn residual_ratio(a: &DMatrix<f64>, x: &DVector<f64>, b: &DVector<f64>) -> f64 {
    let (m, n) = a.shape();
    // The residual of x itself, not the one carried through refinement.
    let r = DVector::from_fn(m, |i, _| defect(a, b, x, None, i));
    let allowance = DVector::from_fn(m, |i, _| {
        2.0 * f64::EPSILON * ((0..n).map(|j| (a[(i, j)] * x[j]).abs()).sum::<f64>() + b[i].abs())
    });
    let mut above = 0.0;
    for column in a.column_iter() {
        let product = dot(column.iter(), r.iter()).abs();
        let rounding: f64 = column.iter().zip(allowance.iter()).map(|(x, e)| x.abs() * e).sum();
        above += (product - rounding).max(0.0);
    }
    if above == 0.0 {
        return 0.0;
    }
    let norm_a = a.column_iter().map(|c| c.lp_norm(1)).fold(0.0, f64::max);
    above / (norm_a * r.lp_norm(1) * m.max(n) as f64 * f64::EPSILON)
}

/// The binary exponent e with 2^e ≤ |x| < 2^(e+1), about; 0 for zero.
fn exponent(x: f64) -> i32 {
    if x == 0.0 {
        return 0;
    }
    let bits = ((x.to_bits() >> 52) & 0x7ff) as i32;
    if bits == 0 { exponent(x * 2f64.powi(64)) - 64 } else { bits - 1023 }
}

/// x · 2^e without intermediate overflow.
fn shift(x: f64, e: i32) -> f64 {
    let power = |e: i32| f64::from_bits(((1023 + e.clamp(-1022, 1023)) as u64) << 52);
    let (mut x, mut e) = (x, e);
    while e != 0 && x != 0.0 && x.is_finite() {
        let step = e.clamp(-1022, 1023);
        x *= power(step);
        e -= step;
    }
    x
}

/// x · 2^e for each x.
fn shift_all(from: &[f64], e: i32, to: &mut [f64]) {
    // Within these bounds the power is a double, and no product loses digits.
    if (-1000..=1000).contains(&e) {
        let power = 2f64.powi(e);
        for (to, from) in to.iter_mut().zip(from) {
            *to = from * power;
        }
    } else {
        for (to, from) in to.iter_mut().zip(from) {
            *to = shift(*from, e);
        }
    }
}

#[cfg(test)]
mod tests;
