//! hyperfine: JSON with all runs, and CSV with the means.
//!
//! Source: `src/export` there. Times are in s, in whatever unit they were shown; parameters are
//! text.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Input, Results, records};
use crate::place::{Problems, offset};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    results: Vec<Command<'a>>,
}

#[derive(Deserialize)]
struct Command<'a> {
    command: String,
    #[serde(borrow)]
    mean: &'a RawValue,
    #[serde(borrow, default)]
    times: Vec<&'a RawValue>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    if !text.trim_start().starts_with('{') {
        return csv(text, results, problems);
    }
    let Some(document) = results.json::<Document<'_>>(text, problems) else { return };
    for command in &document.results {
        let parameters = command.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let (path, inputs) = named(&command.command, parameters, results);
        if command.times.is_empty() {
            results.note("there are no single runs in this file: each mean is one sample".to_owned());
            if let Some(seconds) = results.time(command.mean.get(), "s", problems) {
                results.sample(command.mean.get(), &path, &inputs, seconds);
            }
        }
        for (place, time) in command.times.iter().enumerate() {
            if command.exit_codes.get(place).is_some_and(|code| *code != Some(0)) {
                results.leave_out("the command failed");
            } else if let Some(seconds) = results.time(time.get(), "s", problems) {
                results.sample(time.get(), &path, &inputs, seconds);
            }
        }
    }
}

/// The command with its numeric parameters replaced by their names, and those parameters.
/// Parameters that are text distinguish commands.
fn named<'a>(
    command: &str,
    parameters: impl Iterator<Item = (&'a str, &'a str)>,
    results: &mut Results<'_>,
) -> (String, Vec<Input>) {
    let (mut name, mut inputs) = (command.to_owned(), Vec::new());
    for (parameter, value) in parameters {
        if let Some(number) = results.value(value) {
            let word = |word: &str| if word == value { parameter.to_owned() } else { word.to_owned() };
            name = name.split(' ').map(word).collect::<Vec<_>>().join(" ");
            // As in `--size=1000`.
            name = name.replace(&format!("={value}"), &format!("={parameter}"));
            inputs.push((parameter.to_owned(), number));
        }
    }
    (name.trim_start_matches(['.', '/']).to_owned(), inputs)
}

fn csv(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let header: Vec<&str> = first.split(',').map(str::trim).collect();
    results.note("CSV of hyperfine has no single runs: each mean is one sample".to_owned());
    for (record, row) in records(text, b',', problems) {
        let at = offset(text, row);
        if record.len() != header.len() {
            let message = format!(
                "this row has {} cells, the header {}: with `--reference` hyperfine leaves parameters out; export JSON",
                record.len(),
                header.len()
            );
            problems.push(at, message);
            continue;
        }
        let parameters = header.iter().zip(&record).filter_map(|(name, value)| {
            Some((name.strip_prefix("parameter_")?, value)).filter(|(_, value)| !value.is_empty())
        });
        let (path, inputs) = named(record.get(0).unwrap_or_default(), parameters, results);
        match record.get(1).map(str::parse::<f64>) {
            Some(Ok(mean)) if mean.is_finite() && mean >= 0.0 => {
                results.sample(row, &path, &inputs, mean);
            }
            _ => problems.push(at, "the mean must be a time in s".to_owned()),
        }
    }
}
