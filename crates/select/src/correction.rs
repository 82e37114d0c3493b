//! Corrections of a model: a factor interpolated between the values of a few of its inputs.
//!
//! The terms of a model describe how time grows. The fastest value of a parameter may depend on
//! effects that no term describes, such as cache conflicts. A correction multiplies the sum of the
//! terms by a factor fitted to their residuals: a table over a few knots of each input, linear in
//! the logarithms between knots.
//!
//! Logarithms are those of [`octaves`], which equal the logarithm to base 2 at powers of two and
//! are linear between them. They need no mathematical library, so factors have the same bits in
//! every build, in C and in Python.

/// The most axes of a correction. At a knot an axis takes no part in the interpolation, so one of
/// [`roundness`] costs little beside three others; four others would take 100 ns.
pub const MAX_AXES: usize = 4;

/// Multiples of these values are round: rows of 64 elements are whole lines of a cache and whole
/// vectors, and the more often 2 divides their length, the fewer sets of a cache a column has, down to
/// one where a row is a page of 512 numbers of 8 bytes, or 1,024 of 4.
pub const ROUND: [f64; 5] = [64.0, 128.0, 256.0, 512.0, 1024.0];

/// The most factors that one interpolation reads.
const CORNERS: usize = 1 << MAX_AXES;

/// Below this [`octaves`] is linear.
const LEAST: f64 = 1.0 / 65536.0;

/// An input that a correction depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis<'a> {
    /// The place of the input among those of the model.
    pub input: usize,
    /// Whether it is the input's [`roundness`] that counts, not its value.
    pub round: bool,
    /// The values for which there are factors, rising, at least one.
    pub knots: &'a [f64],
}

/// A factor of a model's time, interpolated in the logarithms of inputs.
///
/// ```
/// use strata_select::table::{Axis, Correction};
///
/// let block = Axis { input: 1, round: false, knots: &[8.0, 16.0, 32.0] };
/// let correction = Correction { samples: 60, axes: &[block], factors: &[1.2, 1.0, 2.0] };
/// assert_eq!(correction.factor(&[500.0, 16.0]), 1.0);
/// assert_eq!(correction.factor(&[500.0, 24.0]), 1.5);
/// assert_eq!(correction.factor(&[500.0, 99.0]), 2.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction<'a> {
    /// How many samples it was fitted to.
    pub samples: usize,
    /// The inputs that it depends on, at most [`MAX_AXES`].
    pub axes: &'a [Axis<'a>],
    /// A factor for each combination of knots; the last axis changes fastest.
    pub factors: &'a [f64],
}

impl Correction<'_> {
    /// The factor for the inputs `x` of the model; beyond the knots that of the nearest knot. NaN
    /// if an input is NaN, or if `x` or the factors are too few.
    #[must_use]
    pub fn factor(&self, x: &[f64]) -> f64 {
        let value = |axis: &Axis<'_>| {
            let value = x.get(axis.input).copied();
            if axis.round { value.map(roundness) } else { value }
        };
        interpolate(self.axes.iter().map(|axis| (value(axis), axis.knots)), self.factors)
    }
}

/// How many of [`ROUND`] a whole number is a multiple of.
#[must_use]
#[inline]
pub fn roundness(value: f64) -> f64 {
    if value.is_nan() {
        return value;
    }
    ROUND.iter().map(|step| (1.0 - value % step).max(0.0)).sum()
}

/// Interpolates between factors at knots. Each axis is a value (or `None`) with its knots.
pub fn interpolate<'k>(axes: impl Iterator<Item = (Option<f64>, &'k [f64])>, factors: &[f64]) -> f64 {
    // For each axis, the offsets of the two surrounding knots are added to all corners so far.
    let mut corners = [0_usize; CORNERS];
    let mut shares = [0.0; MAX_AXES];
    let mut count = 1;
    let mut dimensions = 0;
    for (value, knots) in axes {
        let (Some(value), Some(share)) = (value, shares.get_mut(dimensions)) else { return f64::NAN };
        let Some((before, after, part)) = place(value, knots) else { return f64::NAN };
        let size = knots.len();
        if part == 0.0 {
            for corner in &mut corners[..count] {
                *corner = *corner * size + before;
            }
            continue;
        }
        *share = part;
        // From the last corner on, because each corner becomes two.
        for corner in (0..count).rev() {
            let offset = corners[corner] * size;
            corners[2 * corner + 1] = offset + after;
            corners[2 * corner] = offset + before;
        }
        count *= 2;
        dimensions += 1;
    }
    let mut values = [0.0; CORNERS];
    for (value, corner) in values.iter_mut().zip(&corners[..count]) {
        let Some(factor) = factors.get(*corner) else { return f64::NAN };
        *value = *factor;
    }
    // The last axis is that of neighbouring corners.
    for share in shares[..dimensions].iter().rev() {
        count /= 2;
        for corner in 0..count {
            let (a, b) = (values[2 * corner], values[2 * corner + 1]);
            values[corner] = a + share * (b - a);
        }
    }
    values[0]
}

/// The knots on either side of a value, and its relative position between them.
#[inline]
fn place(value: f64, knots: &[f64]) -> Option<(usize, usize, f64)> {
    let (first, last) = (*knots.first()?, *knots.last()?);
    if value.is_nan() {
        return None;
    }
    if value <= first {
        return Some((0, 0, 0.0));
    }
    if value >= last {
        return Some((knots.len() - 1, knots.len() - 1, 0.0));
    }
    let after = knots.iter().position(|knot| value < *knot)?;
    let before = after.checked_sub(1)?;
    let (low, high) = (octaves(knots[before]), octaves(knots[after]));
    Some((before, after, (octaves(value) - low) / (high - low)))
}

/// A logarithm to base 2, linear between powers of two, and linear everywhere below 2⁻¹⁶. Exact up
/// to one rounding; rising, and finite for every finite number.
#[must_use]
#[inline]
pub fn octaves(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    if x >= LEAST {
        let bits = x.to_bits();
        let exponent = (bits >> 52) as i64 - 1023;
        exponent as f64 + (f64::from_bits(bits & MANTISSA | 1.0_f64.to_bits()) - 1.0)
    } else {
        x / LEAST - 17.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octaves_are_logarithms_at_powers_of_two() {
        for exponent in -16..60 {
            assert_eq!(octaves(2.0_f64.powi(exponent)), f64::from(exponent));
        }
        assert_eq!((octaves(3.0), octaves(0.0)), (1.5, -17.0));
        assert!(octaves(f64::NAN).is_nan() && octaves(-1e9).is_finite());
        assert!(octaves(f64::INFINITY).is_finite());
    }

    #[test]
    fn what_is_missing_is_no_number() {
        let axes = [Axis { input: 0, round: false, knots: &[1.0, 2.0] }];
        let factor = |factors: &[f64], x: &[f64]| Correction { samples: 1, axes: &axes, factors }.factor(x);
        for (factors, x) in [(&[1.0, 2.0][..], &[][..]), (&[1.0], &[2.0]), (&[1.0, 2.0], &[f64::NAN])] {
            assert!(factor(factors, x).is_nan());
        }
        let none = [Axis { input: 0, round: false, knots: &[] }];
        assert!(Correction { samples: 1, axes: &none, factors: &[1.0] }.factor(&[1.0]).is_nan());
        assert_eq!(Correction { samples: 1, axes: &[], factors: &[1.5] }.factor(&[]), 1.5);
        let many = [axes[0]; MAX_AXES + 1];
        assert!(Correction { samples: 1, axes: &many, factors: &[1.0; 99] }.factor(&[1.5]).is_nan());
    }

    #[test]
    fn round_values_have_factors_of_their_own() {
        let axes = [
            Axis { input: 0, round: true, knots: &[0.0, 1.0, 4.0] },
            Axis { input: 0, round: false, knots: &[1.0, 4096.0] },
        ];
        let factors = [1.0, 1.0, 2.0, 2.0, 3.0, 9.0];
        let factor = |n: f64| Correction { samples: 1, axes: &axes, factors: &factors }.factor(&[n]);
        assert_eq!([65.0, 64.0, 192.0, 191.0].map(factor), [1.0, 2.0, 2.0, 1.0]);
        assert_eq!([512.0, 4096.0].map(factor), [3.0 + 6.0 * 9.0 / 12.0, 9.0]);
        let levels = [65.0, 64.0, 192.0, 384.0, 512.0, 3072.0];
        assert_eq!(levels.map(roundness), [0.0, 1.0, 1.0, 2.0, 4.0, 5.0]);
        assert!(factor(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn octaves_rise(a in -1e3_f64..1e9, b in -1e3_f64..1e9) {
            prop_assert!((a <= b) == (octaves(a) <= octaves(b)) || octaves(a) == octaves(b));
        }

        /// At knots the factor itself, between knots a value between, outside the factor of the
        /// end.
        #[test]
        fn factors_are_met_at_knots_and_lie_between_elsewhere(
            factors in prop::collection::vec(0.1_f64..4.0, 24),
            x in prop::collection::vec(0.0_f64..200.0, 3),
        ) {
            let knots: [&[f64]; 3] = [&[1.0, 10.0, 64.0, 100.0], &[0.0, 3.0], &[5.0, 7.0, 90.0]];
            let axes: Vec<Axis<'_>> =
                knots.iter().enumerate().map(|(input, knots)| Axis { input, round: false, knots }).collect();
            let correction = Correction { samples: 9, axes: &axes, factors: &factors };
            for (i, a) in knots[0].iter().enumerate() {
                for (j, b) in knots[1].iter().enumerate() {
                    for (k, c) in knots[2].iter().enumerate() {
                        prop_assert_eq!(correction.factor(&[*a, *b, *c]), factors[6 * i + 3 * j + k]);
                    }
                }
            }
            let value = correction.factor(&x);
            let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
            let most = factors.iter().copied().fold(0.0, f64::max);
            prop_assert!(least - 1e-12 <= value && value <= most + 1e-12);
            let nearest = |v: f64, knots: &[f64]| v.clamp(knots[0], knots[knots.len() - 1]);
            let inside: Vec<f64> = x.iter().zip(knots).map(|(v, k)| nearest(*v, k)).collect();
            prop_assert_eq!(correction.factor(&inside), value);
        }
    }
}
