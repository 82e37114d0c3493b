//! Two ways compared along one input.

use std::collections::BTreeSet;

use strata_interchange::emit::thresholds::FLAT;
use strata_model::set::Sensitivity;

use crate::competition::Competition;
use crate::thresholds::places::{Scale, Segment, Way};

/// The number of values over the whole range, and of values about the change.
const SPREAD: usize = 256;
const NEAR: usize = 128;

/// The values about the change lie within this factor of it.
const REACH: f64 = 4.0;

/// Places within this relative distance are the same.
const SAME: f64 = 2e-3;

/// Two ways between which the choice changes.
pub(super) struct Pair<'a> {
    pub(super) competition: &'a Competition,
    pub(super) ways: [&'a Way; 2],
    /// Where the choice changes.
    at: f64,
    scale: Scale,
    /// The factors on both expected times by which the ways are ranked: below one for the
    /// incumbent.
    ranks: [f64; 2],
    kept_for: Option<f64>,
    /// The input's values at which both ways have predictions, rising.
    pub(super) points: Vec<Point>,
}

/// The predictions of both ways at one value.
pub(super) struct Point {
    pub(super) at: f64,
    /// Expected times.
    seconds: [f64; 2],
    pub(super) sensitivity: [Sensitivity; 2],
}

impl Point {
    /// The logarithm of the second expected time over the first: positive if the first way is
    /// faster.
    pub(super) fn ratio(&self) -> f64 {
        (self.seconds[1] / self.seconds[0]).ln()
    }
}

impl<'a> Pair<'a> {
    pub(super) fn new(
        competition: &'a Competition,
        (inputs, by): (&[f64], usize),
        scale: Scale,
        (from, to): (&'a Segment, &'a Segment),
    ) -> Self {
        let ways = [&from.way, &to.way];
        let incumbent = competition.incumbent();
        let is_kept = |way: &Way| match &incumbent {
            Some((candidate, parameters, gain)) => {
                (way.candidate == *candidate && way.taken == *parameters).then_some(*gain)
            }
            None => None,
        };
        let kept = ways.map(is_kept);
        let at = to.from;
        let mut values = scale.spread(SPREAD);
        if at > 0.0 {
            let about =
                Scale { low: (at / REACH).max(scale.low), high: (at * REACH).min(scale.high), ..scale };
            values.extend(about.spread(NEAR));
        }
        values.push(at);
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut here = inputs.to_vec();
        let points = values.into_iter().filter_map(|at| {
            here[by] = at;
            let seconds = |way: &Way| competition.expected(way.candidate, &here, &way.taken);
            let sensitivity = |way: &Way| competition.sensitivity(way.candidate, &here, &way.taken);
            let [first, second] = ways;
            let point = Point {
                at,
                seconds: [seconds(first)?, seconds(second)?],
                sensitivity: [sensitivity(first)?, sensitivity(second)?],
            };
            (point.seconds.iter().all(|seconds| *seconds > 0.0)).then_some(point)
        });
        Self {
            competition,
            ways,
            at,
            scale,
            ranks: kept.map(|gain| 1.0 - gain.unwrap_or(0.0)),
            kept_for: kept[0].or(kept[1]),
            points: points.collect(),
        }
    }

    /// The least value at which the second way is taken: the place of equal times if it lies
    /// between `low` and `high`, else the change of the choice. The two differ if values of a
    /// parameter tie, or if a way between was left out.
    pub(super) fn place(&self, low: f64, high: f64) -> f64 {
        let root = self.root().filter(|root| (low..=high).contains(root) && *root > low);
        // Where interpolation cannot separate the two, the change of the choice is more exact.
        let is_near = |root: &f64| {
            let apart = (root - self.at).abs();
            apart <= SAME * self.at.abs() || self.scale.whole && apart <= 1.0
        };
        root.filter(|root| !is_near(root)).unwrap_or(self.at)
    }

    /// The indices of the fitted models behind both times.
    pub(super) fn models(&self) -> BTreeSet<usize> {
        let all = self.points.iter().flat_map(|point| &point.sensitivity);
        all.flat_map(|sensitivity| sensitivity.parts.iter().map(|(place, _)| *place)).collect()
    }

    /// The gain above which the incumbent gives way, if one of the ways is the incumbent.
    pub(super) fn kept_for(&self) -> Option<f64> {
        self.kept_for
    }

    /// The value, nearest to the change of the choice, above which the second way ranks first.
    pub(super) fn root(&self) -> Option<f64> {
        match self.crossing(&|point| point.ratio()) {
            Found::At(value) => Some(value),
            Found::Below | Found::Above => None,
        }
    }

    /// The same with other ratios of the times than those of the models.
    pub(super) fn crossing(&self, ratio: &dyn Fn(&Point) -> f64) -> Found {
        let bias = (self.ranks[1] / self.ranks[0]).ln();
        let value = |place: usize| ratio(&self.points[place]) + bias;
        let last = self.points.len().saturating_sub(1);
        let middle = self.points.partition_point(|point| point.at < self.at).min(last);
        // The nearest pair of points is tried first.
        for distance in 0..=last {
            let below = middle.checked_sub(distance + 1);
            let above = (middle + distance < last).then_some(middle + distance);
            for place in [below, above].into_iter().flatten() {
                let (here, next) = (value(place), value(place + 1));
                if here > 0.0 && next <= 0.0 {
                    let share = here / (here - next);
                    let (low, high) = (self.points[place].at, self.points[place + 1].at);
                    return Found::At(self.rounded(self.between(low, high, share)));
                }
            }
        }
        if self.points.is_empty() || value(middle) <= 0.0 { Found::Below } else { Found::Above }
    }

    fn between(&self, low: f64, high: f64, share: f64) -> f64 {
        if self.scale.is_wide() { low * (high / low).powf(share) } else { low + share * (high - low) }
    }

    /// Moves `value` by the distance (in wide ranges, the factor) from `from` to `to`.
    pub(super) fn moved(&self, value: f64, from: f64, to: f64) -> f64 {
        let moved = if self.scale.is_wide() { value / from * to } else { value - from + to };
        self.rounded(moved)
    }

    /// The least possible value of the input at or above this one.
    fn rounded(&self, value: f64) -> f64 {
        // A value within rounding of a whole number counts as that number.
        if self.scale.whole { (value - 1e-9 * value.abs()).ceil() } else { value }
    }

    /// The greatest losses if half this value, or twice this value, is used as the threshold.
    pub(super) fn off_by_two(&self, at: f64) -> [Option<f64>; 2] {
        let (half, twice) = (at / 2.0, at * 2.0);
        let most = |low: f64, high: f64, sign: f64| {
            let inside = self.points.iter().filter(|point| (low..=high).contains(&point.at));
            let losses = inside.map(|point| (sign * point.ratio()).exp() - 1.0);
            losses
                .fold(None, |most: Option<f64>, loss| Some(most.map_or(loss.max(0.0), |most| most.max(loss))))
        };
        [
            (at > 0.0 && half >= self.scale.low).then(|| most(half, at, 1.0)).flatten(),
            (at > 0.0 && twice <= self.scale.high).then(|| most(at, twice, -1.0)).flatten(),
        ]
    }

    /// The range of thresholds that lose less than [`FLAT`]; `None` if the threshold `at` does not.
    pub(super) fn flat(&self, at: f64) -> Option<(f64, f64)> {
        let most = FLAT.ln_1p();
        let middle = self.points.iter().rposition(|point| point.at <= at)?;
        let end = |places: &mut dyn Iterator<Item = usize>, sign: f64| {
            let mut last = self.points[middle].at;
            for place in places {
                if sign * self.points[place].ratio() >= most {
                    return last;
                }
                last = self.points[place].at;
            }
            last
        };
        let low = end(&mut (0..middle).rev(), 1.0);
        let high = end(&mut (middle + 1..self.points.len()), -1.0);
        (self.points[middle].ratio().abs() < most).then_some((low, high))
    }
}

/// The place of a crossing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// At this value.
    At(f64),
    /// Below the range.
    Below,
    /// Above the range.
    Above,
}
