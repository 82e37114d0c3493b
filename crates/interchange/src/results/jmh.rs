//! JMH's JSON.
//!
//! `rawData` has one list for each fork: samples of one fork share its process. Rates are inverted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Results, seconds};
use crate::place::{Problems, offset};

#[derive(Deserialize)]
struct Benchmark<'a> {
    benchmark: String,
    mode: String,
    #[serde(default)]
    params: BTreeMap<String, String>,
    #[serde(borrow, rename = "primaryMetric")]
    metric: Metric<'a>,
}

#[derive(Deserialize)]
struct Metric<'a> {
    #[serde(borrow)]
    score: &'a RawValue,
    #[serde(rename = "scoreUnit")]
    unit: String,
    #[serde(borrow, rename = "rawData", default)]
    raw: Vec<Vec<&'a RawValue>>,
}

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let Some(benchmarks) = results.json::<Vec<Benchmark<'_>>>(text, problems) else { return };
    // The class, too, where several have a method of one name.
    let last = |name: &str, parts: usize| -> String {
        let from = name.rmatch_indices('.').nth(parts - 1).map_or(0, |(at, _)| at + 1);
        name[from..].to_owned()
    };
    let mut alike: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for Benchmark { benchmark, .. } in &benchmarks {
        alike.entry(last(benchmark, 1)).or_default().insert(benchmark);
    }
    for Benchmark { benchmark, mode, params, metric } in &benchmarks {
        let several = alike.get(&last(benchmark, 1)).is_some_and(|names| names.len() > 1);
        let mut path = last(benchmark, if several { 2 } else { 1 });
        let mut inputs = Vec::new();
        for (name, value) in params {
            match results.value(value) {
                Some(number) => inputs.push((name.clone(), number)),
                None => path += &format!("/{value}"),
            }
        }
        let (of_time, of_rate) = (metric.unit.strip_suffix("/op"), metric.unit.strip_prefix("ops/"));
        let Some((unit, rate)) = of_time
            .map(|unit| (unit, false))
            .or(of_rate.map(|unit| (unit, true)))
            .and_then(|(unit, rate)| Some((seconds(unit)?, rate)))
        else {
            let message =
                format!("`{}` of mode `{mode}` is neither a time an operation nor a rate", metric.unit);
            problems.push(offset(text, metric.score.get()), message);
            continue;
        };
        let mut raw: Vec<&RawValue> = metric.raw.iter().flatten().copied().collect();
        if raw.is_empty() {
            results.note("there is no raw data in this file: each score is one sample".to_owned());
            raw.push(metric.score);
        } else if metric.raw.len() == 1 {
            results
                .note("the samples are of one fork, and share what was particular to its process".to_owned());
        }
        for one in raw {
            let Some(number) = problems.time(one.get(), "the score") else { continue };
            if rate && number == 0.0 {
                problems.push(offset(text, one.get()), "a rate of zero is no time".to_owned());
                continue;
            }
            results.sample(one.get(), &path, &inputs, if rate { unit / number } else { unit * number });
        }
    }
}
