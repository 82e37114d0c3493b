//! The evidence for and against a fitted model: held-out errors, intervals, and structure in the
//! residuals.
//!
//! The mean relative error of held-out samples decides between verified and failed (Brewer §3.6.3),
//! but only the model's own part of it: the noise of the samples, known from their repeats, is
//! taken out. The model is verified if the 95 % interval of the rest lies within the accepted
//! error, and failed if it lies above. Otherwise the model is as good as these samples can show.
//!
//! A model may pass with a visible error: residuals that follow an input, errors that change with
//! the predicted time, one sample that decides alone. Each is tested at one chance in a thousand,
//! and only if the errors matter: above a tenth of the accepted error. The model is doubtful unless
//! held-out samples exclude that, for a third of the input's values or of the times, the model is
//! off by more than is accepted. If they exclude it, the reason of the verified model mentions the
//! finding: a term is missing, or intervals are too narrow.
//!
//! Source: Wald and Wolfowitz (1940) for runs; Breusch and Pagan (1979), in the form of Koenker
//! (1981); Cook (1977).

use std::fmt::Write as _;

use strata_model::set::{Mode, Quantiles, Verdict};

use crate::regress::Regression;
use crate::solve::sum;
use crate::stats::t_quantile;
use crate::{FitOptions, Residual};
use strata_model::percent;

/// A standard normal variable is below minus this with a chance of one in a thousand.
const NORMAL: f64 = 3.09;
/// A χ² variable of one degree of freedom is above this with the same chance.
const CHI_SQUARE: f64 = 10.83;
/// The probability that any of all samples is as far from the fit of the others by chance.
const CHANCE: f64 = 1e-3;
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
const LIMIT: f64 = 1e3;
/// A third of the samples with so many times the mean error is mentioned.
const STANDS_OUT: f64 = 1.25;
/// Tasks below these times may be empty, or too short for the timer, s.
const NOTHING: f64 = 5e-9;
const COARSE: f64 = 1e-5;
/// An input varies if its greatest value is this many times its least.
const VARIES: f64 = 8.0;
/// With fewer groups, runs are not significant.
const LEAST_GROUPS: usize = 10;
/// A sample with this distance of Cook moves the model by as much as all the noise does.
const COOK: f64 = 1.0;

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
}

/// An error with its 95 % interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A verdict with its reason as text.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) doubts: Vec<String>,
}

/// Quantiles of the relative error, each the least error that is not exceeded by that share; `None`
/// without finite errors.
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

/// The verdict on a model. `wrong`: where in its domain a prediction is not a time, if anywhere.
pub(crate) fn judge(
    regression: &Regression,
    inputs: &[String],
    fit: &[Residual],
    verify: &[Residual],
    held_out: &HeldOut,
    wrong: Option<String>,
    options: &FitOptions,
) -> Judgement {
    let failed = |reason: String| Judgement { verdict: Verdict::Failed, reason, doubts: Vec::new() };
    let accept = percent(options.accept);
    if regression.coefficients.iter().all(|c| *c == 0.0) {
        return failed(if options.constant && regression.coefficients.len() == 1 {
            "there are no terms but a constant, which these samples do not tell from zero: name terms, or give \
             more samples to search for some"
                .into()
        } else {
            "no term is relevant: the times do not depend on any of them".into()
        });
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
    if verify.is_empty() {
        let reason = "there are no verification samples".to_owned();
        return Judgement { verdict: Verdict::Unverified, reason, doubts: Vec::new() };
    }
    let Some((mre, own)) = held_out.mre.zip(held_out.own) else {
        return failed("the verification samples have no relative error: their times are zero".into());
    };
    let mut reason =
        format!("the mean relative error of {} verification samples is {}", verify.len(), percent(mre));
    if held_out.noise > 0.0 {
        let _ = write!(
            reason,
            ", of which the noise of the samples explains {}",
            percent(held_out.noise.min(mre))
        );
    }
    if held_out.spoiled > 0 {
        let _ =
            write!(reason, "; {} of them lie as far off as samples that the fit left out", held_out.spoiled);
    }
    if held_out.noisy > 0 {
        let _ = write!(reason, "; {} of them too noisy to tell anything", held_out.noisy);
    }
    let exceeds = |what: &str| {
        format!(
            "{reason}; the model's own error is {} ({} to {}), {what}",
            percent(own.at),
            percent(own.low),
            percent(own.high)
        )
    };
    if own.low > options.accept {
        let place = misses(inputs, verify).map_or(String::new(), |place| format!("; {place}"));
        return failed(format!(
            "{}{place}; a term is missing, or more budget to tell terms apart",
            exceeds(&format!("above the {accept} that is accepted"))
        ));
    }
    let (mut doubts, mut notes) = (Vec::new(), String::new());
    if matters(fit, options) {
        for Structure { note, doubt } in structure(regression, inputs, fit, verify, options) {
            match doubt {
                Some(doubt) => doubts.push(doubt),
                None => notes = format!("{notes}; {note}"),
            }
        }
    }
    doubts.extend(resolution(fit, options));
    let verdict = match () {
        () if !doubts.is_empty() => Verdict::Doubtful,
        () if own.high <= options.accept && mre <= options.accept => Verdict::Verified,
        // Noise must be the reason: a quieter machine does not reduce a large own error of few
        // samples.
        () if held_out.noise >= own.at && own.at <= options.accept => Verdict::WithinNoise,
        () => Verdict::Doubtful,
    };
    let mut reason = match verdict {
        Verdict::Verified => format!("{reason}, {accept} is accepted{notes}"),
        Verdict::WithinNoise => exceeds(&format!(
            "{accept} is accepted: the model is as good as these samples can tell; a quieter machine or more budget would tell more"
        )),
        _ if own.high <= options.accept => format!("{reason}, {accept} is accepted"),
        _ => {
            let unclear = format!(
                "whether the model's own error ({} to {}) is within the {accept} that is accepted cannot be told: more verification \
                 samples would tell",
                percent(own.low),
                percent(own.high)
            );
            doubts.push(unclear);
            reason
        }
    };
    if !doubts.is_empty() {
        let _ = write!(reason, "; but {}", doubts.join("; "));
    }
    Judgement { verdict, reason, doubts }
}

/// A message about a task that was optimised away, or is too short for the timer.
fn resolution(fit: &[Residual], options: &FitOptions) -> Option<String> {
    let mut times: Vec<f64> = fit.iter().map(|r| r.observed).filter(|t| *t > 0.0).collect();
    times.sort_by(f64::total_cmp);
    let (least, most) = (*times.first()?, *times.last()?);
    let middle = times[times.len() / 2];
    let varies = |i: usize| {
        let values = || fit.iter().map(|r| r.inputs[i]);
        values().fold(f64::MIN, f64::max) > VARIES * values().fold(f64::MAX, f64::min).max(1.0)
    };
    if most < NOTHING && most < 2.0 * least && (0..fit.first()?.inputs.len()).any(varies) {
        return Some(format!(
            "the task takes {:.1} ns whatever its inputs: it was probably optimised away; hand its result to `black_box`",
            middle * 1e9
        ));
    }
    let steps = times.windows(2).map(|w| w[1] - w[0]).filter(|step| *step > 1e-6 * middle);
    let step = steps.fold(f64::INFINITY, f64::min);
    let whole = |t: &f64| (t / step - (t / step).round()).abs() < 0.01;
    // If the model predicts all times exactly, the steps belong to the task, as on a simulated
    // machine, not to the timer.
    let exact = fit.iter().all(|r| (r.observed - r.predicted).abs() < 0.01 * step);
    let coarse = middle < COARSE
        && step.is_finite()
        && step > options.accept * middle
        && times.iter().all(whole)
        && !exact;
    coarse.then(|| {
        format!(
            "times are multiples of {:.0} ns, the timer's resolution: repeat the task within one timing",
            step * 1e9
        )
    })
}

/// Where the error is largest, if one third of an input's values stands out.
fn misses(inputs: &[String], verify: &[Residual]) -> Option<String> {
    let size = |part: &[&Residual]| sum(part.iter().map(|r| r.relative_error().abs())) / part.len() as f64;
    let all: Vec<&Residual> = verify.iter().collect();
    let mut worst: Option<(f64, String)> = None;
    for (input, name) in inputs.iter().enumerate().take(verify.first()?.inputs.len()) {
        let mut sorted = all.clone();
        sorted.sort_by(|a, b| a.inputs[input].total_cmp(&b.inputs[input]));
        let third = sorted.len() / 3;
        if third < 2 || sorted[third].inputs[input] == sorted[sorted.len() - third - 1].inputs[input] {
            continue;
        }
        let parts = [
            ("up to", third - 1, &sorted[..third]),
            ("from", sorted.len() - third, &sorted[sorted.len() - third..]),
        ];
        for (side, edge, part) in parts {
            let error = size(part);
            if error > STANDS_OUT * size(&all) && worst.as_ref().is_none_or(|(w, _)| error > *w) {
                let edge = sorted[edge].inputs[input];
                worst =
                    Some((error, format!("it misses most for `{name}` {side} {edge} ({})", percent(error))));
            }
        }
    }
    worst.map(|(_, text)| text)
}

impl HeldOut {
    /// The evidence of the held-out samples. `noise`: the relative standard deviation of the noise
    /// in each of them.
    pub(crate) fn new(
        regression: &Regression,
        fit: &[Residual],
        verify: &[Residual],
        noise: &[f64],
        mre: Option<f64>,
    ) -> Self {
        let error = |r: &Residual| r.relative_error().abs();
        let mut held_out = Self { mre, quantiles: quantiles(verify), ..Self::default() };
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
        held_out.deviation = own.at.max(beyond) / MEAN_OF_NORMAL;
        held_out.own = Some(own);
        held_out
    }
}

/// The part of the mean relative error that the noise does not explain, with its 95 % interval by
/// the bootstrap over points: Efron and Tibshirani, *An Introduction to the Bootstrap* (1993),
/// §13.3.
fn own_error(points: &[(f64, f64)]) -> Own {
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

/// Whether the errors of the fitted samples are large enough for their structure to matter.
fn matters(fit: &[Residual], options: &FitOptions) -> bool {
    let relative = |r: &Residual| if r.observed == 0.0 { 0.0 } else { r.relative_error().powi(2) };
    let size = (sum(fit.iter().map(relative)) / fit.len().max(1) as f64).sqrt();
    size.is_finite() && size > options.accept / 10.0
}

/// Structure in the residuals.
struct Structure {
    note: String,
    /// Where the model may therefore be off by more than is accepted.
    doubt: Option<String>,
}

/// The structure in the residuals of the fitted samples, and the evidence of the held-out samples
/// on it.
fn structure(
    regression: &Regression,
    inputs: &[String],
    fit: &[Residual],
    verify: &[Residual],
    options: &FitOptions,
) -> Vec<Structure> {
    let known = fit.first().map_or(0, |r| r.inputs.len());
    let follows = inputs.iter().enumerate().take(known).filter_map(|(input, name)| {
        let (runs, expected) = runs(fit, &regression.standardised, input)?;
        let note = format!(
            "the residuals follow `{name}` ({runs} runs of one sign where noise has about {expected:.0}): a term is \
             missing"
        );
        let worst = thirds(verify, |r| r.inputs[input]).max_by(|a, b| a.own.high.total_cmp(&b.own.high));
        let doubt = worst.filter(|third| third.own.high > options.accept).map(|third| {
            let Third { own, from, to } = third;
            format!(
                "{note}, and the model's own error for `{name}` from {from} to {to} is {} to {}",
                percent(own.low),
                percent(own.high)
            )
        });
        Some(Structure { note, doubt })
    });
    let uneven = uneven(regression, fit, verify, options);
    follows.chain(uneven).chain(decides_alone(regression, fit, verify, options)).collect()
}

/// A third of the held-out samples, in the order of some value.
struct Third {
    own: Own,
    /// The least and the greatest value.
    from: f64,
    to: f64,
}

/// The held-out samples in thirds of `value`; neighbouring thirds share one if the number is not
/// divisible. Empty without samples.
fn thirds(verify: &[Residual], value: impl Fn(&Residual) -> f64) -> impl DoubleEndedIterator<Item = Third> {
    let mut sorted: Vec<(f64, (f64, f64))> = verify
        .iter()
        .filter(|r| r.observed != 0.0)
        .map(|r| (value(r), (r.relative_error().abs(), MEAN_OF_NORMAL * r.noise)))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let each = sorted.len().div_ceil(3);
    let starts = [0, (sorted.len() - each) / 2, sorted.len() - each];
    let of = move |start: usize| {
        let part = sorted.get(start..start + each).filter(|part| !part.is_empty())?;
        let points: Vec<(f64, f64)> = part.iter().map(|p| p.1).collect();
        Some(Third { own: own_error(&points), from: part[0].0, to: part[each - 1].0 })
    };
    starts.into_iter().filter_map(of)
}

/// Whether the scatter of the fitted samples changes with the predicted time, and the evidence of
/// the held-out samples in the third of these times with the most scatter. Pooled intervals are too
/// narrow there, which does not imply that the model is off by more than is accepted.
fn uneven(
    regression: &Regression,
    fit: &[Residual],
    verify: &[Residual],
    options: &FitOptions,
) -> Option<Structure> {
    let grows = spread_changes(fit, &regression.standardised)?;
    let mut thirds = thirds(verify, |r| r.predicted);
    let Third { own, from, to } = if grows { thirds.next_back() } else { thirds.next() }?;
    let place = match grows {
        true => format!("for predictions from {from:.1e} s on"),
        false => format!("for predictions up to {to:.1e} s"),
    };
    let advice = match (options.mode, grows) {
        (Mode::Relative, false) => "absolute errors may suit better",
        (Mode::Absolute, true) => "relative errors may suit better",
        _ => "a term is missing there, or the noise differs",
    };
    let doubt = (own.high > options.accept).then(|| {
        format!(
            "the scatter changes with the predicted time: intervals are too narrow {place}, and the model's own \
             error there is {} to {}; {advice}",
            percent(own.low),
            percent(own.high)
        )
    });
    Some(Structure { note: format!("intervals are too narrow {place}"), doubt })
}

/// A sample that moves the model by as much as all the noise does, and the evidence of the held-out
/// samples at times about it.
fn decides_alone(
    regression: &Regression,
    fit: &[Residual],
    verify: &[Residual],
    options: &FitOptions,
) -> Option<Structure> {
    let rank = regression.rank.max(1) as f64;
    let cook = |i: usize| {
        let h = regression.leverages[i];
        regression.standardised[i].powi(2) * h / (rank * (1.0 - h).max(1e-9).powi(2))
    };
    // One of few samples easily has such a distance; it must also be where the others do not
    // predict it.
    let freedom = fit.len().saturating_sub(regression.rank + 1);
    let limit = t_quantile(1.0 - CHANCE / fit.len() as f64, freedom).unwrap_or(f64::INFINITY);
    let alone = |i: usize| {
        let z = regression.standardised[i] / (1.0 - regression.leverages[i]).max(1e-9).sqrt();
        let left = (freedom as f64 + 1.0 - z * z).max(1e-9) / freedom as f64;
        z.abs() / left.sqrt() > limit
    };
    let worst = (0..fit.len()).max_by(|a, b| cook(*a).total_cmp(&cook(*b)))?;
    if cook(worst) <= COOK || fit.len() < LEAST_GROUPS || !alone(worst) {
        return None;
    }
    // A model that passes through a sample of any time has an infinite distance there.
    let distance = if cook(worst) < LIMIT { format!("{:.1}", cook(worst)) } else { "above 1000".into() };
    let line = fit[worst].line;
    let note =
        format!("the sample of line {line} decides much of the model alone (Cook's distance {distance})");
    let time = fit[worst].predicted;
    let about = || thirds(verify, |r| r.predicted).filter(|third| (third.from..=third.to).contains(&time));
    let is_verified = about().count() > 0 && about().all(|third| third.own.high <= options.accept);
    Some(Structure { doubt: (!is_verified).then(|| note.clone()), note })
}

/// The number of runs of one sign along an input and the expected number, if they are too few for
/// noise.
fn runs(fit: &[Residual], standardised: &[f64], input: usize) -> Option<(usize, f64)> {
    let mut pairs: Vec<(f64, f64)> =
        fit.iter().zip(standardised).map(|(r, z)| (r.inputs[input], *z)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Samples of one value have no order.
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

/// Whether squared residuals grow (`true`) or fall with the logarithm of the predicted time; `None`
/// if they do not depend on it.
fn spread_changes(fit: &[Residual], standardised: &[f64]) -> Option<bool> {
    let pairs: Vec<(f64, f64)> = fit
        .iter()
        .zip(standardised)
        .filter(|(r, _)| r.predicted > 0.0)
        .map(|(r, z)| (r.predicted.ln(), z * z))
        .collect();
    let n = pairs.len() as f64;
    if pairs.len() < LEAST_GROUPS {
        return None;
    }
    let (x, y) = (sum(pairs.iter().map(|p| p.0)) / n, sum(pairs.iter().map(|p| p.1)) / n);
    let product = |f: &dyn Fn(f64, f64) -> f64| sum(pairs.iter().map(|p| f(p.0 - x, p.1 - y)));
    let (xx, yy, xy) = (product(&|x, _| x * x), product(&|_, y| y * y), product(&|x, y| x * y));
    (xx > 0.0 && yy > 0.0 && n * xy * xy / (xx * yy) > CHI_SQUARE).then_some(xy > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_errors_that_occurred() {
        let residual = |observed: f64, predicted: f64| Residual {
            model: String::new(),
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
