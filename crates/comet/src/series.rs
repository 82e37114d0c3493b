//! Statistics of a point's timings, and a test whether a whole run was disturbed.
//!
//! All are based on order statistics, because timings are skewed and have long tails (Hoefler and
//! Belli, *Scientific Benchmarking of Parallel Computing Systems*, SC'15, rules 5 to 8).

use chacha20::ChaCha8Rng;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};
use strata_model::samples::Timing;

use crate::curve::Estimate;

/// The distribution of a point's timings. Times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// Number of timings.
    pub timings: usize,
    /// The median.
    pub median: f64,
    /// The lower end of the 95 % interval of the median, which is wider if timings depend on
    /// earlier ones; with few timings the least one.
    pub low: f64,
    /// The upper end; see `low`.
    pub high: f64,
    /// The quantiles 0, 5, 25, 75, 95 and 100 %.
    pub quantiles: [f64; 6],
    /// Timings beyond three times the distance between the quartiles (Tukey's outer fences).
    pub outliers: usize,
    /// The relative slowdown from the first to the last third of the timings, as a share of the
    /// median.
    pub drift: f64,
    /// If timings fall into two groups: the slower group's median over the faster one's, and the
    /// share of the slower group.
    pub two_speeds: Option<(f64, f64)>,
}

/// A run that other programs disturbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contaminated {
    /// The reason, as a sentence.
    pub reason: String,
    /// The ratio of slow periods to the reported medians, or of those to fast periods; under a
    /// constant load, the factor by which it slows the machine.
    pub slowdown: f64,
}

/// The least ratio of speeds that is not attributed to noise.
const NOTABLE: f64 = 1.08;

/// The largest ratio between the machine's speed and the reported medians in nine tenths of a run's
/// periods: the promised agreement of medians between runs.
pub(crate) const PROMISED: f64 = 1.10;

/// Timings of one period.
const PERIODS: [usize; 2] = [15, 5];

/// Factor by which the scatter of periods must exceed that of every shuffled copy.
const MARGIN: f64 = 1.25;

/// Number of shuffled copies with which the run's order is compared.
const SHUFFLES: usize = 99;

/// A timing above this multiple of the first quartile of its point is *far*. If only system
/// services run besides, about one timing in fifty is far.
const FAR: f64 = 1.5;

/// A run is contaminated if more than this share of its timings is far.
const MANY_FAR: f64 = 0.1;

/// The least number of timings whose range contains the median with 95 % probability: 1 - 2/2^n.
const KNOWN: usize = 6;

/// The least number of timings from which their dependence is estimated.
const FEW: usize = 12;

/// The least number of blocks.
const PARTS: usize = 6;

/// The least ratio of the scatter of blocks to that of independent values that is not attributed to
/// chance: with six blocks one series in five exceeds it (χ² with five degrees of freedom, over
/// five).
const CHANCE: f64 = 2.2;

impl Belief {
    /// Evaluates timings in the order in which they were taken; `None` if there are none.
    #[must_use]
    pub fn of(timings: &[Timing]) -> Option<Self> {
        let mut ordered = timings.to_vec();
        ordered.sort_by(|a, b| a.moment.total_cmp(&b.moment));
        let in_order: Vec<f64> = ordered.iter().map(|timing| timing.seconds).collect();
        let mut sorted = in_order.clone();
        sorted.sort_by(f64::total_cmp);
        let last = *sorted.last()?;
        let median = quantile(&sorted, 0.5);
        let (low, high) = interval(&sorted, independent(&in_order));
        let [q1, q3] = [0.25, 0.75].map(|at| quantile(&sorted, at));
        let reach = 3.0 * (q3 - q1);
        let third = in_order.len() / 3;
        let drift = if third >= 3 && median > 0.0 {
            (middle(&in_order[in_order.len() - third..]) - middle(&in_order[..third])) / median
        } else {
            0.0
        };
        Some(Self {
            timings: sorted.len(),
            median,
            low,
            high,
            quantiles: [sorted[0], quantile(&sorted, 0.05), q1, q3, quantile(&sorted, 0.95), last],
            outliers: sorted.iter().filter(|time| **time > q3 + reach || **time < q1 - reach).count(),
            drift,
            two_speeds: two_speeds(&sorted),
        })
    }

    /// True if the half-width of the median's interval is at most `precision`, a share of the
    /// median. Fewer than six timings have a range but no interval of 95 %.
    #[must_use]
    pub fn is_known(&self, precision: f64) -> bool {
        self.has_interval() && self.half_width() <= precision
    }

    /// True if there are enough timings for an interval of 95 %.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        self.timings >= KNOWN
    }

    /// Half-width of the median's interval, as a share of the median.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        let half = (self.high - self.low) / 2.0;
        if half == 0.0 { 0.0 } else { half / self.median }
    }
}

/// A quantile of sorted values, with linear interpolation (Hyndman and Fan 1996, definition 7).
pub(crate) fn quantile(sorted: &[f64], at: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = at * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// The median of independent values with its 95 % interval; of five or fewer with their range.
pub(crate) fn median_of(mut values: Vec<f64>) -> Estimate {
    values.sort_by(f64::total_cmp);
    let (low, high) = interval(&values, values.len() as f64);
    Estimate { value: quantile(&values, 0.5), low, high }
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// The order statistics between which the median lies with at least 95 % probability, whatever the
/// distribution (Conover, *Practical Nonparametric Statistics*, §3.2: the binomial distribution,
/// not its approximation). `independent` is the effective number of independent values. For five or
/// fewer independent values, the range of all values.
fn interval(sorted: &[f64], independent: f64) -> (f64, f64) {
    let n = sorted.len();
    let worth = (independent.floor() as usize).clamp(1, n);
    let left_out = if worth > 1000 {
        // For this many values the normal approximation is as good.
        worth as f64 / 2.0 - 0.98 * (worth as f64).sqrt()
    } else {
        let mut tail = 0.5_f64.powi(worth as i32);
        let mut below = tail;
        let mut k = 0;
        // The most values that can be left out at each end with a probability of 2.5 % each.
        while below <= 0.025 && k < worth / 2 {
            k += 1;
            tail *= (worth - k + 1) as f64 / k as f64;
            below += tail;
        }
        k.saturating_sub(1) as f64
    };
    // The same share of all values.
    let k = ((left_out * n as f64 / worth as f64).floor() as usize).min((n - 1) / 2);
    (sorted[k], sorted[n - 1 - k])
}

/// The number of independent values that determine the median as precisely as these consecutive
/// values: neighbours in time share the state of the machine.
///
/// It is derived from two estimates: by how much the means of blocks of ranks scatter more than
/// those of independent values would, and their correlation with the neighbouring blocks. The
/// correlation is that of a first-order autoregression, corrected for the bias of short series
/// (Kendall 1954; Marriott and Pope 1954). The block length with the strongest dependence counts.
fn independent(in_order: &[f64]) -> f64 {
    let n = in_order.len();
    if n < FEW {
        return n as f64;
    }
    let ranks = ranks(in_order);
    let mean = (n as f64 - 1.0) / 2.0;
    let squares: f64 = ranks.iter().map(|rank| (rank - mean) * (rank - mean)).sum();
    if squares == 0.0 {
        return n as f64;
    }
    let variance = squares / n as f64;
    // Slow changes below the noise show in means of several timings, not in neighbouring timings.
    let of_blocks = |length: usize| -> f64 {
        let means: Vec<f64> = ranks
            .chunks_exact(length)
            .map(|block| block.iter().map(|rank| rank - mean).sum::<f64>() / length as f64)
            .collect();
        let count = means.len() as f64;
        let squares: f64 = means.iter().map(|block| block * block).sum();
        let more = length as f64 * squares / (count - 1.0) / variance;
        let found = means.iter().zip(&means[1..]).map(|(a, b)| a * b).sum::<f64>() / squares;
        // A correlation that independent values could have by chance counts as zero.
        let next = if found > 0.5 / count.sqrt() { found + (1.0 + 3.0 * found) / count } else { 0.0 };
        let next = next.min(0.98);
        let all = more * (1.0 + next) / (1.0 - next);
        if squares > 0.0 && (length == 1 || all > CHANCE) { all } else { 1.0 }
    };
    let lengths = [1, 2, 4, 8, n / PARTS].into_iter().filter(|length| n / length >= PARTS);
    let most = lengths.map(of_blocks).fold(1.0, f64::max);
    n as f64 / most
}

/// Ranks from 0; equal values have their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let same = order[from..].iter().take_while(|at| values[**at] == values[order[from]]).count();
        let rank = from as f64 + (same as f64 - 1.0) / 2.0;
        order[from..from + same].iter().for_each(|at| ranks[*at] = rank);
        from += same;
    }
    ranks
}

/// Tests whether sorted values fall into two groups, with the cut that leaves the least scatter (in
/// logarithms).
fn two_speeds(sorted: &[f64]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = sorted.iter().filter(|time| **time > 0.0).map(|time| time.ln()).collect();
    let n = logs.len();
    if n < 12 {
        return None;
    }
    // Each group has at least a sixth of the values; fewer are outliers.
    let least = n.div_ceil(6);
    let sums: Vec<(f64, f64)> = std::iter::once((0.0, 0.0))
        .chain(logs.iter().scan((0.0, 0.0), |sums, log| {
            *sums = (sums.0 + log, sums.1 + log * log);
            Some(*sums)
        }))
        .collect();
    let scatter = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let cut = (least..=n - least)
        .min_by(|a, b| (scatter(0, *a) + scatter(*a, n)).total_cmp(&(scatter(0, *b) + scatter(*b, n))))?;
    let within = ((scatter(0, cut) + scatter(cut, n)) / n as f64).sqrt();
    let apart = quantile(&logs[cut..], 0.5) - quantile(&logs[..cut], 0.5);
    // The groups must be separated by a gap: one bell-shaped group cut in half has none.
    let gap = logs[cut] - logs[cut - 1];
    let two = apart > NOTABLE.ln() && apart > 5.0 * within && gap > within;
    two.then(|| (apart.exp(), (n - cut) as f64 / n as f64))
}

/// The medians of consecutive periods of `length` values.
fn periods(ratios: &[f64], length: usize) -> Vec<f64> {
    let median = |chunk: &[f64]| {
        let mut sorted = chunk.to_vec();
        let (_, middle, _) = sorted.select_nth_unstable_by(length / 2, f64::total_cmp);
        *middle
    };
    ratios.chunks_exact(length).map(median).collect()
}

/// The differences between periods: the variance of their levels (logarithms relative to the
/// points' medians), and the distances of the slow and the fast periods from the middle.
struct Levels {
    spread: f64,
    slower: f64,
    faster: f64,
}

impl Levels {
    fn of(ratios: &[f64], length: usize) -> Self {
        let mut levels = periods(ratios, length);
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        let spread = levels.iter().map(|level| (level - mean) * (level - mean)).sum::<f64>();
        let spread = spread / levels.len() as f64;
        levels.sort_by(f64::total_cmp);
        let [fast, middle, slow] = [0.05, 0.5, 0.95].map(|at| quantile(&levels, at));
        Self { spread, slower: slow - middle, faster: middle - fast }
    }
}

/// Tests whether an intermittent load has disturbed a run; `points` holds the timings of all
/// points.
///
/// Every timing is divided by its point's median, and periods of the run are compared with each
/// other. If the order of timings had no effect, shuffled timings would scatter as much from period
/// to period. The run is contaminated if 99 shuffled copies all scatter less and the slowest (or
/// fastest) twentieth of the periods is more than 10 % from the middle, after subtracting the
/// scatter of the shuffled copies. Virtual machines vary in speed by a tenth without a load; their
/// medians still hold for the whole run within the promised precision. A load that is constant, or
/// changes faster than periods, shows in single timings: more than a tenth of them take half as
/// long again as the fastest quarter of their point.
#[must_use]
pub fn contaminated(points: &[Vec<Timing>]) -> Option<Contaminated> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    let mut far = 0;
    for timings in points.iter().filter(|timings| timings.len() >= 4) {
        let mut sorted: Vec<f64> = timings.iter().map(|timing| timing.seconds).collect();
        sorted.sort_by(f64::total_cmp);
        let [usual, fast] = [0.5, 0.25].map(|at| quantile(&sorted, at));
        if fast > 0.0 {
            far += sorted.iter().filter(|time| **time > FAR * fast).count();
            all.extend(
                timings.iter().filter(|t| t.seconds > 0.0).map(|t| (t.moment, (t.seconds / usual).ln())),
            );
        }
    }
    if all.len() < 4 * PERIODS[0] {
        return None;
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ratios: Vec<f64> = all.into_iter().map(|(_, ratio)| ratio).collect();
    let count = ratios.len();
    // Long periods show small slowdowns, short ones a load that soon ends.
    for period in PERIODS {
        let here = Levels::of(&ratios, period);
        if here.slower.max(here.faster) <= PROMISED.ln() {
            continue;
        }
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut shuffled = ratios.clone();
        let (mut largest, mut noise) = (0.0f64, [0.0; 2]);
        for _ in 0..SHUFFLES {
            shuffled.shuffle(&mut random);
            let chance = Levels::of(&shuffled, period);
            largest = largest.max(chance.spread);
            noise[0] += chance.slower / SHUFFLES as f64;
            noise[1] += chance.faster / SHUFFLES as f64;
        }
        // The scatter of noise and that of periods are independent.
        let without = |all: f64, noise: f64| (all * all - noise * noise).max(0.0).sqrt();
        let (slower, faster) = (without(here.slower, noise[0]), without(here.faster, noise[1]));
        let slowdown = slower.max(faster).exp();
        // The margin is needed because by chance one run in a hundred exceeds the largest of 99.
        if slowdown > PROMISED && here.spread > MARGIN * largest {
            let than = if slower > faster { "slower" } else { "faster" };
            let reason = format!(
                "all points together were {slowdown:.2} times {than} than their medians in some periods: \
                 another program came and went, or a virtual machine changed"
            );
            return Some(Contaminated { reason, slowdown });
        }
    }
    if far as f64 > MANY_FAR * count as f64 {
        let share = 100.0 * far as f64 / count as f64;
        let reason =
            format!("{share:.0} % of the timings took half as long again as usual: others use the cores");
        return Some(Contaminated { reason, slowdown: FAR });
    }
    None
}
