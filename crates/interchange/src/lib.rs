//! Reads samples in foreign formats: Extra-P's, CSV, and the results of benchmark programs.
//!
//! [`read`] converts them into [`Samples`]. A call path becomes a model, a parameter an input; no
//! terms are named, so the fit searches for terms. Every repetition is a sample. [`json_lines`]
//! writes what Extra-P reads.
//!
//! No value is guessed: a missing value, one that is not a number, or a negative time is an error
//! with its place and a remedy.
//!
//! Sources: Extra-P 4.2 (`docs/file-formats.md` there); RFC 4180 for CSV, with a header row.
//!
//! ```
//! use strata_interchange::{Format, Selection, read};
//!
//! let text = b"threads,size,time\n1,100,0.5\n2,100,0.26\n";
//! let imported = read(text, "runs.csv", None, &Selection::default()).unwrap();
//! assert_eq!(imported.format, Format::Csv);
//! assert_eq!(imported.samples.models[0].name, "runs");
//! assert_eq!(imported.samples.models[0].rows[1].values, [2.0, 100.0]);
//! ```

#![forbid(unsafe_code)]

mod csv;
pub mod emit;
mod experiment;
mod json;
mod json_lines;
mod place;
mod results;
pub mod rules;
mod selection;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use strata_model::samples::SamplesErrors;
use strata_model::{Samples, did_you_mean};

use experiment::Experiment;
use place::Problems;

pub use json_lines::{ExportError, json_lines};
pub use results::without_numbers;
pub use selection::{HoldOut, Selection, TimeColumn};

/// Formats of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Strata's own, see [`strata_model::samples`].
    Strata,
    /// Extra-P's text: lines that begin with `PARAMETER`, `POINTS`, `METRIC`, `REGION` and `DATA`.
    ExtraPText,
    /// Extra-P's JSON, the present form and the older one with numbered coordinates.
    ExtraPJson,
    /// Extra-P's JSON lines: one object a measurement.
    JsonLines,
    /// A header row, then one row a measurement, separated by commas, semicolons or tabs.
    Csv,
    /// Google Benchmark's JSON or CSV.
    GoogleBenchmark,
    /// hyperfine's JSON or CSV.
    Hyperfine,
    /// criterion's `raw.csv`; a folder is read by [`read_criterion`].
    Criterion,
    /// pytest-benchmark's JSON.
    Pytest,
    /// JMH's JSON.
    Jmh,
    /// The text of Go's benchmarks.
    Go,
    /// The text of the OSU micro-benchmarks, of latency.
    Osu,
    /// The text of Intel's MPI benchmarks.
    Imb,
    /// The JSON of Substrate's `benchmark pallet --json-file`.
    Substrate,
    /// The result files of airspeed velocity.
    Asv,
    /// BenchmarkDotNet's JSON or `-report.csv`.
    DotNet,
    /// The text of nccl-tests.
    Nccl,
    /// Kernel Tuner's cache.
    KernelTuner,
    /// StarPU's performance models of codelets.
    StarPu,
    /// The JSON of nanobench's template `json`.
    Nanobench,
}

impl Format {
    /// All formats in the order of their documentation: the name by which users select each, and its
    /// name in a sentence.
    const TABLE: [(Self, &'static str, &'static str); 20] = [
        (Self::Strata, "samples", "Strata"),
        (Self::ExtraPText, "extra-p-text", "Extra-P"),
        (Self::ExtraPJson, "extra-p-json", "Extra-P"),
        (Self::JsonLines, "json-lines", "Extra-P"),
        (Self::Csv, "csv", "CSV"),
        (Self::GoogleBenchmark, "google-benchmark", "Google Benchmark"),
        (Self::Hyperfine, "hyperfine", "hyperfine"),
        (Self::Criterion, "criterion", "criterion"),
        (Self::Pytest, "pytest-benchmark", "pytest-benchmark"),
        (Self::Jmh, "jmh", "JMH"),
        (Self::Go, "go", "Go"),
        (Self::Osu, "osu", "the OSU micro-benchmarks"),
        (Self::Imb, "imb", "Intel's MPI benchmarks"),
        (Self::Substrate, "substrate", "Substrate"),
        (Self::Asv, "asv", "airspeed velocity"),
        (Self::DotNet, "benchmark-dot-net", "BenchmarkDotNet"),
        (Self::Nccl, "nccl-tests", "nccl-tests"),
        (Self::KernelTuner, "kernel-tuner", "Kernel Tuner"),
        (Self::StarPu, "starpu", "StarPU"),
        (Self::Nanobench, "nanobench", "nanobench"),
    ];

    /// All formats, in the order of their documentation.
    pub const ALL: [Self; 20] = {
        let mut all = [Self::Strata; 20];
        let mut at = 0;
        while at < all.len() {
            all[at] = Self::TABLE[at].0;
            assert!(all[at] as usize == at, "rows are in the order of the variants");
            at += 1;
        }
        all
    };

    fn row(self) -> (Self, &'static str, &'static str) {
        Self::TABLE[self as usize]
    }

    /// The name by which users select it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Its name in a sentence.
    pub(crate) fn title(self) -> &'static str {
        self.row().2
    }

    /// Detects the format of a file by its content, and by its extension where that is ambiguous.
    #[must_use]
    pub fn detect(text: &str, file_name: &str) -> Self {
        Self::recognise(text, file_name).unwrap_or(Self::Strata)
    }

    /// The format, if the file says it.
    fn recognise(text: &str, file_name: &str) -> Option<Self> {
        if let Some(format) = results::detect(text) {
            return Some(format);
        }
        let ending = file_name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let word = first.and_then(|line| line.split_whitespace().next()).unwrap_or_default();
        Some(match (word, ending.as_deref()) {
            (_, Some("csv" | "tsv")) => Self::Csv,
            (_, Some("jsonl" | "ndjson")) => Self::JsonLines,
            ("PARAMETER" | "POINTS" | "METRIC" | "REGION" | "DATA", _) => Self::ExtraPText,
            ("strata-samples" | "platform" | "spec" | "model", _) => Self::Strata,
            _ if word.starts_with(['{', '[']) => {
                let format = json_lines::or_json(text);
                let is_known = format == Self::JsonLines || text.contains("\"measurements\"");
                return is_known.then_some(format);
            }
            (_, Some("json")) => Self::ExtraPJson,
            _ if csv::is_table(text) => Self::Csv,
            _ => return None,
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_it = |format: &Self| format.name().strip_suffix("-benchmark").unwrap_or(format.name()) == text;
        Self::ALL.into_iter().find(|format| format.name() == text || is_it(format)).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|format| format.name()).collect();
            let meant = did_you_mean(text, names.iter().copied());
            format!("`{text}` is no format{meant}; there are {}", names.join(", "))
        })
    }
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The samples; platform and spec are unknown unless the format is Strata's own.
    pub samples: Samples,
    /// The format that was read.
    pub format: Format,
    /// Remarks for the user: names that had to be changed, columns that are not used.
    pub notes: Vec<String>,
    /// The name in the file of each model that was named by it: of two files the same model has the
    /// same, whatever others are called alike.
    pub names: BTreeMap<String, String>,
}

/// Reads samples in any [`Format`]; `format` if it is known, otherwise the
/// [detected](Format::detect) one.
///
/// `file_name` names the file in messages, and its stem the model of a CSV file. Of several
/// measures each has models of its own.
///
/// # Errors
/// Every bad line, up to [`MAX_ERRORS`](strata_model::samples::MAX_ERRORS) kinds of them: text that
/// is not UTF-8, an empty file, text that does not follow the format, a missing value, a value that
/// is not a finite number, a negative time. Also a file with several metrics, or with several
/// columns that could be the time or the model, if `selection` names none of them; and a selection
/// that does not suit the file.
pub fn read(
    bytes: &[u8],
    file_name: &str,
    format: Option<Format>,
    selection: &Selection,
) -> Result<Imported, SamplesErrors> {
    let mut all = read_measure(bytes, file_name, format, selection)?;
    for measure in &selection.also {
        let others = selection.time.iter().chain(&selection.also).filter(|other| *other != measure).cloned();
        let own = Selection { time: Some(measure.clone()), also: others.collect(), ..selection.clone() };
        let mut further = read_measure(bytes, file_name, format, &own)?;
        for mut model in further.samples.models.drain(..) {
            let name = experiment::measured_name(&model.name, &measure.name, &all.samples);
            let of_it = further.samples.doubts.iter().filter(|(of, _)| *of == model.name);
            all.samples.doubts.extend(of_it.map(|(_, doubt)| (name.clone(), doubt.clone())));
            model.name = name;
            all.samples.models.push(model);
        }
        all.notes
            .extend(further.notes.into_iter().filter(|note| !all.notes.contains(note)).collect::<Vec<_>>());
    }
    Ok(all)
}

fn read_measure(
    bytes: &[u8],
    file_name: &str,
    format: Option<Format>,
    selection: &Selection,
) -> Result<Imported, SamplesErrors> {
    let text = &*place::without_ranks(place::utf8(bytes, file_name)?);
    let recognised = format.or_else(|| Format::recognise(text, file_name));
    let format = recognised.unwrap_or(Format::Strata);
    let commas = if format == Format::JsonLines { json_lines::with_commas(text) } else { text.into() };
    let text = &*commas;
    let mut problems = Problems::new(file_name, text);
    problems.differences = selection.differences;
    if text.trim().is_empty() {
        problems.push(0, format!("there is nothing in this file: expected samples ({format})"));
        return Err(problems.errors());
    }
    let inputs = selection.inputs.as_deref().unwrap_or_default();
    if let Some(place) = (0..inputs.len()).find(|place| inputs[..*place].contains(&inputs[*place])) {
        problems.push(0, format!("--inputs: `{}` stands there twice", inputs[place]));
        return Err(problems.errors());
    }
    if let Some((option, why)) = unsuited(format, selection) {
        problems.push(0, format!("{option} is not for this file ({format}): {why}"));
        return Err(problems.errors());
    }
    let experiment = match format {
        Format::Strata => {
            let parsed = Samples::parse(text, file_name);
            let holds_rows = |read: &Samples| read.models.iter().any(|model| !model.rows.is_empty());
            if recognised.is_none() && !parsed.as_ref().is_ok_and(holds_rows) {
                problems.push(0, not_recognised());
                return Err(problems.errors());
            }
            let mut samples = parsed?;
            if let Some(HoldOut::Share(share)) = selection.hold_out {
                selection::hold_out(&mut samples, share);
            }
            return Ok(Imported { samples, format, notes: Vec::new(), names: BTreeMap::new() });
        }
        Format::ExtraPText => text::read(text, &mut problems),
        Format::ExtraPJson => json::read(text, &mut problems),
        Format::JsonLines => json_lines::read(text, &mut problems),
        Format::Csv => csv::read(text, file_name, selection, &mut problems),
        results => results::read(results, text, selection, &mut problems),
    };
    imported(experiment, format, selection, problems)
}

/// The message about a file of no format.
fn not_recognised() -> String {
    let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    format!(
        "this is no format that is read ({}; `--from` says which); a CSV file with a header and one row a \
         measurement always is",
        known.join(", ")
    )
}

/// The imported samples, or all problems.
fn imported(
    experiment: Option<Experiment>,
    format: Format,
    selection: &Selection,
    mut problems: Problems<'_>,
) -> Result<Imported, SamplesErrors> {
    let (mut notes, mut names) = (Vec::new(), BTreeMap::new());
    let samples =
        experiment.and_then(|e: Experiment| e.samples(selection, &mut problems, &mut notes, &mut names));
    match samples {
        Some(mut samples) if problems.is_empty() => {
            if let Some(HoldOut::Share(share)) = selection.hold_out {
                selection::hold_out(&mut samples, share);
            }
            Ok(Imported { samples, format, notes, names })
        }
        _ => Err(problems.errors()),
    }
}

/// Reads criterion's folder, such as `target/criterion`: the last run of each benchmark.
///
/// # Errors
/// A message: a folder or file cannot be read, or has no results of criterion.
pub fn read_criterion(folder: &Path, selection: &Selection) -> Result<Imported, String> {
    let experiment = results::criterion_folder(folder, selection)?;
    let problems = Problems::new("criterion", "");
    imported(Some(experiment), Format::Criterion, selection, problems)
        .map_err(|errors| format!("{}: {errors}", folder.display()))
}

/// An option that does not apply to files of this format, and why.
fn unsuited(format: Format, selection: &Selection) -> Option<(&'static str, &'static str)> {
    let Selection { metric, time, also: _, hold_out, model_columns, inputs, differences: _, kinds: _, set } =
        selection;
    let of_columns = "it names a column of CSV";
    let is_extra_p = matches!(format, Format::ExtraPText | Format::ExtraPJson | Format::JsonLines);
    match format {
        Format::Strata if metric.is_some() => Some(("--metric", "there are no metrics")),
        Format::Strata if time.is_some() => Some(("--time", "it says itself what its units are")),
        Format::Strata if !set.is_empty() => Some(("--set", "its models have their inputs")),
        Format::Csv if metric.is_some() => {
            Some(("--metric", "name the column of times with --time COLUMN:UNIT"))
        }
        _ if format != Format::Csv && !model_columns.is_empty() => Some(("--model-column", of_columns)),
        _ if format != Format::Csv && matches!(hold_out, Some(HoldOut::Column(_))) => {
            Some(("--hold-out COLUMN", of_columns))
        }
        _ if (is_extra_p || format == Format::Strata) && inputs.is_some() => {
            Some(("--inputs", "it says itself which are inputs"))
        }
        _ if is_extra_p || matches!(format, Format::Strata | Format::Csv) => None,
        _ if metric.is_some() => Some(("--metric", "its times are known")),
        _ if time.is_some() => Some(("--time", "its times and their units are known")),
        _ => None,
    }
}
