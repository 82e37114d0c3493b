//! From samples to a model: fit, verification, verdict.
//!
//! Source: Brewer (1994), §3.6.2 (fit) and §3.6.3 (verification against samples that the fit never saw; above 10 % mean
//! relative error the model is not to be trusted).

use strata_model::expr::{Expr, parse};
use strata_model::samples::{ModelSamples, Samples};
use strata_model::set::{Input, Kind, Model, Term, Verdict};

use crate::design::{self, CONSTANT, Design, Part};
use crate::regress::{self, Data, Failure, Regression};
use crate::solve::{SolveError, dot};
use crate::stats::mean_relative_error;
use crate::{FitError, Fitted, Lookup, Options, Residual, Structure};

/// Fits one model to its samples.
///
/// `lookup` finds earlier models for the terms that call them (hybrid models).
///
/// # Errors
/// Samples that cannot be fitted at all, see [`FitError`]. A model that fits but is not to be trusted is returned, with
/// [`Verdict::Failed`] and the reason.
pub fn fit_model(
    samples: &ModelSamples,
    structure: &Structure,
    options: &Options,
    lookup: &Lookup<'_>,
) -> Result<Fitted, FitError> {
    options.check()?;
    let model = || samples.name.clone();
    let design = design::build(samples, structure, options, lookup)?;
    let data = Data {
        terms: &design.fit.matrix,
        times: &design.fit.times,
        variances: design.fit.variances.as_ref(),
    };
    let regression = regress::fit(data, options).map_err(|f| {
        let have = design.fit.rows.len();
        match f {
            Failure::TooFew { needed } => FitError::TooFewSamples {
                model: model(),
                samples: have,
                terms: needed - 1,
                more: needed - have,
            },
            Failure::Solve(SolveError::Inaccurate(ratio)) => FitError::Inaccurate { model: model(), ratio },
            Failure::Solve(SolveError::NotFinite | SolveError::Overflow) => {
                FitError::Overflow { model: model() }
            }
        }
    })?;

    let mut residuals = residuals(samples, &design, &design.fit, &regression.coefficients);
    let fitted = residuals.len();
    residuals.extend(self::residuals(samples, &design, &design.verify, &regression.coefficients));
    let mre = |part: &[Residual]| mean_relative_error(part.iter().map(|r| (r.observed, r.predicted)));
    let (fit_part, verify_part) = residuals.split_at(fitted);
    let (mre_fit, mre_verify) = (mre(fit_part), mre(verify_part));
    let mre_fit = match mre_fit {
        Some(mre) => mre,
        // Every time is zero: what little error there can be is absolute.
        None if fit_part.iter().all(|r| r.observed == 0.0) => 0.0,
        None => return Err(FitError::Overflow { model: model() }),
    };
    let (verdict, reason) = judge(&regression, verify_part, mre_verify, options);
    let warnings = warnings(&samples.name, &design, &regression);

    let terms = (0..design.terms.len())
        .map(|j| Term {
            term: design.terms[j].clone(),
            coefficient: regression.coefficients[j],
            std_error: regression.std_errors[j],
            half_width: regression.t_quantile * regression.std_errors[j],
            // In a model set, a relevant term is one that was kept.
            relevant: options.keep_all || regression.relevant[j],
        })
        .collect();
    let model = Model {
        name: samples.name.clone(),
        inputs: ranges(samples, structure, &design),
        requires: structure.requires.iter().map(Expr::to_string).collect(),
        kind: Kind::Fitted,
        mode: options.mode,
        terms,
        covariance: regression.covariance,
        noise_variance: regression.noise_variance,
        mean_time: crate::solve::sum(design.fit.times.iter().copied()) / fitted as f64,
        t_quantile: regression.t_quantile,
        r2: regression.r2,
        mre_fit,
        mre_verify,
        samples: fitted,
        verify_samples: residuals.len() - fitted,
        verdict,
        reason,
        verify_quantiles: None,
        coverage: None,
        leverage_limit: 0.0,
        doubts: Vec::new(),
        rank: regression.rank,
        condition: regression.condition,
        nodes: structure.nodes,
    };
    Ok(Fitted { model, residuals, warnings })
}

/// Fits every model of a samples file whose structure is that of its columns: columns that are names are inputs, and
/// every column not in parentheses is a candidate term.
///
/// One result a model, in the order of the file; one that cannot be fitted does not stop the others.
#[must_use]
pub fn fit_samples(samples: &Samples, options: &Options) -> Vec<Result<Fitted, FitError>> {
    let fit = |model: &ModelSamples| {
        let nodes = samples.platform.as_ref().map_or_else(|| nodes_of(model), |p| p.nodes);
        fit_model(model, &structure_of(model, nodes)?, options, &|_| None)
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
        .map(|c| {
            parse(&c.text).map_err(|e| FitError::BadTerm {
                model: samples.name.clone(),
                term: c.text.clone(),
                message: e.message,
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Structure { inputs, terms, requires: Vec::new(), nodes, variance: None })
}

/// The number of nodes that the columns `P`, `logP` or `sqrtP` tell; 0 if none is there or it varies.
fn nodes_of(samples: &ModelSamples) -> usize {
    let from = |name: &str, inverse: fn(f64) -> f64| {
        let column = samples.columns.iter().position(|c| c.text == name)?;
        let value = *samples.rows.first()?.values.get(column)?;
        let same = samples.rows.iter().all(|row| row.values.get(column) == Some(&value));
        let nodes = inverse(value).round();
        (same && (1.0..1e9).contains(&nodes)).then_some(nodes as usize)
    };
    from("P", |v| v).or_else(|| from("logP", f64::exp2)).or_else(|| from("sqrtP", |v| v * v)).unwrap_or(0)
}

fn residuals(samples: &ModelSamples, design: &Design, part: &Part, coefficients: &[f64]) -> Vec<Residual> {
    part.rows
        .iter()
        .enumerate()
        .map(|(i, &row)| {
            let sample = &samples.rows[row];
            // A dropped term takes no part, even where it is not finite.
            let used = (0..coefficients.len()).filter(|&j| coefficients[j] != 0.0);
            let (c, x): (Vec<f64>, Vec<f64>) = used.map(|j| (coefficients[j], part.matrix[(i, j)])).unzip();
            Residual {
                model: samples.name.clone(),
                line: sample.line,
                verify: sample.verify,
                observed: sample.seconds,
                predicted: dot(&c, &x),
                inputs: design.inputs.iter().map(|&c| sample.values[c]).collect(),
            }
        })
        .collect()
}

/// The verdict on a model and its reason in words.
fn judge(
    regression: &Regression,
    verify: &[Residual],
    mre: Option<f64>,
    options: &Options,
) -> (Verdict, String) {
    let accept = percent(options.accept);
    if regression.coefficients.iter().all(|c| *c == 0.0) {
        return (Verdict::Failed, "no term is relevant: the times do not depend on any of them".into());
    }
    if verify.is_empty() {
        return (Verdict::Unverified, "there are no verification samples".into());
    }
    if let Some(r) = verify.iter().find(|r| !r.predicted.is_finite()) {
        return (
            Verdict::Failed,
            format!("the prediction at the verification sample of line {} is {}", r.line, r.predicted),
        );
    }
    if let Some(r) = verify.iter().find(|r| r.predicted < 0.0 && r.observed >= 0.0) {
        let reason = format!(
            "the prediction at the verification sample of line {} is negative ({:.3e} s)",
            r.line, r.predicted
        );
        return (Verdict::Failed, reason);
    }
    match mre {
        None => {
            (Verdict::Failed, "the verification samples have no relative error: their times are zero".into())
        }
        Some(mre) if mre > options.accept => (
            Verdict::Failed,
            format!(
                "the mean relative error of verification is {}, above the {accept} that is accepted",
                percent(mre)
            ),
        ),
        Some(mre) => (
            Verdict::Verified,
            format!(
                "the mean relative error of {} verification samples is {}, {accept} is accepted",
                verify.len(),
                percent(mre)
            ),
        ),
    }
}

/// What the user should know about a fit that went through.
fn warnings(model: &str, design: &Design, regression: &Regression) -> Vec<String> {
    let mut warnings = Vec::new();
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

/// The measured range of every input, over the samples fitted and those for verification.
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

/// A fraction as a percentage with sensible digits.
pub(crate) fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    if value.abs() >= 9.95 || value == value.round() {
        format!("{value:.0} %")
    } else {
        format!("{value:.1} %")
    }
}
