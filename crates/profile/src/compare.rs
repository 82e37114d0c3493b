//! Compares a call between other work on fresh data with two variants, at a few points of each
//! model: at once after another call, and on the same data again. The ratios show how far a
//! benchmark in a loop would differ.
//!
//! The variants are timed right after a timing of the same point, so that slow periods of the
//! machine affect both. They use a small share of the budget.

use std::collections::BTreeMap;

use strata_model::samples::Ratio;

use super::schedule::PointIndex;
use super::stats::{median, relative_half_width};

/// How a timed call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// After other work, on fresh data.
    BetweenOtherWork,
    /// At once after another call, on fresh data.
    Hot,
    /// At once after so many other calls on the same data.
    Replayed(u32),
}

/// Points of each model at which calls are compared.
const POINTS: usize = 6;

/// Timings of each variant: with so many, the interval of the median excludes two on either side,
/// such as those of a pool whose threads had to wait for a core.
const TIMES: usize = 15;

/// The share of the budget that comparing may use.
const SHARE: f64 = 0.03;

/// The most calls on the same data before a timed one, and the most seconds that they may take: a
/// branch predictor learns short data within a few calls.
const MOST_REPLAYS: f64 = 8.0;
const REPLAYING: f64 = 1e-3;

/// A timing that takes part in a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) seconds: f64,
    /// Whether it measures the task alone.
    pub(crate) clean: bool,
    /// Seconds for a timing with its setup, without other work.
    pub(crate) cost: f64,
    /// Whether the same data can be made again.
    pub(crate) replayable: bool,
}

/// The ratios of one point, in the order in which they were taken.
#[derive(Debug, Default)]
struct Ratios {
    taken: usize,
    hot: Vec<f64>,
    replayed: Vec<f64>,
}

/// The variant to time next, and the timing that it is compared with.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: PointIndex,
    call: Call,
    with: Compared,
}

/// Compares calls on node 0's behalf.
#[derive(Debug)]
pub(crate) struct Comparing {
    /// Seconds for one point.
    allowance: f64,
    /// Seconds left for all.
    left: f64,
    /// By model.
    points: Vec<BTreeMap<usize, Ratios>>,
    waiting: Option<Waiting>,
}

impl Comparing {
    /// Compares at some points of so many models, within a run of `budget` seconds.
    pub(crate) fn new(models: usize, budget: f64) -> Self {
        let left = SHARE * budget;
        Self {
            allowance: left / (POINTS * models.max(1)) as f64,
            left,
            points: (0..models).map(|_| BTreeMap::new()).collect(),
            waiting: None,
        }
    }

    /// The variant to time now, if any, before the next timing of the schedule.
    pub(crate) fn next(&self) -> Option<(PointIndex, Call)> {
        self.waiting.map(|waiting| (waiting.place, waiting.call))
    }

    /// Notes a timing of the schedule: if its point takes part in comparisons, a variant of the
    /// same call is next. `is_hot`: the call followed another one at once.
    pub(crate) fn scheduled(&mut self, place: PointIndex, is_hot: bool, timing: Compared) {
        self.waiting = None;
        if !timing.clean || (is_hot && !timing.replayable) {
            return;
        }
        let points = &mut self.points[place.model];
        let known = points.get(&place.point).map(|ratios| ratios.taken);
        let more = known.map_or(points.len() < POINTS, |taken| taken < TIMES);
        // One timing of each variant and the calls before it.
        let once = 3.0 * timing.cost + if timing.replayable { timing.cost + REPLAYING } else { 0.0 };
        let all = once * TIMES as f64;
        if !more || once > self.left || (known.is_none() && all > self.allowance) {
            return;
        }
        points.entry(place.point).or_default().taken += 1;
        let call = if is_hot { replaying(timing.cost) } else { Call::Hot };
        self.waiting = Some(Waiting { place, call, with: timing });
    }

    /// Notes the timing that [`next`](Self::next) asked for, which took `spent` seconds of the
    /// budget.
    pub(crate) fn compared(&mut self, timing: Compared, spent: f64) {
        self.left -= spent;
        let Some(Waiting { place, call, with }) = self.waiting.take() else { return };
        if !timing.clean {
            return;
        }
        let ratio = with.seconds / timing.seconds;
        let ratios = self.points[place.model].entry(place.point).or_default();
        if ratio.is_finite() && ratio > 0.0 {
            if call == Call::Hot { &mut ratios.hot } else { &mut ratios.replayed }.push(ratio);
        }
        if call == Call::Hot && timing.replayable {
            self.waiting = Some(Waiting { place, call: replaying(timing.cost), with: timing });
        }
    }

    /// The ratio of a point's time to the same call hot, and of the hot call to the same data
    /// again.
    pub(crate) fn ratios(&self, place: PointIndex) -> [Option<Ratio>; 2] {
        let Some(ratios) = self.points[place.model].get(&place.point) else { return [None; 2] };
        [&ratios.hot, &ratios.replayed].map(|all| {
            // A single ratio has no spread.
            (all.len() > 1)
                .then(|| Ratio { median: short(median(all)), spread: short(relative_half_width(all)) })
        })
    }
}

fn replaying(cost: f64) -> Call {
    Call::Replayed((REPLAYING / cost).clamp(1.0, MOST_REPLAYS) as u32)
}

/// To three digits, which keeps files short.
fn short(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: PointIndex = PointIndex { model: 0, point: 4 };

    fn timing(seconds: f64, replayable: bool) -> Compared {
        Compared { seconds, clean: true, cost: 1e-5, replayable }
    }

    #[test]
    fn the_same_call_is_timed_hot_and_replayed_right_after() {
        let mut comparing = Comparing::new(1, 60.0);
        for _ in 0..20 {
            assert_eq!(comparing.next(), None);
            comparing.scheduled(AT, false, timing(6e-6, true));
            let Some((place, call)) = comparing.next() else { break };
            assert_eq!((place, call), (AT, Call::Hot));
            comparing.compared(timing(3e-6, true), 1e-4);
            assert_eq!(comparing.next(), Some((AT, Call::Replayed(8))));
            comparing.compared(timing(1e-6, true), 1e-4);
        }
        assert_eq!(comparing.points[0][&4].hot.len(), TIMES);
        let ratio = |median| Some(Ratio { median, spread: 0.0 });
        assert_eq!(comparing.ratios(AT), [ratio(2.0), ratio(3.0)]);
        assert_eq!(comparing.ratios(PointIndex { model: 0, point: 1 }), [None; 2]);
    }

    #[test]
    fn hot_tasks_are_only_replayed_and_what_cannot_be_is_not() {
        let mut comparing = Comparing::new(1, 60.0);
        comparing.scheduled(AT, true, timing(1e-6, false));
        assert_eq!(comparing.next(), None);
        comparing.scheduled(AT, true, timing(1e-6, true));
        assert_eq!(comparing.next(), Some((AT, Call::Replayed(8))));
        comparing.scheduled(AT, false, timing(1e-6, false));
        comparing.compared(timing(1e-6, false), 1e-4);
        assert_eq!(comparing.next(), None);
        comparing.scheduled(AT, false, Compared { clean: false, ..timing(1e-6, true) });
        assert_eq!(comparing.next(), None);
    }

    #[test]
    fn it_stays_within_its_share_of_the_budget() {
        let mut comparing = Comparing::new(2, 10.0);
        let mut spent = 0.0;
        for step in 0..10_000 {
            let (place, cost) = (PointIndex { model: step % 2, point: step / 2 % 40 }, 1e-4);
            comparing.scheduled(place, false, Compared { cost, ..timing(5e-5, true) });
            while let Some((_, call)) = comparing.next() {
                let calls = if let Call::Replayed(calls) = call { calls } else { 1 };
                let seconds = cost * f64::from(calls + 1);
                spent += seconds;
                comparing.compared(timing(5e-5, true), seconds);
            }
        }
        assert!(spent > 0.0 && spent <= SHARE * 10.0, "{spent}");
        comparing.scheduled(AT, false, Compared { cost: 1.0, ..timing(1.0, true) });
        assert_eq!(comparing.next(), None, "too costly");
    }
}
