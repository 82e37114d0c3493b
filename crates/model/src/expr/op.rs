//! The arithmetic of each operator, in one place: the tree, the compiled program and the emitted
//! Rust must agree to the bit.

use super::ast::{BinaryOp, Expr, UnaryOp};
use super::function::Function;
use strata_select::table::holds;

/// One step of arithmetic on at most two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Square,
    Cube,
    PowerOfTwo,
    Call(Function),
}

impl Op {
    /// The result; one-operand steps ignore `b`.
    #[inline(always)]
    pub(super) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Unary(UnaryOp::Negate) => -a,
            Self::Unary(UnaryOp::Not) => f64::from(!holds(a)),
            Self::Binary(BinaryOp::Or) => f64::from(holds(a) || holds(b)),
            Self::Binary(BinaryOp::And) => f64::from(holds(a) && holds(b)),
            Self::Binary(BinaryOp::Equal) => f64::from(a == b),
            Self::Binary(BinaryOp::NotEqual) => f64::from(a != b),
            Self::Binary(BinaryOp::Less) => f64::from(a < b),
            Self::Binary(BinaryOp::LessEqual) => f64::from(a <= b),
            Self::Binary(BinaryOp::Greater) => f64::from(a > b),
            Self::Binary(BinaryOp::GreaterEqual) => f64::from(a >= b),
            Self::Binary(BinaryOp::ShiftLeft) => a * power_of_two(b),
            Self::Binary(BinaryOp::ShiftRight) => (a / power_of_two(b)).floor(),
            Self::Binary(BinaryOp::Add) => a + b,
            Self::Binary(BinaryOp::Subtract) => a - b,
            Self::Binary(BinaryOp::Multiply) => a * b,
            Self::Binary(BinaryOp::Divide) => a / b,
            Self::Binary(BinaryOp::Remainder) => a % b,
            Self::Binary(BinaryOp::Power) => a.powf(b),
            Self::Square => a * a,
            Self::Cube => a * a * a,
            Self::PowerOfTwo => power_of_two(a),
            Self::Call(function) => function.value(a, b),
        }
    }

    /// A power of a literal is computed in a cheaper way. The way depends on the text alone, so
    /// that the tree, the program and the emitted Rust take the same one.
    pub(super) fn of_binary(op: BinaryOp, a: &Expr, b: &Expr) -> Self {
        match (op, a.as_number(), b.as_number()) {
            (BinaryOp::Power, _, Some(2.0)) => Self::Square,
            (BinaryOp::Power, _, Some(3.0)) => Self::Cube,
            (BinaryOp::Power, Some(2.0), _) => Self::PowerOfTwo,
            _ => Self::Binary(op),
        }
    }

    /// The operand of `2^b` is `b`.
    pub(super) fn apply_power_aware(self, a: f64, b: f64) -> f64 {
        if self == Self::PowerOfTwo { self.apply(b, 0.0) } else { self.apply(a, b) }
    }
}

/// 2^b. A whole exponent, the usual case, needs no library function: it is written into the
/// exponent bits of the `f64`.
#[inline(always)]
fn power_of_two(b: f64) -> f64 {
    let whole = b as i64;
    if whole as f64 == b && (-1022..=1023).contains(&whole) {
        f64::from_bits(((whole + 1023) as u64) << 52)
    } else {
        b.exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::power_of_two;

    #[test]
    fn whole_powers_of_two_are_what_the_library_says() {
        // The emitted Rust calls `exp2`, which must return the same.
        for b in -1100..1100 {
            assert_eq!(power_of_two(f64::from(b)), f64::from(b).exp2(), "2^{b}");
        }
        assert!(power_of_two(f64::NAN).is_nan());
        assert_eq!(power_of_two(f64::INFINITY), f64::INFINITY);
        assert_eq!(power_of_two(f64::NEG_INFINITY), 0.0);
        assert_eq!(power_of_two(-0.0), 1.0);
    }
}
