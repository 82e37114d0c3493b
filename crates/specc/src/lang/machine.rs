//! The words of the machine in what is measured: `for bytes in 64..=4*cache2`.
//!
//! A checked spec keeps the words, so that it is the same everywhere. Numbers take their place
//! where points are computed, for the machine that measures them ([`crate::points`]).

use std::collections::BTreeSet;

use strata_model::expr::Expr;
use strata_model::platform::{CORES, HOSTS, MACHINE};

use super::checked::{Binding, LoopPlan, Measured, Model, ModelKind};

/// The smallest and the largest cache size assumed, in bytes.
const BYTES: (f64, f64) = (1024.0, 1_125_899_906_842_624.0);

/// The most hosts assumed; the fewest are one.
const MOST_HOSTS: f64 = 1_048_576.0;

/// The most hardware threads assumed; the fewest are one.
const MOST_CORES: f64 = 1_048_576.0;

/// The least and the greatest number that a word of the machine may stand for.
pub(crate) fn limits(name: &str) -> (f64, f64) {
    match name {
        CORES => (1.0, MOST_CORES),
        HOSTS => (1.0, MOST_HOSTS),
        _ => BYTES,
    }
}

/// Whether a number can be what a word of the machine stands for.
pub(crate) fn is_plausible(name: &str, value: f64) -> bool {
    let (least, most) = limits(name);
    value.fract() == 0.0 && (least..=most).contains(&value)
}

impl Model {
    /// The words of the machine that its loops, values and requirements read, in the order of
    /// [`MACHINE`].
    #[must_use]
    pub fn machine(&self) -> Vec<&'static str> {
        let mut read: BTreeSet<String> = self.requires.iter().flat_map(Expr::names).collect();
        read.retain(|name| self.is_machine(name));
        if let ModelKind::Measured(measured) = &self.kind {
            let bounds = measured.loops.iter().flat_map(|plan| [&plan.first, &plan.last]);
            let all = bounds.chain(measured.bindings.iter().map(|binding| &binding.reduced));
            let of_site = |name: &String| !measured.defines(name) || measured.takes_hosts(name);
            read.extend(all.flat_map(Expr::names).filter(of_site));
        }
        MACHINE.into_iter().filter(|name| read.contains(*name)).collect()
    }

    /// Whether a name stands for the machine in requirements, which are over the inputs.
    pub(crate) fn is_machine(&self, name: &str) -> bool {
        MACHINE.contains(&name) && self.inputs.iter().all(|input| input.name != name)
    }
}

impl Measured {
    /// Whether this is the input `hosts`, and nothing but the site gives it.
    fn takes_hosts(&self, name: &str) -> bool {
        let of_site = |binding: &Binding| binding.name == HOSTS && binding.reduced.as_name() == Some(HOSTS);
        name == HOSTS && self.bindings.iter().any(of_site)
    }

    /// Whether an iteration variable or a value has this name.
    fn defines(&self, name: &str) -> bool {
        self.loops.iter().any(|plan| plan.name == name)
            || self.bindings.iter().any(|binding| binding.name == name)
    }
}

/// An expression with numbers in place of the words of the machine that `value` knows.
pub(crate) fn with_numbers(expr: &Expr, value: &dyn Fn(&str) -> Option<f64>) -> Expr {
    expr.substitute(&|name| value(name).map(Expr::number))
}

/// Loops with numbers in place of the words of the machine that `value` knows.
pub(crate) fn loops_with_numbers(loops: &[LoopPlan], value: &dyn Fn(&str) -> Option<f64>) -> Vec<LoopPlan> {
    let one = |plan: &LoopPlan| LoopPlan {
        first: with_numbers(&plan.first, value),
        last: with_numbers(&plan.last, value),
        ..plan.clone()
    };
    loops.iter().map(one).collect()
}
