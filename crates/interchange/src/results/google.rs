//! Google Benchmark: JSON and CSV.
//!
//! Source: `src/json_reporter.cc` and `src/csv_reporter.cc` there. Rows of type `aggregate` (mean,
//! deviation, BigO, RMS) are not measurements. NaN and infinities are not quoted.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Results;
use crate::place::{Problems, offset};

#[derive(Deserialize)]
struct Document<'a> {
    context: Option<Context>,
    #[serde(borrow)]
    benchmarks: Vec<Row<'a>>,
}

#[derive(Deserialize)]
struct Context {
    library_build_type: Option<String>,
    cpu_scaling_enabled: Option<bool>,
}

#[derive(Deserialize)]
struct Row<'a> {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    skipped: bool,
    threads: Option<f64>,
    #[serde(borrow)]
    real_time: Option<&'a RawValue>,
    time_unit: Option<String>,
}

/// Suffixes of the names of aggregates, for files from before rows had a type.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];

/// Parts of a name that describe the way of measuring.
const HOW: [&str; 8] = [
    "real_time", "process_time", "manual_time", "min_time:", "min_warmup_time:", "iterations:", "repeats:",
    "threads:",
];

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    if !text.trim_start().starts_with('{') {
        return csv(text, results, problems);
    }
    let strict = strict(text);
    let Some(document) = results.json::<Document<'_>>(&strict, problems) else { return };
    if let Some(context) = document.context {
        if context.library_build_type.as_deref() == Some("debug") {
            results.note("the benchmark library was a debug build: its own cost is in the times".to_owned());
        }
        if context.cpu_scaling_enabled == Some(true) {
            results.note("the clock rate of the processor was not fixed: times scatter by it".to_owned());
        }
    }
    let several = document.benchmarks.iter().any(|row| row.threads.is_some_and(|threads| threads != 1.0));
    for row in &document.benchmarks {
        if row.error_occurred || row.skipped {
            results.leave_out("the benchmark failed or was skipped");
            continue;
        }
        let Some(time) = row.real_time.filter(|_| !is_aggregate(&row.name, row.run_type.as_deref())) else {
            results.leave_out("they are aggregates");
            continue;
        };
        // The place in the original text, which has the same length.
        let at = offset(&strict, time.get());
        let piece = text.get(at..at + time.get().len()).unwrap_or(text);
        let unit = row.time_unit.as_deref().unwrap_or("ns");
        let Some(seconds) = results.time(piece, unit, problems) else { continue };
        let name = row.run_name.as_deref().unwrap_or(&row.name);
        let (path, mut inputs) = named(name, results);
        if let (true, Some(threads)) = (several, row.threads) {
            inputs.push(("threads".to_owned(), threads));
        }
        results.sample(piece, &path, &inputs, seconds);
    }
}

fn is_aggregate(name: &str, kind: Option<&str>) -> bool {
    match kind {
        Some(kind) => kind == "aggregate",
        None => AGGREGATES.iter().any(|end| name.ends_with(end)),
    }
}

fn named(name: &str, results: &mut Results<'_>) -> (String, Vec<super::Input>) {
    let told = |piece: &&str| !HOW.iter().any(|how| piece.starts_with(how));
    results.named(name.split('/').filter(told), "/")
}

/// The same text with `null` for NaN and infinities, with the same length in bytes.
fn strict(text: &str) -> Cow<'_, str> {
    let mut strict = Cow::Borrowed(text);
    for bare in ["NaN", "Infinity", "-Infinity", "inf", "-inf", "nan", "-nan"] {
        let found = format!(": {bare}");
        if !strict.contains(&found) {
            continue;
        }
        let null = format!(":null{}", " ".repeat((found.len()).saturating_sub(5)));
        strict = Cow::Owned(strict.replace(&found, &null));
    }
    strict
}

/// The table begins below other output, such as the context.
fn csv(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let mut rows = text.lines().skip_while(|line| !line.starts_with("name,iterations,"));
    let header: Vec<&str> = rows.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| header.iter().position(|column| column.trim_matches('"') == name);
    let (Some(time), Some(unit)) = (column("real_time"), column("time_unit")) else {
        return problems.push(0, "the columns `real_time` and `time_unit` are missing".to_owned());
    };
    for row in rows.filter(|row| !row.trim().is_empty()) {
        let Some((name, rest)) = row.strip_prefix('"').and_then(|row| row.split_once("\",")) else {
            results.leave_out("they do not begin with a name in quotes");
            continue;
        };
        let cells: Vec<&str> = std::iter::once(name).chain(rest.split(',')).collect();
        let cell = |place: usize| cells.get(place).copied().unwrap_or_default();
        if is_aggregate(name, None) {
            results.leave_out("they are aggregates");
        } else if cell(time).is_empty() {
            results.leave_out("the benchmark failed or was skipped");
        } else if let Some(seconds) = results.time(cell(time), cell(unit), problems) {
            let threads = name.split('/').find_map(|piece| piece.strip_prefix("threads:"));
            let (path, mut inputs) = named(name, results);
            inputs.extend(threads.and_then(|t| Some(("threads".to_owned(), t.parse().ok()?))));
            results.sample(row, &path, &inputs, seconds);
        }
    }
}
