//! The text of the OSU micro-benchmarks, of Intel's MPI benchmarks and of nccl-tests.
//!
//! OSU's text has no number of ranks: `--set ranks=144` gives it. In Intel's, the time of a
//! collective is the slowest rank's.

use std::collections::BTreeSet;

use super::{Input, Results};
use crate::place::{Problems, offset};

const NOTHING: &str = "a collective of 0 bytes does nothing";

pub(super) fn osu(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let mut test = "osu".to_owned();
    let mut latency = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("# OSU ") {
            let title = title.split(" Test").next().unwrap_or(title);
            test = title.trim().trim_end_matches(" Latency").replace("MPI ", "");
        } else if let Some(columns) = line.strip_prefix("# Size") {
            latency = columns.contains("atency");
            if !latency {
                let message = format!("`{}` is a rate, not a time; take a test of latency", columns.trim());
                return problems.push(offset(text, line), message);
            }
        } else if let [size, time, ..] = line.split_whitespace().collect::<Vec<_>>()[..]
            && latency
            && let Ok(size) = size.parse::<f64>()
            && let Some(seconds) = results.time(time, "us", problems)
        {
            results.sample(line, &test, &[("bytes".to_owned(), size)], seconds);
        }
    }
    results.note(
        "files of OSU do not say how many ranks there were: `--set ranks=N` adds them as an input".to_owned(),
    );
}

/// Of nccl-tests the times out of place: the first column of that name.
pub(super) fn nccl(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let (mut test, mut time) = ("nccl".to_owned(), None);
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let types: BTreeSet<&str> = rows.filter_map(|line| line.split_whitespace().nth(2)).collect();
    for line in text.lines() {
        let words: Vec<&str> = line.trim_start_matches('#').split_whitespace().collect();
        if let Some((_, name)) = line.split_once("Collective test starting: ") {
            test = name.trim().trim_end_matches("_perf").to_owned();
        } else if let ["size", "count", ..] = words[..] {
            time = words.iter().position(|word| *word == "time");
        } else if line.starts_with('#') || words.is_empty() {
        } else if let Some(cell) = time.and_then(|place| words.get(place))
            && let Ok(size) = words[0].parse::<f64>()
            && let Some(seconds) = results.time(cell, "us", problems)
        {
            if size == 0.0 {
                results.leave_out(NOTHING);
                continue;
            }
            // Of several types of elements each has its own cost.
            let name = match (words.get(2), types.len()) {
                (Some(kind), 2..) => format!("{test}/{kind}"),
                _ => test.clone(),
            };
            results.sample(line, &name, &[("bytes".to_owned(), size)], seconds);
        }
    }
    results.note("of nccl-tests the times out of place are read".to_owned());
}

pub(super) fn imb(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let mut test = String::new();
    let mut ranks: Option<f64> = None;
    let mut columns: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["#", "Benchmarking", name, ..] = words[..] {
            (test, ranks, columns) = (name.to_owned(), None, Vec::new());
        } else if let Some(number) = line.trim().strip_prefix("# #processes = ") {
            ranks = number.split_whitespace().next().and_then(|number| number.parse().ok());
        } else if line.contains("#repetitions") {
            columns = words;
        } else if !columns.is_empty() && words.first().is_some_and(|word| word.parse::<f64>().is_ok()) {
            let cell = |name: &str| {
                let place = columns.iter().position(|column| *column == name)?;
                words.get(place).copied()
            };
            let Some(ranks) = ranks else {
                problems
                    .push(offset(text, line), "no line `# #processes = N` stands above this row".to_owned());
                return;
            };
            let Some(time) = cell("t_max[usec]").or_else(|| cell("t[usec]")) else {
                problems.push(offset(text, line), format!("`{test}` has no column of times"));
                return;
            };
            let bytes = cell("#bytes").and_then(|bytes| bytes.parse::<f64>().ok());
            if bytes == Some(0.0) {
                results.leave_out(NOTHING);
                continue;
            }
            let Some(seconds) = results.time(time, "us", problems) else { continue };
            let bytes = bytes.map(|bytes| ("bytes".to_owned(), bytes));
            let inputs: Vec<Input> = bytes.into_iter().chain([("ranks".to_owned(), ranks)]).collect();
            results.sample(line, &test, &inputs, seconds);
        } else if words.is_empty() {
            columns.clear();
        }
    }
}
