//! Extra-P's JSON.
//!
//! The present form has `parameters`, a list of names, and `measurements`: call path → metric →
//! list of `point` and `values`. The older form numbers everything: `parameters`, `callpaths`,
//! `metrics` and `coordinates` are lists with `id` and `name`, and every measurement refers to a
//! coordinate, a call path and a metric by number.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::experiment::Experiment;
use crate::place::{Lines, Problems, byte_of, offset, short};

/// An object in the order of the file.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// The present form. Numbers stay text, so their positions are known.
#[derive(Deserialize)]
struct Present<'a> {
    parameters: Vec<String>,
    #[serde(borrow)]
    measurements: Pairs<Pairs<Vec<Points<'a>>>>,
}

#[derive(Deserialize)]
struct Points<'a> {
    #[serde(borrow)]
    point: &'a RawValue,
    #[serde(borrow)]
    values: &'a RawValue,
}

/// The older form.
#[derive(Deserialize)]
struct Numbered<'a> {
    parameters: Vec<Name>,
    callpaths: Vec<Name>,
    metrics: Vec<Name>,
    #[serde(borrow)]
    coordinates: Vec<Coordinate<'a>>,
    #[serde(borrow)]
    measurements: Vec<NumberedMeasurement<'a>>,
}

#[derive(Deserialize)]
struct Name {
    id: i64,
    name: String,
}

#[derive(Deserialize)]
struct Coordinate<'a> {
    id: i64,
    #[serde(borrow)]
    parameter_value_pairs: Vec<Pair<'a>>,
}

#[derive(Deserialize)]
struct Pair<'a> {
    parameter_id: i64,
    #[serde(borrow)]
    parameter_value: &'a RawValue,
}

#[derive(Deserialize)]
struct NumberedMeasurement<'a> {
    #[serde(borrow)]
    coordinate_id: &'a RawValue,
    #[serde(borrow)]
    callpath_id: &'a RawValue,
    #[serde(borrow)]
    metric_id: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// The error of the JSON parser, with its position.
pub(crate) fn syntax(text: &str, base: usize, error: &serde_json::Error, problems: &mut Problems<'_>) {
    syntax_of("Extra-P", text, base, error, problems);
}

/// The same in a file of this program.
pub(crate) fn syntax_of(
    program: &str,
    text: &str,
    base: usize,
    error: &serde_json::Error,
    problems: &mut Problems<'_>,
) {
    let at = byte_of(text, error.line(), error.column());
    // The parser's position is behind the text that it could not read.
    let word = text[..at].trim_end_matches(char::is_alphanumeric).len();
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let rest = &text[word.min(text.len())..];
    let message = if rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("Inf") {
        "NaN and Infinity are no numbers in JSON and no times; take the measurement out or repeat it".into()
    } else if error.is_eof() {
        format!("the file ends too early ({said}): it was truncated")
    } else {
        let possessive = if program.ends_with('s') { "'" } else { "'s" };
        format!("this is not {program}{possessive} JSON: {said}")
    };
    problems.push(base + at, message);
}

pub(crate) fn read(text: &str, problems: &mut Problems<'_>) -> Option<Experiment> {
    #[derive(Deserialize)]
    struct Form<'a> {
        #[serde(borrow)]
        callpaths: Option<&'a RawValue>,
    }
    if !text.trim_start().starts_with('{') {
        problems.push(offset(text, text.trim_start()), "this is not Extra-P's JSON: expected `{`".into());
        return None;
    }
    let form: Form<'_> = parse(text, problems)?;
    if form.callpaths.is_some() {
        numbered(text, parse(text, problems)?, problems)
    } else {
        present(text, parse(text, problems)?, problems)
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, problems: &mut Problems<'_>) -> Option<T> {
    serde_json::from_str(text).map_err(|error| syntax(text, 0, &error, problems)).ok()
}

/// The items of a list, as text; anything else is a list of one item.
pub(crate) fn items<'a>(raw: &'a RawValue) -> Vec<&'a RawValue> {
    serde_json::from_str::<Vec<&'a RawValue>>(raw.get()).unwrap_or_else(|_| vec![raw])
}

/// A number, which may be quoted in the older form.
fn unquoted(raw: &RawValue) -> &str {
    raw.get().trim_matches('"')
}

fn present(text: &str, file: Present<'_>, problems: &mut Problems<'_>) -> Option<Experiment> {
    let lines = Lines::new(text);
    let mut experiment = Experiment { parameters: file.parameters, ..Experiment::default() };
    for (path, metrics) in file.measurements.0 {
        let path = experiment.paths.number(&path);
        for (metric, points) in metrics.0 {
            let metric = experiment.metrics.number(&metric);
            for Points { point: raw, values } in points {
                let at = offset(text, raw.get());
                let coordinates = items(raw);
                if coordinates.len() != experiment.parameters.len() {
                    let (wanted, found) = (experiment.parameters.join(", "), coordinates.len());
                    let message = format!("a point has one value for each of {wanted}, but here are {found}");
                    problems.push(at, message);
                    continue;
                }
                let named = coordinates.iter().zip(&experiment.parameters);
                let point: Vec<f64> = named
                    .filter_map(|(v, p)| problems.number(v.get(), format_args!("the value of `{p}`")))
                    .collect();
                let values = items(values);
                if values.is_empty() {
                    problems.push(at, "this point has no values; measure it or take it out".into());
                }
                for raw in values {
                    if let Some(value) = problems.time(raw.get(), "the value") {
                        let at = offset(text, raw.get());
                        let (point, line) = (point.clone(), lines.line(at));
                        experiment.measured(path, metric, point, value, (line, at));
                    }
                }
            }
        }
    }
    problems.is_empty().then_some(experiment)
}

fn numbered(text: &str, file: Numbered<'_>, problems: &mut Problems<'_>) -> Option<Experiment> {
    let lines = Lines::new(text);
    let mut parameters = file.parameters;
    parameters.sort_by_key(|p| p.id);
    let mut experiment = Experiment::default();
    let mut points: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for coordinate in &file.coordinates {
        let pair = |p: &Name| coordinate.parameter_value_pairs.iter().find(|pair| pair.parameter_id == p.id);
        let values = parameters.iter().filter_map(|p| match pair(p) {
            Some(pair) => {
                problems.number(unquoted(pair.parameter_value), format_args!("the value of `{}`", p.name))
            }
            None => {
                let at = coordinate.parameter_value_pairs.first();
                let at = at.map_or(0, |pair| offset(text, pair.parameter_value.get()));
                let message = format!("coordinate {} has no value of `{}`; add one", coordinate.id, p.name);
                problems.push(at, message);
                None
            }
        });
        points.insert(coordinate.id, values.collect());
    }
    let name = |names: &[Name], id: i64| names.iter().find(|n| n.id == id).map(|n| n.name.clone());
    for m in &file.measurements {
        let at = offset(text, m.value.get());
        let id = |raw: &RawValue| unquoted(raw).parse::<i64>().ok();
        let mut missing = |kind: &str, list: &str, raw: &RawValue| {
            let message = format!("there is no {kind} {} among the {list}", short(raw.get()));
            problems.push(offset(text, raw.get()), message);
        };
        let point = id(m.coordinate_id).and_then(|id| points.get(&id));
        let path = id(m.callpath_id).and_then(|id| name(&file.callpaths, id));
        let metric = id(m.metric_id).and_then(|id| name(&file.metrics, id));
        match (point, path, metric) {
            (None, ..) => missing("coordinate", "coordinates", m.coordinate_id),
            (_, None, _) => missing("call path", "callpaths", m.callpath_id),
            (.., None) => missing("metric", "metrics", m.metric_id),
            (Some(point), Some(path), Some(metric)) => {
                if let Some(value) = problems.time(unquoted(m.value), "the value") {
                    let (path, metric) = (experiment.paths.number(&path), experiment.metrics.number(&metric));
                    let (point, line) = (point.clone(), lines.line(at));
                    experiment.measured(path, metric, point, value, (line, at));
                }
            }
        }
    }
    experiment.parameters = parameters.into_iter().map(|p| p.name).collect();
    problems.is_empty().then_some(experiment)
}
