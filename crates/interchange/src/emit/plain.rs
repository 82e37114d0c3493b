//! Shared emitter of functions in simple languages: C and Python differ only in spelling.
//!
//! A model becomes a function `name(nodes, inputs…)` of its time in seconds, and others for its
//! interval ([`interval`](super::interval)). Calls of other models are inlined in its formula; its
//! guard is that of [`Resolved::seconds`](strata_model::Resolved::seconds): the number of nodes,
//! the measured ranges, the requirements.

use std::collections::BTreeMap;

use strata_model::Kinds;
use strata_model::codegen::{Scope, one_line, snake};
use strata_model::expr::{BinaryOp, Expr, ExprKind, Function, RESERVED, Row, UnaryOp};
use strata_model::set::calls::{Site, name_calls, result_number};
use strata_model::set::{Check, Correction, Formula, Model, ModelSet, Nodes, SetError};

use super::interval::call;
use super::library::{PlainLibrary, libraries};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    /// A time in seconds, or none.
    Time,
    /// Any number.
    Number,
}

/// A language's spelling of expressions and functions.
pub(super) trait Language {
    /// Reserved words in addition to Rust's.
    const RESERVED: &'static [&'static str];
    /// Conjunction, disjunction.
    const AND: &'static str;
    const OR: &'static str;
    fn number(value: f64) -> String;
    /// A condition as the number 1 or 0.
    fn truth(condition: &str) -> String;
    /// A quotient; both arguments are already operands.
    fn divide(a: &str, b: &str) -> String {
        format!("{a} / {b}")
    }
    /// The call of a function with these arguments.
    fn function(row: &Row, arguments: &str) -> String;
    /// The call of an operator's helper: `fmod`, `square`, `cube`, `exp2`, `floor`, `holds`,
    /// `spread`.
    fn call(name: &str, arguments: &[String]) -> String;
    /// The number of nodes, its logarithm and its root.
    const NODES: [&'static str; 3];
    /// A call of an emitted function that [`define`](Self::define) defines.
    fn own(call: &str) -> String {
        call.to_owned()
    }
    /// A function of `nodes` and these numbers; with two lines of documentation if users are to
    /// call it.
    fn define(
        name: &str,
        doc: Option<[&str; 2]>,
        arguments: &[String],
        returns: Returns,
        body: &str,
    ) -> String;
    /// The statement that gives a new variable its value.
    fn bind(name: &str, value: &str) -> String;
    /// The statement that gives a variable another value.
    fn rebind(name: &str, value: &str) -> String {
        Self::bind(name, value)
    }
    /// As `bind`, for a function that may return no time; the caller then returns no time either.
    fn bind_time(name: &str, call: &str) -> String;
    /// A call of such a function, with NaN for no time.
    fn or_nan(call: &str) -> String;
    /// The statement that returns no time unless all conditions hold.
    fn guard(conditions: &[String]) -> String;
    /// The statement that returns a number.
    fn give(value: &str) -> String;
    /// The statements that return the factor of a correction; `values`: those of its axes.
    fn give_factor(values: &[String], correction: &Correction) -> String;
    /// The statement that returns a sum of seconds, or no time.
    fn give_time(addends: &[String]) -> String;
}

/// One model with its final names.
pub(super) struct PlainModel {
    /// The name of the function.
    pub(super) name: String,
    /// The names of its arguments after `nodes`.
    pub(super) arguments: Vec<String>,
    /// Two lines: how it was fitted, and where it is valid.
    pub(super) doc: [String; 2],
    pub(super) formula: Formula,
    /// The calls of other models; the formula and its terms read the results.
    pub(super) sites: Vec<Site>,
    pub(super) outer: Expr,
    pub(super) terms: Vec<Expr>,
    /// The variables of the calls' results; `{result}_half` is free too.
    pub(super) results: Vec<String>,
    /// The variables of the terms' values.
    pub(super) term_names: Vec<String>,
}

/// Local variables of the functions of a model besides its inputs.
const LOCALS: [&str; 11] =
    ["nodes", "seconds", "p", "log_p", "sqrt_p", "from_fit", "square", "by", "sum", "corrected", "factor"];

impl PlainModel {
    /// Claims the name of a model's or candidate's functions.
    pub(super) fn claim(wanted: &str, formula: &Formula, scope: &mut Scope) -> String {
        let mut sites = Vec::new();
        for expr in [&formula.outer].into_iter().chain(&formula.terms) {
            name_calls(expr, &mut sites);
        }
        let shifts: Vec<String> = (0..sites.len()).map(|k| format!("_shift_{k}")).collect();
        let suffixes = ["", "_half_width", "_factor"].into_iter().chain(shifts.iter().map(String::as_str));
        scope.claim(wanted, &suffixes.collect::<Vec<_>>())
    }

    /// A model or candidate whose functions have this name; `scope` has the names of all functions
    /// that they may call.
    pub(super) fn new(name: String, doc: [String; 2], formula: Formula, scope: &Scope) -> Self {
        let mut sites = Vec::new();
        let outer = name_calls(&formula.outer, &mut sites);
        let terms: Vec<Expr> = formula.terms.iter().map(|term| name_calls(term, &mut sites)).collect();
        let mut locals = scope.clone();
        Self {
            name,
            arguments: formula.inputs.iter().map(|input| locals.claim(&snake(input), &[""])).collect(),
            doc: doc.map(|line| one_line(&line)),
            term_names: (0..terms.len()).map(|j| locals.claim(&format!("term_{j}"), &[""])).collect(),
            results: (0..sites.len()).map(|k| locals.claim(&format!("call_{k}"), &["", "_half"])).collect(),
            formula,
            sites,
            outer,
            terms,
        }
    }

    pub(super) fn seconds<L: Language>(&self, names: &BTreeMap<String, String>) -> String {
        let at = self.formula.correction.iter().flat_map(|correction| &correction.at);
        let read: Vec<&Expr> =
            self.formula.checks.iter().map(Check::expr).chain([&self.formula.mean]).chain(at).collect();
        let mut body = self.nodes::<L>(&read);
        body += &L::guard(&self.conditions::<L>());
        match self.factor::<L>(names) {
            Some(factor) => {
                body += &L::bind("sum", &format!("({})", self.addends::<L>().join("\n        + ")));
                body += &L::give_time(&[format!("sum * {factor}")]);
            }
            None => body += &L::give_time(&self.addends::<L>()),
        }
        let [quality, validity] = &self.doc;
        L::define(&self.name, Some([quality, validity]), &self.arguments, Returns::Time, &body)
    }

    /// The call of the function that computes the correction of this model, or of the candidate.
    pub(super) fn factor<L: Language>(&self, names: &BTreeMap<String, String>) -> Option<String> {
        let correction = self.formula.correction.as_ref()?;
        let values: Vec<String> = correction.at.iter().map(|at| self.value::<L>(at)).collect();
        let name = names.get(&correction.model).map_or("m_", String::as_str);
        Some(L::own(&call(&format!("{name}_factor"), &values)))
    }

    /// The function that gives the correction of a model, of the values of its axes.
    fn define_factor<L: Language>(&self) -> String {
        let Some(correction) = self.formula.correction.as_ref().filter(|_| !self.terms.is_empty()) else {
            return String::new();
        };
        let values: Vec<String> = (0..correction.at.len()).map(|axis| format!("value_{axis}")).collect();
        let body = L::give_factor(&values, &correction.table);
        L::define(&format!("{}_factor", self.name), None, &values, Returns::Number, &body)
    }

    /// Bindings for those of `P`, `logP`, `sqrtP` that expressions read.
    pub(super) fn nodes<L: Language>(&self, read: &[&Expr]) -> String {
        let places = ["p", "log_p", "sqrt_p"].into_iter().zip(L::NODES).zip(RESERVED);
        let open = self.formula.nodes.fixed().is_none();
        let read = places.filter(|(_, name)| open && read.iter().any(|e| e.names().contains(*name)));
        read.map(|((local, value), _)| L::bind(local, value)).collect()
    }

    /// The conditions under which there is a prediction; all must hold.
    pub(super) fn conditions<L: Language>(&self) -> Vec<String> {
        let within = |value: &str, min: f64, max: f64| {
            format!("{} <= {value} {} {value} <= {}", L::number(min), L::AND, L::number(max))
        };
        let nodes = match (self.formula.nodes.fixed(), self.formula.nodes) {
            (Some(nodes), _) => format!("nodes == {nodes}"),
            (None, Nodes::ANY) => "nodes > 0".into(),
            (None, Nodes { min, max }) => format!("{min} <= nodes {} nodes <= {max}", L::AND),
        };
        let ranges = self.arguments.iter().zip(&self.formula.ranges);
        let ranges = ranges.map(|(name, (min, max))| within(name, *min, *max));
        let checks = self.formula.checks.iter().map(|check| match check {
            Check::Range { value, min, max } => within(&format!("({})", self.value::<L>(value)), *min, *max),
            Check::Require(condition) => L::call("holds", &[self.value::<L>(condition)]),
        });
        std::iter::once(nodes).chain(ranges).chain(checks).collect()
    }

    pub(super) fn addends<L: Language>(&self) -> Vec<String> {
        let mut addends = Vec::new();
        let mut rest = &self.formula.nodes.fix(&self.formula.mean);
        while let ExprKind::Binary(BinaryOp::Add, left, right) = &rest.kind {
            addends.push(self.printer::<L>().operand(right));
            rest = left;
        }
        addends.push(self.printer::<L>().value(rest));
        addends.reverse();
        addends
    }

    pub(super) fn value<L: Language>(&self, expr: &Expr) -> String {
        self.printer::<L>().value(&self.formula.nodes.fix(expr))
    }

    fn printer<L: Language>(&self) -> Printer<'_, L> {
        Printer { model: self, language: std::marker::PhantomData }
    }

    fn variable(&self, name: &str) -> String {
        if let Some(call) = result_number(name) {
            return self.results.get(call).map_or("m_".into(), String::clone);
        }
        match name {
            "P" => "p".into(),
            "logP" => "log_p".into(),
            "sqrtP" => "sqrt_p".into(),
            _ => {
                let place = self.formula.inputs.iter().position(|n| n == name);
                place.map_or("m_".into(), |place| self.arguments[place].clone())
            }
        }
    }
}

struct Printer<'a, L> {
    model: &'a PlainModel,
    language: std::marker::PhantomData<L>,
}

impl<L: Language> Printer<'_, L> {
    /// The expression as a whole, outside of any operator.
    fn value(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Number(value) => L::number(*value),
            ExprKind::Name(name) => self.model.variable(name),
            ExprKind::Unary(UnaryOp::Negate, a) => format!("-{}", self.operand(a)),
            ExprKind::Unary(UnaryOp::Not, a) => {
                format!("{} - {}", L::number(1.0), L::truth(&L::call("holds", &[self.value(a)])))
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::Call { name, arguments } => match (Function::from_name(name), &arguments[..]) {
                (Some(Function::Pow), [a, b]) => self.power(a, b),
                (Some(function), [first, others @ ..]) if !others.is_empty() => {
                    let fold = |left: String, right: &Expr| {
                        L::function(function.row(), &format!("{left}, {}", self.value(right)))
                    };
                    others.iter().fold(self.value(first), fold)
                }
                (Some(function), [a]) => L::function(function.row(), &self.value(a)),
                // Calls of models were inlined, and every function has arguments.
                _ => L::number(f64::NAN),
            },
        }
    }

    /// The expression as an operand of an operator.
    fn operand(&self, expr: &Expr) -> String {
        let text = self.value(expr);
        let whole = match &expr.kind {
            ExprKind::Number(value) => value.is_sign_positive(),
            // Powers and remainders are spelled as calls.
            ExprKind::Binary(op, ..) => matches!(op, BinaryOp::Power | BinaryOp::Remainder),
            ExprKind::Name(_) | ExprKind::Call { .. } => true,
            ExprKind::Unary(..) => false,
        };
        if whole { text } else { format!("({text})") }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> String {
        let holds = |e: &Expr| L::call("holds", &[self.value(e)]);
        let (x, y) = (|| self.operand(a), || self.operand(b));
        match op {
            BinaryOp::Power => self.power(a, b),
            BinaryOp::Remainder => L::call("fmod", &[self.value(a), self.value(b)]),
            BinaryOp::Divide => L::divide(&x(), &y()),
            BinaryOp::ShiftLeft => format!("{} * {}", x(), L::call("exp2", &[self.value(b)])),
            BinaryOp::ShiftRight => {
                let quotient = L::divide(&x(), &L::call("exp2", &[self.value(b)]));
                L::call("floor", &[quotient])
            }
            BinaryOp::And => L::truth(&format!("{} {} {}", holds(a), L::AND, holds(b))),
            BinaryOp::Or => L::truth(&format!("{} {} {}", holds(a), L::OR, holds(b))),
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => L::truth(&format!("{} {} {}", x(), op.symbol(), y())),
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => {
                format!("{} {} {}", x(), op.symbol(), y())
            }
        }
    }

    /// Computes powers as the interpreter does: by multiplication where the exponent is 2 or 3.
    fn power(&self, base: &Expr, exponent: &Expr) -> String {
        match (base.as_number(), exponent.as_number()) {
            (_, Some(2.0)) => L::call("square", &[self.value(base)]),
            (_, Some(3.0)) => L::call("cube", &[self.value(base)]),
            (Some(2.0), _) => L::call("exp2", &[self.value(exponent)]),
            _ => L::function(Function::Pow.row(), &format!("{}, {}", self.value(base), self.value(exponent))),
        }
    }
}

/// A line for each input that is one of a few names: which number stands for which.
pub(super) fn kinds(kinds: &Kinds) -> impl Iterator<Item = String> {
    kinds.iter().map(|(input, names)| {
        let named = |(place, name): (usize, &String)| format!("{place} {name}");
        format!("{input}: {}", names.iter().enumerate().map(named).collect::<Vec<_>>().join(", "))
    })
}

/// The provenance of the set, one item a line.
pub(super) fn origin(set: &ModelSet) -> Vec<String> {
    let mut lines =
        vec!["@generated by `specc export`; do not edit.".to_owned(), format!("model set: {}", set.digest())];
    lines.extend(set.platform.iter().map(|p| format!("platform: {p}")));
    lines.extend(set.spec.iter().map(|s| format!("spec: {} sha256={}", s.path, s.sha256)));
    lines.extend(kinds(&set.kinds));
    lines.iter().map(|line| one_line(line)).collect()
}

/// The helpers that the body calls.
pub(super) fn used(helpers: &[(&str, &str)], body: &str) -> String {
    let calls = |name: &str| body.contains(&format!("{name}("));
    helpers.iter().filter(|(name, _)| calls(name)).map(|(_, text)| *text).collect()
}

/// The models and libraries of a set with their final names.
pub(super) struct Plain {
    pub(super) models: Vec<PlainModel>,
    pub(super) libraries: Vec<PlainLibrary>,
    /// The function of each model.
    names: BTreeMap<String, String>,
}

impl Plain {
    /// The functions of all models and of all candidates.
    pub(super) fn functions<L: Language>(&self) -> String {
        let candidates = self.libraries.iter().flat_map(|library| &library.candidates);
        let all = self.models.iter().chain(candidates.map(|candidate| &candidate.model));
        let functions = |model: &PlainModel| {
            model.define_factor::<L>()
                + &model.seconds::<L>(&self.names)
                + &model.half_width::<L>(&self.names)
        };
        all.map(functions).collect()
    }
}

/// Every model and library of a set; `reserved` are words of the language that cannot be names.
///
/// # Errors
/// A set that does not resolve.
pub(super) fn resolve(set: &ModelSet, reserved: &[&str]) -> Result<Plain, SetError> {
    let resolved = set.resolve()?;
    // Local variables would hide functions of their names.
    let mut scope = Scope::with(&[reserved, &LOCALS[..]].concat());
    let one = |model: &Model| {
        let formula = resolved.formula(&model.name)?;
        let name = PlainModel::claim(&snake(&model.name), formula, &mut scope);
        Some((model.name.clone(), name))
    };
    let names: BTreeMap<String, String> = set.models.iter().filter_map(one).collect();
    let one = |model: &Model| {
        let doc = [model.quality(), resolved.validity(model)];
        let formula = resolved.formula(&model.name)?.clone();
        Some(PlainModel::new(names.get(&model.name)?.clone(), doc, formula, &scope))
    };
    let models = set.models.iter().filter_map(one).collect();
    let libraries = libraries(set, &resolved, &mut scope);
    Ok(Plain { models, libraries, names })
}
