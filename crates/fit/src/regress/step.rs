//! One turn of the elimination: a fit of the terms still kept, with the statistics that judge them.

use nalgebra::{DMatrix, DVector};
use strata_model::set::Mode;

use super::{Data, Failure, Regression, nonnegative, robust};
use crate::points::{self, left_out};
use crate::solve::{Solution, SolveError, solve, sum};
use crate::stats::t_quantile;
use crate::{Elimination, FitOptions, Weights};

/// How often weights are recomputed from new predictions; they converge in a few turns.
const MAX_TURNS: usize = 30;
/// Weights that change by less than this share have converged.
const SETTLED: f64 = 1e-9;
/// A predicted time is the weight if it is between this share of the measured time and the measured
/// time over this share; otherwise that limit is the weight. A sample that took several times as
/// long, because of other programs, then has no more effect than in the thesis, and a model that is
/// far off gains nothing by large predictions. Noise of 10 % exceeds the limits once in a thousand
/// times.
pub(crate) const LEAST_SHARE: f64 = 0.75;

/// A fit of some of the terms.
pub(super) struct Step {
    /// The terms with a coefficient: the kept terms, without those that must be zero to avoid a
    /// negative coefficient.
    pub(super) active: Vec<usize>,
    /// `None` if no term is active.
    pub(super) solution: Option<Solution>,
    /// The weighted system that was solved last.
    pub(super) rows: DMatrix<f64>,
    /// One over the weights, before robust fitting.
    weights: DVector<f64>,
    /// Weighted residuals of all samples, outliers included.
    residuals: DVector<f64>,
    /// The share of its weight that each sample keeps in robust fitting.
    shares: Option<Vec<f64>>,
    sse: f64,
    /// The equivalent number of independent samples.
    pub(super) samples: f64,
    /// The design effect: samples of one point depend on each other, which multiplies the variance
    /// of means by this.
    effect: f64,
    /// The factor from (AᵀA)⁻¹ to the covariance.
    pub(super) variance: f64,
    /// The weighted variance of one sample.
    noise: f64,
    /// The variance that rounding of the data alone would cause: of doubles, and of times to the last
    /// place that they are written with.
    pub(super) rounding: f64,
    pub(super) t: f64,
}

impl Step {
    pub(super) fn new(
        data: Data<'_>,
        start: &DVector<f64>,
        mean: f64,
        kept: &[usize],
        options: &FitOptions,
    ) -> Result<Self, Failure> {
        let iterate = options.mode == Mode::Relative
            && options.weights == Weights::Predicted
            && data.variances.is_none()
            && !kept.is_empty();
        let mut step = Self::weighted(data, start.clone(), kept, options)?;
        if iterate {
            for _ in 0..MAX_TURNS {
                let predicted = step.predicted(data);
                let next = DVector::from_fn(start.len(), |i, _| {
                    let y = data.times[i];
                    mean / predicted[i].clamp(LEAST_SHARE * y, y / LEAST_SHARE)
                });
                let change = next.iter().zip(step.weights.iter()).map(|(a, b)| (a / b - 1.0).abs());
                let change = change.fold(0.0, f64::max);
                if change < SETTLED {
                    break;
                }
                step = Self::weighted(data, next, kept, options)?;
            }
        }
        Ok(step)
    }

    fn weighted(
        data: Data<'_>,
        weights: DVector<f64>,
        kept: &[usize],
        options: &FitOptions,
    ) -> Result<Self, Failure> {
        let n = data.times.len();
        let all = DMatrix::from_fn(n, kept.len(), |i, k| data.terms[(i, kept[k])] * weights[i]);
        let b = data.times.component_mul(&weights);
        if all.iter().chain(b.iter()).any(|v| !v.is_finite()) {
            return Err(Failure::Solve(SolveError::Overflow));
        }
        let chosen: Vec<usize> = if options.nonnegative && !kept.is_empty() {
            nonnegative::passive(&all, &b).map_err(Failure::Solve)?
        } else {
            (0..kept.len()).collect()
        };
        let active: Vec<usize> = chosen.iter().map(|k| kept[*k]).collect();
        let mut rows = if chosen.len() == kept.len() { all } else { all.select_columns(&chosen) };
        let mut solution = None;
        if !active.is_empty() {
            solution = Some(solve(&rows, &b).map_err(Failure::Solve)?);
        }
        let rank = solution.as_ref().map_or(0, |s| s.rank);
        // With fewer samples than terms the rank is n: all terms then count as needed.
        let needed = 1 + if n < active.len() { data.terms.ncols() } else { rank };
        let freedom = n.checked_sub(rank).filter(|&f| f > 0).ok_or(Failure::TooFew { needed })?;
        let size = solution.as_ref().map_or(b.abs(), |s| rows.abs() * s.coefficients.abs() + b.abs());
        let written = weights.iter().map(|w| (0.5 * data.last_place * w).powi(2));
        let rounding = (squares(&(size * (4.0 * f64::EPSILON))) + sum(written)) / n as f64;
        let (mut noise, mut shares) = (None, None);
        let mut variance = None;
        if let Some(plain) = solution.as_ref().filter(|_| data.huber) {
            let found = robust::fit(&rows, &b, plain, rounding.sqrt()).map_err(Failure::Solve)?;
            noise = Some(found.scale * found.scale);
            variance = Some(found.variance);
            for (mut row, share) in rows.row_iter_mut().zip(&found.shares) {
                row *= share.sqrt();
            }
            shares = Some(found.shares);
            solution = Some(found.solution);
        }
        let residuals = solution.as_ref().map_or_else(|| b.clone(), |s| s.residual.clone());
        let sse = squares(&residuals);
        let plain = sse / freedom as f64;
        let effect = match options.elimination {
            // The thesis assumes that all samples are independent.
            Elimination::Confidence => 1.0,
            // Equal times of a point have equal rounding, which says nothing about the point.
            _ if plain <= rounding => 1.0,
            _ => {
                let left = |i: usize| shares.as_ref().map_or(1.0, |s: &Vec<f64>| s[i].sqrt());
                let along = DVector::from_fn(n, |i, _| weights[i] * left(i));
                let weighted = DVector::from_fn(n, |i, _| residuals[i] * left(i));
                points::design_effect(weighted.as_slice(), along.as_slice(), data.points, rank)
            }
        };
        let samples = n as f64 / effect;
        let told = (samples.round() as usize).saturating_sub(rank).max(1);
        let t = t_quantile(options.confidence, told).ok_or(Failure::Solve(SolveError::Overflow))?;
        let (variance, noise) = (effect * variance.unwrap_or(plain), noise.unwrap_or(plain));
        if !variance.is_finite() || !rounding.is_finite() {
            return Err(Failure::Solve(SolveError::Overflow));
        }
        Ok(Self {
            active,
            solution,
            rows,
            weights,
            residuals,
            shares,
            sse,
            samples,
            effect,
            variance,
            noise,
            rounding,
            t,
        })
    }

    fn predicted(&self, data: Data<'_>) -> DVector<f64> {
        // y − r/v: if the fit is close, the residual has more accurate digits.
        DVector::from_fn(data.times.len(), |i, _| data.times[i] - self.residuals[i] / self.weights[i])
    }

    /// Groups of dependent terms.
    pub(super) fn dependent(&self) -> Vec<Vec<usize>> {
        let groups = self.solution.as_ref().map_or(&[][..], |s| &s.dependent);
        groups.iter().map(|group| group.iter().map(|k| self.active[*k]).collect()).collect()
    }

    /// |β/h| of each active term; zero for a coefficient of zero, with any interval.
    pub(super) fn ratios(&self) -> Vec<f64> {
        let Some(s) = &self.solution else { return Vec::new() };
        let variance = self.variance.max(self.rounding);
        let ratio = |j: usize| {
            let beta = s.coefficients[j].abs();
            if beta == 0.0 { 0.0 } else { beta / (self.t * (variance * s.covariance[(j, j)]).sqrt()) }
        };
        (0..s.coefficients.len()).map(ratio).collect()
    }

    /// A residual under the weights after robust fitting.
    pub(super) fn weighted_residual(&self, i: usize) -> f64 {
        self.residuals[i] * self.shares.as_ref().map_or(1.0, |shares| shares[i].sqrt())
    }

    /// The sum of their squares.
    pub(super) fn weighted_sse(&self) -> f64 {
        sum((0..self.residuals.len()).map(|i| self.weighted_residual(i).powi(2)))
    }

    /// aᵢᵀ (AᵀA)⁻¹ aᵢ of each sample.
    pub(super) fn leverages(&self) -> Vec<f64> {
        let Some(s) = &self.solution else { return vec![0.0; self.rows.nrows()] };
        let half = &self.rows * &s.covariance;
        (0..self.rows.nrows()).map(|i| half.row(i).dot(&self.rows.row(i)).clamp(0.0, 1.0)).collect()
    }

    pub(super) fn finish(
        &self,
        data: Data<'_>,
        mean: f64,
        dependent: Vec<Vec<usize>>,
        options: &FitOptions,
    ) -> Regression {
        let terms = data.terms.ncols();
        let b = data.times.component_mul(&self.weights);
        let r2 = r_squared(&b, &self.weights, data.times, self.sse);
        let exact = self.noise <= self.rounding;
        let scale = self.noise.sqrt();
        let leverages = self.leverages();
        let mut out = Regression {
            coefficients: vec![0.0; terms],
            std_errors: vec![0.0; terms],
            relevant: vec![false; terms],
            covariance: vec![vec![0.0; terms]; terms],
            design_effect: self.effect,
            noise_variance: self.noise_of_mode(data, mean, options),
            t_quantile: self.t,
            r2,
            rank: 0,
            condition: 1.0,
            dependent,
            left_out: left_out(self.residuals.as_slice(), &leverages, data.points),
            leverages,
            rejected: Vec::new(),
            slower: None,
            standardised: self.residuals.iter().map(|r| if exact { 0.0 } else { r / scale }).collect(),
        };
        let Some(s) = &self.solution else { return out };
        (out.rank, out.condition) = (s.rank, s.condition);
        let by_interval = options.keep_all || options.elimination == Elimination::Confidence;
        for (k, (&j, ratio)) in self.active.iter().zip(self.ratios()).enumerate() {
            out.coefficients[j] = s.coefficients[k];
            out.std_errors[j] = (self.variance / self.effect * s.covariance[(k, k)]).sqrt();
            out.relevant[j] = if by_interval { ratio > 1.0 } else { s.coefficients[k] != 0.0 };
            for (l, &i) in self.active.iter().enumerate() {
                out.covariance[j][i] = self.variance * s.covariance[(k, l)];
            }
        }
        out
    }

    /// V under the weights of the mode for a new measurement, also if the fit used given variances.
    fn noise_of_mode(&self, data: Data<'_>, mean: f64, options: &FitOptions) -> f64 {
        if data.variances.is_none() {
            return self.noise;
        }
        let (n, rank) = (data.times.len(), self.solution.as_ref().map_or(0, |s| s.rank));
        let predicted = self.predicted(data);
        let residual = (0..n).map(|i| {
            let r = self.residuals[i] / self.weights[i];
            let weight = if options.mode == Mode::Relative {
                mean / predicted[i].abs().max(f64::MIN_POSITIVE)
            } else {
                1.0
            };
            (r * weight).powi(2)
        });
        sum(residual) / (n - rank) as f64
    }
}

fn squares(v: &DVector<f64>) -> f64 {
    sum(v.iter().map(|x| x * x))
}

/// R² from the weighted sum of squared errors.
fn r_squared(b: &DVector<f64>, inverse_weights: &DVector<f64>, y: &DVector<f64>, sse: f64) -> f64 {
    let best = sum(b.iter().zip(inverse_weights.iter()).map(|(b, v)| b * v))
        / sum(inverse_weights.iter().map(|v| v * v));
    let sst = sum(y.iter().zip(inverse_weights.iter()).map(|(y, v)| ((y - best) * v).powi(2)));
    let rounding = sum(b.iter().map(|b| (4.0 * f64::EPSILON * b).powi(2)));
    if sst > rounding {
        1.0 - sse / sst
    } else if sse <= rounding {
        1.0
    } else {
        0.0
    }
}
