//! Extra-P's JSON lines, read and written:
//! `{"params":{"n":16},"callpath":"main","metric":"time","value":1.5}`.
//!
//! Call path and metric may be omitted, and a value may be a list of repetitions. Every line has
//! the parameters of the first. Ours may also contain `"verify":true` for a held-out sample, which
//! Extra-P ignores. Lines of TaLPas have `parameters` instead, and `;` between the fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use strata_model::samples::ModelSamples;
use strata_model::{Samples, did_you_mean};
use thiserror::Error;

use crate::Format;
use crate::experiment::{Experiment, Measurement};
use crate::json::{items, syntax};
use crate::place::{Problems, offset};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, alias = "parameters")]
    params: BTreeMap<String, &'a RawValue>,
    callpath: Option<String>,
    metric: Option<String>,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(default)]
    verify: bool,
}

/// JSON lines if the first line is an object with parameters, otherwise one JSON document.
pub(crate) fn or_json(text: &str) -> Format {
    #[derive(Deserialize)]
    struct First<'a> {
        #[serde(borrow, rename = "params", alias = "parameters")]
        _params: BTreeMap<&'a str, &'a RawValue>,
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if serde_json::from_str::<First<'_>>(&with_commas(first)).is_ok() {
        Format::JsonLines
    } else {
        Format::ExtraPJson
    }
}

/// TaLPas' lines with commas between their fields, with the same length in bytes.
pub(crate) fn with_commas(text: &str) -> Cow<'_, str> {
    if !text.contains(';') {
        return Cow::Borrowed(text);
    }
    let mut quoted = false;
    let comma = |c: char| {
        quoted = (quoted ^ (c == '"')) && c != '\n';
        if c == ';' && !quoted { ',' } else { c }
    };
    Cow::Owned(text.chars().map(comma).collect())
}

pub(crate) fn read(text: &str, problems: &mut Problems<'_>) -> Option<Experiment> {
    let mut experiment = Experiment::default();
    let mut first = true;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let base = offset(text, line);
        // Lists would be accepted as objects without names.
        if !line.trim_start().starts_with('{') {
            problems.push(base, "this is no line of Extra-P's JSON lines: expected `{`".into());
            continue;
        }
        let parsed: Line<'_> = match serde_json::from_str(line) {
            Ok(parsed) => parsed,
            Err(error) => {
                syntax(line, base, &error, problems);
                continue;
            }
        };
        if first {
            // In the order of the line, which a map by name does not keep.
            let mut parameters: Vec<(usize, String)> =
                parsed.params.iter().map(|(name, raw)| (offset(text, raw.get()), name.clone())).collect();
            parameters.sort();
            experiment.parameters = parameters.into_iter().map(|(_, name)| name).collect();
            first = false;
        }
        let mut point = Vec::with_capacity(experiment.parameters.len());
        for name in &experiment.parameters {
            match parsed.params.get(name) {
                Some(raw) => point.extend(problems.number(raw.get(), format_args!("the value of `{name}`"))),
                None => problems.push(
                    base,
                    format!("this line has no value of `{name}`, which the first line has; add it"),
                ),
            }
        }
        if let Some((name, raw)) =
            parsed.params.iter().find(|(name, _)| !experiment.parameters.contains(name))
        {
            let message =
                format!("the parameter `{name}` is not in the first line; every line needs the same");
            problems.push(offset(text, raw.get()), message);
        }
        let path = experiment.paths.number(parsed.callpath.as_deref().unwrap_or("<root>"));
        let metric = experiment.metrics.number(parsed.metric.as_deref().unwrap_or("time"));
        let values = items(parsed.value);
        if values.is_empty() {
            problems.push(base, "this line has an empty list of values; take it out".into());
        }
        for raw in values {
            if let Some(value) = problems.time(raw.get(), "the value") {
                let (point, verify, line) = (point.clone(), parsed.verify, index + 1);
                let at = base;
                experiment.measurements.push(Measurement { path, metric, point, value, verify, line, at });
            }
        }
    }
    if experiment.parameters.is_empty() && problems.is_empty() {
        problems.push(0, "the first line names no parameter: `\"params\":{\"n\":16}` is needed".into());
    }
    problems.is_empty().then_some(experiment)
}

/// Why samples cannot be written as JSON lines.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// There is no such model, or no model at all.
    #[error("there is no model `{wanted}`{}; there is {}", did_you_mean(wanted, there.iter().map(String::as_str)), if there.is_empty() { "none".into() } else { there.join(", ") })]
    NoModel {
        /// The requested model.
        wanted: String,
        /// The existing models.
        there: Vec<String>,
    },
    /// A model without an `input` or a `sample`: Extra-P needs a parameter and a value of it.
    #[error("model `{0}` has no {1}, and Extra-P needs at least one")]
    Nothing(String, &'static str),
    /// Extra-P accepts several call paths only if all were measured at the same points.
    #[error(
        "models `{0}` and `{1}` were not measured at the same points, which Extra-P asks of one file; choose one with `--model`"
    )]
    Differ(String, String),
    /// A time or an input of a model that JSON cannot represent, with the line of the sample.
    #[error("model `{0}`, line {1}: {2} cannot be written as JSON; take the sample out")]
    NotFinite(String, usize, f64),
}

#[derive(Serialize)]
struct Written<'a> {
    #[serde(serialize_with = "as_map")]
    params: Vec<(&'a str, f64)>,
    callpath: &'a str,
    metric: &'a str,
    value: f64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    verify: bool,
}

/// An object with its names in this order.
fn as_map<S: serde::Serializer>(pairs: &[(&str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// Samples as JSON lines that Extra-P reads: a model is a call path, an input a parameter, the
/// metric is `time` in seconds.
///
/// `model` is the one to write; `None` writes all. Terms are left out, as Extra-P finds its own.
///
/// # Errors
/// See [`ExportError`].
pub fn json_lines(samples: &Samples, model: Option<&str>) -> Result<String, ExportError> {
    let wanted = |m: &&ModelSamples| model.is_none_or(|name| m.name == name);
    let models: Vec<&ModelSamples> = samples.models.iter().filter(wanted).collect();
    let Some(first) = models.first() else {
        let there = samples.models.iter().map(|m| m.name.clone()).collect();
        return Err(ExportError::NoModel { wanted: model.unwrap_or_default().into(), there });
    };
    let mut text = String::new();
    for m in &models {
        let nothing = |what| ExportError::Nothing(m.name.clone(), what);
        if m.inputs().next().is_none() {
            return Err(nothing("input"));
        }
        if m.rows.is_empty() {
            return Err(nothing("sample"));
        }
        if points(m) != points(first) {
            return Err(ExportError::Differ(first.name.clone(), m.name.clone()));
        }
        for sample in &m.rows {
            let params: Vec<(&str, f64)> = m
                .inputs()
                .map(|(column, c)| (c.text.as_str(), sample.values.get(column).copied().unwrap_or(f64::NAN)))
                .collect();
            let mut numbers = params.iter().map(|(_, v)| *v).chain([sample.seconds]);
            if let Some(value) = numbers.find(|v| !v.is_finite()) {
                return Err(ExportError::NotFinite(m.name.clone(), sample.line, value));
            }
            let written = Written {
                params,
                callpath: &m.name,
                metric: "time",
                value: sample.seconds,
                verify: sample.verify,
            };
            // Strings and finite numbers always serialise.
            text += &serde_json::to_string(&written).unwrap_or_default();
            text.push('\n');
        }
    }
    Ok(text)
}

/// The inputs of a model and its points, as bits so that they can be compared.
fn points(model: &ModelSamples) -> (Vec<&str>, BTreeSet<Vec<u64>>) {
    let columns: Vec<usize> = model.inputs().map(|(column, _)| column).collect();
    let point =
        |values: &Vec<f64>| columns.iter().filter_map(|&c| values.get(c)).map(|v| v.to_bits()).collect();
    let names = model.inputs().map(|(_, c)| c.text.as_str()).collect();
    (names, model.rows.iter().map(|row| point(&row.values)).collect())
}
