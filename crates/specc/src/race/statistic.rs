//! The change of a benchmark over rounds, and which of many changes are told.

use strata_fit::stats::{confidence, t_quantile};

use strata_fit::bootstrap::mean;

/// One in so many rounds is trimmed at each end.
const TRIMMED: usize = 10;

/// The mean of the logarithms of a benchmark's ratios, a tenth of them trimmed at each end, with
/// its standard error by the winsorized ones.
///
/// # Source
/// Yuen, *The two-sample trimmed t for unequal population variances* (1974), of one sample; Tukey
/// and McLaughlin (1963). A round in which one of both was held up neither moves it nor widens its
/// interval without bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trimmed {
    /// The trimmed mean.
    pub middle: f64,
    /// Its standard error.
    pub error: f64,
    freedom: usize,
}

impl Trimmed {
    /// `None` for fewer than two values.
    #[must_use]
    pub fn of(logs: &[f64]) -> Option<Self> {
        let (count, cut) = (logs.len(), logs.len() / TRIMMED);
        let kept = count - 2 * cut;
        if kept < 2 {
            return None;
        }
        let mut sorted = logs.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = mean(&sorted[cut..count - cut]);
        let (least, most) = (sorted[cut], sorted[count - 1 - cut]);
        let winsorized: Vec<f64> = sorted.iter().map(|log| log.clamp(least, most)).collect();
        let about = mean(&winsorized);
        let squares: f64 = winsorized.iter().map(|log| (log - about).powi(2)).sum();
        Some(Self { middle, error: (squares / (kept * (kept - 1)) as f64).sqrt(), freedom: kept - 1 })
    }

    /// The same with a second, independent source of scatter, whose variance was estimated from so
    /// many values: Welch (1947), Satterthwaite (1946).
    #[must_use]
    pub fn with(self, variance: f64, values: usize) -> Self {
        let (own, all) = (self.error.powi(2), self.error.powi(2) + variance);
        let freedom = all.powi(2) / (own.powi(2) / self.freedom as f64 + variance.powi(2) / values as f64);
        Self {
            error: all.sqrt(),
            freedom: if freedom.is_finite() { (freedom.round() as usize).max(1) } else { self.freedom },
            ..self
        }
    }

    /// The probability that noise alone moves the mean as far.
    #[must_use]
    pub fn chance(&self) -> f64 {
        if self.middle == 0.0 {
            return 1.0;
        }
        1.0 - confidence(self.middle.abs() / self.error, self.freedom).unwrap_or(1.0)
    }

    /// Half of the width of the interval that misses with this probability.
    #[must_use]
    pub fn reach(&self, level: f64) -> f64 {
        t_quantile(1.0 - level, self.freedom).map_or(f64::INFINITY, |quantile| quantile * self.error)
    }
}

/// The greatest of these probabilities that is told, so that of all that are told on average at
/// most the share `level` is noise, and with no change at all anything is told with that
/// probability at most; below zero where none is: Benjamini and Hochberg, *Controlling the false
/// discovery rate* (1995).
#[must_use]
pub fn limit(chances: &[f64], level: f64) -> f64 {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = level / chances.len() as f64;
    let last = (1..=sorted.len()).rev().find(|rank| sorted[rank - 1] <= share * *rank as f64);
    last.map_or(-1.0, |rank| sorted[rank - 1])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_trimmed_mean_is_that_of_yuen() {
        // Without trimming it is Student's test: t = 3 at 3 degrees of freedom.
        let four = Trimmed::of(&[0.0, 1.0, 2.0, 3.0]).unwrap();
        assert!((four.middle - 1.5).abs() < 1e-12 && (four.error - (5.0_f64 / 12.0).sqrt()).abs() < 1e-12);
        assert!((four.chance() - 0.1027).abs() < 1e-3, "{}", four.chance());
        // Of 1 to 11 the ends count as 2 and 10: the sum of squares is 2 (16 + 16 + 9 + 4 + 1), with
        // 9 kept.
        let ends: Vec<f64> = (1..=11).map(f64::from).collect();
        let trimmed = Trimmed::of(&ends).unwrap();
        assert!((trimmed.middle - 6.0).abs() < 1e-12);
        assert!((trimmed.error - (92.0_f64 / 72.0).sqrt()).abs() < 1e-12, "{}", trimmed.error);
        let mut spiked = ends.clone();
        spiked[10] = 1e6;
        assert_eq!(Trimmed::of(&spiked), Some(trimmed), "one round says nothing");
        assert_eq!(Trimmed::of(&[1.0]), None);
        let same = Trimmed::of(&[0.0; 9]).unwrap();
        assert_eq!((same.chance(), same.reach(0.05)), (1.0, 0.0));
        assert_eq!(Trimmed::of(&[0.1; 9]).unwrap().chance(), 0.0);
    }

    #[test]
    fn a_second_source_of_scatter_adds_its_variance() {
        let own = Trimmed::of(&[0.9, 1.0, 1.1, 1.0]).unwrap();
        assert_eq!(own.with(0.0, 9), own);
        let more = own.with(4.0 * own.error.powi(2), 12);
        assert!((more.error / own.error - 5.0_f64.sqrt()).abs() < 1e-12 && more.middle == own.middle);
        // 25 over 1/3 and 16/12.
        assert_eq!(more.freedom, 15);
        let exact = Trimmed::of(&[0.1; 9]).unwrap().with(0.0025, 9);
        assert!((exact.error - 0.05).abs() < 1e-12 && exact.chance() > 0.05);
        assert_eq!(Trimmed::of(&[0.1; 9]).unwrap().with(0.0, 9).chance(), 0.0);
    }

    #[test]
    fn of_many_changes_those_are_told_that_benjamini_and_hochberg_tell() {
        // The example of their paper, §3.1: at 5 % the first four of fifteen are told.
        let paper = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        assert_eq!(limit(&paper, 0.05), 0.0095);
        assert_eq!(limit(&[0.04, 0.02], 0.05), 0.04);
        assert!(limit(&[0.06, 0.03], 0.05) < 0.0 && limit(&[], 0.05) < 0.0);
    }

    proptest! {
        #[test]
        fn it_follows_scale_and_sign(logs in prop::collection::vec(-1.0..1.0_f64, 2..30), by in 0.1..10.0_f64) {
            let one = Trimmed::of(&logs).unwrap();
            let other = Trimmed::of(&logs.iter().map(|log| -by * log).collect::<Vec<_>>()).unwrap();
            prop_assert!((other.middle + by * one.middle).abs() < 1e-9);
            prop_assert!((one.chance() - other.chance()).abs() < 1e-6);
            prop_assert!(one.reach(0.01) >= one.reach(0.05));
        }
    }
}
