//! Numbers of twice the working precision: the unevaluated sum of two doubles, some 32 decimal
//! digits.
//!
//! Source: Dekker, *A floating-point technique for extending the available precision* (1971); Hida,
//! Li and Bailey, *Algorithms for quad-double precision floating point arithmetic* (2001), for the
//! accurate sum.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// hi + lo with |lo| at most half a unit in the last place of hi.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wide {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

/// The rounded sum and its rounding error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The upper 26 bits of a number below 2^996; the rest is the difference.
#[inline(always)]
fn upper(a: f64) -> f64 {
    let t = 134_217_729.0 * a;
    t - (t - a)
}

/// The rounded product and its rounding error, without a fused instruction, which some machines
/// lack.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let (ah, bh) = (upper(a), upper(b));
    let (al, bl) = (a - ah, b - bh);
    let product = a * b;
    (product, (((ah * bh - product) + ah * bl) + al * bh) + al * bl)
}

impl Wide {
    pub(super) const ZERO: Self = Self { hi: 0.0, lo: 0.0 };

    /// The sum of two doubles of any sizes.
    #[inline]
    pub(super) fn of_sum(a: f64, b: f64) -> Self {
        let (hi, lo) = two_sum(a, b);
        Self { hi, lo }
    }

    /// Rounded to a double.
    #[inline]
    pub(super) fn get(self) -> f64 {
        self.hi + self.lo
    }

    #[inline]
    pub(super) fn sqrt(self) -> Self {
        if self.hi <= 0.0 {
            return Self::ZERO;
        }
        let root = self.hi.sqrt();
        let (square, lost) = two_product(root, root);
        let rest = (self - Self { hi: square, lo: lost }).hi / (2.0 * root);
        Self::of_sum(root, rest)
    }
}

impl From<f64> for Wide {
    fn from(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }
}

impl Neg for Wide {
    type Output = Self;
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for Wide {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        let (s, e) = two_sum(self.hi, other.hi);
        let (t, f) = two_sum(self.lo, other.lo);
        let first = Self::of_sum(s, e + t);
        Self::of_sum(first.hi, first.lo + f)
    }
}

impl Sub for Wide {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        let (p, e) = two_product(self.hi, other.hi);
        Self::of_sum(p, e + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Wide {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let q = self.hi / other.hi;
        let rest = self - other * Self::from(q);
        let q2 = rest.hi / other.hi;
        let rest = rest - other * Self::from(q2);
        Self::of_sum(q, q2) + Self::from(rest.hi / other.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_and_roots_have_thirty_digits() {
        let third = Wide::from(1.0) / Wide::from(3.0);
        let one = third + third + third;
        assert!((one - Wide::from(1.0)).get().abs() < 1e-31);
        let two = Wide::from(2.0).sqrt() * Wide::from(2.0).sqrt();
        assert!((two - Wide::from(2.0)).get().abs() < 1e-30);
        let small = Wide::of_sum(1.0, 1e-25) - Wide::from(1.0);
        assert!((small.get() - 1e-25).abs() < 1e-40);
    }

    #[test]
    fn products_lose_nothing() {
        for (a, b) in [(1.0 + f64::EPSILON, 1.0 - f64::EPSILON), (0.1, 0.3), (-7e-9, 3e17)] {
            let (p, e) = two_product(a, b);
            assert_eq!((p, e), (a * b, a.mul_add(b, -(a * b))));
        }
    }
}
