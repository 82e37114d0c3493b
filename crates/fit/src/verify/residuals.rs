//! Structure in the residuals: an input that they follow, a scatter that changes, one sample that
//! decides alone.

use strata_model::percent;
use strata_model::set::Mode;

use super::held_out::{LIMIT, MEAN_OF_NORMAL, Own, own_error};
use crate::order;
use crate::regress::Regression;
use crate::solve::sum;
use crate::stats::t_quantile;
use crate::{FitOptions, Residual};

/// A standard normal variable is below minus this with a chance of one in a thousand.
const NORMAL: f64 = 3.09;
/// A χ² variable of one degree of freedom is above this with the same chance.
const CHI_SQUARE: f64 = 10.83;
/// The probability that any of all samples is as far from the fit of the others by chance.
const CHANCE: f64 = 1e-3;
/// With fewer groups, runs are not significant.
const LEAST_GROUPS: usize = 10;
/// Stretches of a file whose mean errors are compared, and the share of the accepted error above which
/// these matter.
const STRETCHES: usize = 8;
const SHARE: f64 = 0.8;
/// With fewer powers of two, or other values, their errors are not compared.
const LEAST_SPECIAL: usize = 5;
/// Values at which rows of memory collide in a cache, or vectors are whole.
type IsRound = fn(f64) -> bool;
const ROUND: [(&str, IsRound); 2] = [
    ("powers of two", |value| value.log2().fract() == 0.0),
    ("multiples of 64", |value| value % 64.0 == 0.0),
];
/// A sample with this distance of Cook moves the model by as much as all the noise does.
const COOK: f64 = 1.0;

/// Whether the errors of the fitted samples are large enough for their structure to matter.
pub(super) fn matters(fit: &[Residual], options: &FitOptions) -> bool {
    let relative = |r: &Residual| if r.observed == 0.0 { 0.0 } else { r.relative_error().powi(2) };
    let size = (sum(fit.iter().map(relative)) / fit.len().max(1) as f64).sqrt();
    size.is_finite() && size > options.accept / 10.0
}

/// Structure in the residuals.
pub(super) struct Structure {
    pub(super) note: String,
    /// Where the model may therefore be off by more than is accepted.
    pub(super) doubt: Option<String>,
}

/// The structure in the residuals of the fitted samples, and the evidence of the held-out samples
/// on it.
pub(super) fn structure(
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

/// Structure in the residuals that is no function of an input: the order of the samples in the file,
/// usually that in which they were measured, and whether values are powers of two.
pub(super) fn hidden(
    regression: &Regression,
    inputs: &[String],
    fit: &[Residual],
    options: &FitOptions,
) -> Vec<String> {
    let is_out = |i: &usize| regression.rejected.binary_search(i).is_ok();
    let mut order: Vec<usize> = (0..fit.len()).collect();
    order.sort_by_key(|i| fit[*i].line);
    let mut found = Vec::new();
    // Slow for one part of the run and never again: not two speeds between which a machine changes.
    let slow: Vec<bool> = order.iter().map(is_out).collect();
    let changes = slow.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if let (Some(ratio), 1..=2) = (regression.slower, changes) {
        found.push(format!(
            "the samples that took {ratio:.2} times as long are all of one part of the file: the machine changed while it measured, and \
             the model is of one of its states"
        ));
    }
    order.retain(|i| !is_out(i) && fit[*i].observed != 0.0);
    // Neighbours of one point share the errors of the model.
    let points: Vec<f64> = (order.chunk_by(|a, b| fit[*a].inputs == fit[*b].inputs))
        .map(|point| sum(point.iter().map(|i| fit[*i].relative_error())) / point.len() as f64)
        .collect();
    let each = points.len().div_ceil(STRETCHES).max(1);
    let size = sum(points.chunks(each).map(|part| sum(part.iter().copied()).abs())) / points.len() as f64;
    let signs: Vec<bool> = points.iter().filter(|e| **e != 0.0).map(|e| *e > 0.0).collect();
    if signs.len() >= 2 * LEAST_GROUPS
        && size > SHARE * options.accept
        && order::runs(&signs).is_some_and(|runs| runs.deviation < -NORMAL)
    {
        found.push(format!(
            "the residuals follow the order of the samples in the file, by {}: the machine changed while it measured, or what differs \
             between its parts is no input",
            percent(size)
        ));
    }
    let known = fit.first().map_or(0, |r| r.inputs.len());
    for (input, name) in inputs.iter().enumerate().take(known) {
        let of = |(what, is_round): &(&str, IsRound)| {
            let round = |r: &&Residual| r.inputs[input] > 0.0 && is_round(r.inputs[input]);
            let (round, others): (Vec<&Residual>, Vec<&Residual>) =
                fit.iter().filter(|r| r.observed != 0.0 && r.relative_error().is_finite()).partition(round);
            let shift = shifted(&round, &others, input).filter(|s| s.abs() > SHARE * options.accept)?;
            Some(format!(
                "times at {what} of `{name}` are {} {} than at its other values: that is no input",
                percent(shift.abs()),
                if shift > 0.0 { "longer" } else { "shorter" }
            ))
        };
        found.extend(ROUND.iter().find_map(of));
    }
    found
}

/// By how much more, relative to the times, the first residuals are off than the others, if not by
/// chance.
fn shifted(first: &[&Residual], others: &[&Residual], input: usize) -> Option<f64> {
    let errors = |part: &[&Residual]| -> Option<Vec<f64>> {
        // Samples of one value count as one.
        let values: Vec<f64> = part.iter().map(|r| r.inputs[input]).collect();
        let of =
            |group: Vec<usize>| sum(group.iter().map(|i| part[*i].relative_error())) / group.len() as f64;
        let mut errors: Vec<f64> = order::groups(&values).into_iter().map(of).collect();
        errors.sort_by(f64::total_cmp);
        (errors.len() >= LEAST_SPECIAL).then_some(errors)
    };
    let (first, others) = (errors(first)?, errors(others)?);
    let (m, n) = (first.len() as f64, others.len() as f64);
    let above: f64 = sum(first.iter().map(|e| {
        let below = others.partition_point(|o| o < e) + others.partition_point(|o| o <= e);
        0.5 * below as f64
    }));
    let deviation = (above - 0.5 * m * n) / (m * n * (m + n + 1.0) / 12.0).sqrt();
    let median = |errors: &[f64]| errors[errors.len() / 2];
    (deviation.abs() > NORMAL).then(|| median(&first) - median(&others))
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
    let values: Vec<f64> = fit.iter().map(|r| r.inputs[input]).collect();
    let groups = order::groups(&values).into_iter().map(|group| sum(group.iter().map(|i| standardised[*i])));
    let signs: Vec<bool> = groups.filter(|mean| *mean != 0.0).map(|mean| mean > 0.0).collect();
    let runs = order::runs(&signs).filter(|runs| runs.deviation < -NORMAL)?;
    (signs.len() >= LEAST_GROUPS).then_some((runs.count, runs.expected))
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
