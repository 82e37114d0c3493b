//! What speaks for and against a fitted model: held-out errors, intervals, and structure in the residuals.
//!
//! The mean relative error of samples that the fit never saw decides between verified and failed (Brewer §3.6.3). A model
//! may pass and still be wrong in a way that shows: residuals that follow an input, noise that grows with the time,
//! one sample that decides alone, intervals that hold fewer new samples than they say. These make it doubtful. Each is
//! asked for at one chance in a thousand, so that a good model is rarely doubted, and only where the errors are large
//! enough to matter: above a tenth of what is accepted.
//!
//! Source: Wald and Wolfowitz (1940) for runs; Breusch and Pagan (1979), in the form of Koenker (1981); Cook (1977).

use strata_model::set::{Quantiles, Verdict};

use crate::regress::Regression;
use crate::solve::sum;
use crate::{Options, Residual};
use strata_model::percent;

/// A standard normal variable is below minus this with a chance of one in a thousand.
const NORMAL: f64 = 3.09;
/// A χ² variable of one degree of freedom is above this with the same chance.
const CHI_SQUARE: f64 = 10.83;
/// The chance below which too few samples in their intervals are no accident.
const CHANCE: f64 = 1e-3;
/// Fewer groups than this show no runs.
const LEAST_GROUPS: usize = 10;
/// A sample with this distance of Cook moves the model by as much as all the noise does.
const COOK: f64 = 1.0;

/// What is known of the held-out samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldOut {
    pub(crate) mre: Option<f64>,
    pub(crate) quantiles: Option<Quantiles>,
    /// How many lie in the interval predicted for them, of how many.
    pub(crate) covered: Option<(usize, usize)>,
}

/// A verdict with its reason in words.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) doubts: Vec<String>,
}

/// Quantiles of the relative error, each the least error that at least the share has; `None` without finite errors.
pub(crate) fn quantiles(residuals: &[Residual]) -> Option<Quantiles> {
    let with_time = residuals.iter().filter(|r| r.observed != 0.0);
    let mut errors: Vec<f64> = with_time.map(|r| r.relative_error().abs()).collect();
    if errors.is_empty() || errors.iter().any(|e| !e.is_finite()) {
        return None;
    }
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((share * errors.len() as f64).ceil() as usize).clamp(1, errors.len()) - 1];
    Some(Quantiles { p50: at(0.5), p90: at(0.9), p95: at(0.95), max: at(1.0) })
}

/// The verdict on a model. `wrong`: where in its domain it predicts what is no time, if anywhere.
pub(crate) fn judge(
    regression: &Regression,
    inputs: &[String],
    fit: &[Residual],
    verify: &[Residual],
    held_out: &HeldOut,
    wrong: Option<String>,
    options: &Options,
) -> Judgement {
    let failed = |reason: String| Judgement { verdict: Verdict::Failed, reason, doubts: Vec::new() };
    let accept = percent(options.accept);
    if regression.coefficients.iter().all(|c| *c == 0.0) {
        return failed("no term is relevant: the times do not depend on any of them".into());
    }
    if let Some(r) = verify.iter().find(|r| !r.predicted.is_finite()) {
        return failed(format!(
            "the prediction at the verification sample of line {} is {}",
            r.line, r.predicted
        ));
    }
    if let Some(r) = verify.iter().find(|r| r.predicted < 0.0 && r.observed >= 0.0) {
        return failed(format!(
            "the prediction at the verification sample of line {} is negative ({:.3e} s)",
            r.line, r.predicted
        ));
    }
    if let Some(wrong) = wrong {
        return failed(wrong);
    }
    let doubts = doubts(regression, inputs, fit, held_out, options);
    let (verdict, reason) = match held_out.mre {
        _ if verify.is_empty() => (Verdict::Unverified, "there are no verification samples".to_owned()),
        None => {
            return failed("the verification samples have no relative error: their times are zero".into());
        }
        Some(mre) if mre > options.accept => {
            return failed(format!(
                "the mean relative error of verification is {}, above the {accept} that is accepted",
                percent(mre)
            ));
        }
        Some(mre) => (
            if doubts.is_empty() { Verdict::Verified } else { Verdict::Doubtful },
            format!(
                "the mean relative error of {} verification samples is {}, {accept} is accepted",
                verify.len(),
                percent(mre)
            ),
        ),
    };
    let reason = if doubts.is_empty() { reason } else { format!("{reason}; but {}", doubts.join("; ")) };
    Judgement { verdict, reason, doubts }
}

/// What speaks against a model that may otherwise pass.
fn doubts(
    regression: &Regression,
    inputs: &[String],
    fit: &[Residual],
    held_out: &HeldOut,
    options: &Options,
) -> Vec<String> {
    let mut doubts = Vec::new();
    if let (Some((inside, of)), Some(mre)) = (held_out.covered, held_out.mre)
        && mre > options.accept / 100.0
        && chance_of_at_most(inside, of, options.confidence) < CHANCE
    {
        doubts.push(format!(
            "only {inside} of {of} verification samples lie in their {} intervals",
            percent(options.confidence)
        ));
    }
    let relative = |r: &Residual| if r.observed == 0.0 { 0.0 } else { r.relative_error().powi(2) };
    let size = (sum(fit.iter().map(relative)) / fit.len().max(1) as f64).sqrt();
    if !size.is_finite() || size <= options.accept / 10.0 {
        return doubts;
    }
    let known = fit.first().map_or(0, |r| r.inputs.len());
    for (input, name) in inputs.iter().enumerate().take(known) {
        if let Some((runs, expected)) = runs(fit, &regression.standardised, input) {
            doubts.push(format!(
                "the residuals follow `{name}` ({runs} runs of one sign where noise has about {expected:.0}): a term is missing"
            ));
        }
    }
    if spread_grows(fit, &regression.standardised) {
        let way = match options.mode {
            strata_model::set::Mode::Relative => "absolute",
            strata_model::set::Mode::Absolute => "relative",
        };
        doubts.push(format!(
            "the scatter changes with the predicted time: intervals are off, {way} errors may suit better"
        ));
    }
    let rank = regression.rank.max(1) as f64;
    let cook = |i: usize| {
        let h = regression.leverages[i];
        regression.standardised[i].powi(2) * h / (rank * (1.0 - h).max(1e-9).powi(2))
    };
    if let Some(worst) = (0..fit.len()).max_by(|a, b| cook(*a).total_cmp(&cook(*b)))
        && cook(worst) > COOK
        && fit.len() >= LEAST_GROUPS
    {
        doubts.push(format!(
            "the sample of line {} decides much of the model alone (Cook's distance {:.1})",
            fit[worst].line,
            cook(worst)
        ));
    }
    doubts
}

/// The chance that of `of` samples, each inside with chance `share`, at most `inside` are.
fn chance_of_at_most(inside: usize, of: usize, share: f64) -> f64 {
    let mut total = 0.0;
    let mut log = of as f64 * (1.0 - share).ln();
    for k in 0..=inside {
        total += log.exp();
        log += ((of - k) as f64 / (k + 1) as f64).ln() + share.ln() - (1.0 - share).ln();
    }
    total.min(1.0)
}

/// The number of runs of one sign along an input and the number expected, if they are too few to be noise.
fn runs(fit: &[Residual], standardised: &[f64], input: usize) -> Option<(usize, f64)> {
    let mut pairs: Vec<(f64, f64)> =
        fit.iter().zip(standardised).map(|(r, z)| (r.inputs[input], *z)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Samples of one value have no order among them.
    let groups = pairs.chunk_by(|a, b| a.0 == b.0).map(|group| sum(group.iter().map(|p| p.1)));
    let signs: Vec<bool> = groups.filter(|mean| *mean != 0.0).map(|mean| mean > 0.0).collect();
    let n = signs.len() as f64;
    let above = signs.iter().filter(|s| **s).count() as f64;
    let below = n - above;
    if signs.len() < LEAST_GROUPS || above == 0.0 || below == 0.0 {
        return None;
    }
    let count = 1 + signs.windows(2).filter(|w| w[0] != w[1]).count();
    let expected = 1.0 + 2.0 * above * below / n;
    let variance = (expected - 1.0) * (expected - 2.0) / (n - 1.0);
    (variance > 0.0 && (count as f64 - expected) / variance.sqrt() < -NORMAL).then_some((count, expected))
}

/// Whether squared residuals depend on the logarithm of the predicted time.
fn spread_grows(fit: &[Residual], standardised: &[f64]) -> bool {
    let pairs: Vec<(f64, f64)> = fit
        .iter()
        .zip(standardised)
        .filter(|(r, _)| r.predicted > 0.0)
        .map(|(r, z)| (r.predicted.ln(), z * z))
        .collect();
    let n = pairs.len() as f64;
    if pairs.len() < LEAST_GROUPS {
        return false;
    }
    let (x, y) = (sum(pairs.iter().map(|p| p.0)) / n, sum(pairs.iter().map(|p| p.1)) / n);
    let product = |f: &dyn Fn(f64, f64) -> f64| sum(pairs.iter().map(|p| f(p.0 - x, p.1 - y)));
    let (xx, yy, xy) = (product(&|x, _| x * x), product(&|_, y| y * y), product(&|x, y| x * y));
    xx > 0.0 && yy > 0.0 && n * xy * xy / (xx * yy) > CHI_SQUARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        assert!((chance_of_at_most(0, 3, 0.5) - 0.125).abs() < 1e-12);
        assert!((chance_of_at_most(18, 20, 0.95) - 0.264_160_474).abs() < 1e-8);
        assert!((chance_of_at_most(20, 20, 0.95) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_errors_that_occurred() {
        let residual = |observed: f64, predicted: f64| Residual {
            model: String::new(),
            line: 1,
            verify: true,
            observed,
            predicted,
            inputs: Vec::new(),
        };
        let all: Vec<Residual> = (1..=20).map(|k| residual(100.0, 100.0 + f64::from(k))).collect();
        let q = quantiles(&all).unwrap();
        assert_eq!((q.p50, q.p90, q.p95, q.max), (0.1, 0.18, 0.19, 0.2));
        assert_eq!(quantiles(&[residual(0.0, 1.0)]), None);
        assert_eq!(quantiles(&[residual(1.0, f64::INFINITY)]), None);
    }
}
