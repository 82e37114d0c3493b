//! Brewer's model fitting: weighted least squares, then irrelevant terms are dropped.
//!
//! A term is relevant if the confidence interval of its coefficient excludes zero. A spec may
//! therefore name any term that *might* matter. In the thesis the least relevant term is dropped
//! while it has |β/h| ≤ 1, and the rest is fitted again; other measures of relevance
//! ([`eliminate`]) use the same loop. By default all sets of terms are compared instead
//! ([`subset`]), so that the order of dropping has no effect.
//!
//! The thesis leaves two cases open. Terms that depend on each other share their weight and have
//! equal ratios except for rounding: ratios within a millionth of the least count as equal, and the
//! last named term is dropped, so the result does not depend on rounding. If the fit is exact, the
//! noise variance is itself rounding; a coefficient must then also exceed the rounding of the data
//! to be relevant.
//!
//! Source: Brewer (1994), §2.3.2 and §3.6.2, eqs 12, 19, 26, 28-30, Fig 3-9.

mod eliminate;
mod nonnegative;
mod outliers;
mod robust;
mod speeds;
mod step;
mod subset;

use nalgebra::{DMatrix, DVector};
use strata_model::set::Mode;

use crate::solve::{SolveError, sum};
use crate::{Elimination, FitOptions, Robust, Weights};
pub(crate) use outliers::{Kept, inliers, plausible, smooth};
use speeds::Speeds;
pub(crate) use step::LEAST_SHARE;
use step::Step;

/// The data of a fit: samples × terms, the times, and their noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    /// n × terms, n ≥ 1.
    pub(crate) terms: &'a DMatrix<f64>,
    /// n times, s.
    pub(crate) times: &'a DVector<f64>,
    /// n variances, s², if known.
    pub(crate) variances: Option<&'a DVector<f64>>,
    /// The number of candidates that the terms were chosen from, themselves included.
    pub(crate) candidates: usize,
    /// The point of each sample, a number: samples of one point are not independent.
    pub(crate) points: &'a [usize],
    /// The number of places that the knee of each term was chosen from; 1 for terms without.
    pub(crate) places: &'a [usize],
    /// The relative noise of each sample whose timings are spread over the run, else infinite.
    pub(crate) noise: &'a [f64],
    /// Whether the samples may be of two speeds of the machine, without moments to separate them.
    pub(crate) mixed: bool,
    /// Variables × n, whose orders samples may follow that look disturbed.
    pub(crate) variables: &'a DMatrix<f64>,
    /// The decimal place to which times are rounded, s.
    pub(crate) last_place: f64,
    /// Whether samples have Huber's weights.
    pub(crate) huber: bool,
}

/// A fitted linear model, before it has a name and a verdict.
#[derive(Clone, Debug)]
pub(crate) struct Regression {
    /// One coefficient for each column; zero if dropped.
    pub(crate) coefficients: Vec<f64>,
    /// Standard errors if every sample were independent of the others; zero where dropped. The
    /// covariance allows for samples of one point, which are not.
    pub(crate) std_errors: Vec<f64>,
    /// Whether the interval of each coefficient excludes zero; with another criterion, whether the
    /// term was kept.
    pub(crate) relevant: Vec<bool>,
    /// Covariance of the coefficients, with zero rows for dropped terms.
    pub(crate) covariance: Vec<Vec<f64>>,
    /// The factor by which samples of one point make variances larger.
    pub(crate) design_effect: f64,
    /// V, the weighted residual variance (eq 12, with r the rank), from which a new measurement's
    /// scatter follows.
    pub(crate) noise_variance: f64,
    /// t(confidence, n − r).
    pub(crate) t_quantile: f64,
    /// 1 − SSE/SST, see [`fit`].
    pub(crate) r2: f64,
    pub(crate) rank: usize,
    pub(crate) condition: f64,
    /// Groups of dependent columns among all candidates, before any was dropped.
    pub(crate) dependent: Vec<Vec<usize>>,
    /// The effect of each sample's own time on its prediction: 0 to 1.
    pub(crate) leverages: Vec<f64>,
    /// The weighted error of each sample when predicted from those of all other points.
    pub(crate) left_out: Vec<f64>,
    /// Residuals in units of their standard deviations under the weights; zero if the fit is exact
    /// except for rounding, and for samples that were left out.
    pub(crate) standardised: Vec<f64>,
    /// The samples that the model excludes, rising: left out as outliers, or of another speed.
    pub(crate) rejected: Vec<usize>,
    /// If those samples were taken at a slower speed of the machine, the ratio of times.
    pub(crate) slower: Option<f64>,
}

/// At most one in so many samples is left out, see [`fit`].
const SURE: usize = 6;

/// Why there is no regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Failure {
    /// There are no more samples than independent terms, so the noise cannot be estimated.
    TooFew {
        needed: usize,
    },
    Solve(SolveError),
}

/// Fits times to terms.
///
/// With weights w (y/ȳ or ŷ/ȳ in relative mode, the standard deviations if given, else 1), χ² =
/// Σ((y − ŷ)/w)² is minimised. R² is 1 − χ²/Σ((y − c)/w)² with the constant c that is best under
/// the same weights. Without weights and with a constant term that is the usual R²; without a
/// constant term it is still comparable.
pub(crate) fn fit(data: Data<'_>, options: &FitOptions) -> Result<Regression, Failure> {
    if options.robust == Robust::Reject && options.weights == Weights::Predicted {
        let mean = sum(data.times.iter().copied()) / data.times.len() as f64;
        // A time near zero would outweigh all others.
        if options.mode == Mode::Relative
            && data.variances.is_none()
            && let Some(kept) = plausible(data.variables, data.times, data.noise)
        {
            return fit_part(data, &kept, mean, options, true);
        }
        let weights = start_weights(data, options, mean);
        let rows =
            DMatrix::from_fn(data.terms.nrows(), data.terms.ncols(), |i, j| data.terms[(i, j)] * weights[i]);
        let times = data.times.component_mul(&weights);
        let mixed = data.mixed && options.mode == Mode::Relative;
        if let Some(speeds) =
            if mixed { speeds::two(&rows, data.variables, &times, data.points) } else { None }
        {
            return fit_at_one_speed(data, &speeds, mean, options);
        }
        let noise: Vec<f64> = data.noise.iter().zip(times.iter()).map(|(n, t)| n * t.abs()).collect();
        if let Some(Kept { rows: kept, misfits }) = inliers(&rows, data.variables, &times, &noise) {
            // If many samples are far off, the machine's own speed is unclear, and if the model
            // misses, no samples are reliable alone: Huber's weights are a compromise.
            if misfits || SURE * kept.len() < (SURE - 1) * data.times.len() {
                return fit_all(Data { huber: true, ..data }, options);
            }
            return fit_part(data, &kept, mean, options, false);
        }
    }
    fit_all(data, options)
}

/// Fits some of the samples, `again` looking for outliers among them. The interval of a new sample
/// also covers those left out, because such samples may recur.
fn fit_part(
    data: Data<'_>,
    kept: &[usize],
    mean: f64,
    options: &FitOptions,
    again: bool,
) -> Result<Regression, Failure> {
    let n = data.times.len();
    let (terms, times) = (data.terms.select_rows(kept), data.times.select_rows(kept));
    let variances = data.variances.map(|v| v.select_rows(kept));
    let points: Vec<usize> = kept.iter().map(|i| data.points[*i]).collect();
    let noise: Vec<f64> = kept.iter().map(|i| data.noise[*i]).collect();
    let (points, noise) = (&points[..], &noise[..]);
    let variables = &data.variables.select_columns(kept);
    let part = Data {
        terms: &terms,
        times: &times,
        variances: variances.as_ref(),
        points,
        noise,
        variables,
        ..data
    };
    let mut found = if again { fit(part, options)? } else { fit_all(part, options)? };
    // Variances are in units of the mean time of the weights, see `Step`.
    if options.mode == Mode::Relative {
        let own = sum(times.iter().copied()) / times.len() as f64;
        found.noise_variance *= (mean / own).powi(2);
        found.left_out.iter_mut().for_each(|error| *error *= mean / own);
    }
    let spread = |values: &[f64], mut all: Vec<f64>| {
        kept.iter().zip(values).for_each(|(i, value)| all[*i] = *value);
        all
    };
    found.leverages = spread(&found.leverages, vec![0.0; n]);
    found.standardised = spread(&found.standardised, vec![0.0; n]);
    found.left_out = spread(&found.left_out, found.errors(data, mean, options));
    found.cover(options);
    let rejected = found.rejected.iter().map(|i| kept[*i]);
    found.rejected = (0..n).filter(|i| kept.binary_search(i).is_err()).chain(rejected).collect();
    found.rejected.sort_unstable();
    Ok(found)
}

/// Fits all samples as taken at the fast speed. The interval of a new sample covers both.
fn fit_at_one_speed(
    data: Data<'_>,
    speeds: &Speeds,
    mean: f64,
    options: &FitOptions,
) -> Result<Regression, Failure> {
    let mut times = data.times.clone();
    for &i in &speeds.slow {
        times[i] /= speeds.ratio;
    }
    let mut found = fit_all(Data { times: &times, ..data }, options)?;
    let own = sum(times.iter().copied()) / times.len() as f64;
    found.noise_variance *= (mean / own).powi(2);
    found.left_out.iter_mut().for_each(|error| *error *= mean / own);
    let errors = found.errors(data, mean, options);
    for &i in &speeds.slow {
        found.left_out[i] = errors[i];
    }
    found.cover(options);
    found.rejected.clone_from(&speeds.slow);
    found.slower = Some(speeds.ratio);
    Ok(found)
}

impl Regression {
    /// The size of each sample's error, under the weights of a new measurement.
    fn errors(&self, data: Data<'_>, mean: f64, options: &FitOptions) -> Vec<f64> {
        let kept: Vec<usize> = (0..data.terms.ncols()).filter(|j| self.coefficients[*j] != 0.0).collect();
        let error = |i: usize| {
            let predicted = sum(kept.iter().map(|j| self.coefficients[*j] * data.terms[(i, *j)]));
            let unit = if options.mode == Mode::Relative { predicted.abs() / mean } else { 1.0 };
            (data.times[i] - predicted).abs() / unit
        };
        (0..data.times.len()).map(error).collect()
    }

    /// Widens the variance of a new measurement until its interval would have covered the claimed
    /// share of the samples, each predicted from all other points, for any distribution of the
    /// noise: Barber et al., *Predictive inference with the jackknife+* (2021).
    fn cover(&mut self, options: &FitOptions) {
        let mut sizes: Vec<f64> = self.left_out.iter().map(|error| error.abs()).collect();
        let n = sizes.len();
        sizes.sort_by(f64::total_cmp);
        let covering = sizes[((options.confidence * (n + 1) as f64).ceil() as usize).clamp(1, n) - 1];
        if covering.is_finite() {
            self.noise_variance = self.noise_variance.max((covering / self.t_quantile).powi(2));
        }
    }
}

/// Fits all samples.
fn fit_all(data: Data<'_>, options: &FitOptions) -> Result<Regression, Failure> {
    let terms = data.terms.ncols();
    let mean = sum(data.times.iter().copied()) / data.times.len() as f64;
    let start = start_weights(data, options, mean);
    if !mean.is_finite() || start.iter().any(|v| !v.is_finite()) {
        return Err(Failure::Solve(SolveError::Overflow));
    }
    let mut kept: Vec<usize> = (0..terms).collect();
    let (mut dependent, mut leading) = (None, None);
    loop {
        let step = Step::new(data, &start, mean, &kept, options)?;
        let dependent = dependent.get_or_insert_with(|| step.dependent());
        if !options.keep_all
            && let Some(at) = {
                let leading = leading.get_or_insert_with(|| subset::leading(&step));
                let needed = |term| subset::needed(&step, options.confidence, data, term);
                eliminate::least_relevant(&step, options.elimination, leading, &needed)
            }
        {
            kept.retain(|term| *term != step.active[at]);
            continue;
        }
        let mut step = step;
        if !options.keep_all && options.elimination == Elimination::BestSubset {
            let best = subset::best(&step, options.confidence, data);
            if best.len() < step.active.len() {
                kept = best.into_iter().map(|at| step.active[at]).collect();
                step = Step::new(data, &start, mean, &kept, options)?;
            }
        }
        let mut found = step.finish(data, mean, std::mem::take(dependent), options);
        if options.elimination != Elimination::Confidence && data.variances.is_none() {
            found.cover(options);
        }
        return Ok(found);
    }
}

/// One over the weights, before the first prediction.
fn start_weights(data: Data<'_>, options: &FitOptions, mean: f64) -> DVector<f64> {
    match (data.variances, options.mode) {
        (Some(variances), _) => {
            let typical = (sum(variances.iter().copied()) / variances.len() as f64).sqrt();
            variances.map(|v| typical / v.sqrt())
        }
        (None, Mode::Relative) => data.times.map(|y| mean / y),
        (None, Mode::Absolute) => DVector::from_element(data.times.len(), 1.0),
    }
}

#[cfg(test)]
mod tests;
