//! The summary of a fit as JSON, for programs.

use serde::Serialize;
use strata_model::ModelSet;
use strata_model::set::{Kind, Library, Model, Quantiles, Regret, Verdict};

#[derive(Serialize)]
struct Summary<'a> {
    models: Vec<ModelSummary<'a>>,
    libraries: Vec<LibrarySummary<'a>>,
}

#[derive(Serialize)]
struct LibrarySummary<'a> {
    name: &'a str,
    regret: Option<RegretSummary<'a>>,
}

#[derive(Serialize)]
struct RegretSummary<'a> {
    inputs: usize,
    like: Option<&'a str>,
    mean: f64,
    low: f64,
    high: f64,
    worst: f64,
    worst_at: &'a str,
    constant: Option<&'a str>,
    constant_mean: Option<f64>,
    before: Option<&'a str>,
    before_mean: Option<f64>,
}

#[derive(Serialize)]
struct ModelSummary<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper: Option<BoundSummary>,
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
struct BoundSummary {
    share: f64,
    confidence: f64,
    held_out: usize,
    points: usize,
    covered: f64,
    fresh: f64,
    above: f64,
}

#[derive(Serialize)]
struct TermSummary<'a> {
    term: &'a str,
    coefficient: f64,
    std_error: f64,
    clustered_std_error: Option<f64>,
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

/// `{"models": […], "libraries": […]}`. Models with name, mode, terms, errors, verdict with reason
/// and doubts, rank and condition of each fitted model; factored models have no fit and are left
/// out. Libraries with the expected loss of their choices, `null` if it was not measured.
///
/// `std_error` is the ordinary one: every sample counts as independent. `clustered_std_error` and
/// `half_width` allow for samples of one point, which are not (`null` without a covariance). A term
/// is `relevant` if its interval excludes zero, whether it was kept or not. Mean relative errors
/// are fractions (0.05 is 5 %). `mre_verify`, its quantiles and the share of verification samples
/// inside their intervals (`coverage`) are `null` without such samples. Numbers are the shortest
/// text that reads back equal (`null` for NaN and infinity). A model whose unit is not s has
/// `unit`; a bound from above has `upper`, with the shares that it covers of the held-out samples,
/// and of those that did not set it (`fresh`).
#[must_use]
pub fn fit_json(set: &ModelSet) -> String {
    let models = set.models.iter().filter(|m| m.kind == Kind::Fitted).map(summary).collect();
    let libraries = set.libraries.iter().map(library).collect();
    // Structs of strings and numbers always serialise.
    serde_json::to_string_pretty(&Summary { models, libraries }).unwrap_or_default()
}

fn library(library: &Library) -> LibrarySummary<'_> {
    let regret = library.regret.as_ref().map(|regret: &Regret| {
        let (constant, before) = (regret.constant.as_ref(), regret.before.as_ref());
        RegretSummary {
            inputs: regret.inputs,
            like: regret.like.as_deref(),
            mean: regret.mean,
            low: regret.interval.0,
            high: regret.interval.1,
            worst: regret.worst,
            worst_at: &regret.worst_at,
            constant: constant.map(|constant| constant.name.as_str()),
            constant_mean: constant.map(|constant| constant.mean),
            before: before.map(|before| before.name.as_str()),
            before_mean: before.map(|before| before.mean),
        }
    });
    LibrarySummary { name: &library.name, regret }
}

fn summary(model: &Model) -> ModelSummary<'_> {
    ModelSummary {
        name: &model.name,
        unit: (!model.unit.is_seconds()).then_some(model.unit.name()),
        upper: model.bound.map(|bound| BoundSummary {
            share: bound.share,
            confidence: bound.confidence,
            held_out: bound.samples,
            points: bound.points,
            covered: bound.covered,
            fresh: bound.fresh,
            above: bound.above,
        }),
        mode: model.mode.to_string(),
        terms: model
            .terms
            .iter()
            .enumerate()
            .map(|(j, t)| TermSummary {
                term: &t.term,
                coefficient: t.coefficient,
                std_error: t.std_error,
                clustered_std_error: model.covariance.get(j).and_then(|row| Some(row.get(j)?.sqrt())),
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
