//! Statistics of several timings of one point: quantiles, and the uncertainty of the median.
//!
//! Most timings are accurate and a few are far too long (timer interrupts, time slices; Brewer
//! §3.4.1), so an order statistic represents them. The uncertainty is derived from order statistics
//! too, which needs no assumption about the shape of that long tail.

use strata_select::normal::HALF_WIDTH;

/// The median; the mean of the middle two for an even number of timings. NaN without timings.
///
/// NaN counts as the longest timing.
#[must_use]
pub fn median(timings: &[f64]) -> f64 {
    let sorted = sorted(timings);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0,
    }
}

/// The quantile: 0 is the least timing, 1 the longest, 0.5 the median; linear in between. NaN
/// without timings.
///
/// NaN counts as the longest timing.
///
/// # Source
/// Hyndman and Fan, *Sample Quantiles in Statistical Packages* (1996), definition 7.
pub(crate) fn quantile(timings: &[f64], at: f64) -> f64 {
    sorted_quantile(&sorted(timings), at)
}

/// As [`quantile`], of sorted timings.
pub(crate) fn sorted_quantile(sorted: &[f64], at: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = at * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if low == high { low } else { low + (high - low) * place.fract() }
}

/// Half the width of the 95 % interval of the median, relative to the median.
///
/// The interval runs between the order statistics ⌊(n − 1.96√n)/2⌋ and ⌈1 + (n + 1.96√n)/2⌉. Up to
/// five timings cannot reach 95 %: their interval is their whole range. It is infinite for one
/// timing, and zero for equal timings, including zeros.
///
/// # Source
/// Conover, *Practical Nonparametric Statistics*, 3rd ed., §3.2 (large-sample interval of a
/// quantile).
#[must_use]
pub fn relative_half_width(timings: &[f64]) -> f64 {
    if timings.len() < 2 {
        return f64::INFINITY;
    }
    let sorted = sorted(timings);
    let count = sorted.len();
    let reach = HALF_WIDTH * (count as f64).sqrt();
    let low = ((count as f64 - reach) / 2.0).floor().max(1.0) as usize;
    let high = ((1.0 + (count as f64 + reach) / 2.0).ceil() as usize).min(count);
    let width = sorted[high - 1] - sorted[low - 1];
    if width == 0.0 {
        return 0.0;
    }
    width / 2.0 / median(&sorted).abs()
}

/// Timings with the given median and relative half width: they represent a sample of an earlier run
/// without its single timings.
#[must_use]
pub(crate) fn stand_ins(median: f64, relative_half_width: f64, count: u32) -> Vec<f64> {
    let count = count.max(1) as usize;
    let reach = if relative_half_width.is_finite() { median * relative_half_width } else { 0.0 };
    let middle = if count % 2 == 1 { 1 } else { 2.min(count) };
    let side = (count - middle) / 2;
    let mut timings = vec![median - reach; side];
    timings.extend(std::iter::repeat_n(median, middle));
    timings.extend(std::iter::repeat_n(median + reach, side));
    timings
}

fn sorted(timings: &[f64]) -> Vec<f64> {
    let mut sorted = timings.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_outlier_does_not_move_the_median() {
        assert_eq!(median(&[17.0, 17.0, 230.0]), 17.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_timing_that_is_no_number_is_the_longest() {
        assert_eq!(median(&[f64::NAN, 1.0, 2.0]), 2.0);
        assert!(median(&[f64::NAN]).is_nan());
    }

    #[test]
    fn few_timings_are_judged_by_their_range() {
        assert_eq!(relative_half_width(&[1.0]), f64::INFINITY);
        assert_eq!(relative_half_width(&[2.0, 2.0, 2.0]), 0.0);
        assert_eq!(relative_half_width(&[0.0, 0.0]), 0.0);
        assert_eq!(relative_half_width(&[9.0, 10.0, 13.0]), 0.2);
    }

    #[test]
    fn many_timings_shut_the_outliers_out() {
        let mut timings = vec![1.0; 40];
        timings.extend([13.0, 14.0]);
        assert_eq!(relative_half_width(&timings), 0.0);
    }

    proptest! {
        #[test]
        fn stand_ins_say_what_they_stand_for(m in 1e-9..1e3f64, width in 0.0..0.5f64, count in 3u32..40) {
            let timings = stand_ins(m, width, count);
            prop_assert_eq!(timings.len(), count as usize);
            prop_assert!((median(&timings) - m).abs() <= 1e-12 * m);
            prop_assert!((relative_half_width(&timings) - width).abs() < 1e-9);
        }

        #[test]
        fn the_median_lies_among_the_timings(timings in prop::collection::vec(0.0..1e3f64, 1..50)) {
            let m = median(&timings);
            prop_assert!(timings.iter().any(|t| *t <= m) && timings.iter().any(|t| *t >= m));
            let below = timings.iter().filter(|t| **t < m).count();
            prop_assert!(below <= timings.len() / 2);
        }
    }
}
