//! Where a model can be measured: its loops, and the inputs that they give.

use std::ops::ControlFlow;

use strata_model::expr::{Expr, Program, RESERVED, holds};
use strata_model::plan::PlanPoint;

use super::{Site, competing};
use crate::lang::machine::{loops_with_numbers, with_numbers};
use crate::lang::plan::{CheckedSpec, Measured, Model, ModelKind};
use crate::lang::{Nest, TooManyPoints};

/// Corners are taken of at most so many loops.
const MAX_CORNERS: usize = 8;

/// The points of one measured model on a number of nodes of a machine.
pub struct Space<'a> {
    model: &'a Model,
    measured: &'a Measured,
    nest: Nest,
    nodes: usize,
    /// The words of the machine that its loops and values read, with the numbers in their place.
    machine: Vec<(&'static str, f64)>,
    /// What the spec computes with `let`, over `P`, `logP`, `sqrtP` and the iteration variables.
    bound: Vec<Program>,
    /// Over the same.
    inputs: Vec<Program>,
    /// Over the inputs, then `P`, `logP`, `sqrtP`.
    requires: Vec<Program>,
    terms: Vec<Program>,
    /// The columns that are no inputs.
    columns: Vec<Program>,
}

/// The spaces of the models of a spec that have iteration variables and matter on so many nodes
/// ([`competing`]), in the spec's order.
///
/// # Errors
/// The machine does not tell what loops or values of one of them read.
pub fn spaces(spec: &CheckedSpec, site: impl Into<Site>) -> Result<Vec<Space<'_>>, String> {
    let site = site.into();
    let needed = competing(spec, site.nodes());
    let models = spec.models.iter().filter(|model| needed.contains(model.name.as_str()));
    let spaces = models.filter_map(|model| Space::new(model, site.clone()).transpose());
    spaces.filter(|space| space.as_ref().map_or(true, |s| !s.measured.loops.is_empty())).collect()
}

impl<'a> Space<'a> {
    /// `None` for a model that is not measured.
    ///
    /// # Errors
    /// The machine does not tell what loops or values read.
    pub fn new(model: &'a Model, site: impl Into<Site>) -> Result<Option<Self>, String> {
        let ModelKind::Measured(measured) = &model.kind else { return Ok(None) };
        let site = site.into();
        let machine = site.numbers(model, measured)?;
        Ok(Self::compiled(model, measured, site.nodes(), machine))
    }

    /// Never `None` for a model of a checked spec.
    fn compiled(
        model: &'a Model,
        measured: &'a Measured,
        nodes: usize,
        machine: Vec<(&'static str, f64)>,
    ) -> Option<Self> {
        let number = |name: &str| machine.iter().find(|(word, _)| *word == name).map(|(_, value)| *value);
        let loops: Vec<&str> =
            RESERVED.into_iter().chain(measured.loops.iter().map(|l| l.name.as_str())).collect();
        let named: Vec<&str> = model.inputs.iter().map(|i| i.name.as_str()).chain(RESERVED).collect();
        let input = |name: &str| match measured.bindings.iter().find(|b| b.name == name) {
            Some(binding) => Program::compile(&with_numbers(&binding.reduced, &number), &loops).ok(),
            None => Program::compile(&Expr::name(name), &loops).ok(),
        };
        let over_inputs = |expr: &Expr| Program::compile(expr, &named).ok();
        // Terms that call models are known only once those are fitted.
        let terms = model.terms.iter().filter(|term| !term.fit_only).map(|term| over_inputs(&term.value));
        Some(Self {
            model,
            measured,
            nest: Nest::new(loops_with_numbers(&measured.loops, &number)).ok()?,
            nodes,
            bound: (measured.bindings.iter())
                .map(|binding| Program::compile(&with_numbers(&binding.reduced, &number), &loops).ok())
                .collect::<Option<_>>()?,
            inputs: model.inputs.iter().map(|i| input(&i.name)).collect::<Option<_>>()?,
            requires: model.requires.iter().map(over_inputs).collect::<Option<_>>()?,
            terms: terms.collect::<Option<_>>()?,
            columns: model.column_terms().map(|term| over_inputs(&term.value)).collect::<Option<_>>()?,
            machine,
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

    /// The words of the machine that its loops and values read, with the numbers that they have
    /// here.
    #[must_use]
    pub fn machine(&self) -> &[(&'static str, f64)] {
        &self.machine
    }

    /// The iteration variables, outermost first.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        self.measured.loops.iter().map(|l| l.name.as_str()).collect()
    }

    /// How often a point is timed at least.
    #[must_use]
    pub fn repeat(&self) -> u32 {
        self.model.options.repeat
    }

    /// How many samples verify the model.
    #[must_use]
    pub fn verify(&self) -> u32 {
        self.model.options.verify
    }

    /// Whether a point has a value for every iteration variable, each within its loop's range,
    /// whatever the step.
    #[must_use]
    pub fn contains(&self, at: &[i64]) -> bool {
        let within = |depth: usize| {
            let bounds = self.nest.bounds(self.nodes, &at[..depth]);
            bounds.is_some_and(|(first, last)| (first..=last).contains(&at[depth]))
        };
        at.len() == self.measured.loops.len() && (0..at.len()).all(within)
    }

    /// All that a plan says of a point; `None` where a requirement of the model fails.
    #[must_use]
    pub fn planned(&self, verify: bool, at: &[i64]) -> Option<PlanPoint> {
        let mut values = self.inputs(at)?;
        let variables = self.iteration(at);
        let bound = self.bound.iter().map(|program| program.eval(&variables)).collect();
        values.extend(self.reserved());
        let columns: Vec<f64> = self.columns.iter().map(|column| column.eval(&values)).collect();
        values.truncate(self.inputs.len());
        values.extend(columns);
        Some(PlanPoint { verify, at: at.to_vec(), bound, values })
    }

    /// A point with every iteration variable anywhere in its range, whatever the step (Brewer
    /// §3.2.1): `between` draws a whole number from a range. `None` if a range is empty.
    pub fn draw(&self, mut between: impl FnMut(i64, i64) -> i64) -> Option<Vec<i64>> {
        let mut at = Vec::new();
        for _ in &self.measured.loops {
            let (first, last) = self.nest.bounds(self.nodes, &at)?;
            at.push(between(first, last));
        }
        Some(at)
    }

    /// `P`, `logP`, `sqrtP` and the iteration variables.
    fn iteration(&self, at: &[i64]) -> Vec<f64> {
        self.reserved().into_iter().chain(at.iter().map(|value| *value as f64)).collect()
    }

    /// The inputs at a point; `None` where a requirement of the model fails.
    #[must_use]
    pub fn inputs(&self, at: &[i64]) -> Option<Vec<f64>> {
        let variables = self.iteration(at);
        let mut inputs: Vec<f64> = self.inputs.iter().map(|program| program.eval(&variables)).collect();
        inputs.extend(self.reserved());
        let good = self.requires.iter().all(|require| holds(require.eval(&inputs)));
        inputs.truncate(self.inputs.len());
        good.then_some(inputs)
    }

    /// The values of the terms at a point, the constant first; terms that call other models are
    /// left out.
    #[must_use]
    pub fn terms(&self, at: &[i64]) -> Option<Vec<f64>> {
        let mut inputs = self.inputs(at)?;
        inputs.extend(self.reserved());
        Some(std::iter::once(1.0).chain(self.terms.iter().map(|term| term.eval(&inputs))).collect())
    }

    /// The points of the loop nest that the requirements allow, in the order of the loops; none if
    /// there are too many to list.
    #[must_use]
    pub fn loops(&self) -> Vec<Vec<i64>> {
        let mut points = self.nest().unwrap_or_default();
        points.retain(|at| self.inputs(at).is_some());
        points
    }

    /// All points of the loop nest, in the order of the loops.
    ///
    /// # Errors
    /// [`TooManyPoints`]: bounds may depend on the number of nodes.
    pub fn nest(&self) -> Result<Vec<Vec<i64>>, TooManyPoints> {
        let mut points = Vec::new();
        self.nest.visit(self.nodes, &mut |point| {
            points.push(point.to_vec());
            ControlFlow::Continue(())
        })?;
        Ok(points)
    }

    /// Points with every iteration variable at an end of its range, as far as the requirements
    /// allow.
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

    /// At most `count` points that fill the ranges of the iteration variables evenly, whatever the
    /// loops' steps.
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

/// Coordinate `i` of point `k` of a sequence that fills the unit cube of `d` dimensions evenly,
/// from 0 up to 1: multiples of powers of the generalised golden ratio (Roberts 2018, *The
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
        assert!(space.loops().contains(&vec![16, 9]) && !space.loops().contains(&vec![20, 1]));
        assert_eq!(space.corners(), [vec![4, 1], vec![4, 4]]);
        let filled = space.fill(300);
        assert!(
            filled.len() > 100
                && filled.iter().all(|at| (4..=20).contains(&at[0]) && (1..=at[0]).contains(&at[1]))
        );
        assert!(filled.iter().any(|at| at[0] % 4 != 0), "steps do not count");
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
