//! What tuners and run-times keep: Kernel Tuner's cache, StarPU's codelets, and nanobench's JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Input, Results};
use crate::place::{Problems, offset};

#[derive(Deserialize)]
struct Cache {
    kernel_name: String,
    tune_params_keys: Vec<String>,
    cache: BTreeMap<String, Map<String, Value>>,
}

/// Kernel Tuner's cache (its documentation, *Cache files*): each configuration has the values of the
/// parameters, and `times` of its runs in ms; a text in place of `time` says why it failed.
pub(super) fn kernel_tuner(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    // The file is closed when tuning ends; until then a comma is last.
    let open = text.trim_end().strip_suffix(',').map(|open| format!("{open}}}}}"));
    let Some(file) = results.json::<Cache>(open.as_deref().unwrap_or(text), problems) else { return };
    if open.is_some() {
        results.note("tuning had not ended when this file was written".to_owned());
    }
    for (key, entry) in &file.cache {
        let mut path = file.kernel_name.clone();
        let mut inputs: Vec<Input> = Vec::new();
        for name in &file.tune_params_keys {
            match entry.get(name) {
                Some(Value::String(value)) => path += &format!("/{value}"),
                Some(Value::Bool(value)) => inputs.push((name.clone(), f64::from(u8::from(*value)))),
                Some(value) => inputs.extend(value.as_f64().map(|value| (name.clone(), value))),
                None => {}
            }
        }
        let single = entry.get("times").and_then(Value::as_array).into_iter().flatten();
        let mut times: Vec<f64> = single.filter_map(Value::as_f64).collect();
        if times.is_empty() {
            times.extend(entry.get("time").and_then(Value::as_f64));
        }
        if times.is_empty() {
            results.leave_out("the configuration failed");
        }
        let piece = text.find(&format!("\"{key}\"")).map_or(text, |at| &text[at..]);
        times.retain(|time| time.is_finite() && *time >= 0.0);
        times.into_iter().for_each(|time| results.sample(piece, &path, &inputs, 1e-3 * time));
    }
}

/// StarPU's performance model of a codelet (`.starpu/sampling/codelets`): a history for each
/// implementation, in µs; an entry is a mean of `n` calls.
pub(super) fn starpu(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let (mut model, mut columns) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# Model for ") {
            (model, columns) = (name.split(' ').next().unwrap_or(name).to_owned(), Vec::new());
        } else if line.starts_with("# hash") {
            let names = line.trim_start_matches("# ").split('\t').filter(|name| !name.is_empty());
            columns = names.map(|name| name.split(' ').next().unwrap_or(name)).collect();
        } else if !line.starts_with('#') && !columns.is_empty() {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let cell = |name: &str| Some(*cells.get(columns.iter().position(|column| *column == name)?)?);
            let number = |name: &str| cell(name)?.parse::<f64>().ok();
            let Some(mean) = cell("mean").and_then(|mean| results.time(mean, "us", problems)) else {
                continue;
            };
            let of = |name: &str| Some((name.to_owned(), number(name).filter(|value| *value > 0.0)?));
            let inputs: Vec<Input> = ["size", "flops"].into_iter().filter_map(of).collect();
            if number("dev").is_some_and(|deviation| 1e-6 * deviation > mean) {
                let hash = cells[0];
                results.note(format!("the entry {hash} of {model} deviates by more than its mean"));
            }
            results.sample(line, &model, &inputs, mean);
        }
    }
    results.note("each entry is one sample, the mean of its calls".to_owned());
}

#[derive(Deserialize)]
struct Nanobench {
    results: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    title: Option<String>,
    name: String,
    #[serde(rename = "complexityN")]
    complexity: Option<f64>,
    #[serde(rename = "median(elapsed)")]
    median: Option<f64>,
    #[serde(default)]
    measurements: Vec<Map<String, Value>>,
}

/// nanobench's template `json`: `elapsed` is the time of an iteration in s, `complexityN` the input of
/// a search for its complexity, -1 without one.
pub(super) fn nanobench(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let Some(file) = results.json::<Nanobench>(text, problems) else { return };
    let several = file.results.windows(2).any(|pair| pair[0].title != pair[1].title);
    for Benchmark { title, name, complexity, median, measurements } in &file.results {
        let title = title.as_deref().filter(|_| several);
        let (path, mut inputs) = results.named(title.into_iter().chain([name.as_str()]), "/");
        if let Some(n) = complexity.filter(|n| *n > 0.0) {
            inputs.retain(|(name, _)| name != "n");
            inputs.push(("n".to_owned(), n));
        }
        let mut times: Vec<f64> =
            measurements.iter().filter_map(|one| one.get("elapsed").and_then(Value::as_f64)).collect();
        if times.is_empty() {
            times.extend(median);
            results.note("there are no measurements in this file: each median is one sample".to_owned());
        }
        let piece = text.find(&format!("\"{name}\"")).map_or(text, |at| &text[at..]);
        for time in times {
            match time.is_finite() && time >= 0.0 {
                true => results.sample(piece, &path, &inputs, time),
                false => problems.push(offset(text, piece), "no time is below zero".to_owned()),
            }
        }
    }
}
