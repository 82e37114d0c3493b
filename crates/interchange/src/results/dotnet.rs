//! BenchmarkDotNet: its JSON (`-full`, `-brief`) and its `-report.csv`.
//!
//! Source: BenchmarkDotNet 0.14, `Exporters/Json/JsonExporterBase.cs` and `Exporters/Csv`. JSON has
//! single measurements, in ns; cells of CSV have a number with its unit, and means alone.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Results, records};
use crate::place::{Problems, offset};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(rename = "Benchmarks", borrow)]
    benchmarks: Vec<Benchmark<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Benchmark<'a> {
    method: String,
    #[serde(default)]
    parameters: String,
    #[serde(borrow)]
    statistics: Option<Statistics<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statistics<'a> {
    #[serde(borrow, default)]
    original_values: Vec<&'a RawValue>,
    #[serde(borrow)]
    mean: &'a RawValue,
}

/// Columns of numbers that say how it was measured.
const HOW: [&str; 11] = [
    "InvocationCount",
    "IterationCount",
    "IterationTime",
    "LaunchCount",
    "MaxIterationCount",
    "MaxWarmupIterationCount",
    "MinInvokeCount",
    "MinIterationCount",
    "MinWarmupIterationCount",
    "UnrollFactor",
    "WarmupCount",
];

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    if !text.trim_start().starts_with('{') {
        return csv(text, results, problems);
    }
    let Some(document) = results.json::<Document<'_>>(text, problems) else { return };
    for Benchmark { method, parameters, statistics } in &document.benchmarks {
        let Some(Statistics { original_values, mean }) = statistics else {
            results.leave_out("they failed");
            continue;
        };
        let pieces = parameters.split(['&', ',']).map(str::trim).filter(|piece| !piece.is_empty());
        let (path, inputs) = results.named([method.as_str()].into_iter().chain(pieces), "/");
        let mean = [*mean];
        for time in if original_values.is_empty() { &mean[..] } else { original_values } {
            if let Some(seconds) = results.time(time.get(), "ns", problems) {
                results.sample(time.get(), &path, &inputs, seconds);
            }
        }
    }
}

fn csv(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    results.note("CSV of BenchmarkDotNet has no single measurements: each mean is one sample".to_owned());
    let first = text.trim_start().lines().next().unwrap_or_default();
    let delimiter = if first.contains(';') { ';' } else { ',' };
    let header: Vec<&str> = first.split(delimiter).map(|name| name.trim().trim_matches('"')).collect();
    let Some(mean) = header.iter().position(|name| *name == "Mean") else { return };
    for (record, row) in records(text, delimiter as u8, problems) {
        let cell = |place: usize| record.get(place).unwrap_or_default().trim();
        let inputs: Vec<(&str, &str)> = (1..mean)
            .filter(|place| !HOW.contains(&header[*place]) && cell(*place).parse::<f64>().is_ok())
            .map(|place| (header[place], cell(place)))
            .collect();
        let pieces: Vec<String> = inputs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let pieces = [cell(0)].into_iter().chain(pieces.iter().map(String::as_str));
        let (path, inputs) = results.named(pieces, "/");
        let Some((number, unit)) = cell(mean).rsplit_once(' ') else {
            // `NA` of a benchmark that failed.
            results.leave_out("they failed");
            continue;
        };
        match (number.replace(',', "").parse::<f64>(), super::seconds(unit)) {
            (Ok(time), Some(unit)) if time >= 0.0 => results.sample(row, &path, &inputs, time * unit),
            _ => problems.push(offset(text, row), format!("`{}` is not a time", cell(mean))),
        }
    }
}
