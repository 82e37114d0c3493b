//! The points of a loop nest: which values the iteration variables take on a given number of nodes.

use std::ops::ControlFlow;

use strata_model::expr::{CompileError, Program};

use super::checked::LoopPlan;

/// A nest may have this many points and no more.
pub const MAX_POINTS: u64 = 1_000_000;

/// A nest has more than [`MAX_POINTS`] points, or so many empty inner loops that finding its points
/// takes as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the loop nest has more than {MAX_POINTS} points: advance faster, for instance by `step *2`")]
pub struct TooManyPoints;

/// A loop nest, ready to be walked.
#[derive(Clone, Debug)]
pub struct Nest {
    loops: Vec<LoopPlan>,
    /// First and last value of every loop, over `P`, `logP`, `sqrtP` and the outer iteration
    /// variables.
    bounds: Vec<(Program, Program)>,
    /// Whether no inner loop's bounds read this loop's variable.
    independent: Vec<bool>,
}

/// The values of `P`, `logP` and `sqrtP`.
pub(super) fn reserved_values(nodes: usize) -> [f64; 3] {
    let nodes = nodes as f64;
    [nodes, nodes.log2(), nodes.sqrt()]
}

/// The variables that [`reserved_values`] fills, then `names`.
pub(super) fn variables<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    strata_model::expr::RESERVED.into_iter().chain(names).collect()
}

impl Nest {
    /// # Errors
    /// A bound reads a name that is not an outer iteration variable; never for the loops of a
    /// checked spec in which numbers stand for the words of the machine.
    pub fn new(loops: Vec<LoopPlan>) -> Result<Self, CompileError> {
        let mut bounds = Vec::with_capacity(loops.len());
        for (at, plan) in loops.iter().enumerate() {
            let variables = variables(loops[..at].iter().map(|outer| outer.name.as_str()));
            bounds.push((
                Program::compile(&plan.first, &variables)?,
                Program::compile(&plan.last, &variables)?,
            ));
        }
        let reads = |inner: &LoopPlan, name: &str| {
            inner.first.names().contains(name) || inner.last.names().contains(name)
        };
        let independent = loops
            .iter()
            .enumerate()
            .map(|(at, plan)| !loops[at + 1..].iter().any(|inner| reads(inner, &plan.name)))
            .collect();
        Ok(Self { loops, bounds, independent })
    }

    /// The first and the last value of loop `depth`, where `values` holds `P`, `logP`, `sqrtP` and
    /// the outer variables.
    fn range(&self, depth: usize, values: &[f64]) -> (i64, i64) {
        let (first, last) = &self.bounds[depth];
        (first.eval(&values[..3 + depth]) as i64, last.eval(&values[..3 + depth]) as i64)
    }

    /// The first and the last value of the loop inside those whose variables are `outer`, whatever
    /// its step; `None` if there is no such loop, or if it has no value.
    #[must_use]
    pub fn bounds(&self, nodes: usize, outer: &[i64]) -> Option<(i64, i64)> {
        if outer.len() >= self.loops.len() {
            return None;
        }
        let mut values = self.values(nodes);
        for (value, given) in values.iter_mut().skip(3).zip(outer) {
            *value = *given as f64;
        }
        Some(self.range(outer.len(), &values)).filter(|(first, last)| first <= last)
    }

    /// How many points there are on this many nodes.
    ///
    /// # Errors
    /// [`TooManyPoints`].
    pub fn count(&self, nodes: usize) -> Result<u64, TooManyPoints> {
        let mut values = self.values(nodes);
        let mut work = 0;
        self.count_from(0, &mut values, &mut work)
    }

    fn values(&self, nodes: usize) -> Vec<f64> {
        let mut values = reserved_values(nodes).to_vec();
        values.resize(3 + self.loops.len(), 0.0);
        values
    }

    fn count_from(&self, depth: usize, values: &mut [f64], work: &mut u64) -> Result<u64, TooManyPoints> {
        let Some(plan) = self.loops.get(depth) else { return Ok(1) };
        let (first, last) = self.range(depth, values);
        if first > last {
            return Ok(0);
        }
        let limit = |count: u64| if count > MAX_POINTS { Err(TooManyPoints) } else { Ok(count) };
        if self.independent[depth] {
            let inner = self.count_from(depth + 1, values, work)?;
            return limit(inner.saturating_mul(length(plan, first, last)));
        }
        let (mut total, mut next) = (0, Some(first));
        while let Some(value) = next.filter(|&value| value <= last) {
            *work += 1;
            limit(*work)?;
            values[3 + depth] = value as f64;
            total = limit(total + self.count_from(depth + 1, values, work)?)?;
            next = plan.step.next(value).filter(|&after| after > value);
        }
        Ok(total)
    }

    /// Calls `visit` with the iteration variables of every point, in the order of the loops, until
    /// it breaks.
    ///
    /// # Errors
    /// [`TooManyPoints`], before the first call.
    pub fn visit(
        &self,
        nodes: usize,
        visit: &mut dyn FnMut(&[i64]) -> ControlFlow<()>,
    ) -> Result<(), TooManyPoints> {
        self.count(nodes)?;
        let mut values = self.values(nodes);
        let mut point = vec![0; self.loops.len()];
        let _ = self.visit_from(0, &mut values, &mut point, visit);
        Ok(())
    }

    fn visit_from(
        &self,
        depth: usize,
        values: &mut [f64],
        point: &mut [i64],
        visit: &mut dyn FnMut(&[i64]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(plan) = self.loops.get(depth) else { return visit(point) };
        let (first, last) = self.range(depth, values);
        let mut next = Some(first);
        while let Some(value) = next.filter(|&value| value <= last) {
            values[3 + depth] = value as f64;
            point[depth] = value;
            self.visit_from(depth + 1, values, point, visit)?;
            next = plan.step.next(value).filter(|&after| after > value);
        }
        ControlFlow::Continue(())
    }
}

/// How many values a loop takes, at most one more than [`MAX_POINTS`].
fn length(plan: &LoopPlan, first: i64, last: i64) -> u64 {
    if plan.step.operator == super::ast::StepOperator::Add && plan.step.by > 0 {
        return (last.abs_diff(first) / plan.step.by.unsigned_abs()).saturating_add(1);
    }
    let (mut count, mut next) = (0, Some(first));
    while let Some(value) = next.filter(|&value| value <= last) {
        count += 1;
        next = plan.step.next(value).filter(|&after| after > value);
    }
    count
}
