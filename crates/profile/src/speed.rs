//! Estimates what the points of a run cost, and how fast the machine was at each moment.
//!
//! A shared machine has slow periods: its clock rate falls, another program uses half of a cache, a
//! core is lent away. They affect the timings of *all* points at that moment. Each timing is
//! divided by its point's usual time. The ratios of its neighbours in time (other points only)
//! estimate how slow the machine was, and the timing is divided by that. Timings at moments where
//! the neighbours disagree, such as the beginning of a slow period, get less weight.
//!
//! A point's time is the lower quartile of its corrected timings (the second least of five), since
//! most disturbances make a timing longer. A quartile, unlike the least or the second least, shifts
//! points of many and of few timings alike, and a factor common to all points affects no choice. Where
//! timings differ because their data do ([`draws`](super::draws)) it is the mean.
//!
//! Bulej et al., *Duet Benchmarking* (ICPE 2020), time a reference beside each program for the same
//! purpose. Here the other points are the reference, at no cost.

use strata_model::samples::Timing;

use super::stats::{quantile, relative_half_width, sorted_quantile};

/// Neighbours in time that estimate how slow the machine was.
const NEIGHBOURS: usize = 16;

/// With fewer neighbours there is no estimate.
const LEAST_NEIGHBOURS: usize = 4;

/// Alternating estimates of the points' times and of the machine's speed.
const ROUNDS: usize = 5;

/// A point of at least so many timings counts as unaffected by slow periods if its half width is
/// below this share of the corrected one.
const LEAST_UNTOUCHED: usize = 4;
const UNTOUCHED: f64 = 0.25;

/// The quantile that represents a point.
const LEVEL: f64 = 0.25;

/// The summary of a point's timings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    /// Seconds, at the machine's speed in the faster part of the run.
    pub(crate) seconds: f64,
    /// Relative half width of the interval of the median, corrected for slow periods.
    pub(crate) half_width: f64,
}

/// One timing among all of the run.
#[derive(Clone, Copy, Debug)]
struct Entry {
    point: usize,
    moment: f64,
    seconds: f64,
    /// Logarithm of the slowdown.
    slow: f64,
    weight: f64,
}

/// The time of each point, from the timings of all; `None` for a point without any. `by_mean`: whether
/// that of a point is its mean; such a point does not contribute to the speed either.
///
/// A point with a timing that is not a positive number does not contribute to the speed. Its time
/// is the lower quartile of its uncorrected timings, with NaN as the longest.
pub(crate) fn levels(points: &[Vec<Timing>], by_mean: impl Fn(usize) -> bool) -> Vec<Option<Level>> {
    let mut entries = entries(points);
    for _ in 0..ROUNDS {
        let (slow, spread) = neighbours(&entries, points.len(), &by_mean);
        // A factor common to all timings cannot be distinguished from the points' times.
        let base = quantile(&slow, LEVEL);
        // Neighbours that agree by chance must not give one timing all the weight.
        let softening = 2.0 * quantile(&spread, 0.5);
        let mut change = 0.0_f64;
        for ((entry, slow), spread) in entries.iter_mut().zip(slow).zip(spread) {
            change = change.max((slow - base - entry.slow).abs());
            entry.slow = slow - base;
            entry.weight = if softening > 0.0 { (1.0 + spread / softening).powi(-2) } else { 1.0 };
        }
        if change < 1e-6 {
            break;
        }
    }
    let mut adjusted = by_point(&entries, points.len());
    let level = |point: usize| {
        let adjusted = &mut adjusted[point];
        let raw: Vec<f64> = points[point].iter().map(|timing| timing.seconds).collect();
        let mut plain: Vec<f64> = adjusted.iter().map(|(seconds, _)| *seconds).collect();
        // A time that slow periods do not affect, such as one that the task computes, stays
        // uncorrected.
        let untouched = raw.len() >= LEAST_UNTOUCHED
            && relative_half_width(&raw) < UNTOUCHED * relative_half_width(&plain);
        if plain.is_empty() || untouched {
            *adjusted = raw.iter().map(|seconds| (*seconds, 1.0)).collect();
            plain = raw;
        }
        let half_width = relative_half_width(&plain);
        let seconds =
            if by_mean(point) { weighted_mean(adjusted) } else { weighted_quantile(adjusted, LEVEL) };
        (!plain.is_empty()).then_some(Level { seconds, half_width })
    };
    (0..points.len()).map(level).collect()
}

/// All timings that can be compared, in the order in which they were taken.
fn entries(points: &[Vec<Timing>]) -> Vec<Entry> {
    let comparable = |timings: &Vec<Timing>| timings.iter().all(|t| t.seconds > 0.0 && t.seconds.is_finite());
    let of_point = |(point, timings): (usize, &Vec<Timing>)| {
        let entry =
            |t: &Timing| Entry { point, moment: t.moment, seconds: t.seconds, slow: 0.0, weight: 1.0 };
        timings.iter().map(entry).collect::<Vec<_>>()
    };
    let mut entries: Vec<Entry> =
        points.iter().enumerate().filter(|(_, timings)| comparable(timings)).flat_map(of_point).collect();
    entries.sort_by(|a, b| a.moment.total_cmp(&b.moment));
    entries
}

/// Each point's timings, corrected for slow periods, and their weights.
fn by_point(entries: &[Entry], points: usize) -> Vec<Vec<(f64, f64)>> {
    let mut adjusted = vec![Vec::new(); points];
    for entry in entries {
        adjusted[entry.point].push((entry.seconds / entry.slow.exp(), entry.weight));
    }
    adjusted
}

/// For each timing, from its neighbours: the slowdown (logarithm), and their spread.
fn neighbours(entries: &[Entry], points: usize, by_mean: impl Fn(usize) -> bool) -> (Vec<f64>, Vec<f64>) {
    let mut adjusted = by_point(entries, points);
    let usual: Vec<f64> = adjusted.iter_mut().map(|timings| weighted_quantile(timings, LEVEL)).collect();
    let excess: Vec<f64> = entries.iter().map(|entry| (entry.seconds / usual[entry.point]).ln()).collect();
    let count = entries.len();
    let mut near = Vec::with_capacity(NEIGHBOURS + 1);
    let of_entry = |(index, entry): (usize, &Entry)| {
        let from = index.saturating_sub(NEIGHBOURS / 2).min(count.saturating_sub(NEIGHBOURS + 1));
        let until = (from + NEIGHBOURS + 1).min(count);
        near.clear();
        let tells = |other: &usize| entries[*other].point != entry.point && !by_mean(entries[*other].point);
        near.extend((from..until).filter(tells).map(|n| excess[n]));
        near.sort_by(f64::total_cmp);
        if near.len() < LEAST_NEIGHBOURS {
            return (0.0, 0.0);
        }
        (sorted_quantile(&near, LEVEL), sorted_quantile(&near, 0.75) - sorted_quantile(&near, 0.25))
    };
    entries.iter().enumerate().map(of_entry).unzip()
}

fn weighted_mean(values: &[(f64, f64)]) -> f64 {
    let (sum, weights) =
        values.iter().fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    sum / weights
}

/// The weighted quantile of values: consecutive ranks, from the least at 0 to the greatest at 1,
/// differ by the mean of the two weights. With equal weights it is that of [`quantile`]. NaN for no
/// values. Sorts them.
fn weighted_quantile(values: &mut [(f64, f64)], at: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return f64::NAN };
    let total: f64 = values.iter().map(|(_, weight)| weight).sum::<f64>() - (first.1 + last.1) / 2.0;
    let mut left = at * total;
    for pair in values.windows(2) {
        let [(low, before), (high, after)] = pair else { break };
        let step = (before + after) / 2.0;
        if left <= step {
            // Equal neighbours, infinite ones too, need no interpolation.
            return if low == high || left <= 0.0 { *low } else { low + (high - low) * left / step };
        }
        left -= step;
    }
    last.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timings(pairs: &[(f64, f64)]) -> Vec<Timing> {
        pairs.iter().map(|&(moment, seconds)| Timing { seconds, moment }).collect()
    }

    #[test]
    fn a_slow_half_of_the_run_is_taken_out() {
        // Twenty points in five sweeps; the machine is half as fast from the third sweep on.
        let points: Vec<Vec<Timing>> = (0..20)
            .map(|point| {
                let at = |sweep: i32| {
                    let slow = if sweep >= 3 { 2.0 } else { 1.0 };
                    (f64::from(20 * sweep + (7 * point + sweep) % 20), f64::from(1 + point) * slow)
                };
                timings(&(0..5).map(at).collect::<Vec<_>>())
            })
            .collect();
        let levels = levels(&points, |_| false);
        for (point, level) in levels.iter().enumerate() {
            let level = level.unwrap();
            assert!((level.seconds / (1 + point) as f64 - 1.0).abs() < 1e-9, "{point}: {level:?}");
        }
    }

    #[test]
    fn a_point_that_slow_periods_do_not_touch_stays_as_it_is() {
        let slow = |sweep: i32| if sweep >= 3 { 2.0 } else { 1.0 };
        let touched = |point: i32| {
            let at = |sweep| (f64::from(20 * sweep + point), f64::from(1 + point) * slow(sweep));
            timings(&(0..6).map(at).collect::<Vec<_>>())
        };
        let mut points: Vec<Vec<Timing>> = (0..19).map(touched).collect();
        points.push(timings(&(0..6).map(|sweep| (f64::from(20 * sweep + 19), 7.0)).collect::<Vec<_>>()));
        let levels = levels(&points, |_| false);
        assert_eq!(levels[19].unwrap(), Level { seconds: 7.0, half_width: 0.0 });
        assert!((levels[5].unwrap().seconds / 6.0 - 1.0).abs() < 1e-9);
    }

    /// The last of twenty points searches data that differ; the machine is half as fast later.
    #[test]
    fn the_mean_of_data_that_differ_is_taken_at_the_same_speed() {
        let places = [0.1, 0.9, 0.5, 0.3, 0.7, 0.5];
        let of_point = |point: i32| {
            let at = |sweep: i32| {
                let slow = if sweep >= 3 { 2.0 } else { 1.0 };
                let place = if point == 19 { places[sweep as usize] } else { 1.0 };
                (f64::from(20 * sweep + point), place * slow)
            };
            timings(&(0..6).map(at).collect::<Vec<_>>())
        };
        let points: Vec<_> = (0..20).map(of_point).collect();
        let levels = levels(&points, |point| point == 19);
        assert!((levels[19].unwrap().seconds - 0.5).abs() < 1e-9, "{:?}", levels[19]);
        assert!((levels[18].unwrap().seconds - 1.0).abs() < 1e-9);
    }

    #[test]
    fn steady_timings_stay_as_they_are_to_the_bit() {
        let steady: Vec<Vec<Timing>> = (0..30)
            .map(|p| timings(&[(f64::from(p), 0.1 * f64::from(p + 1)), (99.0, 0.1 * f64::from(p + 1))]))
            .collect();
        for (timings, level) in steady.iter().zip(levels(&steady, |_| false)) {
            assert_eq!(level.unwrap(), Level { seconds: timings[0].seconds, half_width: 0.0 });
        }
    }

    #[test]
    fn what_is_no_positive_number_stays_what_it_is() {
        let points = [
            vec![],
            timings(&[(0.0, f64::NAN)]),
            timings(&[(1.0, 0.0), (2.0, 0.0)]),
            timings(&[(3.0, f64::INFINITY), (4.0, f64::INFINITY)]),
            timings(&[(5.0, 1.0)]),
        ];
        let levels = levels(&points, |_| false);
        assert_eq!(levels[0], None);
        assert!(levels[1].unwrap().seconds.is_nan());
        assert_eq!(levels[2].unwrap().seconds, 0.0);
        assert_eq!(levels[3].unwrap().seconds, f64::INFINITY);
        assert_eq!(levels[4].unwrap(), Level { seconds: 1.0, half_width: f64::INFINITY });
    }

    proptest! {
        #[test]
        fn equal_weights_are_as_none(values in prop::collection::vec(0.0..9.0f64, 1..20), at in 0.0..1.0f64) {
            let mut weighted: Vec<_> = values.iter().map(|value| (*value, 0.3)).collect();
            prop_assert!((weighted_quantile(&mut weighted, at) - quantile(&values, at)).abs() < 1e-9);
        }

        /// A factor common to all timings becomes a factor of all times.
        #[test]
        fn the_unit_of_time_does_not_matter(
            seconds in prop::collection::vec(prop::collection::vec(0.5..2.0f64, 1..6), 1..12),
        ) {
            let points = |factor: f64| -> Vec<Vec<Timing>> {
                let timing = |p: usize, k: usize, s: f64| Timing { seconds: factor * s, moment: (k * 20 + (p * 7) % 20) as f64 };
                seconds.iter().enumerate().map(|(p, all)| all.iter().enumerate().map(|(k, s)| timing(p, k, *s)).collect()).collect()
            };
            for (one, other) in levels(&points(1.0), |_| false).into_iter().zip(levels(&points(1024.0), |_| false)) {
                prop_assert!((other.unwrap().seconds / one.unwrap().seconds / 1024.0 - 1.0).abs() < 1e-9);
            }
        }
    }
}
