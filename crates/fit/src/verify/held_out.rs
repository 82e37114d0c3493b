//! The errors of held-out samples: quantiles, and the model's own part beside the noise of the
//! samples.

use strata_model::set::Quantiles;

use super::Between;
use crate::Residual;
use crate::regress::Regression;
use crate::solve::sum;

/// The mean of the absolute value of a standard normal variable.
pub(crate) const MEAN_OF_NORMAL: f64 = 0.797_884_560_802_865_4;
/// Resamples of the bootstrap.
const RESAMPLED: usize = 600;
/// A held-out sample that is off by this many standard deviations of the fit was taken at another
/// speed, if other samples were.
const SPOILED: f64 = 4.0;
/// A held-out sample with so many times the median noise, or so many times its own value if that is
/// less, is not used.
const NOISY: f64 = 3.0;
const QUIET: f64 = 0.03;
/// The greatest relative uncertainty of a prediction.
pub(super) const LIMIT: f64 = 1e3;

/// The evidence of the held-out samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldOut {
    pub(crate) mre: Option<f64>,
    pub(crate) quantiles: Option<Quantiles>,
    /// The mean relative error that the noise of the samples alone would cause.
    pub(crate) noise: f64,
    /// The mean relative error that noise does not explain.
    pub(crate) own: Option<Own>,
    /// The relative standard deviation of the expected time about the *prediction* that noise does
    /// not explain: a model that predicts a tenth of the time is ten times uncertain, though its
    /// relative error is below one.
    pub(crate) deviation: f64,
    /// How many are as far off as the samples that the fit left out.
    pub(crate) spoiled: usize,
    /// How many are too noisy to be used.
    pub(crate) noisy: usize,
    /// The inputs of which held-out samples verify only the few values that were fitted.
    pub(crate) between: Vec<Between>,
}

/// An error with its 95 % interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Quantiles of the relative error, each the least error that is not exceeded by that share; `None`
/// without finite errors.
fn quantiles(residuals: &[Residual]) -> Option<Quantiles> {
    let with_time = residuals.iter().filter(|r| r.observed != 0.0);
    let mut errors: Vec<f64> = with_time.map(|r| r.relative_error().abs()).collect();
    if errors.is_empty() || errors.iter().any(|e| !e.is_finite()) {
        return None;
    }
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((share * errors.len() as f64).ceil() as usize).clamp(1, errors.len()) - 1];
    Some(Quantiles { p50: at(0.5), p90: at(0.9), p95: at(0.95), max: at(1.0) })
}

impl HeldOut {
    /// The evidence of the held-out samples. `noise`: the relative standard deviation of the noise
    /// in each of them. `between`: see [`Between`].
    pub(crate) fn new(
        regression: &Regression,
        fit: &[Residual],
        verify: &[Residual],
        noise: &[f64],
        mre: Option<f64>,
        between: Vec<Between>,
    ) -> Self {
        let error = |r: &Residual| r.relative_error().abs();
        let deviation = between.iter().map(Between::deviation).fold(0.0, f64::max);
        let mut held_out = Self { mre, quantiles: quantiles(verify), deviation, between, ..Self::default() };
        let mut points: Vec<(f64, f64)> = verify
            .iter()
            .zip(noise)
            .filter(|(r, _)| r.observed != 0.0)
            .map(|(r, n)| (error(r), MEAN_OF_NORMAL * n))
            .collect();
        if points.is_empty() || points.iter().any(|p| !p.0.is_finite()) {
            return held_out;
        }
        // One such sample would otherwise hide the errors of all others.
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        let limit = NOISY * points[points.len() / 2].1.max(QUIET);
        let telling = points.partition_point(|p| p.1 <= limit);
        held_out.noisy = points.len() - telling;
        points.truncate(telling);
        // If the fit left out samples, the same share of these may be disturbed, if they are as far
        // off.
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let left: Vec<&Residual> = fit
            .iter()
            .enumerate()
            .filter(|(i, _)| regression.rejected.binary_search(i).is_err())
            .map(|p| p.1)
            .collect();
        let share = regression.rejected.len() as f64 / fit.len() as f64;
        let limit = SPOILED * (sum(left.iter().map(|r| error(r).powi(2))) / left.len().max(1) as f64).sqrt();
        let allowed = (1.5 * share * points.len() as f64).ceil() as usize;
        let far = points.iter().filter(|p| p.0 > limit).count();
        held_out.spoiled = far.min(allowed).min(points.len() - 1);
        points.truncate(points.len() - held_out.spoiled);
        let most = points.last().map_or(0.0, |p| p.0);
        let near = verify.iter().filter(|r| r.observed != 0.0 && error(r) <= most);
        let sizes: Vec<f64> =
            near.map(|r| ((r.observed - r.predicted) / r.predicted).abs().min(LIMIT)).collect();
        let size = sum(sizes.iter().copied()) / sizes.len().max(1) as f64;
        held_out.noise = (sum(points.iter().map(|p| p.1 * p.1)) / points.len() as f64).sqrt();
        let own = own_error(&points);
        let beyond = (size * size - held_out.noise * held_out.noise).max(0.0).sqrt();
        held_out.deviation = held_out.deviation.max(own.at.max(beyond) / MEAN_OF_NORMAL);
        held_out.own = Some(own);
        held_out
    }
}

/// The part of the mean relative error that the noise does not explain, with its 95 % interval by
/// the bootstrap over points: Efron and Tibshirani, *An Introduction to the Bootstrap* (1993),
/// §13.3.
pub(super) fn own_error(points: &[(f64, f64)]) -> Own {
    let of = |chosen: &mut dyn Iterator<Item = &(f64, f64)>| {
        let (mut log, mut square, mut count) = (0.0, 0.0, 0.0);
        for (error, noise) in chosen {
            log += error.ln_1p();
            square += noise * noise;
            count += 1.0;
        }
        ((log / count).exp_m1().powi(2) - square / count).max(0.0).sqrt()
    };
    // A fixed generator, so that the same samples have the same verdict: Marsaglia (2003).
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        &points[(state % points.len() as u64) as usize]
    };
    let mut again: Vec<f64> = (0..RESAMPLED).map(|_| of(&mut (0..points.len()).map(|_| draw()))).collect();
    again.sort_by(f64::total_cmp);
    let at = |share: f64| again[(share * (RESAMPLED - 1) as f64).round() as usize];
    Own { at: of(&mut points.iter()), low: at(0.025), high: at(0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_errors_that_occurred() {
        let residual = |observed: f64, predicted: f64| Residual {
            line: 1,
            verify: true,
            observed,
            predicted,
            noise: 0.0,
            inputs: Vec::new(),
        };
        let all: Vec<Residual> = (1..=20).map(|k| residual(100.0, 100.0 + f64::from(k))).collect();
        let q = quantiles(&all).unwrap();
        assert_eq!((q.p50, q.p90, q.p95, q.max), (0.1, 0.18, 0.19, 0.2));
        assert_eq!(quantiles(&[residual(0.0, 1.0)]), None);
        assert_eq!(quantiles(&[residual(1.0, f64::INFINITY)]), None);
    }
}
