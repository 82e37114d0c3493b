//! BenchmarkDotNet: its JSON (`-full`, `-brief`) and its `-report.csv`.
//!
//! Source: BenchmarkDotNet 0.14, `Exporters/Json/JsonExporterBase.cs` and `Exporters/Csv`. JSON has
//! single measurements, in ns; cells of CSV have a number with its unit, and means alone.

use std::collections::BTreeSet;

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
    #[serde(default)]
    display_info: String,
    #[serde(rename = "Type", default)]
    class: String,
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
const HOW: [&str; 18] = [
    "Affinity",
    "BuildConfiguration",
    "HeapAffinitizeMask",
    "HeapCount",
    "MaxAbsoluteError",
    "MaxRelativeError",
    "OutlierMode",
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
    // What differs between benchmarks of one method tells them apart.
    let job = |one: &Benchmark<'_>| -> String {
        let job = one.display_info.split_once(": ").map_or("", |(_, rest)| rest);
        job.split(" [").next().unwrap_or_default().to_owned()
    };
    let differ = |values: BTreeSet<String>| values.len() > 1;
    let of_jobs = differ(document.benchmarks.iter().map(job).collect());
    let of_classes = differ(document.benchmarks.iter().map(|one| one.class.clone()).collect());
    for one in &document.benchmarks {
        let Some(Statistics { original_values, mean }) = &one.statistics else {
            results.leave_out("they failed");
            continue;
        };
        let job = job(one);
        let told = [(of_classes, &one.class), (true, &one.method), (of_jobs, &job)];
        let told = told.iter().filter(|(differs, _)| *differs).map(|(_, text)| text.as_str());
        let parameters = one.parameters.split(['&', ',']).map(str::trim).filter(|piece| !piece.is_empty());
        let (path, inputs) = results.named(told.chain(parameters), "/");
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
    // `Mean`, or `Mean [us]` where all cells have one unit.
    let Some(mean) = header.iter().position(|name| *name == "Mean" || name.starts_with("Mean [")) else {
        return problems.push(0, "there is no column `Mean`".to_owned());
    };
    let of_all = header[mean].split_once('[').map(|(_, unit)| unit.trim_end_matches(']'));
    let rows = records(text, delimiter as u8, problems);
    let cells =
        |place: usize| rows.iter().map(move |(record, _)| record.get(place).unwrap_or_default().trim());
    let is_number = |place: usize| cells(place).all(|cell| cell.parse::<f64>().is_ok());
    let differs = |place: usize| cells(place).collect::<BTreeSet<&str>>().len() > 1;
    let before = || (0..mean).filter(|place| !HOW.contains(&header[*place]));
    let numbers: Vec<usize> = before().filter(|place| is_number(*place)).collect();
    // What differs between rows of one method tells them apart.
    let texts: Vec<usize> = before()
        .filter(|place| !is_number(*place) && (header[*place] == "Method" || differs(*place)))
        .collect();
    for (record, row) in &rows {
        let cell = |place: usize| record.get(place).unwrap_or_default().trim();
        let pairs: Vec<String> =
            numbers.iter().map(|place| format!("{}={}", header[*place], cell(*place))).collect();
        let pieces = texts.iter().map(|place| cell(*place)).chain(pairs.iter().map(String::as_str));
        let (path, inputs) = results.named(pieces, "/");
        let told = cell(mean).rsplit_once(' ').or(of_all.map(|unit| (cell(mean), unit)));
        let Some((number, unit)) = told.filter(|(number, _)| *number != "NA") else {
            // `NA` of a benchmark that failed.
            results.leave_out("they failed");
            continue;
        };
        match (decimal(number, delimiter == ';'), super::seconds(unit)) {
            (Some(time), Some(unit)) if time >= 0.0 => results.sample(row, &path, &inputs, time * unit),
            _ => problems.push(offset(text, row), format!("`{}` is not a time", cell(mean))),
        }
    }
}

/// A number with separators of thousands. Where semicolons separate cells, a comma is the decimal
/// sign.
fn decimal(text: &str, is_comma: bool) -> Option<f64> {
    let (thousands, sign) = if is_comma { ('.', ',') } else { (',', '.') };
    let (whole, fraction) = text.split_once(sign).unwrap_or((text, ""));
    let mut groups = whole.split(thousands);
    groups.next();
    groups.all(|group| group.len() == 3).then_some(())?;
    let whole = whole.replace(thousands, "");
    format!("{whole}.{fraction}0").parse().ok()
}
