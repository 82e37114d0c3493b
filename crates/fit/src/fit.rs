//! From samples to a model: fit, verification, verdict.
//!
//! Source: Brewer (1994), §3.6.2 (fit) and §3.6.3 (verification against held-out samples; above 10
//! % mean relative error the model is not to be trusted).

use std::fmt::Write as _;

use strata_model::expr::{Expr, parse};
use strata_model::samples::{Column, ModelSamples, Sample, Samples};
use strata_model::set::{Input, Kind, Mode, Model, Named, Term, Verdict};
use strata_model::{grouped, number_text, percent, rounded};

use crate::bound;
use crate::correction;
use crate::design::{self, CONSTANT, Design, Part};
use crate::domain::Domain;
use crate::knee::{self, Placed};
use crate::noise;
use crate::points;
use crate::regress::{self, Data, Failure, Regression};
use crate::relation::relations;
use crate::search::{LEAST_POINTS, search};
use crate::solve::{SolveError, dot, sum};
use crate::stats::{last_place, mean_relative_error, t_quantile};
use crate::verify::{self, Between, HeldOut, MEAN_OF_NORMAL};
use crate::{Fault, FitError, FitOptions, Fitted, Lookup, Residual, Search, Structure};

/// Fits one model to its samples.
///
/// `lookup` finds earlier models for the terms that call them (hybrid models). If no terms are
/// named, or the model of the named terms fails, terms may be searched for: see [`Search`].
///
/// # Errors
/// Samples that cannot be fitted at all, see [`FitError`]. A model that fits but is not to be
/// trusted is returned, with [`Verdict::Failed`] and the reason.
pub fn fit_model(
    samples: &ModelSamples,
    structure: &Structure,
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Fitted, FitError> {
    options.check()?;
    // Named terms with a correction take precedence over a search: found terms may follow the
    // measured values and be far off between them.
    if options.search == Search::WhenNeeded && !structure.parameters.is_empty() && options.upper.is_none() {
        let named = FitOptions { search: Search::Never, ..*options };
        let named =
            best_terms(samples, structure, &named, lookup).map(|named| named.judged(structure, options));
        if let Ok(fitted) = named
            && fitted.model.correction.is_some()
            && fitted.model.verdict != Verdict::Failed
            && fitted.model.mre_verify.is_none_or(|error| error <= options.accept)
        {
            return Ok(fitted);
        }
    }
    let candidate = best_terms(samples, structure, options, lookup)?;
    if options.upper.is_some() {
        return bound::apply(candidate.fitted, samples, structure, options, lookup);
    }
    Ok(if structure.parameters.is_empty() { candidate.fitted } else { candidate.judged(structure, options) })
}

/// The number of different points of the inputs with samples to fit.
fn points_of_inputs(samples: &ModelSamples, structure: &Structure) -> usize {
    let is_input = |(_, column): &(usize, &Column)| structure.inputs.contains(&column.text);
    let places: Vec<usize> =
        samples.columns.iter().enumerate().filter(is_input).map(|(place, _)| place).collect();
    let fitted = samples.rows.iter().filter(|row| !row.verify);
    let points = fitted.map(|row| places.iter().filter_map(move |place| row.values.get(*place).copied()));
    points::groups(points).iter().max().map_or(0, |most| most + 1)
}

/// The model of the named terms, or of those that a search found.
fn best_terms(
    samples: &ModelSamples,
    structure: &Structure,
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Candidate, FitError> {
    let placed = knee::place(samples, structure, options, lookup);
    let named = placed.and_then(|placed| fit_terms(samples, &placed, options, lookup, 0));
    let nothing_named = structure.terms.is_empty();
    let wanted = match options.search {
        Search::Never => false,
        Search::Always => true,
        Search::WhenNeeded => match &named {
            // The named terms may miss by more than is accepted; other doubts are for people.
            Ok(Candidate { fitted: Fitted { model, .. }, misses, .. }) => {
                let may_miss = model.mre_verify.is_some_and(|error| error > options.accept);
                let doubtful = model.verdict == Verdict::Doubtful && may_miss;
                nothing_named || model.verdict == Verdict::Failed || doubtful || *misses
            }
            Err(_) => nothing_named && !options.constant,
        },
    };
    // Named terms are replaced only after a comparison.
    if !wanted || named.is_err() && !nothing_named {
        return named;
    }
    let Some(found) = search(samples, structure, options) else {
        return match points_of_inputs(samples, structure) {
            few @ 2..LEAST_POINTS if nothing_named => Err(FitError::of(samples, Fault::TooFewPoints(few))),
            _ => named,
        };
    };
    let proposed = Structure { terms: found.terms.clone(), ..structure.clone() };
    let terms: Vec<String> = found.terms.iter().map(|t| format!("`{t}`")).collect();
    let terms = if terms.is_empty() { "nothing but a constant".to_owned() } else { terms.join(", ") };
    let name = &samples.name;
    let failed = |c: &Candidate| c.fitted.model.verdict == Verdict::Failed;
    let size = |c: &Candidate| sum(c.left_out.iter().map(|error| error.ln_1p()));
    let (searched, why) = match (
        fit_terms(samples, &Placed::plain(proposed), options, lookup, found.candidates),
        named,
    ) {
        (Err(_), named) => return named,
        (Ok(searched), Ok(mut named)) if !nothing_named => {
            if !searched.better(&named) || failed(&searched) {
                if options.search == Search::Always {
                    named.fitted.warnings.push(format!(
                        "model `{name}`: the named terms stay: a search proposes {terms}, which do not predict the held-out \
                         samples better beyond noise"
                    ));
                }
                return Ok(named);
            }
            let [of_named, of_found] = [&named, &searched].map(|c| match c.fitted.model.mre_verify {
                Some(mre) => format!(" to {}", percent(mre)),
                None => String::new(),
            });
            let why = format!(
                "held-out samples are predicted{of_found} better than by the named terms{of_named}, beyond noise"
            );
            (searched, why)
        }
        // With no named terms the model is a constant, or there is no model.
        (Ok(searched), Ok(named))
            if size(&searched) >= size(&named) || failed(&searched) && !failed(&named) =>
        {
            return Ok(named);
        }
        (Ok(searched), _) => (searched, "no terms are named".to_owned()),
    };
    let mut candidate = searched;
    let searched = &mut candidate.fitted;
    let error = match options.mode {
        Mode::Relative => percent(found.error),
        Mode::Absolute => format!("{:.3e} s", found.error),
    };
    let more = if found.cut { ", of more than a search may try," } else { "" };
    searched.warnings.insert(
        0,
        format!(
            "model `{name}`: {why}; of {} candidates{more} a search proposes {terms}, which predict left-out samples to {error}",
            found.candidates
        ),
    );
    for (input, at, next) in &found.breaks {
        searched.warnings.push(format!(
            "model `{name}`: it breaks somewhere between {input} = {at} and {input} = {next}; samples between them would tell where"
        ));
    }
    let model = &mut searched.model;
    model.reason = format!("{} (terms found by search: {why})", model.reason);
    Ok(candidate)
}

/// A model of given terms.
struct Candidate {
    fitted: Fitted,
    /// The error of each sample when predicted from those of all other points.
    left_out: Vec<f64>,
    /// Whether its errors at the fitted samples exceed both the accepted error and their noise. The
    /// few verification samples may miss a corner in which it is off by a factor.
    misses: bool,
    regression: Regression,
    /// Where a prediction is not a time, if anywhere.
    wrong: Option<String>,
    between: Vec<Between>,
}

impl Candidate {
    /// The model with a correction, if that chooses better values of the parameters, and with the
    /// differences of its errors between values.
    fn judged(self, structure: &Structure, options: &FitOptions) -> Fitted {
        let Self { mut fitted, mut regression, wrong, between, .. } = self;
        let model = &fitted.model;
        // The values may differ between numbers of nodes; absolute errors are not factors.
        if model.nodes.fixed().is_none() || options.mode == Mode::Absolute {
            return fitted;
        }
        let outcome = correction::judge(model, &fitted.residuals, &structure.parameters);
        fitted.warnings.extend(outcome.warnings);
        fitted.model.contrast = outcome.contrast;
        let Some(corrected) = outcome.correction else { return fitted };
        let reason = correction::reason(&corrected);
        let model = &mut fitted.model;
        let axes: Vec<usize> = (corrected.table.axes.iter())
            .filter_map(|axis| model.inputs.iter().position(|input| input.name == axis.input))
            .collect();
        for residual in &mut fitted.residuals {
            let values: Vec<f64> = axes.iter().map(|axis| residual.inputs[*axis]).collect();
            residual.predicted *= corrected.table.factor(&values);
        }
        let (fit, verify) = fitted.residuals.split_at(model.samples);
        let mre = |part: &[Residual]| mean_relative_error(part.iter().map(|r| (r.observed, r.predicted)));
        let noise: Vec<f64> = verify.iter().map(|r| r.noise).collect();
        let held_out = HeldOut::new(&regression, fit, verify, &noise, mre(verify), between);
        for (z, r) in regression.standardised.iter_mut().zip(fit) {
            *z = (r.observed / r.predicted - 1.0) / corrected.error.max(f64::MIN_POSITIVE);
        }
        let judgement = verify::judge(&regression, &structure.inputs, fit, verify, &held_out, wrong, options);
        // As for terms alone: held-out samples widen the fit's variance.
        let scatter = held_out_variance(verify, model.mean_time, options);
        let variance = (corrected.error * model.mean_time).powi(2).max(scatter);
        if model.noise_variance > 0.0 {
            model.leverage_limit *= model.noise_variance / variance.max(f64::MIN_POSITIVE);
        }
        model.noise_variance = variance;
        let width = model.t_quantile * variance.sqrt() / model.mean_time;
        let inside = verify.iter().filter(|r| (r.observed / r.predicted - 1.0).abs() <= width).count();
        model.coverage = model.coverage.map(|_| inside as f64 / verify.len() as f64);
        model.mre_fit = mre(fit).unwrap_or(model.mre_fit);
        model.mre_verify = held_out.mre;
        model.verify_quantiles = held_out.quantiles;
        model.noise = (held_out.noise > 0.0).then_some(held_out.noise / MEAN_OF_NORMAL);
        model.own_error = held_out.deviation;
        model.verdict = judgement.verdict;
        model.reason = format!("{} ({reason})", judgement.reason);
        model.doubts = judgement.doubts;
        fitted.notes.push(format!("model `{}`: {reason}", model.name));
        model.correction = Some(corrected.table);
        fitted
    }

    /// Whether it predicts held-out samples better than another, beyond their noise: the mean
    /// difference of errors at the same samples is above zero at a confidence of 97.5 %. Diebold
    /// and Mariano, *Comparing predictive accuracy* (1995), with Student's quantile for few
    /// samples. Fitted samples, each predicted from all others, are compared in two cases: none
    /// were held out and the named terms failed; or those held out get no worse and the named terms
    /// miss fitted samples.
    fn better(&self, named: &Self) -> bool {
        let verified = |c: &Self| {
            let verify = c.fitted.residuals.iter().filter(|r| r.verify && r.observed != 0.0);
            verify.map(|r| r.relative_error().abs()).collect::<Vec<f64>>()
        };
        // The mean gain, and the least significant gain.
        let gain = |ours: &[f64], theirs: &[f64]| {
            let gains: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| b.ln_1p() - a.ln_1p()).collect();
            let n = gains.len() as f64;
            let mean = sum(gains.iter().copied()) / n;
            let variance = sum(gains.iter().map(|g| (g - mean).powi(2))) / (n - 1.0);
            let least = t_quantile(0.95, gains.len().saturating_sub(1)).map(|t| t * (variance / n).sqrt());
            (mean, least.unwrap_or(f64::INFINITY))
        };
        let (mean, least) = gain(&verified(self), &verified(named));
        let model = &named.fitted.model;
        let poor =
            model.verdict == Verdict::Failed && model.mre_verify.is_none() || named.misses && mean >= 0.0;
        mean > least
            || poor && {
                let (mean, least) = gain(&self.left_out, &named.left_out);
                mean > least
            }
    }
}

/// Fits the terms of a structure, which were chosen from so many candidates, or are the candidates.
fn fit_terms(
    samples: &ModelSamples,
    placed: &Placed,
    options: &FitOptions,
    lookup: &Lookup<'_>,
    candidates: usize,
) -> Result<Candidate, FitError> {
    let structure = &placed.structure;
    let design = design::build(samples, structure, options, lookup)?;
    let places: Vec<usize> = design.terms.iter().map(|term| placed.tried(term)).collect();
    let fitted_rows: Vec<&Sample> = design.fit.rows.iter().map(|row| &samples.rows[*row]).collect();
    let steady = noise::of_steady(&fitted_rows);
    let data = Data {
        terms: &design.fit.matrix,
        times: &design.fit.times,
        variances: design.fit.variances.as_ref(),
        candidates: candidates.max(design.terms.len()),
        points: &design.fit.points,
        places: &places,
        noise: &steady,
        mixed: noise::moments_are_unknown(&fitted_rows, &steady),
        variables: &design.fit.variables,
        last_place: last_place(design.fit.times.as_slice()),
        huber: false,
    };
    let mut regression = regress::fit(data, options).map_err(|f| {
        let have = design.fit.rows.len();
        let fault = match f {
            Failure::TooFew { needed } => {
                Fault::TooFewSamples { samples: have, terms: needed - 1, more: needed - have }
            }
            Failure::Solve(SolveError::Inaccurate(ratio)) => Fault::Inaccurate(ratio),
            Failure::Solve(SolveError::NotFinite | SolveError::Overflow) => Fault::Overflow,
        };
        FitError::of(samples, fault)
    })?;
    let knees = placed.widen(&mut regression, &design, options, lookup);

    let noise = noise::of_samples(&samples.rows, &design.inputs);
    let residuals_of = |part| residuals(samples, &design, part, &regression.coefficients, &noise);
    let mut residuals = residuals_of(&design.fit);
    let fitted = residuals.len();
    residuals.extend(residuals_of(&design.verify));
    let mre = |part: &[Residual]| mean_relative_error(part.iter().map(|r| (r.observed, r.predicted)));
    let (fit_part, verify_part) = residuals.split_at(fitted);
    let mre_fit = match mre(fit_part) {
        Some(mre) => mre,
        // If every time is zero, errors are absolute.
        None if fit_part.iter().all(|r| r.observed == 0.0) => 0.0,
        None => return Err(FitError::of(samples, Fault::Overflow)),
    };
    let mean_time = sum(design.fit.times.iter().copied()) / fitted as f64;
    let inputs = ranges(samples, structure, &design);
    let most = regression.leverages.iter().copied().fold(0.0, f64::max);
    let mut leverage_limit = if regression.noise_variance > 0.0 { most } else { 0.0 };
    let domain = Domain {
        inputs: &inputs,
        structure,
        design: &design,
        regression: &regression,
        mean_time,
        leverage_limit,
        options,
    };
    let wrong = domain.wrong(lookup);
    let verify_noise: Vec<f64> = verify_part.iter().map(|r| r.noise).collect();
    let between = Between::all(&design, &regression, structure, (fit_part, verify_part), lookup, options);
    let held_out =
        HeldOut::new(&regression, fit_part, verify_part, &verify_noise, mre(verify_part), between.clone());
    // If a model verified badly, the fit underestimates its uncertainty: a new measurement scatters
    // at least as much as those held out, and as those of values that were left out. The ratio of
    // leverage to noise, which shows extrapolation, stays.
    let between_values = between.iter().map(Between::deviation).fold(0.0, f64::max) * mean_time;
    let scatter = held_out_variance(verify_part, mean_time, options).max(between_values.powi(2));
    if scatter > regression.noise_variance && regression.noise_variance > 0.0 {
        leverage_limit *= regression.noise_variance / scatter;
        regression.noise_variance = scatter;
    }
    let covered = covered(&design, &regression, verify_part, mean_time, options);
    let judgement = verify::judge(
        &regression,
        &structure.inputs,
        fit_part,
        verify_part,
        &held_out,
        wrong.clone(),
        options,
    );
    let mut warnings = warnings(&samples.name, &structure.inputs, fit_part, &design, &regression);
    let of_model = |text: &String| format!("model `{}`: {text}", samples.name);
    warnings.extend(placed.unplaced.iter().map(of_model));
    let follows = relations(&structure.inputs, |input| residuals.iter().map(|r| r.inputs[input]).collect());
    warnings.extend(follows.iter().map(|Named { name, value }| {
        of_model(&format!("`{name}` is {value} at all samples: nothing is known of an effect of its own"))
    }));
    let notes = knees.iter().map(of_model).collect();

    let terms = (0..design.terms.len())
        .map(|j| Term {
            term: design.terms[j].clone(),
            coefficient: regression.coefficients[j],
            std_error: regression.std_errors[j],
            half_width: regression.t_quantile * regression.covariance[j][j].sqrt(),
            // In a model set, a relevant term is one that was kept.
            relevant: options.keep_all || regression.relevant[j],
        })
        .collect();
    let scale = if options.mode == Mode::Relative { mean_time.abs() } else { 1.0 };
    // At most the whole time: what one model leaves out as an outlier may count for another.
    let left_out = regression.left_out.iter().map(|error| (error.abs() / scale).min(1.0)).collect();
    let model = Model {
        name: samples.name.clone(),
        inputs,
        requires: structure.requires.iter().map(Expr::to_string).collect(),
        follows,
        names: Vec::new(),
        kind: Kind::Fitted,
        unit: samples.unit.clone(),
        bound: None,
        mode: options.mode,
        terms,
        correction: None,
        contrast: None,
        covariance: regression.covariance.clone(),
        noise_variance: regression.noise_variance,
        mean_time,
        t_quantile: regression.t_quantile,
        r2: regression.r2,
        mre_fit,
        mre_verify: held_out.mre,
        verify_quantiles: held_out.quantiles,
        coverage: covered.map(|(inside, of)| inside as f64 / of as f64),
        leverage_limit,
        samples: fitted,
        verify_samples: residuals.len() - fitted,
        noise: (held_out.noise > 0.0).then_some(held_out.noise / MEAN_OF_NORMAL),
        own_error: held_out.deviation,
        verdict: judgement.verdict,
        reason: judgement.reason,
        doubts: judgement.doubts,
        rank: regression.rank,
        condition: regression.condition,
        nodes: design.nodes,
    };
    let own = sum(residuals[..fitted].iter().map(|r| MEAN_OF_NORMAL * r.noise)) / fitted as f64;
    let misses = mre_fit * mre_fit > options.accept * options.accept + own * own;
    let fitted = Fitted { model, residuals, warnings, notes };
    Ok(Candidate { fitted, left_out, misses, regression, wrong, between })
}

/// The variance of held-out samples about their predictions, in the units of the mode as in a model
/// set; from the mean of absolute errors, on which few outliers have little effect. Zero without
/// such samples.
fn held_out_variance(verify: &[Residual], mean_time: f64, options: &FitOptions) -> f64 {
    let size = |r: &Residual| {
        let unit = if options.mode == Mode::Relative { r.predicted.abs() / mean_time } else { 1.0 };
        (r.observed - r.predicted).abs() / unit
    };
    let mean = sum(verify.iter().map(size)) / verify.len().max(1) as f64;
    if mean.is_finite() { (mean / MEAN_OF_NORMAL).powi(2) } else { 0.0 }
}

/// How many held-out samples lie in the intervals that the model predicts for them.
fn covered(
    design: &Design,
    regression: &Regression,
    verify: &[Residual],
    mean_time: f64,
    options: &FitOptions,
) -> Option<(usize, usize)> {
    // If the fit is exact, intervals are only rounding.
    if verify.is_empty() || regression.standardised.iter().all(|z| *z == 0.0) {
        return None;
    }
    let kept: Vec<usize> = (0..design.terms.len()).filter(|j| regression.coefficients[*j] != 0.0).collect();
    let inside = |(i, r): (usize, &Residual)| {
        let x: Vec<f64> = kept.iter().map(|j| design.verify.matrix[(i, *j)]).collect();
        let row = |(a, k): (usize, &usize)| {
            x[a] * kept.iter().zip(&x).map(|(l, x)| regression.covariance[*k][*l] * x).sum::<f64>()
        };
        let from_fit: f64 = kept.iter().enumerate().map(row).sum();
        let share = if options.mode == Mode::Relative { r.predicted / mean_time } else { 1.0 };
        let square = from_fit + regression.noise_variance * share * share;
        (r.observed - r.predicted).abs() <= regression.t_quantile * square.max(0.0).sqrt()
    };
    Some((verify.iter().enumerate().filter(|pair| inside(*pair)).count(), verify.len()))
}

/// Fits every model of a samples file whose structure is that of its columns: columns that are
/// names are inputs, and every column not in parentheses is a candidate term.
///
/// One result for each model, in the order of the file; an error of one does not affect the others.
#[must_use]
pub fn fit_samples(samples: &Samples, options: &FitOptions) -> Vec<Result<Fitted, FitError>> {
    fit_columns(samples, &|_| Ok(*options), None)
}

/// [`fit_samples`] with options for each model; `variance` may name a column with the variances of
/// the times, in s².
///
/// `options` may return an error as text; its model then has no fit.
#[must_use]
pub fn fit_columns(
    samples: &Samples,
    options: &dyn Fn(&ModelSamples) -> Result<FitOptions, String>,
    variance: Option<&str>,
) -> Vec<Result<Fitted, FitError>> {
    let fit = |model: &ModelSamples| {
        let wrong = |message| FitError::of(model, Fault::BadFitLine(message));
        let options = options(model).map_err(wrong)?;
        let nodes = samples.platform.as_ref().map_or(0, |p| p.nodes);
        let mut structure = structure_of(model, nodes)?;
        if let Some(column) = variance {
            structure.inputs.retain(|input| input != column);
            structure.terms.retain(|term| term.to_string() != column);
            structure.variance = Some(column.to_owned());
        }
        fit_model(model, &structure, &options, &|_| None)
    };
    samples.models.iter().map(fit).collect()
}

/// The structure that the columns of a samples file describe.
///
/// # Errors
/// A column that is not an expression.
pub fn structure_of(samples: &ModelSamples, nodes: usize) -> Result<Structure, FitError> {
    let inputs = samples.columns.iter().filter(|c| c.is_input()).map(|c| c.text.clone()).collect();
    let terms = samples
        .columns
        .iter()
        .filter(|c| c.candidate)
        .map(|c| parse(&c.text).map_err(|e| FitError::of(samples, Fault::BadTerm(c.text.clone(), e.message))))
        .collect::<Result<_, _>>()?;
    Ok(Structure { inputs, terms, nodes, ..Structure::default() })
}

fn residuals(
    samples: &ModelSamples,
    design: &Design,
    part: &Part,
    coefficients: &[f64],
    noise: &[f64],
) -> Vec<Residual> {
    part.rows
        .iter()
        .enumerate()
        .map(|(i, &row)| {
            let sample = &samples.rows[row];
            // A dropped term takes no part, even if it is not finite.
            let used = (0..coefficients.len()).filter(|&j| coefficients[j] != 0.0);
            let (c, x): (Vec<f64>, Vec<f64>) = used.map(|j| (coefficients[j], part.matrix[(i, j)])).unzip();
            Residual {
                line: sample.line,
                verify: sample.verify,
                observed: sample.seconds,
                predicted: dot(&c, &x),
                noise: noise[row],
                inputs: design.inputs.iter().map(|&c| sample.values[c]).collect(),
            }
        })
        .collect()
}

/// The warnings of a successful fit.
fn warnings(
    model: &str,
    inputs: &[String],
    residuals: &[Residual],
    design: &Design,
    regression: &Regression,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let (far, all) = (regression.rejected.len(), design.fit.rows.len());
    match regression.slower {
        Some(ratio) => warnings.push(format!(
            "model `{model}`: {far} of {all} samples ({}) took {ratio:.2} times as long as the others, as on a machine of two speeds; \
             the model is of the fast one, and intervals cover both",
            places(residuals, inputs, &regression.rejected)
        )),
        None if far > 0 => warnings.push(format!(
            "model `{model}`: {far} of {all} samples were left out ({}): they lie further from the fit of the others than chance \
             explains, as if something else ran; intervals cover them",
            places(residuals, inputs, &regression.rejected)
        )),
        None => {}
    }
    for group in &regression.dependent {
        let names: Vec<String> = group.iter().map(|&j| format!("`{}`", design.terms[j])).collect();
        let constant = |j: usize| {
            let column = design.fit.matrix.column(j);
            design.terms[j] != CONSTANT && column.iter().all(|v| *v == column[0])
        };
        warnings.push(match group.as_slice() {
            [only] => format!("model `{model}`: term `{}` is zero at every sample, so nothing is known about it", design.terms[*only]),
            _ if group.iter().all(|&j| design.terms[j] == CONSTANT || constant(j)) => {
                format!("model `{model}`: {} are constant over these samples and cannot be told apart; they share their weight", names.join(", "))
            }
            _ => format!("model `{model}`: the terms {} depend on each other at these samples and share their weight", names.join(", ")),
        });
    }
    warnings
}

/// The inputs of some samples, of the most extreme first, with how many times the prediction they
/// took.
fn places(residuals: &[Residual], inputs: &[String], rows: &[usize]) -> String {
    /// More are counted.
    const SHOWN: usize = 3;
    let mut rows: Vec<&Residual> = rows.iter().map(|row| &residuals[*row]).collect();
    let ratio = |r: &Residual| if r.predicted > 0.0 { r.observed / r.predicted } else { f64::INFINITY };
    rows.sort_by(|a, b| ratio(b).ln().abs().total_cmp(&ratio(a).ln().abs()));
    let place = |r: &&Residual| {
        let values =
            inputs.iter().zip(&r.inputs).map(|(name, value)| format!("{name}={}", number_text(*value)));
        let times = grouped(rounded(ratio(r), 3), ',');
        format!("{} took {times} times the prediction", values.collect::<Vec<_>>().join(" "))
    };
    let mut text = rows.iter().take(SHOWN).map(place).collect::<Vec<_>>().join(", ");
    if rows.len() > SHOWN {
        let _ = write!(text, ", and {} more", rows.len() - SHOWN);
    }
    text
}

/// The measured range of every input, over fitted and verification samples.
fn ranges(samples: &ModelSamples, structure: &Structure, design: &Design) -> Vec<Input> {
    let range = |(name, &column): (&String, &usize)| {
        let values = || samples.rows.iter().map(|row| row.values[column]);
        Input {
            name: name.clone(),
            min: values().fold(f64::INFINITY, f64::min),
            max: values().fold(f64::NEG_INFINITY, f64::max),
            integer: values().all(|v| v.fract() == 0.0),
        }
    };
    structure.inputs.iter().zip(&design.inputs).map(range).collect()
}
