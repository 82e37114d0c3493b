//! Models that lie above a share of all samples.
//!
//! Terms are chosen by least squares as for any model. Their coefficients are then those of a
//! quantile regression without negative ones, times a factor that is taken from the held-out
//! samples: the tolerance limit of measured over predicted, which holds whatever the distribution
//! of the noise is. If samples have their single timings, each of them counts.

mod quantile;
mod tolerance;

use nalgebra::{DMatrix, DVector};
use strata_model::expr::{BinaryOp, Expr, ExprKind, parse};
use strata_model::percent;
use strata_model::samples::ModelSamples;
use strata_model::set::{Bound, Mode, Model, Term, Verdict};

use crate::design::{self, CONSTANT, Part};
use crate::{Fault, FitError, FitOptions, Fitted, Lookup, Structure};

/// A coverage is below its share if chance explains it in one of a thousand cases only.
const CHANCE: f64 = 1e-3;
/// The parts into which an input's values are divided.
const PARTS: usize = 3;

/// A measured value beside its terms.
struct Measured {
    /// The row in the part of the design.
    row: usize,
    value: f64,
}

/// A part of the design with every single measurement.
struct Side<'a> {
    part: &'a Part,
    measured: Vec<Measured>,
}

impl<'a> Side<'a> {
    fn new(samples: &ModelSamples, part: &'a Part) -> Self {
        let mut measured = Vec::new();
        for (row, place) in part.rows.iter().enumerate() {
            let sample = &samples.rows[*place];
            match &*sample.notes.timings {
                [] => measured.push(Measured { row, value: sample.seconds }),
                timings => {
                    measured.extend(timings.iter().map(|timing| Measured { row, value: timing.seconds }));
                }
            }
        }
        Self { part, measured }
    }

    /// Measured over predicted, a number for each measurement; infinite where nothing is predicted.
    fn ratios(&self, coefficients: &DVector<f64>) -> Vec<f64> {
        let predicted = &self.part.matrix * coefficients;
        let ratio = |m: &Measured| match predicted[m.row] {
            predicted if predicted > 0.0 => m.value / predicted,
            _ if m.value <= 0.0 => 0.0,
            _ => f64::INFINITY,
        };
        self.measured.iter().map(ratio).collect()
    }
}

/// Makes a fitted model a bound from above, if the options ask for one.
pub(crate) fn apply(
    mut fitted: Fitted,
    samples: &ModelSamples,
    structure: &Structure,
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Fitted, FitError> {
    let Some(share) = options.upper else { return Ok(fitted) };
    let confidence = options.confidence;
    let structure = Structure { terms: terms(&fitted.model), parameters: Vec::new(), ..structure.clone() };
    let design = design::build(samples, &structure, options, lookup)?;
    let [fit, held_out] = [&design.fit, &design.verify].map(|part| Side::new(samples, part));
    let count = held_out.measured.len();
    let Some(rank) = tolerance::rank(count, share, confidence) else {
        let needed = tolerance::least_samples(share, confidence);
        let fault = Fault::TooFewHeldOut { held_out: count, needed, share, confidence };
        return Err(FitError::of(samples, fault));
    };
    let coefficients = regress(&fit, &fitted, options, share);
    let ratios = held_out.ratios(&coefficients);
    // The samples that were measured are bounded too, those that were fitted included.
    let mut all = fit.ratios(&coefficients);
    all.extend(&ratios);
    let most = (share * all.len() as f64).ceil() as usize;
    let factor = ranked(ratios.clone(), rank).max(ranked(all, most));
    if !(factor.is_finite() && factor > 0.0) {
        return Err(FitError::of(samples, Fault::NoBound));
    }
    let coefficients = coefficients * factor;
    let ratios: Vec<f64> = ratios.iter().map(|ratio| ratio / factor).collect();
    let below = |ratios: &[f64]| ratios.iter().filter(|ratio| **ratio <= 1.0 + f64::EPSILON).count();
    let covered = below(&ratios);
    let fresh = crossed(&ratios, share);
    let points = {
        let mut points = design.verify.points.clone();
        points.sort_unstable();
        points.dedup();
        points.len()
    };
    let over = |ratio: &f64| 1.0 / ratio;
    let above = ratios.iter().map(over).sum::<f64>() / count as f64;
    let bound = Bound {
        share,
        confidence,
        samples: count,
        points,
        covered: covered as f64 / count as f64,
        fresh: fresh as f64 / count as f64,
        above,
    };
    let mut doubts = Vec::new();
    if tolerance::chance(fresh, count, share) < CHANCE {
        doubts.push(format!(
            "held-out samples are not alike: a bound by half of them covers {} of the other half",
            percent(bound.fresh)
        ));
    }
    doubts.extend(uneven(&structure, &held_out, &ratios, share));

    for (residuals, part) in [(false, &design.fit), (true, &design.verify)] {
        let predicted = &part.matrix * &coefficients;
        let of_part = fitted.residuals.iter_mut().filter(|r| r.verify == residuals);
        of_part.zip(predicted.iter()).for_each(|(residual, predicted)| residual.predicted = *predicted);
    }
    let model = &mut fitted.model;
    let term = |(text, coefficient): (&String, &f64)| Term {
        term: text.clone(),
        coefficient: *coefficient,
        std_error: 0.0,
        half_width: 0.0,
        relevant: *coefficient > 0.0,
    };
    model.terms = design.terms.iter().zip(coefficients.iter()).map(term).collect();
    model.covariance = vec![vec![0.0; model.terms.len()]; model.terms.len()];
    // What is promised is the bound itself; no interval lies about it.
    (model.noise_variance, model.leverage_limit, model.own_error) = (0.0, 0.0, 0.0);
    (model.correction, model.contrast, model.coverage) = (None, None, None);
    let statement = bound.statement();
    match model.verdict {
        Verdict::Failed => {
            doubts.insert(0, format!("least squares by the same terms fails: {}", model.reason))
        }
        _ => doubts.extend(std::mem::take(&mut model.doubts)),
    }
    model.reason = match &*doubts {
        [] => statement,
        doubts => format!("{statement}; but {}", doubts.join("; ")),
    };
    model.verdict = if doubts.is_empty() { Verdict::Verified } else { Verdict::Doubtful };
    model.doubts = doubts;
    model.bound = Some(bound);
    Ok(fitted)
}

/// The kept terms besides the constant. A hinge that bends a curve down, whose coefficient is
/// negative, becomes a rise that ends at its place: `a·x − b·max(0, x−k)` is `(a−b)·x + b·min(x,
/// k)`.
fn terms(model: &Model) -> Vec<Expr> {
    let mut terms: Vec<Expr> = Vec::new();
    for term in model.terms.iter().filter(|term| term.coefficient != 0.0 && term.term != CONSTANT) {
        let Ok(expr) = parse(&term.term) else { continue };
        let expr = if term.coefficient < 0.0 { ends(&expr).unwrap_or(expr) } else { expr };
        if terms.iter().all(|known| known.to_string() != expr.to_string()) {
            terms.push(expr);
        }
    }
    terms
}

/// `min(x, k)` for `max(0, x - k)`.
fn ends(hinge: &Expr) -> Option<Expr> {
    let ExprKind::Call { name, arguments } = &hinge.kind else { return None };
    let [zero, above] = &**arguments else { return None };
    let ExprKind::Binary(BinaryOp::Subtract, rising, place) = &above.kind else { return None };
    let is_hinge = name == "max" && matches!(zero.kind, ExprKind::Number(zero) if zero == 0.0);
    let arguments = vec![(**rising).clone(), (**place).clone()];
    is_hinge.then(|| Expr { kind: ExprKind::Call { name: "min".into(), arguments }, span: hinge.span })
}

/// The coefficients of the quantile regression.
fn regress(fit: &Side<'_>, fitted: &Fitted, options: &FitOptions, share: f64) -> DVector<f64> {
    // Fitted samples come first, in the order of the design.
    let unit = |m: &Measured| match (options.mode, fitted.residuals.get(m.row).map(|r| r.predicted)) {
        (Mode::Relative, Some(predicted)) if predicted > 0.0 && predicted.is_finite() => predicted,
        (Mode::Relative, _) => m.value.abs().max(f64::MIN_POSITIVE),
        (Mode::Absolute, _) => fitted.model.mean_time.abs().max(f64::MIN_POSITIVE),
    };
    let units: Vec<f64> = fit.measured.iter().map(unit).collect();
    let matrix = &fit.part.matrix;
    let rows =
        DMatrix::from_fn(units.len(), matrix.ncols(), |i, j| matrix[(fit.measured[i].row, j)] / units[i]);
    let values = DVector::from_fn(units.len(), |i, _| fit.measured[i].value / units[i]);
    quantile::nonnegative(&rows, &values, share)
}

/// The value of a rank, from one, in rising order.
fn ranked(mut values: Vec<f64>, rank: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(rank.clamp(1, values.len().max(1)) - 1).copied().unwrap_or(f64::INFINITY)
}

/// How many samples lie below a bound that the others set: every second one, and the rest.
fn crossed(ratios: &[f64], share: f64) -> usize {
    let half = |which: usize| -> Vec<f64> {
        ratios.iter().enumerate().filter(|(place, _)| place % 2 == which).map(|(_, ratio)| *ratio).collect()
    };
    let [even, odd] = [half(0), half(1)];
    let of_other = |own: &[f64], other: &[f64]| {
        let rank = (share * (other.len() + 1) as f64).ceil() as usize;
        let factor = ranked(other.to_vec(), rank);
        own.iter().filter(|ratio| **ratio <= factor).count()
    };
    of_other(&even, &odd) + of_other(&odd, &even)
}

/// Where the bound covers too few samples, if in one third of an input's values.
fn uneven(structure: &Structure, held_out: &Side<'_>, ratios: &[f64], share: f64) -> Option<String> {
    let mut worst: Option<(f64, String)> = None;
    for (input, name) in structure.inputs.iter().enumerate() {
        let value = |m: &Measured| held_out.part.variables[(input, m.row)];
        let mut sorted: Vec<(f64, f64)> =
            held_out.measured.iter().zip(ratios).map(|(m, ratio)| (value(m), *ratio)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let third = sorted.len() / PARTS;
        let parts = [&sorted[..third], &sorted[third..sorted.len() - third], &sorted[sorted.len() - third..]];
        for part in parts {
            let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
            let covered = part.iter().filter(|(_, ratio)| *ratio <= 1.0 + f64::EPSILON).count();
            let chance = tolerance::chance(covered, part.len(), share);
            if first.0 < last.0 && chance < CHANCE && worst.as_ref().is_none_or(|(least, _)| chance < *least)
            {
                let covered = percent(covered as f64 / part.len() as f64);
                let at = format!(
                    "where {name} is {} to {}, it covers {covered} only: a term is missing there",
                    strata_model::number_text(first.0),
                    strata_model::number_text(last.0)
                );
                worst = Some((chance, at));
            }
        }
    }
    worst.map(|(_, at)| at)
}
