//! The ways among which a library decides at one input.

use std::collections::BTreeSet;

use strata_model::expr::{Expr, Program, RESERVED, holds};
use strata_model::plan::PlanPoint;
use strata_select::{choice::Outcome, table::Step};

use crate::competition::Competition;
use crate::lang::checked::{Candidate, CheckedSpec, Library, Parameter};
use crate::points::{Draws, Site, Space};

/// The number of values from all over a parameter's range.
const SPREAD: usize = 6;

/// The most values of a parameter that are tried.
const MOST_VALUES: usize = 10_000;

/// The number of steps to either side of the chosen value, and the factor of a step for a parameter
/// that takes every whole number.
const STEPS: i32 = 2;
const FACTOR: f64 = 1.25;

/// A candidate with its parameters, at one input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    pub(super) candidate: usize,
    pub(super) parameters: Vec<i64>,
    /// The model that predicts it, and the point at which that is measured.
    pub(super) model: String,
    pub(super) point: PlanPoint,
    /// The number of the point's values that are inputs of the model.
    pub(super) inputs: usize,
}

impl Alternative {
    /// The pin: `quick:16`.
    pub(super) fn pin(&self, competition: &Competition) -> String {
        pin(competition.candidates()[self.candidate].name, &self.parameters)
    }
}

/// The pin of a candidate with its parameters.
pub(crate) fn pin(name: &str, parameters: &[i64]) -> String {
    parameters.iter().fold(name.to_owned(), |text, value| format!("{text}:{value}"))
}

/// The inputs of the search for ways.
pub(super) struct Alternatives<'a> {
    library: &'a Library,
    competition: &'a Competition,
    /// By candidate; `None` if its time is not measured by itself.
    candidates: Vec<Option<Measurable<'a>>>,
}

struct Measurable<'a> {
    candidate: &'a Candidate,
    space: &'a Space<'a>,
    arguments: Vec<Program>,
    requires: Vec<Program>,
    /// The values that each parameter may take on this machine.
    values: Vec<Vec<i64>>,
}

impl<'a> Alternatives<'a> {
    pub(super) fn new(
        spec: &'a CheckedSpec,
        (library, site): (&'a Library, &'a Site),
        spaces: &'a [Space<'a>],
        competition: &'a Competition,
    ) -> Self {
        let measurable = |candidate: &'a Candidate| {
            let space = spaces.iter().find(|space| space.name() == spec.models[candidate.model].name)?;
            let parameters = candidate.parameters.iter().map(|parameter| parameter.name.as_str());
            let names: Vec<&str> =
                library.inputs.iter().map(String::as_str).chain(parameters).chain(RESERVED).collect();
            let compiled = |all: &[Expr]| -> Option<Vec<Program>> {
                all.iter().map(|expr| Program::compile(expr, &names).ok()).collect()
            };
            let number = |name: &str| site.number(name);
            let conditions = candidate.conditions(&number);
            let (arguments, requires) = (compiled(&candidate.arguments)?, compiled(&conditions)?);
            let of = |one: &Parameter| one.values_on(&candidate.numbers(&number)).take(MOST_VALUES).collect();
            let values = candidate.parameters.iter().map(of).collect();
            Some(Measurable { candidate, space, arguments, requires, values })
        };
        Self { library, competition, candidates: library.candidates.iter().map(measurable).collect() }
    }

    /// Draws inputs of the library from the loops of its candidates, so that they can be measured.
    pub(super) fn draw(&self, draws: &Draws, number: u64) -> Option<Vec<f64>> {
        let mut inputs: Vec<Option<f64>> = vec![None; self.library.inputs.len()];
        for measurable in self.candidates.iter().flatten() {
            if inputs.iter().all(Option::is_some) {
                break;
            }
            let Some(point) =
                draws.of(measurable.space, number).and_then(|at| measurable.space.verifying(&at))
            else {
                continue;
            };
            for (argument, value) in measurable.candidate.arguments.iter().zip(&point.values) {
                let input =
                    argument.as_name().and_then(|name| self.library.inputs.iter().position(|i| i == name));
                if let Some(input) = input {
                    inputs[input].get_or_insert(*value);
                }
            }
        }
        inputs.into_iter().collect()
    }

    /// The ways that apply at `inputs` and can be measured: the choice of the models, the way that
    /// is `held`, and others that might be faster.
    pub(super) fn at(&self, inputs: &[f64], held: Option<(usize, Vec<i64>)>) -> Vec<Alternative> {
        let Ok(choice) = self.competition.choose(inputs, None) else { return Vec::new() };
        let mut ways: Vec<Alternative> = Vec::new();
        for (index, (_, outcome)) in choice.outcomes().enumerate() {
            let Some(measurable) = &self.candidates[index] else { continue };
            let parameters = &measurable.candidate.parameters;
            let (best, taken) = match outcome {
                Outcome::Taken => (choice.parameters.to_vec(), true),
                Outcome::Slower(_, parameters) => (parameters.to_vec(), false),
                // A candidate without a prediction may still be fast.
                _ => (measurable.values.iter().map(|values| middle(values)).collect(), false),
            };
            let mut tried = BTreeSet::from([best.clone()]);
            tried.extend(
                self.library.incumbent.iter().filter(|(one, _)| *one == index).map(|(_, p)| p.clone()),
            );
            tried.extend(held.iter().filter(|(one, _)| *one == index).map(|(_, p)| p.clone()));
            for (at, parameter) in parameters.iter().enumerate() {
                let steps = if taken { STEPS } else { 0 };
                for value in around(parameter, &measurable.values[at], best[at], steps) {
                    let mut changed = best.clone();
                    changed[at] = value;
                    tried.insert(changed);
                }
            }
            ways.extend(
                tried.into_iter().filter_map(|parameters| self.way(index, measurable, inputs, parameters)),
            );
        }
        ways
    }

    fn way(
        &self,
        candidate: usize,
        measurable: &Measurable<'_>,
        inputs: &[f64],
        parameters: Vec<i64>,
    ) -> Option<Alternative> {
        let nodes = self.competition.nodes() as f64;
        let all: Vec<f64> = inputs
            .iter()
            .copied()
            .chain(parameters.iter().map(|value| *value as f64))
            .chain([nodes, nodes.log2(), nodes.sqrt()])
            .collect();
        measurable.requires.iter().all(|require| holds(require.eval(&all))).then_some(())?;
        let values: Vec<f64> = measurable.arguments.iter().map(|argument| argument.eval(&all)).collect();
        let point = measurable.space.at_inputs(&values)?;
        let model = measurable.space.name().to_owned();
        Some(Alternative { candidate, parameters, model, point, inputs: values.len() })
    }
}

fn middle(values: &[i64]) -> i64 {
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Values of a parameter from `values`: `steps` to either side of `best`, and from the whole range;
/// none for a root.
fn around(parameter: &Parameter, values: &[i64], best: i64, steps: i32) -> BTreeSet<i64> {
    if parameter.root.is_some() {
        return BTreeSet::new();
    }
    let nearest = |aim: f64| {
        let distance = |value: &&i64| (**value as f64 - aim).abs();
        values.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied()
    };
    let every = matches!(parameter.step, Step::Add(_)) && values.len() > 2 * SPREAD;
    let place = values.iter().position(|value| *value == best).unwrap_or(0) as i64;
    let beside = (-steps..=steps).filter_map(|step| match every {
        true => nearest(best as f64 * FACTOR.powi(step)),
        false => values.get(usize::try_from(place + i64::from(step)).ok()?).copied(),
    });
    let (first, last) =
        (values.first().copied().unwrap_or(0) as f64, values.last().copied().unwrap_or(0) as f64);
    let spread = (0..SPREAD).filter_map(|at| {
        let share = at as f64 / (SPREAD - 1) as f64;
        nearest(if first > 0.0 { first * (last / first).powf(share) } else { first + share * (last - first) })
    });
    beside.chain(spread).collect()
}
