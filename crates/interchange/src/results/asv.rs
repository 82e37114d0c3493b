//! The result files of airspeed velocity.
//!
//! Source: asv 0.6, `asv/results.py`: a benchmark is a row, whose columns `result_columns` names; its
//! parameters are lists of values, of which the last changes first. Times are in s.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Results;
use crate::place::Problems;

#[derive(Deserialize)]
struct Document {
    result_columns: Vec<String>,
    results: BTreeMap<String, Vec<Value>>,
}

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    // Skipped parameters have NaN, which JSON does not know.
    let text = text.replace("NaN", "null");
    let Some(document) = results.json::<Document>(&text, problems) else { return };
    let place = |name: &str| document.result_columns.iter().position(|column| column == name);
    let (result, params, samples) = (place("result"), place("params"), place("samples"));
    for (name, row) in &document.results {
        // What a benchmark measures stands in its name: `time_sort`, `TimeSort`, `peakmem_sort`.
        let is_time = |last: &str| ["time_", "Time", "timeraw_"].iter().any(|begin| last.starts_with(begin));
        if !name.rsplit('.').next().is_some_and(is_time) {
            results.leave_out("they are of benchmarks that measure no time");
            continue;
        }
        let list = |column: Option<usize>| row.get(column?)?.as_array();
        let values: Vec<Vec<&str>> = (list(params).into_iter().flatten())
            .map(|values| values.as_array().into_iter().flatten().filter_map(Value::as_str).collect())
            .collect();
        if list(result).is_none() {
            results.leave_out("they failed or were skipped");
        }
        for (at, mean) in list(result).into_iter().flatten().enumerate() {
            let Some(mean) = mean.as_f64().filter(|mean| *mean >= 0.0) else {
                results.leave_out("they failed or were skipped");
                continue;
            };
            let mut rest = at;
            let mut parameters: Vec<&str> = Vec::new();
            for of in values.iter().rev() {
                parameters.push(of.get(rest % of.len().max(1)).copied().unwrap_or_default());
                rest /= of.len().max(1);
            }
            let parameters = parameters.into_iter().rev().map(|text| text.trim_matches('\''));
            let (path, inputs) = results.named([name.as_str()].into_iter().chain(parameters), "/");
            let single = list(samples).and_then(|of| of.get(at)?.as_array());
            let single: Vec<f64> =
                single.into_iter().flatten().filter_map(Value::as_f64).filter(|time| *time >= 0.0).collect();
            if single.is_empty() {
                results.note("some benchmarks have no single samples: each median is one sample".to_owned());
            }
            for seconds in if single.is_empty() { vec![mean] } else { single } {
                results.sample("", &path, &inputs, seconds);
            }
        }
    }
}
