//! How much times have changed, and in which part of the inputs.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;
use strata_fit::stats::t_quantile;
use strata_select::normal::HALF_WIDTH;

use super::ratios::Repeats;
use strata_fit::bootstrap::{interval_of_mean, mean};

/// The fewest points for a verdict.
pub(super) const LEAST: usize = 6;

/// Logarithms of ratios within this distance are equal.
const EQUAL: f64 = 1e-9;

/// A part is reported if it differs from the rest by at least this, and if the split explains this
/// share of the scatter.
const NOTABLE: f64 = 0.01;
const EXPLAINED: f64 = 0.1;

/// The number of permutations of the ratios, which show the splits that noise alone makes.
const SHUFFLES: usize = 999;

/// The verdict on a change of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is longer, by more than noise explains.
    Slower,
    /// It is shorter, by more than noise explains.
    Faster,
    /// Noise explains the difference.
    Same,
    /// There are too few points.
    #[serde(rename = "too few points")]
    Unknown,
}

/// The ratio of the times after to those before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The geometric mean of the ratios over the points.
    pub ratio: f64,
    /// The 95 % interval; `None` with too few points.
    pub interval: Option<(f64, f64)>,
    /// The number of points compared.
    pub points: usize,
    /// The verdict.
    pub verdict: Verdict,
}

/// A point with the logarithm of its ratio.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: Vec<f64>,
    pub(super) log: f64,
}

/// Two parts of the points: one up to a value of an input, the other from the next value on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    pub(super) input: usize,
    pub(super) to: f64,
    pub(super) from: f64,
}

impl Change {
    /// The change at these points. `off`: the standard deviation of an error common to all
    /// logarithms; `level`: the probability at which noise alone may be taken for a change.
    pub(super) fn of(logs: &[f64], off: f64, level: f64) -> Self {
        let (count, middle) = (logs.len(), mean(logs));
        let quantile = |level: f64| t_quantile(1.0 - level, count.saturating_sub(1));
        let Some((usual, strict)) = quantile(0.05).zip(quantile(level)).filter(|_| count >= LEAST) else {
            let (ratio, points) = (middle.exp(), count);
            return Self { ratio, interval: None, points, verdict: Verdict::Unknown };
        };
        // The quantiles of few values lie too close together.
        let widened = usual / HALF_WIDTH * (count as f64 / (count - 1) as f64).sqrt();
        let (low, high) = interval_of_mean(logs);
        let reach = |end: f64| ((end - middle).abs() * widened).hypot(HALF_WIDTH * off);
        let (below, above) = (reach(low), reach(high));
        let verdict = if middle - below * strict / usual > EQUAL {
            Verdict::Slower
        } else if middle + above * strict / usual < -EQUAL {
            Verdict::Faster
        } else {
            Verdict::Same
        };
        let interval = Some(((middle - below).exp(), (middle + above).exp()));
        Self { ratio: middle.exp(), interval, points: count, verdict }
    }

    /// The change by repeats at one point; `level` as for [`Change::of`].
    pub(super) fn by_repeats(repeats: Repeats, level: f64) -> Self {
        let points = 1;
        let Repeats { log, variance, freedom } = repeats;
        let ratio = log.exp();
        let quantile = |level: f64| t_quantile(1.0 - level, freedom as usize);
        let Some((usual, strict)) = quantile(0.05).zip(quantile(level)) else {
            return Self { ratio, interval: None, points, verdict: Verdict::Unknown };
        };
        let deviation = variance.sqrt();
        let verdict = match log.abs() > strict * deviation + EQUAL {
            true if log > 0.0 => Verdict::Slower,
            true => Verdict::Faster,
            false => Verdict::Same,
        };
        let interval = Some(((log - usual * deviation).exp(), (log + usual * deviation).exp()));
        Self { ratio, interval, points, verdict }
    }

    /// Whether times are longer by more than this share, with confidence.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        self.verdict == Verdict::Slower && self.interval.is_some_and(|(low, _)| low - 1.0 > share)
    }
}

impl Cut {
    pub(super) fn is_below(&self, point: &Point) -> bool {
        point.at[self.input] <= self.to
    }

    /// The split by one input whose parts differ most; `None` if noise explains it, or if it
    /// explains little. `level` as for [`Change::of`].
    pub(super) fn find(points: &[Point], level: f64) -> Option<Self> {
        let mut logs: Vec<f64> = points.iter().map(|point| point.log).collect();
        let middle = mean(&logs);
        logs.iter_mut().for_each(|log| *log -= middle);
        let scatter: f64 = logs.iter().map(|log| log * log).sum();
        let orders = orders(points);
        let (between, cut, apart) = best(&orders, &logs)?;
        (between >= EXPLAINED * scatter && apart >= NOTABLE).then_some(())?;
        // The best splits of permuted ratios, which do not depend on the inputs.
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let most = level.max(1.0 / (1 + SHUFFLES) as f64) * (1 + SHUFFLES) as f64;
        let mut as_good = 1;
        for _ in 0..SHUFFLES {
            for place in (1..logs.len()).rev() {
                logs.swap(place, random.random_range(0..=place));
            }
            as_good += usize::from(best(&orders, &logs).is_some_and(|(chance, ..)| chance >= between));
            if as_good as f64 > most {
                return None;
            }
        }
        Some(cut)
    }
}

/// The points ordered by an input, and the possible splits.
struct Order {
    points: Vec<usize>,
    /// For each split the number of points below it.
    cuts: Vec<(usize, Cut)>,
}

fn orders(points: &[Point]) -> Vec<Order> {
    let inputs = points.first().map_or(0, |point| point.at.len());
    let order = |input: usize| {
        let mut sorted: Vec<usize> = (0..points.len()).collect();
        let value = |place: usize| points[place].at[input];
        sorted.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
        let cut = |below: usize| {
            let (to, from) = (value(sorted[below - 1]), value(sorted[below]));
            (to < from).then_some((below, Cut { input, to, from }))
        };
        let last = points.len().saturating_sub(LEAST);
        let cuts = (LEAST..=last).filter_map(cut).collect();
        Order { points: sorted, cuts }
    };
    (0..inputs).map(order).collect()
}

/// The split with the greatest sum of squares between its parts, and the distance of these. The
/// logarithms must have the mean 0.
fn best(orders: &[Order], logs: &[f64]) -> Option<(f64, Cut, f64)> {
    let mut best: Option<(f64, Cut, f64)> = None;
    for order in orders {
        let (mut sum, mut added) = (0.0, 0);
        for (below, cut) in &order.cuts {
            sum += order.points[added..*below].iter().map(|place| logs[*place]).sum::<f64>();
            added = *below;
            let (low, high) = (*below as f64, (logs.len() - below) as f64);
            let between = sum * sum * (1.0 / low + 1.0 / high);
            if best.as_ref().is_none_or(|(most, ..)| between > *most) {
                best = Some((between, *cut, (sum / low + sum / high).abs()));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(logs: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        let all = (0..8).flat_map(|n| (0..4).map(move |width| (f64::from(n), f64::from(width))));
        all.map(|(n, width)| Point { at: vec![n, width], log: logs(n, width) }).collect()
    }

    #[test]
    fn equal_times_are_no_change_and_few_points_say_nothing() {
        let same = Change::of(&[0.0; 9], 0.0, 0.01);
        assert_eq!((same.verdict, same.interval), (Verdict::Same, Some((1.0, 1.0))));
        let slower = Change::of(&[0.1; 9], 0.0, 0.01);
        assert!(slower.verdict == Verdict::Slower && slower.exceeds(0.1) && !slower.exceeds(0.11));
        assert_eq!(Change::of(&[-0.1; 9], 0.0, 0.01).verdict, Verdict::Faster);
        assert_eq!(Change::of(&[0.1; 9], 0.06, 0.05).verdict, Verdict::Same, "all may be off alike");
        assert_eq!(Change::of(&[0.1; 5], 0.0, 0.01).verdict, Verdict::Unknown);
        assert_eq!(Change::of(&[], 0.0, 0.01).interval, None);
    }

    #[test]
    fn a_split_is_by_the_input_that_matters() {
        let ripple = |n: f64, width: f64| 0.004 * ((3.0 * n + 7.0 * width) % 5.0 - 2.0);
        let found = Cut::find(&points(|n, width| ripple(n, width) + if n >= 5.0 { 0.05 } else { 0.0 }), 0.01);
        assert_eq!(found, Some(Cut { input: 0, to: 4.0, from: 5.0 }));
        let found =
            Cut::find(&points(|n, width| ripple(n, width) - if width < 2.0 { 0.05 } else { 0.0 }), 0.01);
        assert_eq!(found, Some(Cut { input: 1, to: 1.0, from: 2.0 }));
        assert_eq!(Cut::find(&points(ripple), 0.01), None);
        assert_eq!(Cut::find(&points(|_, _| 0.1), 0.01), None, "nothing scatters");
        assert_eq!(Cut::find(&points(|n, _| n)[..9], 0.01), None, "too few for two parts");
        assert_eq!(Cut::find(&[], 0.01), None);
    }
}
