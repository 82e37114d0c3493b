//! What values an expression can take: bounds, and whether they are whole. Interval arithmetic
//! (Moore 1966).
//!
//! From it follow the Rust type of every binding, loops that are empty or never end, and
//! requirements that always or never hold. It may say less than is true, never more; rounding
//! aside, which is why nothing that is decided here is closer than one.

use std::collections::BTreeMap;

use strata_model::expr::{BinaryOp, Expr, ExprKind, Function, UnaryOp, Whole};

use crate::lang::checked::NumberKind;
use crate::lang::machine::limits;

/// The most nodes assumed when bounds depend on `P`.
const MOST_NODES: f64 = 1_048_576.0;

/// Values from `low` to `high`; `integral` if all are whole, and then none is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) integral: bool,
}

/// The ranges of the names in scope.
pub(super) type Ranges = BTreeMap<String, Range>;

impl Range {
    /// Any value: nothing is known.
    pub(super) const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY, integral: false };

    /// Some number, not NaN.
    pub(super) const NUMBER: Self = Self { low: f64::MIN, high: f64::MAX, integral: false };

    pub(super) fn new(low: f64, high: f64, integral: bool) -> Self {
        if low.is_nan() || high.is_nan() || low > high { Self::ANY } else { Self { low, high, integral } }
    }

    fn truth(can_fail: bool, can_hold: bool) -> Self {
        Self { low: if can_fail { 0.0 } else { 1.0 }, high: if can_hold { 1.0 } else { 0.0 }, integral: true }
    }

    /// Whether it is not 0 (and a number) for certain.
    pub(super) fn always_holds(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether it is 0 for certain.
    pub(super) fn never_holds(self) -> bool {
        self.low == 0.0 && self.high == 0.0
    }

    fn has_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// The type in Rust code.
    pub(super) fn number(self) -> NumberKind {
        match self.integral {
            true if self.low >= 0.0 => NumberKind::Usize,
            true => NumberKind::I64,
            false => NumberKind::F64,
        }
    }

    /// The hull of a function that is monotonic in each argument alone: its extremes lie in the
    /// corners.
    fn corners(a: Self, b: Self, integral: bool, f: impl Fn(f64, f64) -> f64) -> Self {
        let all = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
        if all.iter().any(|value| value.is_nan()) {
            return Self {
                integral: integral && [a, b].iter().all(|r| r.low.is_finite() && r.high.is_finite()),
                ..Self::ANY
            };
        }
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self::new(low, high, integral)
    }
}

/// The ranges of the reserved names.
pub(super) fn reserved() -> Ranges {
    let range = |high: f64, low: f64, integral| Range { low, high, integral };
    BTreeMap::from([
        ("P".to_owned(), range(MOST_NODES, 1.0, true)),
        ("logP".to_owned(), range(MOST_NODES.log2(), 0.0, false)),
        ("sqrtP".to_owned(), range(MOST_NODES.sqrt(), 1.0, false)),
    ])
}

/// The range of a word of the machine.
pub(super) fn machine(name: &str) -> Range {
    let (low, high) = limits(name);
    Range { low, high, integral: true }
}

/// The least and the greatest value of an expression of names of which only `P`, `logP` and `sqrtP`
/// are known; the others are some numbers.
pub(in crate::lang) fn bounds_of(expr: &Expr) -> (f64, f64) {
    let mut names: Ranges = expr.names().into_iter().map(|name| (name, Range::NUMBER)).collect();
    names.extend(reserved());
    let Range { low, high, .. } = range(expr, &names);
    (low, high)
}

/// The range of `expr`, given those of its names.
pub(super) fn range(expr: &Expr, names: &Ranges) -> Range {
    match &expr.kind {
        ExprKind::Number(value) => Range::new(*value, *value, value.fract() == 0.0),
        ExprKind::Name(name) => names.get(name).copied().unwrap_or(Range::ANY),
        ExprKind::Unary(UnaryOp::Negate, a) => {
            let a = range(a, names);
            Range::new(-a.high, -a.low, a.integral)
        }
        ExprKind::Unary(UnaryOp::Not, a) => {
            let a = range(a, names);
            Range::truth(!a.never_holds(), !a.always_holds())
        }
        ExprKind::Binary(op, a, b) => binary(*op, range(a, names), range(b, names)),
        ExprKind::Call { name, arguments } => match Function::from_name(name) {
            Some(function) => call(function, arguments, names),
            None => Range::ANY,
        },
    }
}

fn binary(op: BinaryOp, a: Range, b: Range) -> Range {
    let whole = a.integral && b.integral;
    // What compares as NaN neither holds nor fails for certain.
    let known = a != Range::ANY && b != Range::ANY;
    let less = |a: Range, b: Range| Range::truth(!known || a.high >= b.low, !known || a.low < b.high);
    let less_equal = |a: Range, b: Range| Range::truth(!known || a.high > b.low, !known || a.low <= b.high);
    let same = known && a.low == a.high && a.low == b.low && b.low == b.high;
    let apart = known && (a.high < b.low || b.high < a.low);
    match op {
        BinaryOp::Or => {
            Range::truth(!(a.always_holds() || b.always_holds()), !(a.never_holds() && b.never_holds()))
        }
        BinaryOp::And => {
            Range::truth(!(a.always_holds() && b.always_holds()), !(a.never_holds() || b.never_holds()))
        }
        BinaryOp::Equal => Range::truth(!same, !apart),
        BinaryOp::NotEqual => Range::truth(!apart, !same),
        BinaryOp::Less => less(a, b),
        BinaryOp::LessEqual => less_equal(a, b),
        BinaryOp::Greater => less(b, a),
        BinaryOp::GreaterEqual => less_equal(b, a),
        BinaryOp::Add => Range::corners(a, b, whole, |a, b| a + b),
        BinaryOp::Subtract => Range::corners(a, b, whole, |a, b| a - b),
        BinaryOp::Multiply => Range::corners(a, b, whole, |a, b| a * b),
        BinaryOp::Divide if b.has_zero() => Range::ANY,
        BinaryOp::Divide => Range::corners(a, b, false, |a, b| a / b),
        BinaryOp::Remainder => remainder(a, b),
        BinaryOp::ShiftLeft => Range::corners(a, b, whole && b.low >= 0.0, |a, b| a * b.exp2()),
        BinaryOp::ShiftRight => Range::corners(a, b, finite(a) && finite(b), |a, b| (a / b.exp2()).floor()),
        BinaryOp::Power => power(a, b),
    }
}

fn finite(a: Range) -> bool {
    a.low.is_finite() && a.high.is_finite()
}

/// The remainder has the sign of `a` and is less than `b`.
fn remainder(a: Range, b: Range) -> Range {
    if b.has_zero() || a == Range::ANY {
        return Range::ANY;
    }
    let most = b.low.abs().max(b.high.abs());
    let low = if a.low < 0.0 { a.low.max(-most) } else { 0.0 };
    let high = if a.high > 0.0 { a.high.min(most) } else { 0.0 };
    Range::new(low, high, a.integral && b.integral)
}

fn power(a: Range, b: Range) -> Range {
    let whole = a.integral && b.integral && b.low >= 0.0;
    if a.low >= 0.0 {
        return Range::corners(a, b, whole, f64::powf);
    }
    Range { integral: whole && finite(a) && finite(b), ..Range::ANY }
}

fn call(function: Function, arguments: &[Expr], names: &Ranges) -> Range {
    let ranges: Vec<Range> = arguments.iter().map(|argument| range(argument, names)).collect();
    let Some(&a) = ranges.first() else { return Range::ANY };
    let whole = ranges.iter().all(|range| range.integral);
    let row = function.row();
    match function {
        Function::Pow => return ranges.get(1).map_or(Range::ANY, |&b| power(a, b)),
        Function::Abs if a.has_zero() => return Range::new(0.0, a.low.abs().max(a.high.abs()), a.integral),
        Function::Abs => return Range::corners(a, a, a.integral, |a, _| a.abs()),
        _ => {}
    }
    // A function that rises takes its least value at the least arguments, its greatest at the
    // greatest.
    let at = |bound: fn(&Range) -> f64| function.apply(&ranges.iter().map(bound).collect::<Vec<_>>());
    let (low, high) = (at(|range| range.low), at(|range| range.high));
    let known = |range: &Range| ranges.len() == 1 || *range != Range::ANY;
    let rises = ranges.iter().all(|range| range.low >= row.rises_from && known(range));
    // Where an end is not finite, as the logarithm of zero, nothing is known.
    if !rises || low.is_nan() || low.is_infinite() && a.low.is_finite() {
        return Range::ANY;
    }
    let integral = match row.whole {
        Whole::Always => finite(a),
        Whole::OfWhole => whole,
        Whole::Power | Whole::No => false,
    };
    Range::new(low, high, integral)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::expr::parse;

    /// The range over i in -3..=5 and n in 1..=100.
    fn of(text: &str) -> (f64, f64, bool) {
        let mut names = reserved();
        names.insert("i".into(), Range::new(-3.0, 5.0, true));
        names.insert("n".into(), Range::new(1.0, 100.0, true));
        let range = range(&parse(text).unwrap(), &names);
        (range.low, range.high, range.integral)
    }

    #[test]
    fn bounds_and_wholeness() {
        assert_eq!(of("n+i"), (-2.0, 105.0, true));
        assert_eq!(of("n*i"), (-300.0, 500.0, true));
        assert_eq!(of("n/2"), (0.5, 50.0, false));
        assert_eq!(of("floor(n/2)"), (0.0, 50.0, true));
        assert_eq!(of("n>>1"), (0.0, 50.0, true));
        assert!(of("1<<n").2);
        assert_eq!(of("1<<i"), (0.125, 32.0, false));
        assert!(of("2^n").2);
        assert!(!of("2^i").2);
        assert_eq!(of("n/i"), (f64::NEG_INFINITY, f64::INFINITY, false));
        assert!(!of("n%i").2);
        assert_eq!(of("i%n"), (-3.0, 5.0, true));
        assert_eq!(of("max(i,0)"), (0.0, 5.0, true));
        assert_eq!(of("abs(i)"), (0.0, 5.0, true));
        assert!(of("n*P").2);
        assert!(!of("n*logP").2);
    }

    #[test]
    fn certain_truths() {
        assert_eq!(of("n>=1"), (1.0, 1.0, true));
        assert_eq!(of("n<1"), (0.0, 0.0, true));
        assert_eq!(of("n<=50"), (0.0, 1.0, true));
        assert_eq!(of("n>=1&&P>=1"), (1.0, 1.0, true));
        assert_eq!(of("n==i"), (0.0, 1.0, true));
        assert_eq!(of("n>200||i>5"), (0.0, 0.0, true));
        assert_eq!(of("log2(i)>0"), (0.0, 1.0, true));
    }
}
