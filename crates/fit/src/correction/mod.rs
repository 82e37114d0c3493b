//! Corrections of a model for the values of a candidate's parameters.
//!
//! The terms of a model may lack a parameter, have no least value inside its range, or miss the
//! effect that separates its values, such as cache conflicts. Only effects at the *same* input
//! matter: samples of one input form a block with an effect of its own ([`process`]), and a smooth
//! function of inputs and parameters is fitted to the residuals. Tabulated on a few knots, it
//! multiplies the sum of the terms.
//!
//! It is used only if it lowers the regret of the chosen value beyond noise. The regret is the
//! share by which the value's time exceeds the least measured time at the input; for each block the
//! value is chosen by a process fitted without the block.

mod blocks;
mod process;

use strata_model::expr::parse;
use strata_model::percent;
use strata_model::set::{self, Contrast, Correction, Model, Term, reads_round};
use strata_select::table::MAX_AXES;

use crate::Residual;
use crate::stats::t_quantile;
use blocks::{Axis, Blocks, mean, rounded};
use process::{Kind, Process};

/// The least number of combinations of parameters in a usable block.
const LEAST_SETTINGS: usize = 3;
/// The least number of such blocks for a comparison.
const LEAST_BLOCKS: usize = 5;
/// A smaller reduction of the mean regret is not worth a table.
const LEAST_GAIN: f64 = 0.003;
/// The confidence, two-sided, that the regret is lower: 95 % one-sided.
const SURE: f64 = 0.9;
/// The most knots of a parameter and of another input, and the most factors.
const KNOTS: usize = 12;
const INPUT_KNOTS: usize = 6;
const FACTORS: usize = 256;
/// The most axes beside one of roundness.
const MAX_SMOOTH: usize = MAX_AXES - 1;

/// The findings of the samples about the values of the parameters.
pub(crate) struct Outcome {
    /// The correction, if it is used.
    pub(crate) correction: Option<Corrected>,
    /// How the errors of the model, corrected or not, differ between values.
    pub(crate) contrast: Option<Contrast>,
    /// Warnings about each parameter.
    pub(crate) warnings: Vec<String>,
}

/// A correction with its quality.
pub(crate) struct Corrected {
    pub(crate) table: Correction,
    /// The root mean square of the relative errors when blocks are predicted from all others.
    pub(crate) error: f64,
    /// The mean regret with the terms only, and with the correction.
    pub(crate) regrets: [f64; 2],
}

/// Judges the values of the parameters of a fitted model. `parameters`: the names of the inputs that
/// are parameters.
pub(crate) fn judge(model: &Model, residuals: &[Residual], parameters: &[String]) -> Outcome {
    let place = |name: &String| model.inputs.iter().position(|input| input.name == *name);
    let places: Vec<usize> = parameters.iter().filter_map(place).collect();
    // A smooth function of an input cannot follow both its round values and those beside them.
    let terms = |input: usize, kept: bool| {
        let name = &model.inputs[input].name;
        model.terms.iter().filter(|t| (t.relevant || !kept) && reads_round(&t.term, name)).count()
    };
    let round = (0..model.inputs.len()).filter(|input| terms(*input, false) > 0);
    let round = round.max_by_key(|input| terms(*input, true));
    let blocks = Blocks::new(residuals, &places, round);
    let mut outcome = Outcome { correction: None, contrast: None, warnings: Vec::new() };
    if !blocks.axes.iter().any(Axis::is_parameter) {
        return outcome;
    }
    let mut errors: Vec<f64> = blocks.points.iter().map(|point| point.residual).collect();
    let mut left_out = vec![0.0; errors.len()];
    if let Some((corrected, smooth)) = corrected(model, &blocks) {
        errors.iter_mut().zip(&smooth).for_each(|(error, smooth)| *error -= smooth);
        left_out = smooth;
        outcome.correction =
            Some(Corrected { error: mean(errors.iter().map(|e| e * e)).sqrt(), ..corrected });
    }
    outcome.contrast = blocks.contrast(&errors);
    let corrected = outcome.correction.as_ref();
    for axis in blocks.axes.iter().filter(|axis| axis.is_parameter()) {
        let name = &model.inputs[axis.input].name;
        outcome.warnings.extend(dropped(model, name, corrected));
        outcome.warnings.extend(at_an_end(model, name, axis, &blocks, &|row| left_out[row], corrected));
    }
    outcome
}

/// The correction, if it chooses better than the terms only, and the smooth part at each row, from
/// a process fitted without its block.
fn corrected(model: &Model, blocks: &Blocks<'_>) -> Option<(Corrected, Vec<f64>)> {
    let smooth = blocks.axes.iter().filter(|axis| axis.kind != Kind::Round).count();
    if smooth > MAX_SMOOTH || blocks.telling(LEAST_SETTINGS).count() < LEAST_BLOCKS {
        return None;
    }
    let kinds: Vec<Kind> = blocks.axes.iter().map(|axis| axis.kind).collect();
    let process = Process::fit(&blocks.points, &kinds)?;
    let smooth = process.left_out();
    let named = blocks.regrets(LEAST_SETTINGS, &|_| 0.0);
    let with = blocks.regrets(LEAST_SETTINGS, &|row| smooth[row]);
    let gains: Vec<f64> = named.iter().zip(&with).map(|(named, with)| named - with).collect();
    let count = gains.len() as f64;
    let gain = mean(gains.iter().copied());
    let variance = gains.iter().map(|g| (g - gain).powi(2)).sum::<f64>() / (count - 1.0);
    let least = t_quantile(SURE, gains.len() - 1)? * (variance / count).sqrt();
    // If the terms lack a parameter, or its part at round values, a smaller gain is enough.
    let mut unknown = blocks.axes.iter().filter(|axis| axis.is_parameter());
    let unknown = unknown.any(|axis| !has_term(model, &model.inputs[axis.input].name));
    let least = match kinds.contains(&Kind::Round) {
        _ if unknown => 0.0,
        true => LEAST_GAIN,
        false => least.max(LEAST_GAIN),
    };
    if gain <= least {
        return None;
    }
    let regrets = [named, with].map(|regrets| mean(regrets.into_iter()));
    let table = tabulated(model, blocks, &process);
    Some((Corrected { table, error: 0.0, regrets }, smooth))
}

/// The smooth part of a process as factors at knots.
fn tabulated(model: &Model, blocks: &Blocks<'_>, process: &Process<'_>) -> Correction {
    let most = |axis: &Axis| axis.values.len().min(if axis.is_parameter() { KNOTS } else { INPUT_KNOTS });
    let mut counts: Vec<usize> = blocks.axes.iter().map(most).collect();
    while counts.iter().product::<usize>() > FACTORS {
        let largest = counts.iter().copied().max().unwrap_or(1);
        if let Some(count) = counts.iter_mut().find(|count| **count == largest) {
            *count -= 1;
        }
    }
    let axes: Vec<set::Axis> = (blocks.axes.iter().zip(&counts))
        .map(|(axis, count)| set::Axis {
            input: model.inputs[axis.input].name.clone(),
            round: axis.kind == Kind::Round,
            knots: knots(axis, *count),
        })
        .collect();
    let factors = (0..counts.iter().product()).map(|number: usize| {
        let mut rest = number;
        let mut place = vec![0.0; axes.len()];
        for ((place, knots), axis) in place.iter_mut().zip(&axes).zip(&blocks.axes).rev() {
            *place = axis.place(knots.knots[rest % knots.knots.len()]);
            rest /= knots.knots.len();
        }
        rounded(process.at(&place).exp(), 5)
    });
    let factors = factors.collect();
    Correction { samples: blocks.rows.len(), axes, factors }
}

/// So many of the measured values, with both ends, as evenly spaced in their logarithms as
/// possible.
fn knots(axis: &Axis, count: usize) -> Vec<f64> {
    let places: Vec<f64> = axis.values.iter().map(|value| axis.place(*value)).collect();
    let mut knots = Vec::new();
    let mut from = 0;
    for knot in 0..count {
        let wanted = knot as f64 / (count - 1).max(1) as f64;
        // Leave enough values for the following knots.
        let last = axis.values.len() - (count - knot);
        let away = |i: &usize| (places[*i] - wanted).abs();
        let Some(best) = (from..=last).min_by(|a, b| away(a).total_cmp(&away(b))) else { break };
        knots.push(axis.values[best]);
        from = best + 1;
    }
    knots
}

/// Whether a correction chooses the parameter, for a warning.
fn mended(corrected: Option<&Corrected>) -> String {
    match corrected {
        Some(Corrected { table, .. }) => {
            format!("; a correction by {} samples chooses its value", table.samples)
        }
        None => String::new(),
    }
}

/// Whether a term reads an input.
fn reads(term: &Term, name: &str) -> bool {
    parse(&term.term).is_ok_and(|term| term.names().contains(name))
}

/// Whether a term of a parameter was kept.
fn has_term(model: &Model, name: &str) -> bool {
    model.terms.iter().any(|term| term.relevant && reads(term, name))
}

/// A warning that no term of the parameter was kept.
fn dropped(model: &Model, name: &str, corrected: Option<&Corrected>) -> Option<String> {
    if has_term(model, name) {
        return None;
    }
    let why = match model.terms.iter().any(|term| reads(term, name)) {
        true => "no term of it was kept",
        false => "it has no term",
    };
    let advice = match corrected {
        Some(_) => mended(corrected),
        None => {
            ", so the terms cannot tell its values apart: name one that falls with it and one that rises, or \
                 measure more values at the same inputs"
                .to_owned()
        }
    };
    Some(format!("model `{}`: of the parameter `{name}` {why}{advice}", model.name))
}

/// A warning that the least time is at an end of the parameter's range in most blocks.
fn at_an_end(
    model: &Model,
    name: &str,
    axis: &Axis,
    blocks: &Blocks<'_>,
    correction: &dyn Fn(usize) -> f64,
    corrected: Option<&Corrected>,
) -> Option<String> {
    if corrected.is_none() && !has_term(model, name) {
        return None;
    }
    let taken: Vec<f64> = (blocks.telling(LEAST_SETTINGS))
        .map(|block| blocks.rows[block[blocks.taken(block, correction)][0]].inputs[axis.input])
        .collect();
    let ends = [axis.values.first()?, axis.values.last()?];
    let count = |end: f64| taken.iter().filter(|value| **value == end).count();
    let end = ends.into_iter().copied().max_by_key(|end| count(*end))?;
    if taken.len() < LEAST_BLOCKS || 2 * count(end) <= taken.len() {
        return None;
    }
    let advice = match corrected {
        Some(_) => mended(corrected),
        None => "; a larger range, or a term that rises towards that end, would tell whether a value inside is better"
            .to_owned(),
    };
    Some(format!(
        "model `{}`: the least time is at an end of the range of the parameter `{name}` ({end}) for {} of {} inputs{advice}",
        model.name,
        count(end),
        taken.len()
    ))
}

/// Why a model is corrected, as text.
pub(crate) fn reason(corrected: &Corrected) -> String {
    let [named, with] = corrected.regrets.map(percent);
    format!(
        "named terms, corrected by {} samples: the parameter's value loses {with} instead of {named} at inputs that \
         were left out",
        corrected.table.samples
    )
}
