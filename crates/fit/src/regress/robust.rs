//! M-estimation: samples that are far off lose weight, until weights and coefficients agree.
//!
//! Source: Huber and Ronchetti, *Robust Statistics*, 2nd ed. (2009), §7.5-7.8; covariance H1 of
//! §7.6.

use nalgebra::{DMatrix, DVector};

use crate::solve::{Solution, SolveError, solve, sum};

const MAX_TURNS: usize = 500;
/// Coefficients that move by less than this share of their own size have settled.
const SETTLED: f64 = 1e-13;
/// The median absolute value of a standard normal variable.
const NORMAL_MAD: f64 = 0.674_489_750_196_081_7;

/// A robust fit.
pub(super) struct Found {
    /// Coefficients of the weighted fit, residuals of all samples, and (AᵀA)⁻¹ of all samples.
    pub(super) solution: Solution,
    /// The share of its weight that each sample kept, 0 to 1.
    pub(super) shares: Vec<f64>,
    /// The standard deviation of the samples without outliers.
    pub(super) scale: f64,
    /// The factor from (AᵀA)⁻¹ to the covariance.
    pub(super) variance: f64,
}

/// Repeats the fit, beginning with the plain least-squares solution. `floor`: the least scale.
pub(super) fn fit(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    plain: &Solution,
    floor: f64,
) -> Result<Found, SolveError> {
    let n = b.len();
    let mut residual = plain.residual.clone();
    let mut coefficients = plain.coefficients.clone();
    let mut shares = vec![1.0; n];
    let mut scale = scale_of(&residual, floor);
    for _ in 0..MAX_TURNS {
        shares = residual.iter().map(|r| weight(r / scale)).collect();
        let roots = DVector::from_iterator(n, shares.iter().map(|w: &f64| w.sqrt()));
        let rows = DMatrix::from_fn(n, a.ncols(), |i, j| a[(i, j)] * roots[i]);
        let found = solve(&rows, &b.component_mul(&roots))?;
        if found.rank < plain.rank {
            // Too few samples are left to distinguish the terms.
            break;
        }
        let moved =
            (&found.coefficients - &coefficients).amax() / found.coefficients.amax().max(f64::MIN_POSITIVE);
        coefficients = found.coefficients;
        residual = b - a * &coefficients;
        scale = scale_of(&residual, floor);
        if moved < SETTLED {
            break;
        }
    }
    let freedom = (n - plain.rank) as f64;
    let slopes: Vec<f64> = residual.iter().map(|r| slope(r / scale)).collect();
    let mean = sum(slopes.iter().copied()) / n as f64;
    let spread = sum(slopes.iter().map(|s| (s - mean).powi(2))) / n as f64;
    let correction = 1.0 + plain.rank as f64 / n as f64 * spread / (mean * mean);
    let influence = sum(residual.iter().map(|r| (r / scale * weight(r / scale)).powi(2))) / freedom;
    let variance = correction * correction * influence * scale * scale / (mean * mean);
    let solution = Solution { coefficients, residual, ..plain.clone() };
    Ok(Found { solution, shares, scale, variance })
}

/// The standard deviation from the median absolute residual.
fn scale_of(residual: &DVector<f64>, floor: f64) -> f64 {
    let mut sizes: Vec<f64> = residual.iter().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let n = sizes.len();
    let median = if n % 2 == 1 { sizes[n / 2] } else { (sizes[n / 2 - 1] + sizes[n / 2]) / 2.0 };
    (median / NORMAL_MAD).max(floor).max(f64::MIN_POSITIVE)
}

/// The weight of a standardised residual: beyond this many standard deviations it falls as one over
/// the residual.
const TUNED: f64 = 1.345;

fn weight(z: f64) -> f64 {
    TUNED / z.abs().max(TUNED)
}

/// The derivative of z times its weight.
fn slope(z: f64) -> f64 {
    f64::from(z.abs() <= TUNED)
}
