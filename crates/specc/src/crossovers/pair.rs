//! Two ways along one input.

use std::collections::BTreeSet;

use strata_interchange::emit::thresholds::FLAT;
use strata_model::set::Sensitivity;

use crate::competition::Competition;
use crate::crossings::{Scale, Segment, Way};

/// Values all over the range, and about the place where the choice changes.
const SPREAD: usize = 256;
const NEAR: usize = 128;

/// The values about that place lie within this factor of it.
const REACH: f64 = 4.0;

/// Places that are as near each other are one.
const SAME: f64 = 2e-3;

/// Two ways, one of which gives place to the other.
pub(super) struct Pair<'a> {
    pub(super) competition: &'a Competition,
    pub(super) ways: [&'a Way; 2],
    /// Where the choice changes.
    at: f64,
    scale: Scale,
    /// By what the expected time of each is multiplied when they are ranked: the incumbent's by
    /// less.
    ranks: [f64; 2],
    kept_for: Option<f64>,
    /// The input's values at which both predict, rising, with what they predict.
    pub(super) points: Vec<Point>,
}

/// What both ways predict at one value.
pub(super) struct Point {
    pub(super) at: f64,
    /// Expected times.
    seconds: [f64; 2],
    pub(super) sensitivity: [Sensitivity; 2],
}

impl Point {
    /// The logarithm of the second's expected time over the first's: positive where the first is
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

    /// From which value on the second way is taken: where both take equally long, if that lies
    /// between these values, else where the choice changes. Values of a parameter that tie, and ways
    /// that are left out between, move the latter away from the former.
    pub(super) fn place(&self, low: f64, high: f64) -> f64 {
        let root = self.root().filter(|root| (low..=high).contains(root) && *root > low);
        // What interpolation cannot tell apart the choice itself does.
        let is_near = |root: &f64| {
            let apart = (root - self.at).abs();
            apart <= SAME * self.at.abs() || self.scale.whole && apart <= 1.0
        };
        root.filter(|root| !is_near(root)).unwrap_or(self.at)
    }

    /// The places of the fitted models that both times come from.
    pub(super) fn models(&self) -> BTreeSet<usize> {
        let all = self.points.iter().flat_map(|point| &point.sensitivity);
        all.flat_map(|sensitivity| sensitivity.parts.iter().map(|(place, _)| *place)).collect()
    }

    /// The gain for which the incumbent is left, if one of the ways is it.
    pub(super) fn kept_for(&self) -> Option<f64> {
        self.kept_for
    }

    /// The value nearest to where the choice changes from which on the second way ranks first.
    pub(super) fn root(&self) -> Option<f64> {
        match self.crossing(&|point| point.ratio()) {
            Found::At(value) => Some(value),
            Found::Below | Found::Above => None,
        }
    }

    /// The same by other ratios of the times than those of the models.
    pub(super) fn crossing(&self, ratio: &dyn Fn(&Point) -> f64) -> Found {
        let bias = (self.ranks[1] / self.ranks[0]).ln();
        let value = |place: usize| ratio(&self.points[place]) + bias;
        let last = self.points.len().saturating_sub(1);
        let middle = self.points.partition_point(|point| point.at < self.at).min(last);
        // The nearest first.
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

    /// A value as far from `to` as `value` is from `from`.
    pub(super) fn moved(&self, value: f64, from: f64, to: f64) -> f64 {
        let moved = if self.scale.is_wide() { value / from * to } else { value - from + to };
        self.rounded(moved)
    }

    /// The least value that can be, from which on it holds.
    fn rounded(&self, value: f64) -> f64 {
        // What is whole but for the rounding of a logarithm is whole.
        if self.scale.whole { (value - 1e-9 * value.abs()).ceil() } else { value }
    }

    /// What half of this value and twice this value lose at most, as constants in its place.
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

    /// Between which values a constant loses less than [`FLAT`]; `None` where this one does not.
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

/// Where a crossing is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// Here.
    At(f64),
    /// Below the range.
    Below,
    /// Above the range.
    Above,
}
