//! Terms in whole numbers, never below their value.
//!
//! Sums, products, greatest and least rise with their operands, so that operands rounded up make a
//! result that is. What is subtracted is rounded down.

use strata_model::expr::{BinaryOp, Expr, ExprKind};

use super::{Price, PriceTerm};

/// An expression over whole numbers that are not negative.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Whole {
    Number(u64),
    Name(String),
    Of(Operation, Box<Whole>, Box<Whole>),
    /// The logarithm to base 2, rounded up; of 0 it is 0.
    LogUp(Box<Whole>),
}

/// What is done with two numbers. All stay within the range of numbers at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    /// A quotient, rounded up.
    DivideUp,
    Greatest,
    Least,
}

/// To which side an expression may differ from its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Up,
    Down,
}

/// The price as a whole number; `name` is the variable of an input.
pub(super) fn sum(price: &Price, name: &dyn Fn(&str) -> String) -> Result<Whole, String> {
    let model = &price.name;
    if let Some(input) = price.inputs.iter().find(|input| !input.integer) {
        return Err(format!("model `{model}`: its input `{}` is no whole number", input.name));
    }
    let mut sum = (price.base > 0.0 || price.terms.is_empty()).then_some(Whole::Number(price.base as u64));
    for PriceTerm { text, expr, coefficient } in &price.terms {
        let none = |why: String| {
            format!("model `{model}`: the term `{text}` is not computed in whole numbers: {why}")
        };
        let known = |text: &str| price.inputs.iter().any(|input| input.name == text).then(|| name(text));
        let value = whole(expr, Side::Up, &known).map_err(none)?;
        let addend = of(Operation::Multiply, Whole::Number(*coefficient as u64), value);
        sum = Some(match sum {
            Some(sum) => of(Operation::Add, sum, addend),
            None => addend,
        });
    }
    Ok(sum.unwrap_or(Whole::Number(0)))
}

fn of(operation: Operation, a: Whole, b: Whole) -> Whole {
    Whole::Of(operation, Box::new(a), Box::new(b))
}

fn whole(expr: &Expr, side: Side, known: &dyn Fn(&str) -> Option<String>) -> Result<Whole, String> {
    let inner = |expr: &Expr| whole(expr, side, known);
    match &expr.kind {
        ExprKind::Number(value) => {
            let rounded = if side == Side::Up { value.ceil() } else { value.floor() };
            if !(0.0..9e15).contains(&rounded) {
                return Err(format!("`{expr}` is negative or too great"));
            }
            Ok(Whole::Number(rounded as u64))
        }
        ExprKind::Name(name) => match known(name) {
            Some(variable) => Ok(Whole::Name(variable)),
            None => Err(format!("`{name}` is no input")),
        },
        ExprKind::Binary(BinaryOp::Add, a, b) => Ok(of(Operation::Add, inner(a)?, inner(b)?)),
        ExprKind::Binary(BinaryOp::Subtract, a, b) if side == Side::Up => {
            // Below zero it is zero, which is rounded up too.
            Ok(of(Operation::Subtract, inner(a)?, whole(b, Side::Down, known)?))
        }
        ExprKind::Binary(BinaryOp::Multiply, a, b) => {
            let fraction =
                [a, b].into_iter().find(|e| matches!(e.kind, ExprKind::Number(v) if v.fract() != 0.0));
            match fraction {
                Some(fraction) => Err(format!("`{fraction}` would be rounded before it multiplies")),
                None => Ok(of(Operation::Multiply, inner(a)?, inner(b)?)),
            }
        }
        ExprKind::Binary(BinaryOp::Divide, a, b) if side == Side::Up => match b.kind {
            ExprKind::Number(by) if by >= 1.0 && by.fract() == 0.0 && by < 9e15 => {
                Ok(of(Operation::DivideUp, inner(a)?, Whole::Number(by as u64)))
            }
            _ => Err(format!(
                "`{b}` is no constant whole number to divide by: name other terms in a spec, `specc fit … --spec FILE`"
            )),
        },
        ExprKind::Binary(BinaryOp::Power, a, b) => match b.kind {
            ExprKind::Number(by) if (1.0..=8.0).contains(&by) && by.fract() == 0.0 => {
                let base = inner(a)?;
                Ok((1..by as u32).fold(base.clone(), |power, _| of(Operation::Multiply, power, base.clone())))
            }
            _ => Err(format!("`{b}` is no whole power from 1 to 8")),
        },
        ExprKind::Call { name, arguments } => {
            let values = arguments.iter().map(inner).collect::<Result<Vec<_>, _>>()?;
            match (name.as_str(), values.as_slice()) {
                ("max" | "min", [first, rest @ ..]) => {
                    let operation = if name == "max" { Operation::Greatest } else { Operation::Least };
                    Ok(rest.iter().fold(first.clone(), |so_far, next| of(operation, so_far, next.clone())))
                }
                ("log2", [value]) if side == Side::Up => Ok(Whole::LogUp(Box::new(value.clone()))),
                ("square", [value]) => Ok(of(Operation::Multiply, value.clone(), value.clone())),
                ("ceil" | "floor", [value]) => Ok(value.clone()),
                _ => Err(format!("`{name}` has no form in whole numbers")),
            }
        }
        _ => Err(format!("`{expr}` has no form in whole numbers")),
    }
}

/// A whole number with `_` between groups of three digits.
pub(super) fn grouped(value: u64) -> String {
    strata_model::grouped(value as f64, '_')
}
