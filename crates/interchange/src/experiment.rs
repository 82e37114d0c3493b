//! The content common to all formats: measured metrics of call paths over parameters.

use std::collections::{BTreeMap, BTreeSet};

use strata_model::expr::{Function, RESERVED, is_name};
use strata_model::samples::{Column, ModelSamples, Sample, Samples};
use strata_model::{Unit, did_you_mean};
use strata_select::choice::MAX_INPUTS;

use crate::Selection;
use crate::place::Problems;

/// An experiment as read from a file.
#[derive(Debug, Default)]
pub(crate) struct Experiment {
    pub(crate) parameters: Vec<String>,
    /// The measurements in the order of the file.
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) paths: Texts,
    pub(crate) metrics: Texts,
    /// Remarks for the user.
    pub(crate) notes: Vec<String>,
    /// What speaks against the models of some call paths.
    pub(crate) doubts: Vec<(usize, String)>,
}

/// One timing at one point.
#[derive(Debug)]
pub(crate) struct Measurement {
    /// The call path's index.
    pub(crate) path: usize,
    pub(crate) metric: usize,
    /// One value a parameter.
    pub(crate) point: Vec<f64>,
    pub(crate) value: f64,
    /// Whether it was held out for verification.
    pub(crate) verify: bool,
    pub(crate) line: usize,
    /// Its byte position in the text.
    pub(crate) at: usize,
}

/// Distinct texts, numbered in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    texts: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    pub(crate) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.numbers.insert(text.to_owned(), self.texts.len());
        self.texts.push(text.to_owned());
        self.texts.len() - 1
    }

    pub(crate) fn count(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, number: usize) -> &str {
        self.texts.get(number).map_or("", String::as_str)
    }
}

/// The most changed names that are listed.
const RENAMED: usize = 3;

/// Parts of the names of metrics that are counts, not times.
const NO_TIMES: [&str; 7] = ["byte", "visit", "flop", "call", "count", "instruction", "energy"];

/// Seconds of a century: a greater measurement is not a time.
const CENTURY: f64 = 3.2e9;

impl Experiment {
    /// Adds a value that is to be fitted, with its line and its byte position.
    pub(crate) fn measured(
        &mut self,
        path: usize,
        metric: usize,
        point: Vec<f64>,
        value: f64,
        (line, at): (usize, usize),
    ) {
        self.measurements.push(Measurement { path, metric, point, value, verify: false, line, at });
    }

    /// The measurements of one metric as samples, one model for each call path.
    pub(crate) fn samples(
        self,
        selection: &Selection,
        problems: &mut Problems<'_>,
        notes: &mut Vec<String>,
        names_in_file: &mut BTreeMap<String, String>,
    ) -> Option<Samples> {
        if self.measurements.is_empty() {
            problems
                .push(0, "there is no measurement in this file: it was truncated, or is another's".into());
            return None;
        }
        let metric = self.metric(selection, problems)?;
        let scale = selection.time.as_ref().map_or(1.0, |time| time.scale);
        let unit = selection.time.as_ref().map_or(Unit::SECONDS, |time| time.unit.clone());
        let named = self.metrics.text(metric).to_ascii_lowercase();
        if selection.time.is_none() && NO_TIMES.iter().any(|word| named.contains(word)) {
            notes.push(format!(
                "the metric `{}` is no time, but its numbers are taken for s",
                self.metrics.text(metric)
            ));
        }
        notes.extend(self.notes);
        let mut renamed = 0;
        let mut name = |names: &mut Names, kind: &str, given: &str| {
            let name = names.claim(given);
            if name != given {
                renamed += 1;
                if renamed <= RENAMED {
                    notes.push(format!("{kind} `{given}` is called `{name}` here"));
                }
            }
            name
        };
        let mut names = Names::default();
        let given = self.parameters.iter().chain(selection.set.iter().map(|(name, _)| name));
        let columns: Vec<Column> = given.map(|p| Column::input(name(&mut names, "parameter", p))).collect();
        let mut names = Names::default();
        // In alphabetical order, so that of two names that are called alike each is called the same
        // in another run, which may print them in another order.
        let used: BTreeSet<usize> =
            self.measurements.iter().filter(|m| m.metric == metric).map(|m| m.path).collect();
        let mut used: Vec<usize> = used.into_iter().collect();
        used.sort_by_key(|path| &self.paths.texts[*path]);
        let mut called: BTreeMap<usize, String> = used
            .into_iter()
            .map(|path| (path, name(&mut names, "call path", &self.paths.texts[path])))
            .collect();
        names_in_file
            .extend(called.iter().map(|(path, name)| (name.clone(), self.paths.texts[*path].clone())));
        let mut places: Vec<Option<usize>> = vec![None; self.paths.texts.len()];
        let mut models: Vec<ModelSamples> = Vec::new();
        let mut inputs: Vec<Vec<bool>> = Vec::new();
        for mut m in self.measurements.into_iter().filter(|m| m.metric == metric) {
            m.point.extend(selection.set.iter().map(|(_, value)| *value));
            if unit.is_seconds() && m.value * scale > CENTURY {
                let message = format!(
                    "{:e} s are longer than a century: take the measurement out, or say its unit",
                    m.value * scale
                );
                problems.push(m.at, message);
            }
            let place = *places[m.path].get_or_insert_with(|| {
                let name = called.remove(&m.path).unwrap_or_default();
                // Benchmarks of one file may have different inputs.
                let own: Vec<bool> = m.point.iter().map(|value| !value.is_nan()).collect();
                let columns = columns.iter().zip(&own).filter(|(_, own)| **own).map(|(c, _)| c.clone());
                let columns: Vec<Column> = columns.collect();
                if columns.len() > MAX_INPUTS {
                    let message = format!(
                        "{} inputs, and a model has at most {MAX_INPUTS}: name those on which the time depends \
                         with `--inputs NAME,…`",
                        columns.len()
                    );
                    problems.push(m.at, message);
                }
                models.push(ModelSamples { name, columns, unit: unit.clone(), ..ModelSamples::default() });
                inputs.push(own);
                models.len() - 1
            });
            if m.point.iter().zip(&inputs[place]).any(|(value, own)| value.is_nan() == *own) {
                let message = format!(
                    "`{}` has other inputs here than above: give each of its rows the same",
                    models[place].name
                );
                problems.push(m.at, message);
            }
            m.point.retain(|value| !value.is_nan());
            models[place].rows.push(Sample {
                verify: m.verify,
                seconds: m.value * scale,
                values: m.point,
                line: m.line,
                ..Sample::default()
            });
        }
        if renamed > RENAMED {
            notes.push(format!("{} more names are changed alike", renamed - RENAMED));
        }
        let name = |(path, doubt): (usize, String)| Some((models[places[path]?].name.clone(), doubt));
        let doubts = self.doubts.into_iter().filter_map(name).collect();
        Some(Samples { models, doubts, ..Samples::default() })
    }

    /// The requested metric, or the only one.
    fn metric(&self, selection: &Selection, problems: &mut Problems<'_>) -> Option<usize> {
        let mut seen = BTreeSet::new();
        let firsts: Vec<&Measurement> = self.measurements.iter().filter(|m| seen.insert(m.metric)).collect();
        let text = |m: &Measurement| self.metrics.texts[m.metric].as_str();
        let list: Vec<String> = firsts.iter().map(|m| format!("`{}`", text(m))).collect();
        let time = selection.time.as_ref().map(|time| &time.name);
        match (selection.metric.as_ref().or(time), firsts.as_slice()) {
            (Some(wanted), _) => {
                let found = firsts.iter().find(|m| text(m) == wanted).map(|m| m.metric);
                if found.is_none() {
                    let meant = did_you_mean(wanted, firsts.iter().map(|m| text(m)));
                    let message =
                        format!("there is no metric `{wanted}`{meant}; there is {}", list.join(", "));
                    problems.push(0, message);
                }
                found
            }
            (None, [only]) => Some(only.metric),
            (None, [_, second, ..]) => {
                let message = format!(
                    "this file has {} metrics, {}: choose the one that is a time with `--metric NAME`, or with its unit with `--time NAME:UNIT`",
                    list.len(),
                    list.join(", ")
                );
                problems.push(second.at, message);
                None
            }
            (None, []) => None,
        }
    }
}

/// The name of a model of a further measure: `copy` of the measure `cpu instructions` is
/// `copy_cpu_instructions`, unless that is taken.
pub(crate) fn measured_name(model: &str, measure: &str, others: &Samples) -> String {
    let mut names = Names::default();
    names.taken.extend(others.models.iter().map(|other| other.name.clone()));
    names.claim(&format!("{model}_{measure}"))
}

/// Names of models or inputs, each used once.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    /// The last number that was appended to a name.
    counts: BTreeMap<String, usize>,
}

impl Names {
    /// A name that is valid in an expression, as close as possible to the given one.
    fn claim(&mut self, given: &str) -> String {
        let mut name = String::new();
        for c in given.chars() {
            if c.is_ascii_alphanumeric() || c == '_' {
                name.push(c);
            } else if !name.is_empty() && !name.ends_with('_') {
                name.push('_');
            }
        }
        // `main->solve<double>` becomes `main_solve_double`.
        if name != given {
            name.truncate(name.trim_end_matches('_').len());
        }
        if !is_name(&name) {
            name.insert_str(0, "x_");
        }
        let reserved = |name: &str| RESERVED.contains(&name) || Function::from_name(name).is_some();
        if name == "x_" {
            name = "time".into();
        }
        if reserved(&name) {
            name.push('_');
        }
        if self.taken.contains(&name) {
            let count = self.counts.entry(name.clone()).or_insert(1);
            let wanted = name.clone();
            while self.taken.contains(&name) {
                *count += 1;
                name = format!("{wanted}_{count}");
            }
        }
        self.taken.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_stay_as_near_as_can_be() {
        let mut names = Names::default();
        for (given, name) in [
            ("n", "n"),
            ("main->solve<double>", "main_solve_double"),
            ("<root>", "root"),
            ("size (bytes)", "size_bytes"),
            ("size-bytes", "size_bytes_2"),
            ("P", "P_"),
            ("log2", "log2_"),
            ("3d", "x_3d"),
            ("größe", "gr_e"),
            ("", "time"),
            ("<>", "time_2"),
            ("_", "_"),
        ] {
            assert_eq!(names.claim(given), name, "{given}");
        }
    }
}
