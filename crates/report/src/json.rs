//! The summary of a fit as JSON, for programs.

use serde::Serialize;
use strata_model::set::{Kind, Model, Quantiles, Verdict};

#[derive(Serialize)]
struct Summary<'a> {
    models: Vec<ModelSummary<'a>>,
}

#[derive(Serialize)]
struct ModelSummary<'a> {
    name: &'a str,
    mode: String,
    terms: Vec<TermSummary<'a>>,
    r2: f64,
    mre_fit: f64,
    mre_verify: Option<f64>,
    verify_quantiles: Option<QuantilesSummary>,
    coverage: Option<f64>,
    samples: usize,
    verify_samples: usize,
    verified: bool,
    verdict: String,
    reason: &'a str,
    doubts: &'a [String],
    leverage_limit: Option<f64>,
    rank: usize,
    condition: f64,
}

#[derive(Serialize)]
struct TermSummary<'a> {
    term: &'a str,
    coefficient: f64,
    std_error: f64,
    half_width: f64,
    relevant: bool,
}

#[derive(Serialize)]
struct QuantilesSummary {
    p50: f64,
    p90: f64,
    p95: f64,
    max: f64,
}

/// `{"models": […]}` with name, mode, terms, errors, verdict with reason and doubts, rank and
/// condition of each fitted model; factored models have no fit and are left out.
///
/// A term is `relevant` if its interval excludes zero, whether it was kept or not. Mean relative
/// errors are fractions (0.05 is 5 %). `mre_verify`, its quantiles and the share of verification
/// samples inside their intervals (`coverage`) are `null` without such samples. Numbers are the
/// shortest text that reads back equal (`null` for NaN and infinity).
#[must_use]
pub fn fit_json<'a>(models: impl IntoIterator<Item = &'a Model>) -> String {
    let models = models.into_iter().filter(|m| m.kind == Kind::Fitted).map(summary).collect();
    // Structs of strings and numbers always serialise.
    serde_json::to_string_pretty(&Summary { models }).unwrap_or_default()
}

fn summary(model: &Model) -> ModelSummary<'_> {
    ModelSummary {
        name: &model.name,
        mode: model.mode.to_string(),
        terms: model
            .terms
            .iter()
            .map(|t| TermSummary {
                term: &t.term,
                coefficient: t.coefficient,
                std_error: t.std_error,
                half_width: t.half_width,
                relevant: t.relevant && t.coefficient.abs() > t.half_width,
            })
            .collect(),
        r2: model.r2,
        mre_fit: model.mre_fit,
        mre_verify: model.mre_verify,
        verify_quantiles: model.verify_quantiles.map(|Quantiles { p50, p90, p95, max }| QuantilesSummary {
            p50,
            p90,
            p95,
            max,
        }),
        coverage: model.coverage,
        samples: model.samples,
        verify_samples: model.verify_samples,
        verified: model.verdict == Verdict::Verified,
        verdict: model.verdict.to_string(),
        reason: &model.reason,
        doubts: &model.doubts,
        leverage_limit: (model.leverage_limit > 0.0).then_some(model.leverage_limit),
        rank: model.rank,
        condition: model.condition,
    }
}
