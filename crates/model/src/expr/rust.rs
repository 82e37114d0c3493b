//! Tree to Rust: an expression over `f64` that needs only the standard library.

use super::ast::{BinaryOp, COMPARISON, Expr, ExprKind, UnaryOp};
use super::function::Function;
use super::op::Op;

impl Expr {
    /// The expression in Rust, of type `f64`. `name` returns the Rust form of each name; a method
    /// must be applicable to it (`n`, `n.get()`, `(n as f64)`).
    ///
    /// The emitted text computes the same bits as [`Expr::eval`]. Calls of other models become
    /// calls of functions of that name: inline them first.
    #[must_use]
    pub fn to_rust(&self, name: &dyn Fn(&str) -> String) -> String {
        Printer { name }.value(self)
    }
}

struct Printer<'a> {
    name: &'a dyn Fn(&str) -> String,
}

impl Printer<'_> {
    /// The expression outside of any operator.
    fn value(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Number(value) => rust_number(*value),
            ExprKind::Name(name) => (self.name)(name),
            ExprKind::Call { name, arguments } => self.call(name, arguments),
            ExprKind::Unary(UnaryOp::Negate, a) => format!("-{}", self.operand(a)),
            // Not `!(a > b)`, because clippy warns about it in emitted code.
            ExprKind::Unary(UnaryOp::Not, a) => format!("1.0 - f64::from({})", self.condition(a, false)),
            ExprKind::Binary(op, a, b) => match op {
                BinaryOp::Power => self.power(a, b),
                BinaryOp::ShiftLeft => format!("{} * {}.exp2()", self.operand(a), self.receiver(b)),
                BinaryOp::ShiftRight => {
                    format!("({} / {}.exp2()).floor()", self.operand(a), self.receiver(b))
                }
                BinaryOp::Or | BinaryOp::And => format!("f64::from({})", self.condition(expr, false)),
                op if op.precedence() == COMPARISON => format!("f64::from({})", self.condition(expr, false)),
                op => format!("{} {} {}", self.operand(a), op.symbol(), self.operand(b)),
            },
        }
    }

    /// The expression beside an operator.
    fn operand(&self, expr: &Expr) -> String {
        let text = self.value(expr);
        let torn = match &expr.kind {
            ExprKind::Number(value) => value.is_finite() && value.is_sign_negative(),
            ExprKind::Unary(..) => true,
            ExprKind::Binary(op, ..) => matches!(op.precedence(), 5 | 6) || *op == BinaryOp::ShiftLeft,
            _ => false,
        };
        if torn { format!("({text})") } else { text }
    }

    /// The expression as the receiver of a method. A literal there must have a type suffix; an
    /// expression of literals alone is computed here.
    fn receiver(&self, expr: &Expr) -> String {
        match expr.eval(&|_| None) {
            Ok(value) if value.is_finite() && value.is_sign_positive() => {
                format!("{}_f64", rust_number(value))
            }
            Ok(value) if value.is_finite() => format!("({}_f64)", rust_number(value)),
            Ok(value) => rust_number(value),
            Err(_) => self.operand(expr),
        }
    }

    /// The expression as a condition; `operand` if it is the operand of an operator.
    fn condition(&self, expr: &Expr, operand: bool) -> String {
        let text = match &expr.kind {
            ExprKind::Binary(op, a, b) if op.precedence() == COMPARISON => {
                format!("{} {} {}", self.operand(a), op.symbol(), self.operand(b))
            }
            ExprKind::Binary(op @ (BinaryOp::Or | BinaryOp::And), a, b) => {
                format!("{} {} {}", self.condition(a, true), op.symbol(), self.condition(b, true))
            }
            ExprKind::Unary(UnaryOp::Not, _) => format!("{} > 0.0", self.value(expr)),
            _ => format!("{}.abs() > 0.0", self.receiver(expr)),
        };
        if operand { format!("({text})") } else { text }
    }

    fn power(&self, base: &Expr, exponent: &Expr) -> String {
        match Op::of_binary(BinaryOp::Power, base, exponent) {
            Op::Square => format!("{}.powi(2)", self.receiver(base)),
            Op::Cube => format!("{}.powi(3)", self.receiver(base)),
            Op::PowerOfTwo => format!("{}.exp2()", self.receiver(exponent)),
            _ => format!("{}.powf({})", self.receiver(base), self.value(exponent)),
        }
    }

    fn call(&self, called: &str, arguments: &[Expr]) -> String {
        match (Function::from_name(called), arguments) {
            (Some(Function::Pow), [a, b]) => self.power(a, b),
            (Some(function), [a]) => format!("{}.{}()", self.receiver(a), function.row().method),
            (Some(function), [first, others @ ..]) => {
                let method = |text: String, other: &Expr| {
                    format!("{text}.{}({})", function.row().method, self.value(other))
                };
                others.iter().fold(self.receiver(first), method)
            }
            _ => {
                let arguments: Vec<_> = arguments.iter().map(|argument| self.value(argument)).collect();
                format!("{called}({})", arguments.join(", "))
            }
        }
    }
}

/// A number as Rust.
#[must_use]
pub fn rust_number(value: f64) -> String {
    match value {
        v if v.is_nan() => "f64::NAN".into(),
        v if v == f64::INFINITY => "f64::INFINITY".into(),
        v if v == f64::NEG_INFINITY => "f64::NEG_INFINITY".into(),
        v => format!("{v:?}"),
    }
}
