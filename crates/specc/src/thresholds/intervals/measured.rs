//! Input values at which both ways were timed.

use strata_model::expr::{Program, RESERVED, node_values, parse};
use strata_model::samples::{ModelSamples, Sample};
use strata_model::set::{Input, Model};
use strata_model::{ModelSet, Samples};

use super::Evidence;
use super::tuneup::Both;
use crate::competition::Competition;
use crate::thresholds::places::{Segment, Way};

/// Inputs that differ by less are equal.
const EQUAL: f64 = 1e-9;

/// The timings of both ways at equal values in one file, within the range of both segments.
pub(super) fn pairs(
    set: &ModelSet,
    competition: &Competition,
    evidence: &Evidence,
    (inputs, by): (&[f64], usize),
    (from, to): (&Segment, &Segment),
) -> Vec<Both> {
    let timed = |way: &'_ Way| Timed::new(set, competition, way);
    let (Some(first), Some(second)) = (timed(&from.way), timed(&to.way)) else { return Vec::new() };
    let mut pairs = Vec::new();
    for file in evidence.files() {
        let mut values = [first.values(file, by), second.values(file, by)].concat();
        values.retain(|value| (from.from..=to.to).contains(value));
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut here = inputs.to_vec();
        pairs.extend(values.into_iter().filter_map(|at| {
            here[by] = at;
            Some(Both { at, from: first.seconds(file, &here)?, to: second.seconds(file, &here)? })
        }));
    }
    pairs
}

/// A sample with the values of its model's inputs.
pub(super) struct Row<'a> {
    pub(super) inputs: Vec<f64>,
    pub(super) sample: &'a Sample,
}

/// The samples of a model that have a column for each of its inputs.
pub(super) fn rows<'a>(model: &Model, samples: &'a ModelSamples) -> Vec<Row<'a>> {
    let place = |input: &Input| samples.columns.iter().position(|column| column.text == input.name);
    let Some(places) = model.inputs.iter().map(place).collect::<Option<Vec<usize>>>() else {
        return Vec::new();
    };
    let row = |sample: &'a Sample| {
        let inputs = places.iter().map(|place| sample.values.get(*place).copied());
        Some(Row { inputs: inputs.collect::<Option<_>>()?, sample })
    };
    samples.rows.iter().filter_map(row).collect()
}

/// A way as it appears in the samples.
struct Timed<'a> {
    model: &'a Model,
    nodes: usize,
    parameters: Vec<f64>,
    /// The arguments passed to the model.
    arguments: Vec<Program>,
    /// For each argument, the index of the library's input that it is.
    plain: Vec<Option<usize>>,
}

impl<'a> Timed<'a> {
    fn new(set: &'a ModelSet, competition: &Competition, way: &Way) -> Option<Self> {
        let declared = competition.declared(way.candidate)?;
        let (model, plain) = competition.arguments(way.candidate)?;
        let parameters = declared.parameters.iter().map(|parameter| &*parameter.name);
        let names: Vec<&str> =
            competition.inputs().iter().map(String::as_str).chain(parameters).chain(RESERVED).collect();
        let compile = |text: &String| Program::compile(&parse(text).ok()?, &names).ok();
        Some(Self {
            model: set.model(model)?,
            nodes: competition.nodes(),
            parameters: way.taken.iter().map(|value| *value as f64).collect(),
            arguments: declared.arguments.iter().map(compile).collect::<Option<_>>()?,
            plain,
        })
    }

    /// The rows of the model, each with its inputs.
    fn rows<'s>(&'s self, file: &'s Samples) -> impl Iterator<Item = (Vec<f64>, f64)> + 's {
        let nodes = self.nodes;
        let rows = file.model(&self.model.name).into_iter().flat_map(|samples| rows(self.model, samples));
        let here =
            move |row: &Row<'_>| [0, nodes].contains(&row.sample.notes.nodes) && row.sample.seconds > 0.0;
        rows.filter(here).map(|row| (row.inputs, row.sample.seconds))
    }

    /// The values of the library's input `by` with timings.
    fn values(&self, file: &Samples, by: usize) -> Vec<f64> {
        let Some(place) = self.plain.iter().position(|input| *input == Some(by)) else { return Vec::new() };
        self.rows(file).filter_map(|(inputs, _)| inputs.get(place).copied()).collect()
    }

    /// The mean of the times at these inputs of the library.
    fn seconds(&self, file: &Samples, inputs: &[f64]) -> Option<f64> {
        let all: Vec<f64> =
            inputs.iter().chain(&self.parameters).copied().chain(node_values(self.nodes)).collect();
        let wanted: Vec<f64> = self.arguments.iter().map(|argument| argument.eval(&all)).collect();
        let is_equal = |(a, b): (&f64, &f64)| (a - b).abs() <= EQUAL * a.abs().max(b.abs());
        let found: Vec<f64> = self
            .rows(file)
            .filter(|(inputs, _)| inputs.len() == wanted.len() && inputs.iter().zip(&wanted).all(is_equal))
            .map(|(_, seconds)| seconds)
            .collect();
        (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
    }
}
