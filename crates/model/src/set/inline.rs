//! Models of models: calls are replaced by the called formulas, with all their conditions.
//!
//! A set comes from a file and cannot be trusted: the size of the result is bounded before it is
//! built.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Contrast, Correction, Nodes, SetError, Verdict};
use crate::expr::{Expr, ExprKind, Function, MAX_HEIGHT};

/// The most nodes of an inlined model.
pub const MAX_NODES: usize = 20_000;

/// The longest chain of models that call each other.
pub const MAX_CHAIN: usize = 64;

/// A condition for a prediction, besides the ranges of the model's own inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// The argument of a called model must lie in its measured range.
    Range {
        /// The argument.
        value: Expr,
        /// The least value.
        min: f64,
        /// The greatest value.
        max: f64,
    },
    /// A condition, see [`holds`](crate::expr::holds).
    Require(Expr),
}

impl Check {
    /// The expression that is checked.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        match self {
            Self::Range { value, .. } | Self::Require(value) => value,
        }
    }

    fn substitute(&self, replace: &dyn Fn(&str) -> Option<Expr>) -> Self {
        match self {
            Self::Range { value, min, max } => {
                Self::Range { value: value.substitute(replace), min: *min, max: *max }
            }
            Self::Require(condition) => Self::Require(condition.substitute(replace)),
        }
    }
}

/// The meaning of a fitted model, shared by the interpreter, the emitters and the fit: its mean as
/// a function of its inputs alone, its conditions, and the data of its interval.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The range of each input: the measured range, and the ranges of the models that it calls with
    /// that input; infinite if unlimited.
    pub ranges: Vec<(f64, f64)>,
    /// The mean in seconds, over the inputs and `P`, `logP`, `sqrtP`: dropped terms left out, calls
    /// inlined.
    pub mean: Expr,
    /// The factor of the mean.
    pub correction: Option<Corrected>,
    /// How the errors differ between values of the parameters.
    pub contrast: Option<Contrast>,
    /// The conditions besides the ranges.
    pub checks: Vec<Check>,
    /// The numbers of nodes for which all of them hold.
    pub nodes: Nodes,
    /// The own verdict of a fitted model, else the worst of the models that it calls.
    pub verdict: Verdict,
    /// The greatest own error of this model and all that it calls; zero: unknown.
    pub own_error: f64,
    /// The mean before calls were inlined: the interval is computed from the called models'
    /// results.
    pub outer: Expr,
    /// The terms that were kept, before inlining; none for a factored model.
    pub terms: Vec<Expr>,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
    /// The interval's share of the fit itself.
    pub fit: FitSpread,
    /// The tree nodes of this model and of all that it calls, as often as it calls them: the work
    /// of a prediction.
    pub(super) cost: usize,
    /// The length of the longest chain of calls, this model included.
    pub(super) chain: usize,
}

/// The correction of a model, with the values at which it is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrected {
    /// The model that has the correction.
    pub model: String,
    /// The factors.
    pub table: Arc<Correction>,
    /// The value of each axis, over the inputs of the formula.
    pub at: Vec<Expr>,
}

/// The share of the interval from a model's own fit.
#[derive(Clone, Debug, Default)]
pub struct FitSpread {
    /// The covariance over the kept terms, row by row.
    pub covariance: Vec<f64>,
    /// The variance of one measurement, or the factor of the squared prediction that gives it.
    pub noise: f64,
    /// Whether the noise is relative to the prediction.
    pub relative: bool,
    /// The quantile of Student's t by which standard errors become half widths.
    pub t_quantile: f64,
    /// The greatest leverage of a sample; zero: unknown.
    pub leverage_limit: f64,
    /// The model's own error, a relative standard deviation; `None`: not separated from noise.
    pub own_error: Option<f64>,
}

/// Inlines the expressions of one model or candidate.
pub(super) struct Inliner<'a> {
    /// The place in messages.
    pub(super) place: &'a str,
    /// The models that may be called.
    pub(super) models: &'a BTreeMap<String, Formula>,
    pub(super) checks: Vec<Check>,
    pub(super) nodes: Nodes,
    pub(super) cost: usize,
    pub(super) chain: usize,
    /// The worst verdict of the called models; `None` without calls.
    pub(super) verdict: Option<Verdict>,
    /// The greatest own error of the called models.
    pub(super) own_error: f64,
    /// The corrections of the called models, in the order of the calls.
    pub(super) corrections: Vec<Corrected>,
    /// Tree nodes built so far.
    size: usize,
}

impl<'a> Inliner<'a> {
    /// `nodes`: the numbers of nodes of the caller itself.
    pub(super) fn new(place: &'a str, models: &'a BTreeMap<String, Formula>, nodes: Nodes) -> Self {
        Self {
            place,
            models,
            checks: Vec::new(),
            nodes,
            cost: 0,
            chain: 1,
            verdict: None,
            own_error: 0.0,
            corrections: Vec::new(),
            size: 0,
        }
    }

    fn fail<T>(&self, message: String) -> Result<T, SetError> {
        Err(SetError::Content { place: self.place.to_owned(), message })
    }

    fn grow(&mut self, size: usize, cost: usize) -> Result<(), SetError> {
        self.size = self.size.saturating_add(size);
        self.cost = self.cost.saturating_add(cost);
        if self.size > MAX_NODES || self.cost > MAX_NODES {
            return self.fail(format!(
                "with all models that it calls it is too large (more than {MAX_NODES} operations)"
            ));
        }
        Ok(())
    }

    /// `expr` without calls of models. The conditions of these calls are added to the checks.
    pub(super) fn inline(&mut self, expr: &Expr) -> Result<Expr, SetError> {
        let inlined = self.rewrite(expr)?;
        if inlined.measure().1 > MAX_HEIGHT {
            return self.fail(format!(
                "with all models that it calls, more than {MAX_HEIGHT} operators apply one after the other"
            ));
        }
        Ok(inlined)
    }

    fn rewrite(&mut self, expr: &Expr) -> Result<Expr, SetError> {
        self.grow(1, 1)?;
        let kind = match &expr.kind {
            ExprKind::Number(_) | ExprKind::Name(_) => expr.kind.clone(),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, Box::new(self.rewrite(a)?)),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.rewrite(a)?, self.rewrite(b)?);
                ExprKind::Binary(*op, Box::new(a), Box::new(b))
            }
            ExprKind::Call { name, arguments } => {
                let arguments =
                    arguments.iter().map(|argument| self.rewrite(argument)).collect::<Result<Vec<_>, _>>()?;
                if Function::from_name(name).is_none() {
                    return self.call(name, &arguments);
                }
                ExprKind::Call { name: name.clone(), arguments }
            }
        };
        Ok(Expr { kind, span: expr.span })
    }

    fn call(&mut self, name: &str, arguments: &[Expr]) -> Result<Expr, SetError> {
        let models = self.models;
        let Some(model) = models.get(name) else {
            return self.fail(format!(
                "calls `{name}`, which is neither a model of this set nor a built-in function"
            ));
        };
        if arguments.len() != model.inputs.len() {
            let (takes, given) = (model.inputs.join(", "), arguments.len());
            return self.fail(format!(
                "calls `{name}` with {given} arguments, but it takes {} ({takes})",
                model.inputs.len()
            ));
        }
        let Some(both) = self.nodes.and(model.nodes) else {
            let (ours, theirs) = (self.nodes, model.nodes);
            return self
                .fail(format!("is valid for {ours}, but calls `{name}`, which was measured on {theirs}"));
        };
        self.nodes = both;
        self.chain = self.chain.max(model.chain + 1);
        self.verdict = self.verdict.max(Some(model.verdict));
        self.own_error = self.own_error.max(model.own_error);
        self.grow(0, model.cost)?;
        let sizes: Vec<usize> = arguments.iter().map(|argument| argument.measure().0).collect();
        let size = |expr: &Expr| {
            let mut size = 0_usize;
            expr.visit(&mut |e| {
                let place = e.as_name().and_then(|name| model.inputs.iter().position(|input| input == name));
                size = size.saturating_add(place.map_or(1, |place| sizes[place]));
            });
            size
        };
        let checks = model.checks.iter().map(|check| size(check.expr())).fold(0, usize::saturating_add);
        self.grow(size(&model.mean).saturating_add(checks).saturating_add(sizes.iter().sum()), 0)?;
        let replace = |name: &str| {
            let place = model.inputs.iter().position(|input| input == name)?;
            Some(arguments[place].clone())
        };
        for (argument, (min, max)) in arguments.iter().zip(&model.ranges) {
            if *min != f64::NEG_INFINITY || *max != f64::INFINITY {
                self.check(Check::Range { value: argument.clone(), min: *min, max: *max });
            }
        }
        for check in &model.checks {
            self.check(check.substitute(&replace));
        }
        if let Some(correction) = &model.correction {
            let at = correction.at.iter().map(|at| at.substitute(&replace)).collect();
            self.corrections.push(Corrected { at, ..correction.clone() });
        }
        Ok(model.mean.substitute(&replace))
    }

    /// The correction of model `only`, if it is called once and no other corrected model is.
    ///
    /// # Errors
    /// Another corrected model is called: the result of a call inside an expression cannot be
    /// corrected.
    pub(super) fn take_correction(&mut self, only: Option<&str>) -> Result<Option<Corrected>, SetError> {
        let mut called = std::mem::take(&mut self.corrections);
        let first = called.pop();
        let other = called.first().or(first.as_ref().filter(|first| only != Some(&*first.model)));
        match other {
            Some(other) => self.fail(format!(
                "calls `{}`, whose terms are corrected: only a candidate of a library can do that, and \
                 nothing else beside it",
                other.model
            )),
            None => Ok(first),
        }
    }

    /// Adds a check, once.
    pub(super) fn check(&mut self, check: Check) {
        if !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }
}
