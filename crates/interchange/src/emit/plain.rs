//! Shared emitter of functions in simple languages: Rust without a library, C and Python differ
//! only in spelling.
//!
//! A model becomes one function `name(nodes, inputs…)` of its time in seconds. Calls of other
//! models are inlined in its formula; its guard is that of [`Resolved::seconds`]: the number of
//! nodes, the measured ranges, the requirements.

use strata_model::Resolved;
use strata_model::codegen::{Scope, one_line, snake};
use strata_model::expr::{BinaryOp, Expr, ExprKind, Function, RESERVED, Row, UnaryOp};
use strata_model::set::{Check, Formula, Model, ModelSet, Nodes, SetError};

/// A language's spelling of expressions.
pub(super) trait Language {
    /// Reserved words in addition to Rust's.
    const RESERVED: &'static [&'static str];
    /// Conjunction, disjunction.
    const AND: &'static str;
    const OR: &'static str;
    /// A number, finite or not.
    fn number(value: f64) -> String;
    /// A condition as the number 1 or 0.
    fn truth(condition: &str) -> String;
    /// A quotient; both arguments are already operands.
    fn divide(a: &str, b: &str) -> String {
        format!("{a} / {b}")
    }
    /// The call of a function with these arguments.
    fn function(row: &Row, arguments: &str) -> String;
    /// The call of an operator's helper: `fmod`, `square`, `cube`, `exp2`, `floor`, `holds`.
    fn call(name: &str, arguments: &[String]) -> String;
}

/// One model with its final names.
pub(super) struct PlainModel {
    /// The name of the function.
    pub(super) name: String,
    /// The names of its arguments after `nodes`.
    pub(super) arguments: Vec<String>,
    /// Two lines: how it was fitted, and where it is valid.
    pub(super) doc: [String; 2],
    formula: Formula,
}

fn one(resolved: &Resolved, model: &Model, reserved: &[&str], scope: &mut Scope) -> Option<PlainModel> {
    let formula = resolved.formula(&model.name)?.clone();
    let name = scope.claim(&snake(&model.name), &[""]);
    let mut locals = Scope::with(reserved);
    for taken in ["nodes", "seconds", "p", "log_p", "sqrt_p"] {
        locals.claim(taken, &[""]);
    }
    Some(PlainModel {
        name,
        arguments: model.inputs.iter().map(|i| locals.claim(&snake(&i.name), &[""])).collect(),
        doc: [model.quality(), resolved.validity(model)].map(|line| one_line(&line)),
        formula,
    })
}

impl PlainModel {
    /// Whether the formula or the guard uses the number of nodes, its logarithm or its root.
    pub(super) fn reads_nodes(&self) -> [bool; 3] {
        let all: Vec<&Expr> =
            self.formula.checks.iter().map(Check::expr).chain([&self.formula.mean]).collect();
        RESERVED
            .map(|name| self.formula.nodes.fixed().is_none() && all.iter().any(|e| e.names().contains(name)))
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

    /// The addends of the formula.
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

    /// The formula, for a language with its own printer.
    pub(super) fn formula(&self) -> Expr {
        self.formula.nodes.fix(&self.formula.mean)
    }

    /// The range of each input, infinite where unlimited.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (&str, (f64, f64))> {
        self.formula.inputs.iter().map(String::as_str).zip(self.formula.ranges.iter().copied())
    }

    fn value<L: Language>(&self, expr: &Expr) -> String {
        self.printer::<L>().value(&self.formula.nodes.fix(expr))
    }

    fn printer<L: Language>(&self) -> Printer<'_, L> {
        Printer { model: self, language: std::marker::PhantomData }
    }

    fn variable(&self, name: &str) -> String {
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
    /// The expression, standing alone.
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

/// The provenance of the set, one item a line.
pub(super) fn origin(set: &ModelSet) -> Vec<String> {
    let mut lines =
        vec!["@generated by specc; do not edit.".to_owned(), format!("model set: {}", set.digest())];
    lines.extend(set.platform.iter().map(|p| format!("platform: {p}")));
    lines.extend(set.spec.iter().map(|s| format!("spec: {} sha256={}", s.path, s.sha256)));
    lines.iter().map(|line| one_line(line)).collect()
}

/// The helpers that the body calls.
pub(super) fn used(helpers: &[(&str, &str)], body: &str) -> String {
    let calls = |name: &str| body.contains(&format!("{name}("));
    helpers.iter().filter(|(name, _)| calls(name)).map(|(_, text)| *text).collect()
}

/// Every model of a set as a function; `reserved` are words of the language that cannot be names.
///
/// # Errors
/// A set that does not resolve.
pub(super) fn resolve(set: &ModelSet, reserved: &[&str]) -> Result<Vec<PlainModel>, SetError> {
    let resolved = set.resolve()?;
    let mut scope = Scope::with(reserved);
    Ok(set.models.iter().filter_map(|model| one(&resolved, model, reserved, &mut scope)).collect())
}
