//! Tests whether two or more sets of timings differ.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Number, mean and spread of timings, without the timings themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of timings.
    pub count: u64,
    /// Mean; 0 without any timing.
    pub mean: f64,
    /// The sum of squared differences from the mean.
    squares: f64,
}

impl Moments {
    /// Adds a timing (Welford 1962).
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The variance of one timing; `None` if there are fewer than two.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.count >= 2).then(|| self.squares / (self.count - 1) as f64)
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

/// A difference of means with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The first mean less the second.
    pub mean: f64,
    /// Half-width of the interval.
    pub half_width: f64,
    /// Welch's degrees of freedom.
    pub freedom: f64,
}

impl Difference {
    /// True if the interval is below zero: the first mean is less.
    #[must_use]
    pub fn is_less(&self) -> bool {
        self.mean + self.half_width < 0.0
    }

    /// True if the interval is above zero.
    #[must_use]
    pub fn is_greater(&self) -> bool {
        self.mean - self.half_width > 0.0
    }
}

/// Welch's interval at `confidence` for the difference of two means whose variances differ (Borg
/// 2006, eq. 3.7).
///
/// `None` if a set has fewer than two timings, or `confidence` is not between 0 and 1. Two sets
/// without any spread have an interval of zero width.
#[must_use]
pub fn welch(one: &Moments, other: &Moments, confidence: f64) -> Option<Difference> {
    stratified([(1.0, one, other)], confidence)
}

/// Welch's interval for a weighted sum of differences over strata, each of two sets.
///
/// Executions that end at different places measure different work, so they are compared within
/// strata. Satterthwaite's degrees of freedom are taken over all sets. Strata with fewer than two
/// timings in a set are left out; `None` if no stratum remains.
#[must_use]
pub fn stratified<'a>(
    strata: impl IntoIterator<Item = (f64, &'a Moments, &'a Moments)>,
    confidence: f64,
) -> Option<Difference> {
    let (mut mean, mut variance, mut squares, mut found) = (0.0, 0.0, 0.0, false);
    for (weight, one, other) in strata {
        let (Some(first), Some(second)) = (one.variance(), other.variance()) else { continue };
        found = true;
        mean += weight * (one.mean - other.mean);
        for (part, set) in [(first, one), (second, other)] {
            let part = weight * weight * part / set.count as f64;
            variance += part;
            squares += part * part / (set.count - 1) as f64;
        }
    }
    let valid = confidence > 0.0 && confidence < 1.0;
    if !found || !valid {
        return None;
    }
    if variance <= 0.0 || squares <= 0.0 {
        return Some(Difference { mean, half_width: 0.0, freedom: f64::INFINITY });
    }
    let freedom = variance * variance / squares;
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.5 + confidence / 2.0);
    let half_width = t * variance.sqrt();
    half_width.is_finite().then_some(Difference { mean, half_width, freedom })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> Moments {
        values.iter().copied().collect()
    }

    /// U7: 1 to 5 against their doubles; t = -1.8974 and ν = 5.8824, as with R's `t.test`.
    #[test]
    fn welch_agrees_with_a_table() {
        let (one, other) = (moments(&[1.0, 2.0, 3.0, 4.0, 5.0]), moments(&[2.0, 4.0, 6.0, 8.0, 10.0]));
        let found = welch(&one, &other, 0.95).unwrap();
        assert_eq!(found.mean, -3.0);
        assert!((found.freedom - 6.25 / 1.0625).abs() < 1e-12, "{found:?}");
        assert!((found.half_width - 3.888).abs() < 2e-3, "{found:?}");
        assert!(!found.is_less() && !found.is_greater());
        // The p-value is 0.108.
        assert!(welch(&one, &other, 0.89).unwrap().is_less());
        assert!(!welch(&one, &other, 0.895).unwrap().is_less());
        assert!(welch(&other, &one, 0.89).unwrap().is_greater());
    }

    #[test]
    fn welch_of_little() {
        let (one, two) = (moments(&[1.0]), moments(&[1.0, 2.0]));
        assert_eq!((welch(&one, &two, 0.95), welch(&two, &two, 1.0)), (None, None));
        let flat = moments(&[3.0, 3.0]);
        let found = welch(&flat, &moments(&[2.0, 2.0]), 0.95).unwrap();
        assert!(found.is_greater() && found.half_width == 0.0);
        assert!(!welch(&flat, &flat, 0.95).unwrap().is_greater());
    }

    /// Two kinds of executions, mixed unequally: merged, the sets would differ by their mixture.
    #[test]
    fn strata_are_compared_with_their_like() {
        let (short, long) = (moments(&[1.0, 1.1, 0.9]), moments(&[10.0, 10.2, 9.8]));
        let found = stratified([(1.0, &short, &short), (1.0, &long, &long)], 0.95).unwrap();
        assert_eq!(found.mean, 0.0);
        assert!(!found.is_less() && !found.is_greater());
    }
}
