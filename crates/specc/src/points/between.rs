//! Points beside the values of the loops.
//!
//! Loops step evenly, often by powers of two, where caches conflict and divisions have no
//! remainder, so measurements there alone would not hold elsewhere. Fitted points therefore lie a
//! little beside the loops' values, always in the same place, and verification points anywhere
//! between. Both depend on the names of the iteration variables and not on the model: models with
//! the same loop have the same inputs, so candidates and values of a parameter are compared at
//! equal inputs.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_select::transfer::fnv;

use super::Site;
use super::space::Space;
use crate::lang::ast::StepOperator;
use crate::lang::checked::{Candidate, CheckedSpec, LoopPlan, Model, Parameter};

/// The greatest distance of a point from a loop's value, in steps. For half powers of two it is 15
/// %.
const ASIDE: f64 = 0.4;

/// The most values of a parameter.
const MOST_VALUES: usize = 10_000;

/// The values of one loop.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// Only these values: those of a candidate's parameter.
    Given(Vec<i64>),
    /// Whole numbers near those of the loop.
    Whole,
    /// Any numbers near those of the loop.
    Real,
}

/// The values of each loop of a model.
pub(super) fn values(spec: &CheckedSpec, model: &Model, loops: &[LoopPlan], site: &Site) -> Vec<Values> {
    let given = |plan: &LoopPlan| {
        let (candidate, parameter) = parameter(spec, model, &plan.name)?;
        let values = parameter.values_on(&candidate.numbers(&|name| site.number(name)));
        // With no values on this machine, the model is only used by other candidates, or by none.
        Some(values.take(MOST_VALUES).collect::<Vec<_>>()).filter(|values| !values.is_empty())
    };
    let of = |plan: &LoopPlan| match given(plan) {
        Some(values) => Values::Given(values),
        None if plan.between => Values::Real,
        None => Values::Whole,
    };
    loops.iter().map(of).collect()
}

/// The parameter, with its candidate, that is passed to the model's input of this name.
fn parameter<'s>(
    spec: &'s CheckedSpec,
    model: &Model,
    input: &str,
) -> Option<(&'s Candidate, &'s Parameter)> {
    let at = model.inputs.iter().position(|known| known.name == input)?;
    let candidates = spec.libraries.iter().flat_map(|library| &library.candidates);
    let of_model = candidates.filter(|candidate| spec.models[candidate.model].name == model.name);
    let parameter = |candidate: &'s Candidate| {
        let name = candidate.arguments.get(at)?.as_name()?;
        Some((candidate, candidate.parameters.iter().find(|parameter| parameter.name == name)?))
    };
    of_model.into_iter().find_map(parameter)
}

/// A loop's value moved a little within `first..=last`. The first value stays; the last one moves
/// to the end of the range, which the steps may miss.
pub(super) fn aside(plan: &LoopPlan, value: i64, (first, last): (i64, i64)) -> f64 {
    let exact = value as f64;
    if value <= first {
        return exact;
    }
    if plan.step.next(value).is_none_or(|next| next > last) {
        return last as f64;
    }
    let share = ASIDE * (2.0 * scatter(&plan.name, value) - 1.0);
    let moved = match plan.step.operator {
        StepOperator::Add => exact + share * plan.step.by as f64,
        StepOperator::Multiply => exact * (plan.step.by as f64).powf(share),
        StepOperator::ShiftLeft => exact * (plan.step.by as f64 * share).exp2(),
    };
    moved.clamp(first as f64, last as f64)
}

/// A number from 0 up to 1, evenly spread for neighbouring values: multiples of the golden ratio.
fn scatter(name: &str, value: i64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let begin = (fnv(name.bytes()) >> 11) as f64 / (1_u64 << 53) as f64;
    (begin + (value.rem_euclid(1 << 20)) as f64 * GOLDEN).fract()
}

/// Draws verification points.
pub(crate) struct Draws {
    seed: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Draw `number`: a value for each loop of a space; `None` if a range is empty. A loop that
    /// multiplies is drawn evenly in the logarithm.
    pub(crate) fn of(&self, space: &Space<'_>, number: u64) -> Option<Vec<f64>> {
        let mut drawn: Vec<f64> = Vec::new();
        for (plan, values) in space.plans().iter().zip(space.values()) {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ fnv(plan.name.bytes()));
            random.set_stream(number);
            let share: f64 = random.random();
            let outer: Vec<i64> = drawn.iter().map(|value| *value as i64).collect();
            let (first, last) = space.bounds(&outer)?;
            drawn.push(match values {
                Values::Given(values) => {
                    let aim = whole(StepOperator::Multiply, share, (first, last));
                    let within = values.iter().filter(|value| (first..=last).contains(value));
                    let distance = |value: &&i64| (**value as f64 - aim).abs();
                    let nearest = within.min_by(|a, b| distance(a).total_cmp(&distance(b)));
                    nearest.map_or(aim, |value| *value as f64)
                }
                Values::Whole => whole(plan.step.operator, share, (first, last)),
                Values::Real => real(plan.step.operator, share, (first as f64, last as f64)),
            });
        }
        Some(drawn)
    }
}

fn real(step: StepOperator, share: f64, (first, last): (f64, f64)) -> f64 {
    match step {
        StepOperator::Multiply | StepOperator::ShiftLeft if first > 0.0 => {
            (first.ln() + share * (last / first).ln()).exp().clamp(first, last)
        }
        _ => first + share * (last - first),
    }
}

/// A drawn real number, rounded: each whole number has an equal part of the range.
fn whole(step: StepOperator, share: f64, (first, last): (i64, i64)) -> f64 {
    let (low, high) = (first as f64, last as f64);
    // No -0.
    real(step, share, (low - 0.5, high + 0.5)).round().clamp(low, high) + 0.0
}
