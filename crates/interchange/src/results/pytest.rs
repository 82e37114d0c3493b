//! pytest-benchmark's JSON.
//!
//! Source: pytest-benchmark 5. Rounds stand in `stats.data` with `--benchmark-json`, and with
//! `--benchmark-save-data`; they are in s, of one execution each.

use std::collections::{BTreeMap, BTreeSet};

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
    /// With the file, `tests/test_a.py::test_sort[64]`.
    fullname: Option<String>,
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
    let test = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
    // The file, too, where several have a test of one name.
    let mut alike: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for one in &document.benchmarks {
        alike.entry(test(&one.name)).or_default().insert(one.fullname.as_deref().map(test));
    }
    for Benchmark { name, fullname, params, stats } in &document.benchmarks {
        let several = alike.get(&test(name)).is_some_and(|names| names.len() > 1);
        let full = fullname.as_deref().filter(|_| several);
        let mut path = test(full.unwrap_or(name));
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
