//! pytest-benchmark's JSON.
//!
//! Source: pytest-benchmark 5. Rounds stand in `stats.data` with `--benchmark-json`, and with
//! `--benchmark-save-data`; they are in s, of one execution each.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Results;
use crate::place::Problems;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    benchmarks: Vec<Benchmark<'a>>,
}

#[derive(Deserialize)]
struct Benchmark<'a> {
    name: String,
    params: Option<Map<String, Value>>,
    #[serde(borrow)]
    stats: Stats<'a>,
}

#[derive(Deserialize)]
struct Stats<'a> {
    #[serde(borrow)]
    mean: &'a RawValue,
    #[serde(borrow, default)]
    data: Vec<&'a RawValue>,
}

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let Some(document) = results.json::<Document<'_>>(text, problems) else { return };
    for Benchmark { name, params, stats } in &document.benchmarks {
        let mut path = name.split('[').next().unwrap_or(name).to_owned();
        let mut inputs = Vec::new();
        for (name, value) in params.iter().flatten() {
            let number = match value {
                Value::String(text) => results.value(text),
                value => value.as_f64(),
            };
            match number {
                Some(number) => inputs.push((name.clone(), number)),
                None => path += &format!("/{}", value.as_str().map_or(value.to_string(), str::to_owned)),
            }
        }
        let only_mean = [stats.mean];
        let times = if stats.data.is_empty() {
            results.note("there are no rounds in this file: each mean is one sample; `--benchmark-save-data` keeps them".to_owned());
            &only_mean[..]
        } else {
            &stats.data
        };
        for time in times {
            if let Some(seconds) = results.time(time.get(), "s", problems) {
                results.sample(time.get(), &path, &inputs, seconds);
            }
        }
    }
}
