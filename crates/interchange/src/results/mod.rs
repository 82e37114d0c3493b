//! Results of benchmark programs, each in the program's own format.
//!
//! Inputs come only from where a format keeps them (parameters, arguments in names), never from
//! statistics of the measurement. Aggregates are not samples; each raw repeat is one. Units come
//! from the file.

mod asv;
mod criterion;
mod dotnet;
mod go;
mod google;
mod hyperfine;
mod jmh;
mod mpi;
mod names;
mod pytest;
mod substrate;
mod tuners;

use std::collections::BTreeMap;

use ::csv::{ReaderBuilder, StringRecord};
use serde::Deserialize;

use crate::experiment::{Experiment, Measurement};
use crate::json;
use crate::place::{Lines, Problems, offset};
use crate::selection::seconds_of as seconds;
use crate::{Format, Selection};

pub(crate) use criterion::folder as criterion_folder;
pub use names::without_numbers;

/// Recognises a format by its first words, in the first kilobytes of a file.
pub(crate) fn detect(text: &str) -> Option<Format> {
    let head = text.trim_start();
    let first = head.lines().next().unwrap_or_default();
    let begins = |word: &str| head.lines().any(|line| line.starts_with(word));
    let has = |name: &str| text.contains(&format!("\"{name}\""));
    if head.starts_with(['{', '[']) {
        let known = [
            (Format::GoogleBenchmark, has("benchmarks") && has("context") && !has("machine_info")),
            (Format::Pytest, has("benchmarks") && has("machine_info")),
            (Format::Jmh, has("primaryMetric")),
            (Format::Substrate, has("pallet") && has("time_results")),
            (Format::Asv, has("result_columns") && has("results")),
            (Format::DotNet, has("Benchmarks") && has("HostEnvironmentInfo")),
            (Format::Hyperfine, has("results") && has("command") && has("mean")),
            (Format::KernelTuner, has("tune_params_keys") && has("cache")),
            (Format::Nanobench, has("results") && has("median(elapsed)")),
        ];
        return known.into_iter().find_map(|(format, is_it)| is_it.then_some(format));
    }
    let known = [
        (Format::GoogleBenchmark, begins("name,iterations,real_time,cpu_time,time_unit")),
        (Format::Hyperfine, first.starts_with("command,mean,stddev,median")),
        (Format::Criterion, first.starts_with("group,function,value,throughput_num")),
        (Format::Go, begins("Benchmark") && text.contains("ns/op")),
        (Format::Osu, first.starts_with("# OSU ") || begins("# OSU MPI")),
        (Format::Imb, begins("# Benchmarking ")),
        (Format::StarPu, begins("# Performance Model Version")),
        (Format::Nccl, begins("# nccl-tests") || begins("# nThread ")),
        (
            Format::DotNet,
            first.trim_start_matches('\u{feff}').split([',', ';']).any(|name| name == "Method")
                && first.contains("Mean")
                && first.contains("StdDev"),
        ),
    ];
    known.into_iter().find_map(|(format, is_it)| is_it.then_some(format))
}

/// Reads a file of one of these formats.
pub(crate) fn read(
    format: Format,
    text: &str,
    selection: &Selection,
    problems: &mut Problems<'_>,
) -> Option<Experiment> {
    let mut results = Results::new(text, format, selection);
    match format {
        Format::GoogleBenchmark => google::read(text, &mut results, problems),
        Format::Hyperfine => hyperfine::read(text, &mut results, problems),
        Format::Criterion => criterion::raw_csv(text, &mut results, problems),
        Format::Pytest => pytest::read(text, &mut results, problems),
        Format::Jmh => jmh::read(text, &mut results, problems),
        Format::Go => go::read(text, &mut results, problems),
        Format::Osu => mpi::osu(text, &mut results, problems),
        Format::Imb => mpi::imb(text, &mut results, problems),
        Format::Substrate => substrate::read(text, &mut results, problems),
        Format::Asv => asv::read(text, &mut results, problems),
        Format::DotNet => dotnet::read(text, &mut results, problems),
        Format::Nccl => mpi::nccl(text, &mut results, problems),
        Format::KernelTuner => tuners::kernel_tuner(text, &mut results, problems),
        Format::StarPu => tuners::starpu(text, &mut results, problems),
        Format::Nanobench => tuners::nanobench(text, &mut results, problems),
        Format::Strata | Format::ExtraPText | Format::ExtraPJson | Format::JsonLines | Format::Csv => {}
    }
    results.finish(problems)
}

/// As many benchmarks whose names differ in numbers alone are one over an input.
const ALIKE: usize = 3;

type Input = (String, f64);

/// The measurements read so far. Benchmarks of one file may have different inputs.
pub(crate) struct Results<'t> {
    text: &'t str,
    lines: Lines,
    format: Format,
    /// Names, in order, for inputs that have none in the file.
    inputs: &'t [String],
    experiment: Experiment,
    /// The name of the first benchmark, as it stands in the file.
    first_name: Option<String>,
    /// The number of rows that are not measurements, by reason.
    left_out: Vec<(String, usize)>,
}

impl<'t> Results<'t> {
    fn new(text: &'t str, format: Format, selection: &'t Selection) -> Self {
        let mut experiment = Experiment::default();
        experiment.metrics.number("time");
        let inputs = selection.inputs.as_deref().unwrap_or_default();
        Self {
            text,
            lines: Lines::new(text),
            format,
            inputs,
            experiment,
            first_name: None,
            left_out: Vec::new(),
        }
    }

    /// A JSON document of this format, or the error at its place.
    fn json<'a, T: Deserialize<'a>>(&self, text: &'a str, problems: &mut Problems<'_>) -> Option<T> {
        match serde_json::from_str(text) {
            Ok(document) => Some(document),
            Err(error) => {
                json::syntax_of(self.format.title(), text, 0, &error, problems);
                None
            }
        }
    }

    /// A time in s, from a piece of the text in the given unit.
    fn time(&self, piece: &str, unit: &str, problems: &mut Problems<'_>) -> Option<f64> {
        let Some(unit) = seconds(unit) else {
            let message = format!("`{unit}` is not a unit of time ({})", self.format.title());
            problems.push(offset(self.text, piece), message);
            return None;
        };
        problems.time(piece, "the time").map(|time| time * unit)
    }

    /// Adds a measurement: `piece` is its part of the text, `path` the benchmark.
    fn sample(&mut self, piece: &str, path: &str, inputs: &[Input], seconds: f64) {
        let known = &mut self.experiment.parameters;
        for (name, _) in inputs {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
        let value = |name: &String| inputs.iter().find(|(n, _)| n == name).map_or(f64::NAN, |(_, v)| *v);
        let point = known.iter().map(value).collect();
        let at = offset(self.text, piece);
        self.experiment.measurements.push(Measurement {
            path: self.experiment.paths.number(path),
            metric: 0,
            point,
            value: seconds,
            verify: false,
            line: self.lines.line(at),
            at,
        });
    }

    /// Counts a row that is not a measurement.
    fn leave_out(&mut self, why: &str) {
        match self.left_out.iter_mut().find(|(known, _)| known == why) {
            Some((_, count)) => *count += 1,
            None => self.left_out.push((why.to_owned(), 1)),
        }
    }

    fn note(&mut self, text: String) {
        if !self.experiment.notes.contains(&text) {
            self.experiment.notes.push(text);
        }
    }

    fn finish(mut self, problems: &mut Problems<'_>) -> Option<Experiment> {
        let all = self.experiment.parameters.len();
        for measurement in &mut self.experiment.measurements {
            measurement.point.resize(all, f64::NAN);
        }
        for (why, count) in &self.left_out {
            let rows = if *count == 1 { "1 row is".to_owned() } else { format!("{count} rows are") };
            self.experiment.notes.push(format!("{rows} left out: {why}"));
        }
        if self.experiment.measurements.is_empty() && problems.is_empty() {
            let why: Vec<String> = self.left_out.iter().map(|(why, _)| why.clone()).collect();
            let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
            problems.push(0, format!("this file of {} has no measurement{why}", self.format.title()));
        }
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        for path in (0..self.experiment.paths.count()).map(|path| self.experiment.paths.text(path)) {
            if let Some((rest, _)) = names::without_numbers(path) {
                *alike.entry(rest).or_default() += 1;
            }
        }
        let is_named = self.first_name.is_some() && self.inputs.is_empty();
        if let Some(most) = alike.into_values().max().filter(|most| *most >= ALIKE && is_named) {
            self.experiment.notes.push(format!(
                "{most} benchmarks differ only in numbers of their names: `--inputs NAME,…` makes inputs of them"
            ));
        }
        let is_taken = |name: &String| self.experiment.parameters.contains(name);
        if let Some(name) = self.inputs.iter().find(|name| !is_taken(name))
            && problems.is_empty()
        {
            let (all, many) = (self.inputs.join(","), self.inputs.len());
            let message = match self.first_name {
                Some(first) if many == 1 => {
                    format!("--inputs {all}: no name has a number of its own; the first is `{first}`")
                }
                Some(first) => format!("--inputs {all}: no name has {many} numbers; the first is `{first}`"),
                None => format!("--inputs {all}: these results name their inputs, and none is `{name}`"),
            };
            problems.push(0, message);
        }
        problems.is_empty().then_some(self.experiment)
    }
}

/// The rows of CSV below its header, each with its text, for its place.
fn records<'t>(text: &'t str, delimiter: u8, problems: &mut Problems<'_>) -> Vec<(StringRecord, &'t str)> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => {
                let at = record.position().map_or(0, |place| place.byte() as usize);
                let row = text.get(at..).unwrap_or_default().trim_start().lines().next();
                rows.push((record, row.unwrap_or_default()));
            }
            Err(error) => {
                let at = error.position().map_or(0, |place| place.byte() as usize);
                problems.push(at, format!("this is not CSV: {error}"));
                break;
            }
        }
    }
    rows
}
