//! What to time next, and when to stop: how the budget is spent.
//!
//! First every point is timed once, which also tells what it costs; then each is brought to its `repeat` timings, and
//! uncertain ones to more as long as they cost next to nothing; what is left goes to the points whose medians are least
//! certain. Among the models the one that has used the least time is
//! always next, so a costly model cannot starve a cheap one, and what cheap ones leave over goes to the others. A model
//! begins a new point only while its share of the remaining time can pay the repeats of all it has begun: a short
//! budget gives fewer points, not worse ones.
//!
//! Nothing here looks at a clock: the caller says how much time has passed. Node 0 alone decides.

use super::stats::{median, relative_half_width};

/// Timings after which a point is left alone, however uncertain.
pub(crate) const MAX_TIMINGS: usize = 150;

/// Timings that an uncertain point gets with its repeats, if it is cheap…
const CHEAP_TIMINGS: usize = 15;

/// …which it is while it has used less than this part of its even share of the budget.
const CHEAP_PART: f64 = 0.1;

/// A timing costs next to nothing up to this part of a point's even share of the budget.
const SWEEP_PART: f64 = 0.01;

/// Points of each model timed before the run's length is estimated.
const PROBES: usize = 3;

/// The rules of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Seconds for everything.
    pub(crate) budget: f64,
    /// Relative half width of a median that is good enough.
    pub(crate) goal: f64,
    /// Timings that a point gets while there is time, even if they agree: few may agree by chance.
    pub(crate) least: usize,
    /// Whether preempted timings are set aside; senseless where nodes outnumber cores and all are.
    pub(crate) discard: bool,
}

/// The timings of one point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timings {
    clean: Vec<f64>,
    preempted: Vec<f64>,
    /// Mean wall time of one timing with its setup and cleanup, in this run.
    cost: Option<f64>,
    costed: u32,
    width: f64,
    /// Whether it had all that is its due when it was last timed.
    finished: bool,
}

impl Timings {
    fn total(&self) -> usize {
        self.clean.len() + self.preempted.len()
    }

    fn uncertain(&self, rules: &Rules) -> bool {
        self.width > rules.goal || self.total() < rules.least
    }

    /// The timings that count: the undisturbed ones, unless they are too few.
    fn used(&self, repeat: usize, discard: bool) -> Vec<f64> {
        let mut used = self.clean.clone();
        if !discard || used.len() < repeat {
            used.extend(&self.preempted);
        }
        used
    }
}

/// What a point's timings say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) seconds: f64,
    pub(crate) repeats: u32,
    pub(crate) spread: f64,
    pub(crate) preempted: u32,
}

#[derive(Debug)]
struct Work {
    order: Vec<usize>,
    points: Vec<Timings>,
    repeat: usize,
    rules: Rules,
    /// Seconds up to which a point is cheap.
    cheap: f64,
    /// Wall time used on this model in this run.
    spent: f64,
    /// Next in `order` that may not have been begun.
    begin: usize,
    /// Where in `order` the search for an unfinished point goes on.
    round: usize,
    begun: usize,
    unfinished: usize,
    cost_sum: f64,
    cost_count: usize,
}

/// Which point of which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) model: usize,
    pub(crate) point: usize,
}

/// Spends the budget.
#[derive(Debug)]
pub(crate) struct Schedule {
    rules: Rules,
    models: Vec<Work>,
    /// Whether the last point was one of a sweep over the cheap ones.
    sweeping: bool,
    /// Where the sweep stands.
    swept: Place,
    /// Seconds up to which a timing costs next to nothing.
    nothing: f64,
}

impl Schedule {
    /// `orders` holds the order of each model's points, `repeats` its least number of timings a point.
    pub(crate) fn new(orders: &[Vec<usize>], repeats: &[u32], rules: Rules) -> Self {
        let points: usize = orders.iter().map(Vec::len).sum();
        let models = orders
            .iter()
            .zip(repeats)
            .map(|(order, repeat)| Work {
                order: order.clone(),
                points: vec![Timings { width: f64::INFINITY, ..Timings::default() }; order.len()],
                repeat: (*repeat).max(1) as usize,
                rules,
                cheap: CHEAP_PART * rules.budget / points.max(1) as f64,
                spent: 0.0,
                begin: 0,
                round: 0,
                begun: 0,
                unfinished: 0,
                cost_sum: 0.0,
                cost_count: 0,
            })
            .collect();
        let nothing = SWEEP_PART * rules.budget / points.max(1) as f64;
        Self { rules, models, sweeping: false, swept: Place { model: 0, point: 0 }, nothing }
    }

    /// The point to time next when `elapsed` seconds of the budget are gone; `None` ends the run.
    pub(crate) fn next(&mut self, elapsed: f64) -> Option<Place> {
        if elapsed >= self.rules.budget {
            return None;
        }
        // A few points of every model come first: they tell how long it all will take.
        if let Some(place) =
            self.least_spent(|work, _| (work.begun < PROBES).then(|| work.fresh()).flatten(), elapsed)
        {
            return Some(place);
        }
        let busy = self.models.iter().filter(|work| work.has_duties()).count().max(1);
        let share = (self.rules.budget - elapsed) / busy as f64;
        if let Some(place) = self.least_spent(|work, left| work.duty(share, left), elapsed) {
            return Some(place);
        }
        let widest = self.least_spent(|work, left| work.widest(&self.rules, left), elapsed)?;
        self.sweeping = !self.sweeping;
        let swept = self.sweeping.then(|| self.sweep()).flatten();
        swept.or(Some(widest))
    }

    /// The next of all points that cost next to nothing and may have more timings.
    fn sweep(&mut self) -> Option<Place> {
        let all: usize = self.models.iter().map(|work| work.points.len()).sum();
        for _ in 0..all {
            let Place { model, point } = self.swept;
            self.swept = if point + 1 < self.models[model].points.len() {
                Place { model, point: point + 1 }
            } else {
                Place { model: (model + 1) % self.models.len(), point: 0 }
            };
            let work = &self.models[model];
            let open =
                work.points.get(point).is_some_and(|timings| (1..MAX_TIMINGS).contains(&timings.total()));
            if open && work.cost(point) <= self.nothing {
                return Some(Place { model, point });
            }
        }
        None
    }

    fn least_spent(&self, wanted: impl Fn(&Work, f64) -> Option<usize>, elapsed: f64) -> Option<Place> {
        let left = self.rules.budget - elapsed;
        let mut best: Option<(f64, Place)> = None;
        for (model, work) in self.models.iter().enumerate() {
            if best.is_some_and(|(spent, _)| spent <= work.spent) {
                continue;
            }
            if let Some(point) = wanted(work, left) {
                best = Some((work.spent, Place { model, point }));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Takes in one timing of `seconds` that cost `cost` seconds of the budget.
    pub(crate) fn record(&mut self, place: Place, seconds: f64, preempted: bool, cost: f64) {
        let work = &mut self.models[place.model];
        work.spent += cost;
        work.cost_sum += cost;
        work.cost_count += 1;
        let timings = &mut work.points[place.point];
        timings.costed += 1;
        let mean = timings.cost.unwrap_or(0.0);
        timings.cost = Some(mean + (cost - mean) / f64::from(timings.costed));
        work.add(place.point, seconds, preempted);
        work.round = (work.round + 1) % work.order.len().max(1);
    }

    /// Takes in a timing of an earlier run, which cost this one nothing.
    pub(crate) fn restore(&mut self, place: Place, seconds: f64, preempted: bool) {
        self.models[place.model].add(place.point, seconds, preempted);
    }

    /// What is known of a point; `None` before its first timing.
    pub(crate) fn summary(&self, place: Place) -> Option<Summary> {
        let work = &self.models[place.model];
        let timings = &work.points[place.point];
        let used = timings.used(work.repeat, work.rules.discard);
        (!used.is_empty()).then(|| Summary {
            seconds: median(&used),
            repeats: used.len() as u32,
            spread: relative_half_width(&used),
            preempted: timings.preempted.len() as u32,
        })
    }

    /// Points with at least one timing, and all points.
    pub(crate) fn begun(&self) -> (usize, usize) {
        self.models.iter().fold((0, 0), |(begun, all), work| (begun + work.begun, all + work.points.len()))
    }

    /// Of each model: points begun, points in all.
    pub(crate) fn begun_by_model(&self) -> Vec<(usize, usize)> {
        self.models.iter().map(|work| (work.begun, work.points.len())).collect()
    }

    /// Whether enough has been timed for [`Self::remaining`] to mean something.
    pub(crate) fn probed(&self) -> bool {
        self.models.iter().all(|work| work.begun >= PROBES.min(work.points.len()))
    }

    /// Seconds still needed to bring every point to its repeats, as far as costs are known.
    pub(crate) fn remaining(&self) -> f64 {
        self.models
            .iter()
            .map(|work| work.committed() + work.new_points() * work.repeat as f64 * work.mean_cost())
            .sum()
    }
}

impl Work {
    fn mean_cost(&self) -> f64 {
        if self.cost_count == 0 { 0.0 } else { self.cost_sum / self.cost_count as f64 }
    }

    fn cost(&self, point: usize) -> f64 {
        self.points[point].cost.unwrap_or_else(|| self.mean_cost())
    }

    fn new_points(&self) -> f64 {
        (self.points.len() - self.begun) as f64
    }

    fn add(&mut self, point: usize, seconds: f64, preempted: bool) {
        let was_begun = self.points[point].total() > 0;
        let was_finished = self.points[point].finished;
        let timings = &mut self.points[point];
        if preempted { &mut timings.preempted } else { &mut timings.clean }.push(seconds);
        timings.width = relative_half_width(&timings.used(self.repeat, self.rules.discard));
        let finished = self.finished(point);
        self.points[point].finished = finished;
        // A further timing may also make a median less certain than it was.
        match (was_begun && !was_finished, !finished) {
            (false, true) => self.unfinished += 1,
            (true, false) => self.unfinished -= 1,
            _ => {}
        }
        self.begun += usize::from(!was_begun);
        while self.order.get(self.begin).is_some_and(|point| self.points[*point].total() > 0) {
            self.begin += 1;
        }
    }

    /// Enough undisturbed timings, or so many tries that waiting for them is vain; and certain, or no longer cheap.
    fn finished(&self, point: usize) -> bool {
        let timings = &self.points[point];
        let counted = if self.rules.discard { timings.clean.len() } else { timings.total() };
        let repeated = counted >= self.repeat || timings.total() >= 2 * self.repeat;
        let spent = f64::from(timings.costed) * self.cost(point);
        repeated
            && (!timings.uncertain(&self.rules) || timings.total() >= CHEAP_TIMINGS || spent >= self.cheap)
    }

    /// The next point that has not been begun.
    fn fresh(&self) -> Option<usize> {
        self.order.get(self.begin).copied()
    }

    fn has_duties(&self) -> bool {
        self.unfinished > 0 || self.begun < self.points.len()
    }

    /// Seconds that the repeats of the points already begun will need.
    fn committed(&self) -> f64 {
        if self.unfinished == 0 {
            return 0.0;
        }
        self.points
            .iter()
            .enumerate()
            .filter(|(_, timings)| timings.total() > 0)
            .map(|(point, timings)| self.repeat.saturating_sub(timings.total()) as f64 * self.cost(point))
            .sum()
    }

    /// A new point while the share pays for it and its repeats, else a repeat of a point begun.
    fn duty(&self, share: f64, left: f64) -> Option<usize> {
        let affordable = || self.committed() + self.repeat as f64 * self.mean_cost() <= share;
        if let Some(point) = self.fresh()
            && affordable()
        {
            return Some(point);
        }
        if self.unfinished == 0 {
            return None;
        }
        let count = self.order.len();
        (0..count).map(|step| self.order[(self.round + step) % count]).find(|&point| {
            self.points[point].total() > 0 && !self.points[point].finished && self.cost(point) <= left
        })
    }

    /// The point whose median is least certain.
    fn widest(&self, rules: &Rules, left: f64) -> Option<usize> {
        (0..self.points.len())
            .filter(|&point| {
                let timings = &self.points[point];
                timings.uncertain(rules)
                    && (1..MAX_TIMINGS.max(self.repeat)).contains(&timings.total())
                    && self.cost(point) <= left
            })
            .max_by(|a, b| self.points[*a].width.total_cmp(&self.points[*b].width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::spread;
    use proptest::prelude::*;

    fn orders(sizes: &[usize]) -> Vec<Vec<usize>> {
        sizes.iter().map(|&size| spread(size, 0.3)).collect()
    }

    const STEADY: Rules = Rules { budget: 60.0, goal: 0.05, least: 0, discard: true };

    /// Runs a schedule against costs by model; timings are `noise` apart. Returns the time used.
    fn play(schedule: &mut Schedule, costs: &[f64], noise: impl Fn(Place, usize) -> (f64, bool)) -> f64 {
        let mut elapsed = 0.0;
        for step in 0.. {
            let Some(place) = schedule.next(elapsed) else { break };
            let (seconds, preempted) = noise(place, step);
            elapsed += costs[place.model];
            schedule.record(place, seconds, preempted, costs[place.model]);
        }
        elapsed
    }

    #[test]
    fn a_median_may_become_less_certain() {
        // Agreeing timings finish the points, then the sweep finds others that do not agree.
        let mut schedule = Schedule::new(&orders(&[3, 40]), &[3, 3], Rules { least: 7, ..STEADY });
        play(&mut schedule, &[0.0001, 0.0001], |place, step| {
            (if step > 300 || place.model == 1 { 1.0 + (step * 7 % 5) as f64 } else { 1.0 }, false)
        });
        for work in &schedule.models {
            let open = work.points.iter().filter(|timings| timings.total() > 0 && !timings.finished).count();
            assert_eq!(work.unfinished, open);
        }
    }

    #[test]
    fn every_point_gets_its_repeats_and_steady_ones_no_more() {
        let mut schedule = Schedule::new(&orders(&[12, 20]), &[3, 5], STEADY);
        let elapsed = play(&mut schedule, &[0.01, 0.02], |_, _| (1.0, false));
        for (model, size, repeat) in [(0, 12, 3), (1, 20, 5)] {
            for point in 0..size {
                let summary = schedule.summary(Place { model, point }).unwrap();
                assert_eq!(summary, Summary { seconds: 1.0, repeats: repeat, spread: 0.0, preempted: 0 });
            }
        }
        assert!((elapsed - (36.0 * 0.01 + 100.0 * 0.02)).abs() < 1e-9);
    }

    #[test]
    fn what_is_left_goes_to_the_least_certain_point() {
        let mut schedule = Schedule::new(&orders(&[5]), &[3], Rules { budget: 3.0, ..STEADY });
        play(&mut schedule, &[0.1], |place, step| {
            (if place.point == 2 { 1.0 + (step % 2) as f64 } else { 1.0 }, false)
        });
        let repeats: Vec<_> =
            (0..5).map(|point| schedule.summary(Place { model: 0, point }).unwrap().repeats).collect();
        assert_eq!((repeats[0], repeats[1], repeats[3], repeats[4]), (3, 3, 3, 3));
        assert!(repeats[2] > 10, "{repeats:?}");
    }

    #[test]
    fn time_that_was_asked_for_is_used_even_if_timings_agree() {
        let mut schedule = Schedule::new(&orders(&[4]), &[3], Rules { least: 7, ..STEADY });
        play(&mut schedule, &[0.1], |_, _| (1.0, false));
        assert!((0..4).all(|point| schedule.summary(Place { model: 0, point }).unwrap().repeats == 7));
    }

    #[test]
    fn cheap_points_that_are_uncertain_get_more_than_their_repeats_first() {
        let mut schedule = Schedule::new(&orders(&[1, 10]), &[3, 3], Rules { budget: 3.0, ..STEADY });
        play(&mut schedule, &[0.0001, 0.1], |_, step| (1.0 + (step % 2) as f64, false));
        let repeats = |model, point| schedule.summary(Place { model, point }).map(|summary| summary.repeats);
        assert!(repeats(0, 0).unwrap() as usize >= CHEAP_TIMINGS);
    }

    #[test]
    fn no_point_is_timed_without_end() {
        let mut schedule = Schedule::new(&orders(&[2]), &[3], Rules { budget: f64::MAX, ..STEADY });
        play(&mut schedule, &[0.1], |_, step| (1.0 + (step % 7) as f64, false));
        assert_eq!(schedule.summary(Place { model: 0, point: 0 }).unwrap().repeats as usize, MAX_TIMINGS);
    }

    #[test]
    fn preempted_timings_are_set_aside_while_others_can_be_had() {
        let mut schedule = Schedule::new(&orders(&[1]), &[3], STEADY);
        play(&mut schedule, &[0.1], |_, step| if step == 1 { (13.0, true) } else { (1.0, false) });
        let summary = schedule.summary(Place { model: 0, point: 0 }).unwrap();
        assert_eq!(summary, Summary { seconds: 1.0, repeats: 3, spread: 0.0, preempted: 1 });
    }

    #[test]
    fn where_every_timing_is_preempted_they_count() {
        let mut schedule = Schedule::new(&orders(&[1]), &[3], STEADY);
        play(&mut schedule, &[0.1], |_, _| (2.0, true));
        let summary = schedule.summary(Place { model: 0, point: 0 }).unwrap();
        assert_eq!(summary, Summary { seconds: 2.0, repeats: 6, spread: 0.0, preempted: 6 });
    }

    #[test]
    fn a_short_budget_gives_fewer_points_with_their_repeats() {
        let mut schedule = Schedule::new(&orders(&[100]), &[3], Rules { budget: 6.0, ..STEADY });
        play(&mut schedule, &[0.1], |_, _| (1.0, false));
        let (begun, _) = schedule.begun();
        let repeats: Vec<_> = (0..100)
            .filter_map(|point| schedule.summary(Place { model: 0, point }))
            .map(|s| s.repeats)
            .collect();
        assert_eq!(repeats.len(), begun);
        assert!((18..=20).contains(&begun), "{begun}");
        assert!(repeats.iter().all(|r| *r >= 3), "{repeats:?}");
    }

    #[test]
    fn a_costly_model_does_not_starve_a_cheap_one() {
        let mut schedule = Schedule::new(&orders(&[500, 40]), &[3, 3], Rules { budget: 20.0, ..STEADY });
        play(&mut schedule, &[1.0, 0.01], |_, _| (1.0, false));
        let begun = schedule.begun_by_model();
        assert_eq!(begun[1], (40, 40));
        assert!(begun[0].0 >= 4, "{begun:?}");
    }

    #[test]
    fn what_an_earlier_run_measured_is_not_measured_again() {
        let mut schedule = Schedule::new(&orders(&[4]), &[3], STEADY);
        for point in 0..3 {
            (0..3).for_each(|_| schedule.restore(Place { model: 0, point }, 1.0, false));
        }
        schedule.restore(Place { model: 0, point: 3 }, 1.0, false);
        let mut timed = 0;
        while let Some(place) = schedule.next(0.0) {
            assert_eq!(place.point, 3);
            schedule.record(place, 1.0, false, 0.1);
            timed += 1;
        }
        assert_eq!(timed, 2);
    }

    #[test]
    fn timings_that_are_no_numbers_end_too() {
        let mut schedule = Schedule::new(&orders(&[3]), &[3], STEADY);
        play(&mut schedule, &[0.1], |_, _| (f64::NAN, false));
        assert!(schedule.summary(Place { model: 0, point: 0 }).unwrap().seconds.is_nan());
    }

    #[test]
    fn the_estimate_is_right_when_costs_are_even() {
        let mut schedule = Schedule::new(&orders(&[50]), &[3], STEADY);
        while !schedule.probed() {
            let place = schedule.next(0.0).unwrap();
            schedule.record(place, 1.0, false, 0.1);
        }
        assert!((schedule.remaining() - 14.7).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_budget_is_exceeded_by_one_timing_at_most(
            sizes in prop::collection::vec(1usize..60, 1..5),
            costs in prop::collection::vec(0.001..5.0f64, 5),
            budget in 0.0..30.0f64,
        ) {
            let repeats = vec![3; sizes.len()];
            let mut schedule = Schedule::new(&orders(&sizes), &repeats, Rules { budget, ..STEADY });
            let elapsed = play(&mut schedule, &costs, |place, step| (1.0 + ((place.point * 7 + step) % 5) as f64, step % 3 == 0));
            let most = costs[..sizes.len()].iter().copied().fold(0.0, f64::max);
            prop_assert!(elapsed <= budget + most);
        }
    }
}
