//! The normal distribution: its tail, what a choice between two uncertain times may gain, and draws.

#[cfg(all(not(feature = "std"), feature = "libm"))]
use crate::table::Math as _;

/// √(2π).
#[cfg(any(feature = "std", feature = "libm"))]
const ROOT_TAU: f64 = 2.506_628_274_631_000_5;

/// Half the width of a 95 % interval in standard deviations, as tables print it: committed models
/// are computed with these digits.
pub const HALF_WIDTH: f64 = 1.96;

/// The density at `z` standard deviations from the mean, of a deviation of 1.
#[cfg(any(feature = "std", feature = "libm"))]
#[must_use]
pub fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / ROOT_TAU
}

/// The probability of a value more than `z` standard deviations above the mean, with a relative
/// error below 1.2e-7.
#[cfg(any(feature = "std", feature = "libm"))]
#[must_use]
pub fn above(z: f64) -> f64 {
    0.5 * erfc(z * core::f64::consts::FRAC_1_SQRT_2)
}

/// The expected gain of knowing a time that is expected to be `apart` longer than another, where
/// their difference has this standard deviation: the mean of what it is shorter by,
/// deviation·φ(z) − apart·Φ(−z) with z = apart / deviation (H. Raiffa and R. Schlaifer, *Applied
/// Statistical Decision Theory*, 1961, §5.3). In the unit of both; 0 where one is not a number.
///
/// ```
/// use strata_select::normal;
///
/// assert!((normal::gain(0.0, 1.0) - 0.398_942).abs() < 1e-6);
/// assert!((normal::gain(2.0, 2.0) - 2.0 * 0.083_315).abs() < 1e-6);
/// assert_eq!((normal::gain(1.0, 0.0), normal::gain(-1.0, 0.0), normal::gain(0.0, 0.0)), (0.0, 1.0, 0.0));
/// ```
#[cfg(any(feature = "std", feature = "libm"))]
#[must_use]
pub fn gain(apart: f64, deviation: f64) -> f64 {
    if deviation > 0.0 {
        let z = apart / deviation;
        (deviation * density(z) - apart * above(z)).max(0.0)
    } else {
        (-apart).max(0.0)
    }
}

/// A draw from the standard normal distribution, made of two draws that are even in [0, 1) (Box and
/// Muller 1958).
#[cfg(feature = "std")]
#[must_use]
pub fn draw(radius: f64, angle: f64) -> f64 {
    (-2.0 * (1.0 - radius).ln()).sqrt() * (core::f64::consts::TAU * angle).cos()
}

/// The complementary error function, with a relative error below 1.2e-7.
///
/// # Source
/// Press et al., *Numerical Recipes in C*, 2nd ed., section 6.2 (`erfcc`).
#[cfg(any(feature = "std", feature = "libm"))]
pub(crate) fn erfc(x: f64) -> f64 {
    const C: [f64; 10] = [
        0.170_872_77, -0.822_152_23, 1.488_515_87, -1.135_203_98, 0.278_868_07, -0.186_288_06, 0.096_784_18,
        0.374_091_96, 1.000_023_68, -1.265_512_23,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let tail = t * (C.iter().fold(0.0, |sum, c| sum * t + c) - x * x).exp();
    if x < 0.0 { 2.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{choice::odds, table::Prediction};

    #[test]
    fn erfc_as_tables_have_it() {
        // Abramowitz and Stegun, table 7.1.
        for (x, value) in
            [(0.0, 1.0), (0.5, 0.479_500_122_2), (1.0, 0.157_299_207_1), (2.0, 0.004_677_734_98)]
        {
            assert!(
                (erfc(x) / value - 1.0).abs() < 1.2e-7 && (erfc(-x) - (2.0 - value)).abs() < 1.2e-7,
                "{x}"
            );
        }
    }

    #[test]
    fn two_candidates_lose_what_the_odds_say() {
        // Normal and log-normal differences agree if the deviations are small against the times.
        for (a, b, da, db) in [
            (1.0, 1.0, 0.01, 0.01),
            (1.0, 1.02, 0.01, 0.005),
            (3.0, 3.01, 0.02, 1e-6),
            (1.0, 2.0, 0.03, 0.03),
        ] {
            let at = |mean: f64, deviation: f64| {
                Prediction::new(mean, 0.0).and_then(|p| p.with_deviation(deviation)).unwrap()
            };
            let theirs = odds(&[at(a, da), at(b, db)], 0).unwrap().loss;
            let ours = gain(b - a, f64::hypot(da, db));
            assert!((ours - theirs).abs() < 1e-5, "{a} {b} {da} {db}: {ours} {theirs}");
        }
        assert_eq!(gain(1.0, f64::NAN), 0.0);
    }

    #[test]
    fn a_half_width_holds_95_of_100() {
        assert!((2.0 * above(HALF_WIDTH) - 0.05).abs() < 1e-5);
    }

    #[test]
    fn draws_have_the_moments_of_the_distribution() {
        // The fractional parts of multiples of two irrational numbers are even in the square.
        let even = |step: f64| (0..10_000).map(move |at| (f64::from(at) * step).fract());
        let drawn: Vec<f64> =
            even(2.0_f64.sqrt()).zip(even(3.0_f64.sqrt())).map(|(u, v)| draw(u, v)).collect();
        let moment = |power| drawn.iter().map(|value| value.powi(power)).sum::<f64>() / 1e4;
        assert!(moment(1).abs() < 0.01 && (moment(2) - 1.0).abs() < 0.02, "{} {}", moment(1), moment(2));
    }
}
