//! The models of a set as static data, and the functions that they need.

use std::cell::RefCell;
use std::collections::BTreeMap;

use strata_model::codegen::{Scope, snake};
use strata_model::expr::rust_number;
use strata_model::platform::CORES;
use strata_model::set::calls::{Site, name_calls, result_number};
use strata_model::set::{Axis, Check, Corrected, Ends, FitSpread, Formula, Model, ModelSet, Nodes};
use strata_model::{Expr, Resolved, expr};

use super::factor::cholesky;

/// Names that functions must not take, because their text calls them.
const OWN: [&str; 6] = ["fill", "holds", "require", "spread", "within", "m_"];
/// Names that variables must not take.
const LOCALS: [&str; 12] =
    ["nodes", "p", "log_p", "sqrt_p", "x", "to", "seconds", "square", "deviation", "by", "shifted", "m_"];
/// Longer lines are broken.
const WIDTH: usize = 108;

/// The functions and statics of all models.
pub(super) struct Functions<'a> {
    resolved: &'a Resolved,
    /// The names of the models' functions.
    names: BTreeMap<String, String>,
    pub(super) scope: Scope,
    /// The closures in the order of their first use, how often each is used, and the name of the
    /// function that stands for it.
    closures: RefCell<Vec<(String, usize, Option<String>)>>,
}

impl<'a> Functions<'a> {
    /// Gives every model its name in Rust.
    pub(super) fn name(set: &ModelSet, resolved: &'a Resolved) -> Self {
        let mut scope = Scope::with(&OWN);
        let named = |model: &Model| (model.name.clone(), scope.claim(&snake(&model.name), &["", "_seconds"]));
        let names = set.models.iter().map(named).collect();
        Self { resolved, names, scope, closures: RefCell::default() }
    }

    /// A [`Compute`](strata_select::table::Compute) in the text: the closure, or the function in its place.
    fn closure(&self, closure: String) -> String {
        let mut closures = self.closures.borrow_mut();
        let Some((_, uses, name)) = closures.iter_mut().find(|(known, ..)| *known == closure) else {
            closures.push((closure.clone(), 1, None));
            return closure;
        };
        *uses += 1;
        name.clone().unwrap_or(closure)
    }

    /// Makes functions of the closures that were used several times, for later texts.
    pub(super) fn share(&mut self) -> String {
        let mut text = String::new();
        for (closure, _, name) in self.closures.get_mut().iter_mut().filter(|(_, uses, _)| *uses > 1) {
            let function = self.scope.claim("shared", &[""]);
            let body = closure.strip_prefix('|').and_then(|rest| rest.split_once(", x, to| "));
            if let Some((nodes, body)) = body {
                text += &format!(
                    "fn {function}({nodes}: usize, x: &[f64], to: &mut [f64]) -> Option<usize> {body}\n"
                );
                *name = Some(function);
            }
        }
        text
    }

    /// A model of the set; empty for an unknown one.
    pub(super) fn of_model(&self, model: &Model, formula: &Formula) -> String {
        if is_unknown(formula) {
            return String::new();
        }
        let name = self.names.get(&model.name).map_or("m_", String::as_str);
        self.emit(name, formula, "pub ")
    }

    /// The static of a model called `name`, with `before` in front, and the functions that it
    /// needs.
    pub(super) fn emit(&self, name: &str, formula: &Formula, before: &str) -> String {
        let locals = Locals::new(formula);
        let mut sites = Vec::new();
        let outer = name_calls(&formula.outer, &mut sites);
        let terms: Vec<Expr> = formula.terms.iter().map(|term| name_calls(term, &mut sites)).collect();
        let (functions, model) = match &sites[..] {
            _ if formula.mean.as_number().is_some_and(f64::is_nan) => {
                (String::new(), "Model::Unknown".into())
            }
            [] if terms.is_empty() => (String::new(), fitted(self, formula, (&[outer], &[1.0]), &locals)),
            [] => (String::new(), fitted(self, formula, (&terms, &formula.coefficients), &locals)),
            [site] if outer.as_name().is_some() => (String::new(), self.of_another(formula, site, &locals)),
            _ => self.computed(name, formula, (&outer, &terms, &sites), &locals),
        };
        // A candidate's model contains its correction.
        let model = match &formula.correction {
            Some(correction) if !formula.terms.is_empty() => corrected(&model, formula, correction),
            _ => model,
        };
        format!("{functions}{before}static {}: Model = {model};\n", static_name(name))
    }

    /// The static of a model that computes the same as this formula, if there is one.
    pub(super) fn equal(&self, model: &str, formula: &Formula) -> Option<String> {
        let other = self.resolved.formula(model)?;
        let same = |a: &Formula, b: &Formula| {
            (&a.inputs, &a.ranges, &a.mean, &a.checks, a.nodes)
                == (&b.inputs, &b.ranges, &b.mean, &b.checks, b.nodes)
        };
        (is_unknown(formula) || same(formula, other)).then(|| self.static_of(model))
    }

    /// The static of a model.
    fn static_of(&self, model: &str) -> String {
        match (self.resolved.formula(model), self.names.get(model)) {
            (Some(formula), Some(name)) if !is_unknown(formula) => static_name(name),
            _ => "Model::Unknown".to_owned(),
        }
    }

    /// A model that only calls another model, and has its interval.
    fn of_another(&self, formula: &Formula, site: &Site, locals: &Locals) -> String {
        let arguments: Vec<String> = site.arguments.iter().map(|a| locals.rust(a)).collect();
        // The model checks its own ranges.
        let checks = formula
            .checks
            .iter()
            .filter(|check| !matches!(check, Check::Range { value, .. } if site.arguments.contains(value)));
        let compute = self.closure(compute(formula, checks, &site.arguments, &arguments, locals));
        format!("Model::Of(&{}, {compute})", self.static_of(&site.model))
    }

    /// A model that calls several others: the time, and the interval by finite differences.
    fn computed(
        &self,
        name: &str,
        formula: &Formula,
        (outer, terms, sites): (&Expr, &[Expr], &[Site]),
        locals: &Locals,
    ) -> (String, String) {
        let seconds = format!("{name}_seconds");
        let mut code = value(&seconds, formula, locals, "Seconds::new(", ").map(Seconds::get)");
        let called = sites.iter().flat_map(|site| &site.arguments);
        let used: Vec<&Expr> = terms.iter().chain(called).chain([outer]).collect();
        let mut body = locals.bound_inputs(|name| used.iter().any(|e| e.names().contains(name)));
        body += &locals.nodes_used_by(&used);
        body += &format!("    let seconds = {seconds}(nodes, x)?;\n");
        for (k, site) in sites.iter().enumerate() {
            body += &format!("    let {} = {}?;\n", locals.prediction(k), self.call(site, "predict", locals));
            body += &format!("    let {} = {}.seconds.get();\n", locals.result(k), locals.prediction(k));
        }
        body += &squares(&formula.fit, terms, locals);
        for k in 0..sites.len() {
            body += &self.shift(k, sites, outer, locals);
            for (sum, of) in [("square", "half_width"), ("deviation", "deviation")] {
                body += &format!("    {sum} += spread(shifted, {}.{of}.get());\n", locals.prediction(k));
            }
        }
        body += "    Prediction::new(seconds, square.sqrt())?.with_deviation(deviation.sqrt())\n";
        code += &format!("fn {name}(nodes: usize, x: &[f64]) -> Option<Prediction> {{\n{body}}}\n");
        (code, format!("Model::Computed {{ seconds: {seconds}, predict: {name} }}"))
    }

    /// A closure that computes the time if the result of call `k` were different.
    fn shift(&self, k: usize, sites: &[Site], outer: &Expr, locals: &Locals) -> String {
        let mut bindings = vec![(locals.result(k), format!("{} + by", locals.result(k)))];
        for (later, site) in sites.iter().enumerate().skip(k + 1).filter(|(_, site)| site.nested()) {
            let call = self.call(site, "seconds", locals);
            bindings.push((locals.result(later), format!("{call}.unwrap_or(f64::NAN)")));
        }
        let mut result = locals.rust(outer);
        if let Some((_, value)) = bindings.pop_if(|(name, _)| *name == result) {
            result = value;
        }
        let lines: String =
            bindings.iter().map(|(name, value)| format!("        let {name} = {value};\n")).collect();
        format!("    let shifted = |by: f64| {{\n{lines}        {result}\n    }};\n")
    }

    /// A call of another model.
    fn call(&self, site: &Site, what: &str, locals: &Locals) -> String {
        let arguments: Vec<String> = site.arguments.iter().map(|a| locals.rust(a)).collect();
        format!("{}.{what}(nodes, &[{}])", self.static_of(&site.model), arguments.join(", "))
    }
}

/// The static of the model whose functions are called `name`. A library's table may have the name
/// of its model.
pub(super) fn static_name(name: &str) -> String {
    name.to_ascii_uppercase() + "_MODEL"
}

/// Whether the model predicts nothing.
fn is_unknown(formula: &Formula) -> bool {
    formula.mean.as_number().is_some_and(f64::is_nan)
}

/// A function called `name` of a value with any sign.
pub(super) fn signed(name: &str, formula: &Formula) -> String {
    value(name, formula, &Locals::new(formula), "Some(", ")")
}

/// A function called `name` of the ends of a parameter's range, for a candidate with this formula.
/// The cores are at most the measured number.
pub(super) fn ends(name: &str, formula: &Formula, ends: &Ends) -> String {
    let mut locals = Locals::new(formula);
    let both = ends.ends();
    let cores = ends.cores().map_or(String::new(), |measured| {
        locals.names.push(CORES.to_owned());
        let local = locals.results.claim(CORES, &[""]);
        locals.inputs.push(local.clone());
        match measured.is_finite() {
            true => format!("    let {local} = cores.min({});\n", rust_number(measured)),
            false => format!("    let {local} = cores;\n"),
        }
    });
    let argument = if cores.is_empty() { "_" } else { "cores" };
    let used = locals.nodes_used_by(&both);
    let nodes = if used.is_empty() { "_" } else { "nodes" };
    format!(
        "fn {name}({nodes}: usize, {argument}: f64, x: &[f64]) -> Option<(f64, f64)> {{\n{}{cores}{}    Some(({}, {}))\n}}\n",
        locals.bound_to(ends.inputs(), |name| both.iter().any(|end| end.names().contains(name))),
        used,
        locals.rust(both[0]),
        locals.rust(both[1]),
    )
}

/// A sum of terms.
fn fitted(
    functions: &Functions<'_>,
    formula: &Formula,
    (terms, coefficients): (&[Expr], &[f64]),
    locals: &Locals,
) -> String {
    let texts: Vec<String> = terms.iter().map(|term| locals.rust(term)).collect();
    let compute = functions.closure(compute(formula, formula.checks.iter(), terms, &texts, locals));
    let fit = &formula.fit;
    let (noise, own) = variances(fit);
    let coefficients: Vec<String> = coefficients.iter().map(|c| rust_number(*c)).collect();
    let factor: Vec<String> = cholesky(&fit.covariance, terms.len()).into_iter().map(short).collect();
    format!(
        "Model::Fitted(Fitted {{\n    terms: {},\n    quantile: {:?}, noise: {noise}, own: {own},\n    \
         coefficients: &[{}],\n    factor: &[{}],\n}})",
        compute.replace('\n', "\n    "),
        fit.t_quantile,
        listed(&coefficients),
        listed(&factor),
    )
}

/// A model times a factor.
fn corrected(model: &str, formula: &Formula, correction: &Corrected) -> String {
    let numbers = |values: &[f64]| values.iter().map(|value| rust_number(*value)).collect::<Vec<_>>();
    let table = &correction.table;
    let axis = |axis: &Axis| {
        let place = formula.inputs.iter().position(|input| *input == axis.input).unwrap_or(usize::MAX);
        let knots = listed(&numbers(&axis.knots));
        format!("\n            Axis {{ input: {place}, round: {}, knots: &[{knots}] }},", axis.round)
    };
    let axes: String = table.axes.iter().map(axis).collect();
    format!(
        "Model::Corrected(&{model}, Correction {{\n        samples: {}, axes: &[{axes}\n        ],\n        factors: &[{}],\n    }})",
        table.samples,
        listed(&numbers(&table.factors)),
    )
}

/// Six digits: a covariance is far less certain.
fn short(number: f64) -> String {
    let text = format!("{number:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    match (digits, exponent) {
        // Too small for `f32`.
        _ if number.abs() < f64::from(f32::MIN_POSITIVE) => "0.0".into(),
        (digits, "0") if digits.contains('.') => digits.into(),
        (digits, exponent) => format!("{digits}e{exponent}"),
    }
}

/// The noise and the model's own error as `Variance`s.
fn variances(fit: &FitSpread) -> (String, String) {
    let noise = format!("Variance::{}({:?})", if fit.relative { "Relative" } else { "Absolute" }, fit.noise);
    let own = fit.own_error.map_or(noise.clone(), |own| format!("Variance::Relative({:?})", own * own));
    (noise, own)
}

/// The squares of the half width, t² (x'Σx + noise), and of the deviation, x'Σx + the model's own
/// error, of a model that calls others in its terms.
fn squares(fit: &FitSpread, terms: &[Expr], locals: &Locals) -> String {
    if terms.is_empty() {
        return "    let mut square = 0.0;\n    let mut deviation = 0.0;\n".to_owned();
    }
    let relative = |share: f64| format!("{share:?} * seconds * seconds");
    let noise = if fit.relative { relative(fit.noise) } else { format!("{:?}", fit.noise) };
    let own = fit.own_error.map_or(noise.clone(), |own| relative(own * own));
    let terms: Vec<String> = terms.iter().map(|term| locals.rust(term)).collect();
    let factor = cholesky(&fit.covariance, terms.len());
    let mut rest = &factor[..];
    let mut parts = Vec::new();
    for place in 0..terms.len() {
        let Some((column, later)) = rest.split_at_checked(terms.len() - place) else { break };
        let of = |(l, i): (&f64, usize)| format!("{} * t[{i}]", short(*l));
        let part: Vec<String> = column.iter().zip(place..).map(of).collect();
        parts.push(format!("        let part = {};\n        sum += part * part;\n", part.join(" + ")));
        rest = later;
    }
    let mut code = String::new();
    let from_fit = if parts.is_empty() {
        "0.0"
    } else {
        code += &format!(
            "    let from_fit = {{\n        let t: [f64; {}] = [{}];\n        let mut sum = 0.0;\n{}        sum\n    }};\n",
            terms.len(),
            terms.join(", "),
            parts.concat()
        );
        "from_fit"
    };
    let t = fit.t_quantile;
    code += &format!("    let mut square = {:?} * ({from_fit} + {noise});\n", t * t);
    code + &format!("    let mut deviation = {from_fit} + {own};\n")
}

/// A `Compute` that evaluates the expressions `computed` and returns the values `values`.
fn compute<'f>(
    formula: &Formula,
    checks: impl Iterator<Item = &'f Check>,
    computed: &[Expr],
    values: &[String],
    locals: &Locals,
) -> String {
    let checks: Vec<&Check> = checks.filter(|check| !always_passes(check, locals)).collect();
    let used: Vec<&Expr> = checks.iter().map(|check| check.expr()).chain(computed).collect();
    let valid = valid(formula, &checks, locals);
    let body = format!(
        "{}{}{valid}    fill(to, &[{}])",
        locals.bound_inputs(|_| true),
        locals.nodes_used_by(&used),
        listed(values),
    );
    let nodes = if body.contains("nodes") { "nodes" } else { "_" };
    format!("|{nodes}, x, to| {{\n{body}\n}}")
}

/// A function that returns one value, as text between `before` and `after`.
fn value(name: &str, formula: &Formula, locals: &Locals, before: &str, after: &str) -> String {
    let checks: Vec<&Check> = formula.checks.iter().filter(|check| !always_passes(check, locals)).collect();
    let used: Vec<&Expr> = checks.iter().map(|check| check.expr()).chain([&formula.mean]).collect();
    format!(
        "fn {name}(nodes: usize, x: &[f64]) -> Option<f64> {{\n{}{}{}    {before}{}{after}\n}}\n",
        locals.bound_inputs(|_| true),
        locals.nodes_used_by(&used),
        valid(formula, &checks, locals),
        locals.rust(&formula.mean),
    )
}

/// Returns `None` outside the ranges and where a requirement fails.
fn valid(formula: &Formula, checks: &[&Check], locals: &Locals) -> String {
    let mut conditions = vec![match (formula.nodes.fixed(), formula.nodes) {
        (Some(nodes), _) => format!("nodes == {nodes}"),
        (None, Nodes::ANY) => "nodes > 0".to_owned(),
        (None, Nodes { min, max }) => format!("({min}..={max}).contains(&nodes)"),
    }];
    for (input, (min, max)) in locals.inputs.iter().zip(&formula.ranges) {
        conditions.push(if *min == f64::NEG_INFINITY && *max == f64::INFINITY {
            format!("!{input}.is_nan()")
        } else {
            format!("within({input}, {}, {})", rust_number(*min), rust_number(*max))
        });
    }
    conditions.extend(checks.iter().map(|check| match check {
        Check::Range { value, min, max } => {
            format!("within({}, {}, {})", locals.rust(value), rust_number(*min), rust_number(*max))
        }
        Check::Require(condition) => format!("holds({})", locals.rust(condition)),
    }));
    format!("    require({})?;\n", joined(&conditions, " &&"))
}

/// Items separated by commas.
pub(super) fn listed(items: &[String]) -> String {
    joined(items, ",")
}

/// Items on as few lines as possible; the first line is already begun.
fn joined(items: &[String], separator: &str) -> String {
    let mut text = String::new();
    // The text before the list has at most this length.
    let mut column = 24;
    for (place, item) in items.iter().enumerate() {
        let separator = if place + 1 < items.len() { separator } else { "" };
        if column + item.len() + 4 > WIDTH && place > 0 {
            text.truncate(text.trim_end().len());
            text += "\n        ";
            column = 8;
        }
        text += &format!("{item}{separator} ");
        column += item.len() + separator.len() + 1;
    }
    text.truncate(text.trim_end().len());
    text
}

/// Whether a check is constant and passes.
fn always_passes(check: &Check, locals: &Locals) -> bool {
    let expr = locals.nodes.fix(check.expr());
    expr.is_constant()
        && expr.eval(&|_| None).is_ok_and(|value| match check {
            Check::Range { min, max, .. } => *min <= value && value <= *max,
            Check::Require(_) => expr::holds(value),
        })
}

/// The spelling of an expression's names in one function.
struct Locals {
    names: Vec<String>,
    inputs: Vec<String>,
    nodes: Nodes,
    results: Scope,
}

impl Locals {
    fn new(formula: &Formula) -> Self {
        let mut scope = Scope::with(&LOCALS);
        let inputs = formula.inputs.iter().map(|name| scope.claim(&snake(name), &[""])).collect();
        Self { names: formula.inputs.clone(), inputs, nodes: formula.nodes, results: scope }
    }

    /// The statement that binds the inputs selected by `reads` from `x`.
    fn bound_inputs(&self, reads: impl Fn(&str) -> bool) -> String {
        self.bound_to(self.names.len(), reads)
    }

    /// The same if `x` has only the first `count` of them.
    fn bound_to(&self, count: usize, reads: impl Fn(&str) -> bool) -> String {
        let bound = |(name, input): (&String, &String)| if reads(name) { input.clone() } else { "_".into() };
        let all: Vec<String> = self.names.iter().zip(&self.inputs).take(count).map(bound).collect();
        format!("    let &[{}] = x else {{ return None }};\n", all.join(", "))
    }

    /// The variable that holds a call's seconds.
    fn result(&self, number: usize) -> String {
        self.results.clone().claim(&format!("call{number}"), &["", "_prediction"])
    }

    /// The variable that holds a call's prediction.
    fn prediction(&self, number: usize) -> String {
        self.result(number) + "_prediction"
    }

    /// Bindings for those of `P`, `logP`, `sqrtP` that expressions read.
    fn nodes_used_by(&self, used: &[&Expr]) -> String {
        if self.nodes.fixed().is_some() {
            return String::new();
        }
        let reads = |name: &str| used.iter().any(|e| e.names().contains(name));
        let bindings = [
            ("P", "p", "nodes as f64"),
            ("logP", "log_p", "(nodes as f64).log2()"),
            ("sqrtP", "sqrt_p", "(nodes as f64).sqrt()"),
        ];
        let lines = bindings.iter().filter(|(name, ..)| reads(name));
        lines.map(|(_, local, value)| format!("    let {local} = {value};\n")).collect()
    }

    fn rust(&self, expr: &Expr) -> String {
        self.nodes.fix(expr).to_rust(&|name| match (name, result_number(name)) {
            (_, Some(number)) => self.result(number),
            ("P", _) => "p".into(),
            ("logP", _) => "log_p".into(),
            ("sqrtP", _) => "sqrt_p".into(),
            _ => self.names.iter().position(|n| n == name).map_or("m_".into(), |i| self.inputs[i].clone()),
        })
    }
}
