//! The few statistics Brewer's method needs beyond least squares.
//!
//! Source: Brewer, *Portable High-Performance Supercomputing* (1994), §2.2.4 (mean relative error),
//! §3.6.2 (intervals).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::solve::sum;

/// The two-sided quantile t(confidence, freedom): a share `confidence` of the distribution lies
/// within ± it.
///
/// `None` unless 0 < confidence < 1 and freedom ≥ 1.
pub fn t_quantile(confidence: f64, freedom: usize) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) || freedom == 0 {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    let quantile = t.inverse_cdf(0.5 + confidence / 2.0);
    quantile.is_finite().then_some(quantile)
}

/// The inverse of [`t_quantile`]: the share of the distribution within ± `quantile`.
pub fn confidence(quantile: f64, freedom: usize) -> Option<f64> {
    if !(quantile.is_finite() && quantile > 0.0) || freedom == 0 {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(2.0 * t.cdf(quantile) - 1.0)
}

/// The mean relative error as a fraction: the geometric mean of 1 + |(y − ŷ)/y|, less 1 (eqs 9 and
/// 10).
///
/// Takes (observed, predicted) pairs; pairs observed as zero have no relative error and are left
/// out. `None` if no pair remains or an error is not finite.
pub fn mean_relative_error(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let logs: Vec<f64> = pairs
        .into_iter()
        .filter(|(observed, _)| *observed != 0.0)
        .map(|(observed, predicted)| ((observed - predicted) / observed).abs().ln_1p())
        .collect();
    if logs.is_empty() {
        return None;
    }
    let count = logs.len() as f64;
    let mre = (sum(logs) / count).exp_m1();
    mre.is_finite().then_some(mre)
}

/// The last decimal place that any of the times has, as a unit in s: times are rounded to it when
/// they are written with few digits, and a simulator counts picoseconds. Zero where the least time
/// has fewer than two digits, so that round numbers are not taken for rounded ones.
pub(crate) fn last_place(times: &[f64]) -> f64 {
    /// Digits of a double.
    const DIGITS: i32 = 15;
    let least = times.iter().map(|t| t.abs()).filter(|t| *t > 0.0).fold(f64::INFINITY, f64::min);
    if !least.is_normal() {
        return 0.0;
    }
    let first = least.log10().floor() as i32 - 1;
    let is_multiple = |t: f64, unit: f64| {
        let count = t / unit;
        (count - count.round()).abs() <= 1e-6_f64.max(4.0 * f64::EPSILON * count.abs())
    };
    let units = (first - DIGITS..=first).rev().map(|place| 10_f64.powi(place));
    let mut units = units.filter(|unit| times.iter().all(|t| is_multiple(*t, *unit)));
    units.next().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_tables() {
        for (freedom, t) in [(1, 12.7062), (2, 4.30265), (8, 2.30600), (30, 2.04227), (1000, 1.96234)] {
            let got = t_quantile(0.95, freedom).unwrap();
            assert!((got - t).abs() < 6e-6 * t, "t(95 %, {freedom}) = {got}");
        }
        assert!((t_quantile(0.9, 8).unwrap() - 1.859548).abs() < 1e-6);
        assert_eq!((t_quantile(1.0, 8), t_quantile(0.95, 0), t_quantile(f64::NAN, 3)), (None, None, None));
    }

    #[test]
    fn quantiles_tell_their_confidence() {
        for (share, freedom) in [(0.95, 1), (0.99, 7), (0.5, 200)] {
            let back = confidence(t_quantile(share, freedom).unwrap(), freedom).unwrap();
            assert!((back - share).abs() < 1e-6, "{back}");
        }
        assert_eq!((confidence(0.0, 3), confidence(2.0, 0)), (None, None));
    }

    #[test]
    fn times_end_at_a_decimal_place() {
        for (times, unit) in [
            (vec![1.5e-6, 2.25e-6, 1e-5], 1e-8),
            (vec![1.234567e-6, 7.9e-3], 1e-12),
            (vec![742.718872, 1185.43774], 1e-6),
            (vec![100.0, 300.0], 10.0),
            (vec![0.0], 0.0),
        ] {
            let found = last_place(&times);
            assert!((found / unit - 1.0).abs() < 1e-9 || found == unit, "{times:?}: {found}");
        }
        // Sevenths have no last place but that of doubles.
        assert!(last_place(&[1.0 / 7.0, 2.0 / 7.0, 5.0 / 7.0]) < 1e-14);
    }

    #[test]
    fn the_mean_is_geometric() {
        let mre = mean_relative_error([(1.0, 1.5), (1.0, 1.0), (0.0, 3.0)]).unwrap();
        assert!((mre - (1.5f64.sqrt() - 1.0)).abs() < 1e-15);
        assert_eq!(mean_relative_error([(0.0, 1.0)]), None);
        assert_eq!(mean_relative_error([(1.0, f64::INFINITY)]), None);
    }
}
