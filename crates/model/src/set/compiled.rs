//! Evaluation of resolved models: no allocation, no panic, `None` where a model predicts nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::calls::{Site, name_calls, result_name};
use super::inline::{Check, FitSpread, Formula};
use super::{Correction, SetError};
use crate::expr::{CompileError, Expr, Program, RESERVED, holds, node_values};
use crate::{Prediction, Seconds};
use strata_select::table::MAX_AXES;

/// The most inputs of a model (with parameters, for a candidate).
pub const MAX_INPUTS: usize = 24;
/// The most terms of a fitted model.
pub const MAX_TERMS: usize = 64;
/// The most different calls of other models in one expression.
pub const MAX_CALLS: usize = 32;

/// Inputs, the reserved names and the calls of one model.
pub(super) const MAX_VALUES: usize = MAX_INPUTS + RESERVED.len() + MAX_CALLS;

/// The models of a set, each after those that it calls.
#[derive(Clone, Debug)]
pub(super) struct Models {
    pub(super) compiled: Arc<[Compiled]>,
    /// The places of the models, by name.
    pub(super) index: BTreeMap<String, usize>,
    /// Their formulas, with calls inlined.
    pub(super) inlined: BTreeMap<String, Formula>,
}

impl Models {
    pub(super) fn find(&self, model: &str) -> Option<&Compiled> {
        self.compiled.get(*self.index.get(model)?)
    }
}

/// A model or candidate, ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) formula: Formula,
    guards: Vec<Guard>,
    /// A function of the inputs, then of `P`, `logP`, `sqrtP` if needed.
    program: Program,
    /// The factors that the result is multiplied by, and the values of their axes.
    correction: Option<(Arc<Correction>, Vec<Program>)>,
    /// Whether the guards and the program take `P`, `logP`, `sqrtP`.
    reserved: bool,
    pub(super) spread: Spread,
}

#[derive(Clone, Debug)]
enum Guard {
    Range(Program, f64, f64),
    Require(Program),
}

/// The data of the interval.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    pub(super) calls: Vec<Call>,
    /// The model as a function of the inputs, the reserved names and the calls' results; only if
    /// there are calls.
    outer: Option<Program>,
    /// The kept terms, as functions of the same values.
    pub(super) terms: Vec<Program>,
    fit: FitSpread,
}

/// A call of another model.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The index of the called model among the compiled models.
    pub(super) model: usize,
    /// Functions of the inputs, the reserved names and the results of earlier calls.
    arguments: Vec<Program>,
    /// Whether an argument depends on an earlier call.
    nested: bool,
}

impl Compiled {
    /// `place` is for messages; `index` has every model that may be called.
    pub(super) fn new(
        mut formula: Formula,
        place: &str,
        index: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Self, SetError> {
        let fail = |message: String| SetError::Content { place: place.to_owned(), message };
        let wrong = |error: CompileError| fail(error.to_string());
        if formula.inputs.len() > MAX_INPUTS {
            return Err(fail(format!(
                "{} inputs are too many, {MAX_INPUTS} are possible",
                formula.inputs.len()
            )));
        }
        if formula.terms.len() > MAX_TERMS {
            return Err(fail(format!(
                "{} terms are too many, {MAX_TERMS} are possible",
                formula.terms.len()
            )));
        }
        merge_ranges(&mut formula);
        let mut names: Vec<String> =
            formula.inputs.iter().cloned().chain(RESERVED.map(String::from)).collect();
        let compile = |expr: &Expr, names: &[String]| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            // A fixed number of nodes is a constant, and so are expressions that depend on nothing
            // else.
            Program::compile(&formula.nodes.fix(expr), &names).map_err(wrong)
        };
        let reads_nodes = |expr: &Expr| expr.names().iter().any(|name| RESERVED.contains(&name.as_str()));
        let read = reads_nodes(&formula.mean) || formula.checks.iter().any(|check| reads_nodes(check.expr()));
        let at = formula.correction.iter().flat_map(|correction| &correction.at);
        let read = read || at.into_iter().any(reads_nodes);
        let reserved = formula.nodes.fixed().is_none() && read;
        let direct = if reserved { &names[..] } else { &names[..formula.inputs.len()] };
        let program = compile(&formula.mean, direct)?;
        let correction = match &formula.correction {
            None => None,
            Some(correction) => {
                let at = correction.at.iter().map(|at| compile(at, direct));
                Some((Arc::clone(&correction.table), at.collect::<Result<_, _>>()?))
            }
        };
        let mut guards = Vec::new();
        for check in &formula.checks {
            guards.push(match check {
                Check::Range { value, min, max } => Guard::Range(compile(value, direct)?, *min, *max),
                Check::Require(condition) => Guard::Require(compile(condition, direct)?),
            });
        }
        let mut calls = Vec::new();
        let mut sites: Vec<Site> = Vec::new();
        let mut replaced = Vec::new();
        for expr in [&formula.outer].into_iter().chain(&formula.terms) {
            replaced.push(name_calls(expr, &mut sites));
        }
        if sites.len() > MAX_CALLS {
            return Err(fail(format!(
                "{} calls of other models are too many, {MAX_CALLS} are possible",
                sites.len()
            )));
        }
        for (number, site) in sites.iter().enumerate() {
            let unknown = || fail(format!("calls `{}`, which is not known", site.model));
            let model = index(&site.model).ok_or_else(unknown)?;
            let nested = site.nested();
            let arguments = site.arguments.iter().map(|a| compile(a, &names)).collect::<Result<_, _>>()?;
            calls.push(Call { model, arguments, nested });
            names.push(result_name(number));
        }
        let outer = if calls.is_empty() { None } else { Some(compile(&replaced[0], &names)?) };
        let terms = replaced[1..].iter().map(|term| compile(term, &names)).collect::<Result<_, _>>()?;
        Ok(Self {
            guards,
            program,
            correction,
            reserved,
            spread: Spread { calls, outer, terms, fit: formula.fit.clone() },
            formula,
        })
    }

    /// The predicted time in seconds. `values`: inputs, then `integers` for the parameters of a
    /// candidate.
    pub(super) fn seconds(&self, nodes: usize, values: &[f64], integers: &[i64]) -> Option<f64> {
        Seconds::new(self.value(nodes, values, integers)?).map(Seconds::get)
    }

    /// The same with any sign; it may be NaN or infinite.
    pub(super) fn value(&self, nodes: usize, values: &[f64], integers: &[i64]) -> Option<f64> {
        let (plain, factor) = self.parts(nodes, values, integers)?;
        Some(plain * factor)
    }

    /// The sum of the terms, and its correction; 1 without one.
    fn parts(&self, nodes: usize, values: &[f64], integers: &[i64]) -> Option<(f64, f64)> {
        let Formula { ranges, nodes: valid, .. } = &self.formula;
        if !valid.contains(nodes) || values.len() + integers.len() != ranges.len() {
            return None;
        }
        let inside = |value: f64, (min, max): (f64, f64)| min <= value && value <= max;
        let (first, rest) = ranges.split_at_checked(values.len())?;
        if !values.iter().zip(first).all(|(value, range)| inside(*value, *range))
            || !integers.iter().zip(rest).all(|(value, range)| inside(*value as f64, *range))
        {
            return None;
        }
        let known = if self.reserved { node_values(nodes) } else { [0.0; RESERVED.len()] };
        let known = if self.reserved { &known[..] } else { &[] };
        let eval = |program: &Program| program.eval_parts(values, integers, known);
        for guard in &self.guards {
            let good = match guard {
                Guard::Range(program, min, max) => inside(eval(program), (*min, *max)),
                Guard::Require(program) => holds(eval(program)),
            };
            if !good {
                return None;
            }
        }
        let factor = self.correction.as_ref().map_or(1.0, |(table, programs)| {
            let mut at = [0.0; MAX_AXES];
            for (at, program) in at.iter_mut().zip(programs) {
                *at = eval(program);
            }
            table.factor(&at)
        });
        Some((eval(&self.program), factor))
    }

    /// The correction of a fitted model's terms; 1 without one, and for a candidate, whose model
    /// has it.
    pub(super) fn correction(&self, nodes: usize, inputs: &[f64]) -> Option<f64> {
        if self.spread.terms.is_empty() { Some(1.0) } else { Some(self.parts(nodes, inputs, &[])?.1) }
    }

    /// The prediction with the interval of a new measurement. `models`: those that calls refer to.
    pub(super) fn predict(&self, models: &[Self], nodes: usize, inputs: &[f64]) -> Option<Prediction> {
        let Estimate { value, half_width, deviation, factor } = self.estimate(models, nodes, inputs)?;
        Prediction::new(value, half_width)?.with_deviation(deviation)?.times(factor)
    }

    /// The same for a value that need not be a time, as that of a model that others call.
    fn estimate(&self, models: &[Self], nodes: usize, inputs: &[f64]) -> Option<Estimate> {
        // The times here are corrected at the end; those of a candidate's model already are.
        let (mut value, mut factor) = self.parts(nodes, inputs, &[])?;
        if self.spread.terms.is_empty() {
            (value, factor) = (value * factor, 1.0);
        }
        let mut values = [0.0; MAX_VALUES];
        let known = inputs.len() + RESERVED.len();
        values.get_mut(..inputs.len())?.copy_from_slice(inputs);
        values.get_mut(inputs.len()..known)?.copy_from_slice(&node_values(nodes));
        let mut called = [(0.0, 0.0); MAX_CALLS];
        for (number, call) in self.spread.calls.iter().enumerate() {
            let place = known + number;
            let Estimate { value, half_width, deviation, factor } = call
                .with_arguments(values.get(..place)?, |arguments| {
                    models.get(call.model)?.estimate(models, nodes, arguments)
                })?;
            values[place] = value * factor;
            called[number] = (half_width * factor, deviation * factor);
        }
        let count = known + self.spread.calls.len();
        let FitSpread { t_quantile, own_error, .. } = self.spread.fit;
        let (from_fit, noise) = self.fit_variances(values.get(..count)?, value);
        // The squares of the half width from the fit's own uncertainty, t² (x'Σx + noise), and of
        // the deviation.
        let mut square = t_quantile * t_quantile * (from_fit + noise).max(0.0);
        let own = own_error.map_or(noise, |own| (own * value).powi(2));
        let mut deviation = (from_fit + own).max(0.0);
        for (number, &(half_width, spread)) in called.iter().enumerate().take(self.spread.calls.len()) {
            for (sum, by) in [(&mut square, half_width), (&mut deviation, spread)] {
                let shifted = |by: f64| self.with_shift(models, nodes, values, known, number, by);
                let difference = (shifted(by) - shifted(-by)) / 2.0;
                if difference.is_finite() {
                    *sum += difference * difference;
                }
            }
        }
        Some(Estimate { value, half_width: square.sqrt(), deviation: deviation.sqrt(), factor })
    }

    /// Whether a prediction is further from the samples than each of them is from the others.
    pub(super) fn extrapolates(&self, models: &[Self], nodes: usize, inputs: &[f64]) -> Option<bool> {
        let plain = self.parts(nodes, inputs, &[])?.0;
        let mut values = [0.0; MAX_VALUES];
        let known = inputs.len() + RESERVED.len();
        values.get_mut(..inputs.len())?.copy_from_slice(inputs);
        values.get_mut(inputs.len()..known)?.copy_from_slice(&node_values(nodes));
        let mut beyond = false;
        for (number, call) in self.spread.calls.iter().enumerate() {
            let place = known + number;
            let (value, there) = call.with_arguments(values.get(..place)?, |arguments| {
                let model = models.get(call.model)?;
                Some((model.value(nodes, arguments, &[])?, model.extrapolates(models, nodes, arguments)?))
            })?;
            values[place] = value;
            beyond |= there;
        }
        let FitSpread { leverage_limit, .. } = &self.spread.fit;
        let (from_fit, noise) = self.fit_variances(values.get(..known + self.spread.calls.len())?, plain);
        // Half as much again: between samples the leverage may be slightly above theirs.
        Some(beyond || *leverage_limit > 0.0 && noise > 0.0 && from_fit > 1.5 * leverage_limit * noise)
    }

    /// The variance from the uncertain coefficients, and that of a new measurement.
    fn fit_variances(&self, values: &[f64], seconds: f64) -> (f64, f64) {
        let FitSpread { covariance, noise, relative, .. } = &self.spread.fit;
        let mut x = [0.0; MAX_TERMS];
        for (value, term) in x.iter_mut().zip(&self.spread.terms) {
            *value = term.eval(values);
        }
        let count = self.spread.terms.len().min(MAX_TERMS);
        let noise = if *relative { noise * seconds * seconds } else { *noise };
        let mut variance = 0.0;
        if count > 0 {
            for (row, left) in covariance.chunks_exact(count).zip(x) {
                variance += left * row.iter().zip(x).map(|(c, right)| c * right).sum::<f64>();
            }
        }
        (variance, noise)
    }

    /// The model's time if the result of one call were this much longer. NaN if that leaves the
    /// range of another call.
    pub(super) fn with_shift(
        &self,
        models: &[Self],
        nodes: usize,
        mut values: [f64; MAX_VALUES],
        known: usize,
        number: usize,
        by: f64,
    ) -> f64 {
        let calls = &self.spread.calls;
        values[known + number] += by;
        for (later, call) in calls.iter().enumerate().skip(number + 1).filter(|(_, call)| call.nested) {
            let place = known + later;
            let value = call.with_arguments(&values[..place], |arguments| {
                models.get(call.model)?.value(nodes, arguments, &[])
            });
            values[place] = value.unwrap_or(f64::NAN);
        }
        self.spread.outer.as_ref().map_or(0.0, |outer| outer.eval(&values[..known + calls.len()]))
    }
}

/// A value with its spread, both without the correction's factor.
struct Estimate {
    value: f64,
    half_width: f64,
    deviation: f64,
    factor: f64,
}

impl Call {
    pub(super) fn with_arguments<T>(
        &self,
        values: &[f64],
        then: impl FnOnce(&[f64]) -> Option<T>,
    ) -> Option<T> {
        let mut arguments = [0.0; MAX_INPUTS];
        for (argument, program) in arguments.iter_mut().zip(&self.arguments) {
            *argument = program.eval(values);
        }
        then(arguments.get(..self.arguments.len())?)
    }
}

/// A range on a plain input is a comparison, not a program.
fn merge_ranges(formula: &mut Formula) {
    let Formula { inputs, ranges, checks, .. } = formula;
    checks.retain(|check| {
        let Check::Range { value, min, max } = check else { return true };
        let place = value.as_name().and_then(|name| inputs.iter().position(|input| input == name));
        let Some(range) = place.and_then(|place| ranges.get_mut(place)) else { return true };
        *range = (range.0.max(*min), range.1.min(*max));
        false
    });
}
