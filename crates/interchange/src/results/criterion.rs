//! criterion: its folder of JSON files, and `raw.csv`.
//!
//! Source: criterion 0.8, `src/report.rs` and `src/csv_report.rs`. A sample is the time of many
//! iterations together. One process takes the 100 samples of a benchmark.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{Results, records, seconds};
use crate::experiment::Experiment;
use crate::place::{Problems, offset};
use crate::{Format, Selection};

const ONE_PROCESS: &str =
    "the samples of a benchmark are of one process, and share what was particular to it";

/// `raw.csv`: a row a sample.
pub(super) fn raw_csv(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    results.note(ONE_PROCESS.to_owned());
    for (record, row) in records(text, b',', problems) {
        let cell = |place: usize| record.get(place).unwrap_or_default();
        let (path, inputs) = name(cell(0), cell(1), cell(2), results);
        let numbers = [cell(5), cell(7)].map(|cell| cell.parse::<f64>().ok());
        match (numbers, seconds(cell(6))) {
            ([Some(time), Some(iterations)], Some(unit)) if time >= 0.0 && iterations >= 1.0 => {
                results.sample(row, &path, &inputs, time * unit / iterations);
            }
            (_, None) => problems.push(offset(text, row), format!("`{}` is not a unit of time", cell(6))),
            _ => problems
                .push(offset(text, row), "this row has no time, or no number of iterations".to_owned()),
        }
    }
}

#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    /// The time in ns of all iterations of each sample.
    times: Vec<f64>,
}

/// The results in a folder such as `target/criterion`: the last run, `new`, of each benchmark.
///
/// # Errors
/// A message about a file that cannot be read.
pub(crate) fn folder(folder: &Path, selection: &Selection) -> Result<Experiment, String> {
    let mut results = Results::new("", Format::Criterion, selection);
    results.note(ONE_PROCESS.to_owned());
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
            // `base` is the previous run, `change` the difference.
            match path.file_name().and_then(|name| name.to_str()) {
                Some("new") if path.join("benchmark.json").is_file() => found.push(path),
                Some("base" | "change" | "report") => {}
                _ => folders.push(path),
            }
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!(
            "{}: there is no folder of criterion here, with `new/benchmark.json` and `new/sample.json` in it",
            folder.display()
        ));
    }
    for path in found {
        let Benchmark { group_id, function_id, value_str } = read(&path.join("benchmark.json"))?;
        let Sample { iters, times } = read(&path.join("sample.json"))?;
        let named = name(
            &group_id,
            function_id.as_deref().unwrap_or_default(),
            value_str.as_deref().unwrap_or_default(),
            &mut results,
        );
        if iters.len() != times.len()
            || iters.iter().any(|iterations| iterations.is_nan() || *iterations < 1.0)
        {
            return Err(format!("{}: as many times as numbers of iterations belong here", path.display()));
        }
        for (time, iterations) in times.iter().zip(&iters) {
            results.sample("", &named.0, &named.1, 1e-9 * time / iterations);
        }
    }
    let mut problems = Problems::new("criterion", "");
    results.finish(&mut problems).ok_or_else(|| format!("{}: {}", folder.display(), problems.errors()))
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A value that is not a number is part of the name.
fn name(group: &str, function: &str, value: &str, results: &mut Results<'_>) -> (String, Vec<super::Input>) {
    let pieces = [group, function, value].into_iter().filter(|piece| !piece.is_empty());
    results.named(pieces, "/")
}
