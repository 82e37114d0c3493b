//! Tree to Rust: an expression over `f64` that needs nothing but the standard library.

use super::ast::{BinaryOp, Expr, ExprKind, Function, UnaryOp};
use super::eval::Op;

impl Expr {
    /// The expression in Rust, of type `f64`; `name` says how each name is written there (`n` → `n as f64`, say, in
    /// parentheses where needed).
    ///
    /// The emitted text computes the same bits as [`Expr::eval`]. Calls of other models come out as calls of functions of that
    /// name: inline them first.
    #[must_use]
    pub fn to_rust(&self, name: &dyn Fn(&str) -> String) -> String {
        self.rust(name, false)
    }

    /// `operand`: whether the text must stand beside an operator or before a method without being torn apart.
    fn rust(&self, name: &dyn Fn(&str) -> String, operand: bool) -> String {
        let text = match &self.kind {
            ExprKind::Number(value) => return rust_number(*value),
            ExprKind::Name(n) => return name(n),
            ExprKind::Call { name: called, arguments } => return rust_call(called, arguments, name),
            ExprKind::Unary(UnaryOp::Negate, a) => format!("-{}", a.rust(name, true)),
            ExprKind::Unary(UnaryOp::Not, a) => format!("1.0 - f64::from({})", a.rust_truth(name)),
            ExprKind::Binary(BinaryOp::Power, a, b) => return rust_power(a, b, name),
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (a.rust(name, true), b.rust(name, true));
                match op {
                    BinaryOp::Or => {
                        return format!("f64::from({} || {})", a.rust_truth(name), b.rust_truth(name));
                    }
                    BinaryOp::And => {
                        return format!("f64::from({} && {})", a.rust_truth(name), b.rust_truth(name));
                    }
                    BinaryOp::ShiftLeft => format!("{left} * {right}.exp2()"),
                    BinaryOp::ShiftRight => return format!("({left} / {right}.exp2()).floor()"),
                    op if op.precedence() == super::ast::COMPARISON => {
                        return format!("f64::from({left} {} {right})", op.symbol());
                    }
                    op => format!("{left} {} {right}", op.symbol()),
                }
            }
        };
        if operand { format!("({text})") } else { text }
    }

    /// The same as a condition.
    fn rust_truth(&self, name: &dyn Fn(&str) -> String) -> String {
        match &self.kind {
            ExprKind::Binary(op, a, b) if op.precedence() == super::ast::COMPARISON => {
                format!("({} {} {})", a.rust(name, true), op.symbol(), b.rust(name, true))
            }
            ExprKind::Binary(op @ (BinaryOp::Or | BinaryOp::And), a, b) => {
                format!("({} {} {})", a.rust_truth(name), op.symbol(), b.rust_truth(name))
            }
            _ => format!("({}.abs() > 0.0)", self.rust(name, true)),
        }
    }
}

fn rust_number(value: f64) -> String {
    match value {
        v if v.is_nan() => "f64::NAN".into(),
        v if v == f64::INFINITY => "f64::INFINITY".into(),
        v if v == f64::NEG_INFINITY => "f64::NEG_INFINITY".into(),
        v if v.is_sign_negative() => format!("({v:?}_f64)"),
        v => format!("{v:?}_f64"),
    }
}

fn rust_power(base: &Expr, exponent: &Expr, name: &dyn Fn(&str) -> String) -> String {
    match Op::of_binary(BinaryOp::Power, base, exponent) {
        Op::Square => format!("{{ let x: f64 = {}; x * x }}", base.rust(name, false)).into_block(),
        Op::Cube => format!("{{ let x: f64 = {}; x * x * x }}", base.rust(name, false)).into_block(),
        Op::PowerOfTwo => format!("{}.exp2()", exponent.rust(name, true)),
        _ => format!("{}.powf({})", base.rust(name, true), exponent.rust(name, false)),
    }
}

trait IntoBlock {
    fn into_block(self) -> Self;
}

impl IntoBlock for String {
    /// A block at the start of a statement would end there; in parentheses it is an operand like any other.
    fn into_block(self) -> Self {
        format!("({self})")
    }
}

fn rust_call(called: &str, arguments: &[Expr], name: &dyn Fn(&str) -> String) -> String {
    match (Function::from_name(called), arguments) {
        (Some(Function::Pow), [a, b]) => rust_power(a, b, name),
        (Some(function), [a]) => format!("{}.{}()", a.rust(name, true), function.name()),
        (Some(function), [first, others @ ..]) => {
            let mut text = first.rust(name, true);
            for other in others {
                text = format!("{text}.{}({})", function.name(), other.rust(name, false));
            }
            text
        }
        _ => {
            let arguments: Vec<_> = arguments.iter().map(|a| a.rust(name, false)).collect();
            format!("{called}({})", arguments.join(", "))
        }
    }
}
