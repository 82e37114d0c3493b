//! Loop nests: bounds that are known, loops that have points and end.

use std::collections::BTreeMap;

use strata_model::expr::{BinaryOp, Expr, ExprKind, Function, Span};

use super::names::{duplicate, forbid_calls, name_uses, unknown, value_name};
use super::range::{Range, Ranges, range};
use crate::lang::ast::{Loop, Step, StepOperator};
use crate::lang::checked::LoopPlan;
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// The depth limit of a loop nest.
const MAX_LOOPS: usize = 16;
/// Bounds are whole numbers that an `f64` holds exactly.
const MAX_BOUND: f64 = 9_007_199_254_740_992.0;

/// The loops of one model, as far as they are in order.
pub(super) struct Loops {
    pub(super) plans: Vec<LoopPlan>,
    /// Where each iteration variable is named, those of loops with errors included.
    pub(super) spans: BTreeMap<String, Span>,
    pub(super) errors: Vec<CheckError>,
}

/// Checks the loops in the order of the nest and adds the range of each iteration variable to
/// `ranges`.
pub(super) fn check(loops: &[&Loop], ranges: &mut Ranges) -> Loops {
    let mut checked = Loops { plans: Vec::new(), spans: BTreeMap::new(), errors: Vec::new() };
    if let Some(extra) = loops.get(MAX_LOOPS) {
        let message = format!("the nest is more than {MAX_LOOPS} loops deep");
        checked.errors.push(CheckError::new(ErrorCode::Range, message, extra.name.span, "one loop too many"));
    }
    for plan in loops.iter().take(MAX_LOOPS) {
        let before = checked.errors.len();
        checked.errors.extend(value_name(&plan.name));
        if let Some(&first) = checked.spans.get(&plan.name.text) {
            checked.errors.push(duplicate("iteration variable", &plan.name, Some(first)));
        }
        for bound in [&plan.start, &plan.stop] {
            checked.errors.extend(forbid_calls(bound, "the bound of a loop"));
            for (name, span) in name_uses(bound).into_iter().filter(|(name, _)| !ranges.contains_key(*name)) {
                if !checked.spans.contains_key(name) {
                    let error = unknown("the bound's name", name, span, ranges.keys().map(String::as_str));
                    checked.errors.push(error);
                }
            }
        }
        let step = plan.step.unwrap_or(Step { operator: StepOperator::Add, by: 1, span: plan.name.span });
        let (first, last) = (rounded_up(&plan.start, ranges), last(plan, ranges));
        let (low, high) = (range(&first, ranges), range(&last, ranges));
        if checked.errors.len() == before {
            checked.errors.extend(endless(plan, step, low));
            checked.errors.extend(empty(plan, low, high));
        }
        let values = Range::new(low.low, high.high.max(low.low), true);
        let values = if values.integral { values } else { Range { integral: true, ..Range::ANY } };
        checked.spans.entry(plan.name.text.clone()).or_insert(plan.name.span);
        if checked.errors.len() == before {
            ranges.insert(plan.name.text.clone(), values);
            let span = Span { start: plan.name.span.start, end: plan.stop.span.end };
            checked.plans.push(LoopPlan {
                name: plan.name.text.clone(),
                first,
                last,
                step,
                number: values.number(),
                between: false,
                span,
            });
        }
    }
    checked
}

fn rounded_up(bound: &Expr, ranges: &Ranges) -> Expr {
    rounded(bound, Function::Ceil, ranges)
}

pub(super) fn last(plan: &Loop, ranges: &Ranges) -> Expr {
    if plan.inclusive {
        return rounded(&plan.stop, Function::Floor, ranges);
    }
    let after = rounded_up(&plan.stop, ranges);
    let last = Expr::binary(BinaryOp::Subtract, after, Expr::number(1.0));
    fold(Expr { span: plan.stop.span, ..last })
}

fn rounded(bound: &Expr, function: Function, ranges: &Ranges) -> Expr {
    if range(bound, ranges).integral {
        return fold(bound.clone());
    }
    let kind = ExprKind::Call { name: function.name().to_owned(), arguments: vec![bound.clone()] };
    fold(Expr { kind, span: bound.span })
}

/// A constant as one number.
fn fold(expr: Expr) -> Expr {
    if !expr.is_constant() {
        return expr;
    }
    match expr.eval(&|_| None) {
        Ok(value) if value.is_finite() && value >= 0.0 => {
            Expr { kind: ExprKind::Number(value), span: expr.span }
        }
        _ => expr,
    }
}

/// Values that do not advance.
pub(super) fn endless(plan: &Loop, step: Step, first: Range) -> Option<CheckError> {
    let never = |message: String, span: Span, label: &str, help: String| {
        Some(CheckError::new(ErrorCode::Loop, message, span, label).help(help))
    };
    let name = &plan.name.text;
    match step.operator {
        StepOperator::Add if step.by < 1 => {
            let help = "add at least 1, as in `step +1`".to_owned();
            never(format!("the loop over `{name}` never ends"), step.span, "does not advance", help)
        }
        StepOperator::Multiply if step.by < 2 => {
            let help = "multiply by at least 2, as in `step *2`".to_owned();
            never(format!("the loop over `{name}` never ends"), step.span, "does not advance", help)
        }
        StepOperator::ShiftLeft if step.by < 1 => {
            let help = "shift by at least 1, as in `step <<1`".to_owned();
            never(format!("the loop over `{name}` never ends"), step.span, "does not advance", help)
        }
        StepOperator::Multiply | StepOperator::ShiftLeft if first.low < 1.0 => {
            let message =
                format!("the loop over `{name}` never ends: multiplying does not advance from 0 or below");
            let help = match plan.start.is_constant() {
                true => "start at 1 or more, or add instead, as in `step +1`".to_owned(),
                false => "start at 1 or more, as in `max(1, …)`, or add instead, as in `step +1`".to_owned(),
            };
            never(message, plan.start.span, "may be less than 1", help)
        }
        _ => None,
    }
}

fn empty(plan: &Loop, first: Range, last: Range) -> Option<CheckError> {
    let name = &plan.name.text;
    for (bound, range) in [(&plan.start, first), (&plan.stop, last)] {
        let exact = range.low == range.high && range.low.abs() <= MAX_BOUND;
        if bound.is_constant() && !exact {
            let message = format!("the loop over `{name}` has a bound that is no whole number up to 2^53");
            let error = CheckError::new(ErrorCode::Range, message, bound.span, "out of range");
            return Some(error.help("bounds lie between -2^53 and 2^53"));
        }
    }
    if first.low <= last.high {
        return None;
    }
    let message = format!("the loop over `{name}` has no point");
    let label = match first.low == first.high && last.low == last.high {
        true => format!("the first value, {}, is greater than the last, {}", first.low, last.high),
        false => format!("the first value is at least {}, and the last at most {}", first.low, last.high),
    };
    let span = Span { start: plan.start.span.start, end: plan.stop.span.end };
    Some(CheckError::new(ErrorCode::Loop, message, span, label).help("write the smaller bound first"))
}
