//! Ranges of candidates' parameters: constant, or of each problem and machine.

use strata_model::expr::{BinaryOp, Expr};
use strata_select::table::Step;

use super::check::bounds_of;
use super::checked::{Candidate, Parameter};
use super::machine::with_numbers;

/// What a word of the machine stands for, where it is known.
pub(crate) type Numbers<'a> = &'a dyn Fn(&str) -> Option<f64>;

impl Candidate {
    /// Whether its parameters are searched in constant ranges of at most so many combinations.
    pub(crate) fn has_at_most(&self, most: usize) -> bool {
        let count = |one: &Parameter| {
            let Parameter { min, max, step, .. } = *one;
            let range = strata_select::table::Parameter {
                step,
                ..strata_select::table::Parameter::new("", min, max)
            };
            range.values().take(most + 1).count()
        };
        let constant = self.parameters.iter().all(|one| one.root.is_none() && one.first.is_none());
        constant && self.parameters.iter().map(count).product::<usize>() <= most
    }
}

impl Parameter {
    /// Its range as it is written.
    #[must_use]
    pub fn range(&self) -> String {
        let end = |end: &Option<Expr>, bound: i64| match end {
            Some(end) => end.to_string(),
            None => bound.to_string(),
        };
        format!("{}..={}", end(&self.first, self.min), end(&self.last, self.max))
    }

    /// The least and the greatest value on a machine, for all problems; none where the greatest is
    /// less. `numbers`: [those](Candidate::numbers) of its candidate.
    pub(crate) fn bounds_on(&self, numbers: Numbers<'_>) -> (i64, i64) {
        let bounds = |end: &Option<Expr>, bound: i64| match end {
            Some(end) => bounds_of(&with_numbers(end, numbers)),
            None => (bound as f64, bound as f64),
        };
        let ends = (bounds(&self.first, self.min).0, bounds(&self.last, self.max).1);
        strata_select::table::Parameter::new("", self.min, self.max).within(ends)
    }

    /// The values that it may take on a machine, from the least. Where the first one depends on the
    /// problem these are all whole numbers between.
    pub(crate) fn values_on(&self, numbers: Numbers<'_>) -> impl Iterator<Item = i64> + use<> {
        let (min, max) = self.bounds_on(numbers);
        let range = strata_select::table::Parameter::new("", min, max);
        let step = if self.first.is_none() { self.step } else { Step::ONE };
        strata_select::table::Parameter { step, ..range }.values()
    }

    /// Whether it may take this value somewhere.
    pub(super) fn may_be(&self, value: i64) -> bool {
        let range = strata_select::table::Parameter::new("", self.min, self.max);
        let step = if self.first.is_none() { self.step } else { Step::ONE };
        strata_select::table::Parameter { step, ..range }.contains(value)
    }
}

impl Candidate {
    /// What must hold of a problem and the parameters on a machine, ends of ranges included, but
    /// for [`PROCESSES`](strata_model::platform::PROCESSES).
    pub(crate) fn conditions(&self, numbers: Numbers<'_>) -> Vec<Expr> {
        let requires = self.requires.iter().filter(|expr| !self.says_processes(expr)).cloned();
        let at_most = |low: Expr, high: Expr| Expr::binary(BinaryOp::LessEqual, low, high);
        let ends = self.parameters.iter().flat_map(|parameter| {
            let value = || Expr::name(parameter.name.clone());
            let first = parameter.first.clone().map(|first| at_most(first, value()));
            first.into_iter().chain(parameter.last.clone().map(|last| at_most(value(), last)))
        });
        requires.chain(ends).map(|expr| with_numbers(&expr, &self.numbers(numbers))).collect()
    }

    /// What its words of the machine stand for.
    pub(crate) fn numbers<'a>(&'a self, numbers: Numbers<'a>) -> impl Fn(&str) -> Option<f64> + 'a {
        |name| if self.machine.contains(&name) { numbers(name) } else { None }
    }

    /// Whether a requirement is that nodes are processes.
    pub(crate) fn says_processes(&self, require: &Expr) -> bool {
        self.needs_processes && require.as_name() == Some(strata_model::platform::PROCESSES)
    }
}
