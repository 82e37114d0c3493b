//! The points at which a model can be measured: its loops, and the inputs that they give.

use std::ops::ControlFlow;

use strata_model::expr::{Expr, Program, RESERVED, holds};
use strata_model::plan::PlanPoint;
use strata_model::{Platform, number_text};

use super::between::{Values, aside, values};
use super::{Site, competing};
use crate::lang::checked::{CheckedSpec, LoopPlan, Measured, Model, ModelKind};
use crate::lang::machine::{loops_with_numbers, with_numbers};
use crate::lang::{Nest, TooManyPoints};

/// Corners are computed for at most this many loops.
const MAX_CORNERS: usize = 8;

/// The points of one measured model on a number of nodes of a machine.
pub struct Space<'a> {
    model: &'a Model,
    measured: &'a Measured,
    nest: Nest,
    /// The loops, and the kind of values of each.
    plans: Vec<LoopPlan>,
    values: Vec<Values>,
    nodes: usize,
    /// The machine names that its loops, values and requirements read, with their numbers.
    machine: Vec<(&'static str, f64)>,
    /// The `let` values of the spec, over `P`, `logP`, `sqrtP` and the iteration variables.
    bound: Vec<Program>,
    /// The inputs, over the same.
    inputs: Vec<Program>,
    /// The requirements, over the inputs, then `P`, `logP`, `sqrtP`.
    requires: Vec<Program>,
    terms: Vec<Program>,
    /// The columns that are not inputs, over the same.
    columns: Vec<Program>,
    /// The share of round inputs among held-out points.
    round: f64,
}

/// The spaces of the models of a spec that have iteration variables, whose inputs a plan knows, and
/// which matter at `site` ([`competing`]), in the spec's order.
///
/// # Errors
/// The machine lacks a number that loops or values of one of them read.
pub fn spaces(spec: &CheckedSpec, site: impl Into<Site>) -> Result<Vec<Space<'_>>, String> {
    let site = site.into();
    let needed = competing(spec, site.clone());
    let models = spec.models.iter().filter(|model| needed.contains(model.name.as_str()));
    let spaces = models.filter_map(|model| Space::new(spec, model, site.clone()).transpose());
    let known = |space: &Space<'_>| !space.measured.loops.is_empty() && space.measured.gives().is_empty();
    spaces.filter(|space| space.as_ref().map_or(true, known)).collect()
}

impl<'a> Space<'a> {
    /// `None` for a model that is not measured.
    ///
    /// # Errors
    /// The machine lacks a number that loops or values read.
    pub fn new(spec: &CheckedSpec, model: &'a Model, site: impl Into<Site>) -> Result<Option<Self>, String> {
        let ModelKind::Measured(measured) = &model.kind else { return Ok(None) };
        let site = site.into();
        let machine = site.numbers(model)?;
        let values = values(spec, model, &measured.loops, &site);
        let space = Self::compiled(model, measured, values, site.nodes(), machine);
        // Simulated machines have neither caches nor vectors.
        let simulated = site.platform().is_some_and(Platform::is_simulated);
        let round = if simulated { 0.0 } else { model.options.round };
        Ok(space.map(|space| Self { round, ..space }))
    }

    /// Is never `None` for a model of a checked spec.
    fn compiled(
        model: &'a Model,
        measured: &'a Measured,
        values: Vec<Values>,
        nodes: usize,
        machine: Vec<(&'static str, f64)>,
    ) -> Option<Self> {
        let number = |name: &str| machine.iter().find(|(word, _)| *word == name).map(|(_, value)| *value);
        let loops: Vec<&str> =
            RESERVED.into_iter().chain(measured.loops.iter().map(|l| l.name.as_str())).collect();
        let named: Vec<&str> = model.inputs.iter().map(|i| i.name.as_str()).chain(RESERVED).collect();
        let input = |name: &str| match measured.bindings.iter().find(|b| b.name == name) {
            Some(binding) => Program::compile(&with_numbers(&binding.reduced, &number), &loops).ok(),
            // No plan knows what is measured with the seconds.
            None if measured.gives().iter().any(|given| given == name) => {
                Program::compile(&Expr::number(0.0), &loops).ok()
            }
            None => Program::compile(&Expr::name(name), &loops).ok(),
        };
        let over_inputs = |expr: &Expr| Program::compile(expr, &named).ok();
        // Terms that call models have values only after those are fitted.
        let terms = model.terms.iter().filter(|term| !term.fit_only).map(|term| over_inputs(&term.value));
        let plans = loops_with_numbers(&measured.loops, &number);
        Some(Self {
            model,
            measured,
            nest: Nest::new(plans.clone()).ok()?,
            plans,
            values,
            nodes,
            bound: (measured.bindings.iter())
                .map(|binding| Program::compile(&with_numbers(&binding.reduced, &number), &loops).ok())
                .collect::<Option<_>>()?,
            inputs: model.inputs.iter().map(|i| input(&i.name)).collect::<Option<_>>()?,
            requires: (model.requires.iter())
                .map(|require| over_inputs(&with_numbers(require, &number)))
                .collect::<Option<_>>()?,
            terms: terms.collect::<Option<_>>()?,
            columns: model.column_terms().map(|term| over_inputs(&term.value)).collect::<Option<_>>()?,
            machine,
            round: 0.0,
        })
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.model.name
    }

    pub(super) fn model(&self) -> &Model {
        self.model
    }

    pub(super) fn measured(&self) -> &Measured {
        self.measured
    }

    /// The machine names that its loops, values and requirements read, with their numbers here.
    #[must_use]
    pub fn machine(&self) -> &[(&'static str, f64)] {
        &self.machine
    }

    /// The same as text to follow a number of nodes; empty if the model reads none.
    pub(super) fn machine_text(&self) -> String {
        let words = self.machine.iter().map(|(word, value)| format!("{word} = {}", number_text(*value)));
        let words: Vec<String> = words.collect();
        if words.is_empty() { String::new() } else { format!(" with {}", words.join(", ")) }
    }

    /// The variable of a loop that has no value here for any values of the outer loops, if there is
    /// one.
    pub(super) fn empty_loop(&self) -> Option<String> {
        let at = |end: &Expr| Program::compile(end, &RESERVED).ok().map(|end| end.eval(&self.reserved()));
        let ends = |plan: &LoopPlan| Some((at(&plan.first)?, at(&plan.last)?));
        let loops = self.measured.loops.iter().zip(&self.plans);
        let mut empty = loops.filter_map(|(written, plan)| Some((written, ends(plan)?)));
        let (written, (first, last)) = empty.find(|(_, (first, last))| first > last)?;
        let LoopPlan { name, first: low, last: high, .. } = written;
        let (first, last) = (number_text(first), number_text(last));
        Some(format!("`{name}` in {low}..={high} runs from {first} to {last}{}", self.machine_text()))
    }

    pub(super) fn plans(&self) -> &[LoopPlan] {
        &self.plans
    }

    pub(super) fn values(&self) -> &[Values] {
        &self.values
    }

    /// The bounds of the next inner loop, given the variables of the `outer` ones.
    pub(super) fn bounds(&self, outer: &[i64]) -> Option<(i64, i64)> {
        self.nest.bounds(self.nodes, outer)
    }

    /// The iteration variables, outermost first.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        self.measured.loops.iter().map(|l| l.name.as_str()).collect()
    }

    /// The least number of timings of a point.
    #[must_use]
    pub fn repeat(&self) -> u32 {
        self.model.options.repeat
    }

    /// The number of samples that verify the model.
    #[must_use]
    pub fn verify(&self) -> u32 {
        self.model.options.verify
    }

    /// Whether a point has a value for every iteration variable, each within its loop's range; it
    /// need not be on a step.
    #[must_use]
    pub fn contains(&self, at: &[i64]) -> bool {
        let within = |depth: usize| {
            let bounds = self.nest.bounds(self.nodes, &at[..depth]);
            bounds.is_some_and(|(first, last)| (first..=last).contains(&at[depth]))
        };
        at.len() == self.measured.loops.len() && (0..at.len()).all(within)
    }

    /// The entry of a plan for a fitted point; `None` if a requirement of the model fails.
    #[must_use]
    pub fn planned(&self, at: &[i64]) -> Option<PlanPoint> {
        let (variables, inputs) = self.beside(at)?;
        Some(PlanPoint { at: at.to_vec(), ..self.point_at(&variables, inputs) })
    }

    /// The same for a verification point with these iteration variables.
    pub(crate) fn verifying(&self, variables: &[f64]) -> Option<PlanPoint> {
        let inputs = self.inputs_at(variables)?;
        Some(PlanPoint { verify: true, ..self.point_at(variables, inputs) })
    }

    fn point_at(&self, variables: &[f64], inputs: Vec<f64>) -> PlanPoint {
        let all = self.iteration(variables);
        let bound = self.bound.iter().map(|program| program.eval(&all)).collect();
        let mut values = inputs;
        values.extend(self.reserved());
        let columns: Vec<f64> = self.columns.iter().map(|column| column.eval(&values)).collect();
        values.truncate(self.inputs.len());
        values.extend(columns);
        let at = variables.iter().map(|value| *value as i64).collect();
        PlanPoint { verify: false, at, bound, values }
    }

    /// The values of `P`, `logP`, `sqrtP`, then the iteration variables.
    fn iteration(&self, variables: &[f64]) -> Vec<f64> {
        self.reserved().into_iter().chain(variables.iter().copied()).collect()
    }

    /// The iteration variables of a point, moved if they are real, and its inputs. If the
    /// requirements exclude the moved values, the exact ones are used; `None` if they exclude these
    /// too.
    fn beside(&self, at: &[i64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let exact: Vec<f64> = at.iter().map(|value| *value as f64).collect();
        let moved = |i: usize| match (&self.values[i], self.bounds(&at[..i])) {
            (Values::Real, Some(ends)) => aside(&self.plans[i], at[i], ends),
            _ => exact[i],
        };
        let moved: Vec<f64> = (0..at.len()).map(moved).collect();
        let good = |variables: Vec<f64>| Some((self.inputs_at(&variables)?, variables));
        good(moved).or_else(|| good(exact)).map(|(inputs, variables)| (variables, inputs))
    }

    /// The inputs of a fitted point; `None` if a requirement of the model fails.
    #[must_use]
    pub fn inputs(&self, at: &[i64]) -> Option<Vec<f64>> {
        self.beside(at).map(|(_, inputs)| inputs)
    }

    fn inputs_at(&self, variables: &[f64]) -> Option<Vec<f64>> {
        let variables = self.iteration(variables);
        let mut inputs: Vec<f64> = self.inputs.iter().map(|program| program.eval(&variables)).collect();
        inputs.extend(self.reserved());
        let good = self.requires.iter().all(|require| holds(require.eval(&inputs)));
        inputs.truncate(self.inputs.len());
        good.then_some(inputs)
    }

    /// The verification point with these inputs; `None` if the loops give no such point or the
    /// requirements exclude it. Each loop is searched by itself, which is enough if each input
    /// reads one iteration variable and rises with it.
    pub(crate) fn at_inputs(&self, wanted: &[f64]) -> Option<PlanPoint> {
        let mut variables: Vec<f64> = Vec::new();
        for (depth, plan) in self.plans.iter().enumerate() {
            let outer: Vec<i64> = variables.iter().map(|value| *value as i64).collect();
            let (first, last) = self.bounds(&outer)?;
            let input = self.model.inputs.iter().position(|input| self.reads(&input.name, &plan.name));
            let at = |value: f64| {
                let mut all = variables.clone();
                all.push(value);
                all.resize(self.plans.len(), 0.0);
                Some(self.inputs[input?].eval(&self.iteration(&all)))
            };
            let (mut low, mut high) = (first as f64, last as f64);
            let is_low = |value: f64| match (input, at(value)) {
                (Some(input), Some(found)) => found < wanted[input],
                _ => false,
            };
            // The least value whose input is at least the wanted one.
            let real = matches!(self.values[depth], Values::Real);
            if input.is_some() && is_low(low) {
                while (real && high - low > 1e-12 * high.abs()) || (!real && high - low > 1.0) {
                    let middle = (low + high) / 2.0;
                    let middle = if real { middle } else { middle.floor() };
                    if middle <= low || middle >= high {
                        break;
                    }
                    *(if is_low(middle) { &mut low } else { &mut high }) = middle;
                }
                low = high;
            }
            variables.push(low);
        }
        let point = self.verifying(&variables)?;
        (point.values[..wanted.len()] == *wanted).then_some(point)
    }

    /// Whether a model's input is an iteration variable, or a `let` value that reads it.
    fn reads(&self, input: &str, variable: &str) -> bool {
        let binding = self.measured.bindings.iter().find(|binding| binding.name == input);
        binding.map_or(input == variable, |binding| binding.reduced.names().contains(variable))
    }

    /// The share of round inputs among held-out points and decisions.
    pub(crate) fn round(&self) -> f64 {
        self.round
    }

    /// The number of inputs.
    pub(super) fn inputs_count(&self) -> usize {
        self.inputs.len()
    }

    /// The inputs that are parameters of a candidate, each with its values.
    pub(super) fn parameters(&self) -> Vec<(usize, Vec<i64>)> {
        let of = |(plan, values): (&LoopPlan, &Values)| {
            let Values::Given(values) = values else { return None };
            let input = self.model.inputs.iter().position(|input| self.reads(&input.name, &plan.name))?;
            Some((input, values.clone()))
        };
        self.plans.iter().zip(&self.values).filter_map(of).collect()
    }

    /// The values of the terms at a point, the constant first, without terms that call other
    /// models.
    #[must_use]
    pub fn terms(&self, at: &[i64]) -> Option<Vec<f64>> {
        let mut inputs = self.inputs(at)?;
        inputs.extend(self.reserved());
        Some(std::iter::once(1.0).chain(self.terms.iter().map(|term| term.eval(&inputs))).collect())
    }

    /// The points of the loop nest that the requirements allow, in the order of the loops; empty if
    /// there are too many to list.
    #[must_use]
    pub fn loops(&self) -> Vec<Vec<i64>> {
        let mut points = self.nest().unwrap_or_default();
        points.retain(|at| self.inputs(at).is_some());
        points
    }

    /// All points of the loop nest in the order of the loops, with whole values moved a little.
    ///
    /// # Errors
    /// [`TooManyPoints`]; the check of a spec cannot exclude it, because bounds may depend on the
    /// number of nodes.
    pub fn nest(&self) -> Result<Vec<Vec<i64>>, TooManyPoints> {
        let mut points = Vec::new();
        self.nest.visit(self.nodes, &mut |point| {
            points.push(self.whole_aside(point));
            ControlFlow::Continue(())
        })?;
        Ok(points)
    }

    /// A point of the nest with its whole values moved if loops and requirements allow that.
    fn whole_aside(&self, at: &[i64]) -> Vec<i64> {
        let moved = |i: usize| match (&self.values[i], self.bounds(&at[..i])) {
            (Values::Whole, Some(ends)) => aside(&self.plans[i], at[i], ends).round() as i64,
            _ => at[i],
        };
        let moved: Vec<i64> = (0..at.len()).map(moved).collect();
        if self.contains(&moved) && self.inputs(&moved).is_some() { moved } else { at.to_vec() }
    }

    /// The points with every iteration variable at an end of its range, if the requirements allow
    /// them.
    #[must_use]
    pub fn corners(&self) -> Vec<Vec<i64>> {
        let depth = self.measured.loops.len();
        let mut corners = Vec::new();
        if depth <= MAX_CORNERS {
            for corner in 0..1_usize << depth {
                corners.extend(self.point(|i, _| f64::from(u8::from(corner >> i & 1 == 1))));
            }
        }
        corners
    }

    /// At most `count` points that fill the ranges of the iteration variables evenly, independent
    /// of the loops' steps.
    #[must_use]
    pub fn fill(&self, count: usize) -> Vec<Vec<i64>> {
        let depth = self.measured.loops.len();
        (0..count).filter_map(|k| self.point(|i, _| evenly(k, i, depth))).collect()
    }

    /// The point with each variable at a share of its range.
    fn point(&self, share: impl Fn(usize, &[i64]) -> f64) -> Option<Vec<i64>> {
        let mut at = Vec::new();
        for depth in 0..self.measured.loops.len() {
            let (first, last) = self.nest.bounds(self.nodes, &at)?;
            let span = last.checked_sub(first)?.checked_add(1)?;
            let step = (share(depth, &at) * span as f64) as i64;
            at.push(first + step.clamp(0, span - 1));
        }
        self.inputs(&at).map(|_| at)
    }

    fn reserved(&self) -> [f64; 3] {
        let nodes = self.nodes as f64;
        [nodes, nodes.log2(), nodes.sqrt()]
    }
}

/// Coordinate `i`, from 0 up to 1, of point `k` of a sequence that fills the unit cube of `d`
/// dimensions evenly: multiples of powers of the generalised golden ratio (Roberts 2018, *The
/// unreasonable effectiveness of quasirandom sequences*).
#[must_use]
pub fn evenly(k: usize, i: usize, d: usize) -> f64 {
    let mut golden = 2.0_f64;
    for _ in 0..40 {
        golden = (1.0 + golden).powf(1.0 / (d as f64 + 1.0));
    }
    (0.5 + (k + 1) as f64 * golden.powi(-(i as i32 + 1))).fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_is_what_the_loops_and_requirements_allow() {
        let text = "model M(n, width) {
            for e in 4..=20 step +4
            for width in 1..=e step *3
            let n = 1 << e
            require n*width <= 1_000_000
            task { f(n, width) }
            terms n, n*width, width*logP
        }
        model Own() { sample { 1.0 } }";
        let spec = crate::lang::load("m.spec", text).unwrap();
        let all = spaces(&spec, 4).unwrap();
        assert_eq!(all.len(), 1, "a model of one place has no points to choose from");
        let space = &all[0];
        assert_eq!(space.inputs(&[4, 3]), Some(vec![16.0, 3.0]));
        assert_eq!(space.terms(&[4, 3]), Some(vec![1.0, 16.0, 48.0, 6.0]));
        assert_eq!(space.inputs(&[20, 1]), None);
        let loops = space.loops();
        assert!(loops.contains(&vec![4, 1]) && !loops.contains(&vec![20, 1]));
        assert!(loops.iter().any(|at| at[0] % 4 != 0), "beside the loop's values: {loops:?}");
        assert_eq!(space.corners(), [vec![4, 1], vec![4, 4]]);
        let filled = space.fill(300);
        assert!(
            filled.len() > 100
                && filled.iter().all(|at| (4..=20).contains(&at[0]) && (1..=at[0]).contains(&at[1]))
        );
        assert!(filled.iter().any(|at| at[0] % 4 != 0), "steps do not count");
    }

    /// At powers of two, caches conflict and divisions have no remainder.
    #[test]
    fn fitted_points_lie_beside_the_loops_values_and_are_those_of_other_models_with_them() {
        let text = "model A(n, b) { for e in 4..=24 for b in 2..=64 step *2
                let n = floor(pow(2, e/2)) task { f(n, b) } }
            model B(n) { for e in 4..=24 let n = floor(pow(2, e/2)) task { f(n) } }
            model C(n) { for n in 4..=4096 step *2 task { f(n) } }
            model Exact(n) { for e in 4..=24 let n = 1 << e task { f(n) } }
            model Seen(n) { for e in 4..=24 let n = floor(pow(2, e/2)) task { f(n, e) } }
            library l(n) { candidate a = A(n, b) for b in 2..=64 step *2 candidate b = B(n) }";
        let spec = crate::lang::load("m.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let all = spaces(&spec, 1).unwrap();
        let inputs = |space: &Space<'_>| -> Vec<Vec<f64>> {
            space.loops().iter().map(|at| space.inputs(at).unwrap()).collect()
        };
        let first = |space: &Space<'_>| {
            let mut first: Vec<u64> = inputs(space).iter().map(|x| x[0] as u64).collect();
            first.dedup();
            first
        };
        let (a, b, c) = (first(&all[0]), first(&all[1]), first(&all[2]));
        assert_eq!(a, b);
        for values in [&b, &c] {
            assert_eq!((values[0], values.last()), (4, Some(&4096)), "{values:?}");
            assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
            let powers = values.iter().filter(|n| n.is_power_of_two()).count();
            assert!(powers <= 4, "{values:?}");
        }
        let blocks = inputs(&all[0]);
        assert!(blocks.iter().all(|x| (x[1] as u64).is_power_of_two()), "a parameter has its own values");
        assert!(first(&all[3]).iter().all(|n| n.is_power_of_two()), "what is written so stays so");
        assert_eq!(first(&all[4])[..4], [4, 5, 8, 11], "Rust sees the whole variable");
    }

    /// A model of matrices whose side is a multiple of 8 is measured only with such sides.
    #[test]
    fn multiples_stay_multiples_in_fitted_and_verification_points() {
        let text = "model Steps(n) { for k in 1..=512 step *2 let n = 8*k task { f(n) } verify 50 }
            model Ceil(n) { for e in 8..=24 let n = 8*ceil(pow(2, e/2)/8) task { f(n) } verify 50 }
            model Seen(n) { for k in 1..=512 step *2 let n = 8*k task { f(n, k) } verify 50 }
            model Both(n, b) { for e in 8..=24 for b in 2..=64 step *2 let n = 8*ceil(pow(2, e/2)/8)
                require b <= n task { f(n, b) } verify 50 }
            library l(n) { candidate up = Ceil(n) candidate both = Both(n, b) for b in 2..=n step *2 }";
        let spec = crate::lang::load("m.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let (run, _) = crate::points::plan(&spec, 1, 3, &strata_model::Points::default()).unwrap();
        for model in &run.models {
            let of = |verify: bool| -> std::collections::BTreeSet<u64> {
                let points = model.points.iter().filter(|point| point.verify == verify);
                points.map(|point| point.values[0] as u64).collect()
            };
            let (fitted, drawn) = (of(false), of(true));
            assert!(fitted.iter().chain(&drawn).all(|n| n % 8 == 0), "{}: {fitted:?} {drawn:?}", model.name);
            let other = drawn.iter().filter(|n| !n.is_power_of_two()).count();
            assert!(other > 20, "{}: all multiples are drawn: {drawn:?}", model.name);
        }
    }

    #[test]
    fn the_sequence_fills_every_part() {
        for d in 1..5 {
            for i in 0..d {
                let mut parts = [0; 10];
                (0..200).for_each(|k| parts[(evenly(k, i, d) * 10.0) as usize] += 1);
                assert!(parts.iter().all(|count| (12..=30).contains(count)), "{d} {i}: {parts:?}");
            }
        }
    }
}
