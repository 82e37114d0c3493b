//! Tree to canonical text: no spaces, the fewest parentheses that read back to the same tree.

use std::fmt;

use super::ast::{ATOM, BinaryOp, COMPARISON, Expr, ExprKind, POWER, PREFIX, UnaryOp};
use crate::number_text;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // Only arithmetic yields these values; the text computes them again.
            ExprKind::Number(value) if value.is_nan() => f.write_str("(0/0)"),
            ExprKind::Number(value) if value.is_infinite() => {
                f.write_str(if *value > 0.0 { "(1/0)" } else { "(-1/0)" })
            }
            ExprKind::Number(value) => f.write_str(&number_text(*value)),
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Unary(op, a) => {
                f.write_str(if *op == UnaryOp::Negate { "-" } else { "!" })?;
                a.at_least(PREFIX, f)
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = sides(*op);
                a.at_least(left, f)?;
                f.write_str(op.symbol())?;
                b.at_least(right, f)
            }
            ExprKind::Call { name, arguments } => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if i > 0 { "," } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// The precedences that the operands of an operator must have to need no parentheses.
fn sides(op: BinaryOp) -> (u8, u8) {
    match op.precedence() {
        // 2^-x needs no parentheses: it is unambiguous.
        POWER => (ATOM, PREFIX),
        COMPARISON => (COMPARISON + 1, COMPARISON + 1),
        precedence => (precedence, precedence + 1),
    }
}

impl Expr {
    fn at_least(&self, needed: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tightness() >= needed { write!(f, "{self}") } else { write!(f, "({self})") }
    }

    fn tightness(&self) -> u8 {
        match &self.kind {
            ExprKind::Number(value) if value.is_finite() && value.is_sign_negative() => PREFIX,
            ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Call { .. } => ATOM,
            ExprKind::Unary(..) => PREFIX,
            ExprKind::Binary(op, ..) => op.precedence(),
        }
    }
}
