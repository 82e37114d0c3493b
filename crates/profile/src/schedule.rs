//! What to time next, and when to stop: how the budget is spent.
//!
//! First every point is timed once, which also tells what it costs. Then come *sweeps*: one timing of every point in
//! random order, again and again until the budget ends, so that a slow period of the machine falls on all points alike
//! and never on all timings of one. Costly points are left out of most sweeps, evenly over the run: a point of cost c
//! gets timings in proportion to 1/√c, which makes the sum of the variances least, but at least its `repeat`.
//! No point is timed several times in a row because it looks uncertain: such timings share one period of the machine,
//! and agree with each other more than with the truth.
//!
//! In the first sweep the model that has used the least time is always next, so a costly model cannot starve a cheap
//! one. A point is begun only while the budget can pay the repeats of all that have been begun, and only if it is not
//! expected to cost more than is left: a short budget gives fewer points, not worse ones.
//!
//! Nothing here looks at a clock: the caller says how much time has passed. Node 0 alone decides.

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use strata_model::samples::Timing;

use super::speed::{Level, levels};
use super::stats::relative_half_width;

/// Timings of a point that are its due before costly points get fewer than cheap ones, if the budget pays them: the
/// lower quartile of five withstands one that is disturbed.
const FAIR_TIMINGS: f64 = 5.0;

/// Points of each model timed before the run's length is estimated.
const PROBES: usize = 3;

/// The rules of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Relative half width of a median that is good enough; the run ends when all points have it.
    pub(crate) goal: f64,
    /// Timings that a point gets while there is time, even if they agree: few may agree by chance.
    pub(crate) least: usize,
    /// Timings in this run after which a point is left alone.
    pub(crate) most: usize,
    /// Whether preempted timings are set aside; senseless where nodes outnumber cores and all are.
    pub(crate) discard: bool,
    /// Settles the order of the sweeps.
    pub(crate) seed: u64,
}

/// What is to be known of a model to schedule it.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    /// The indices of its points in the order in which they are begun.
    pub(crate) order: Vec<usize>,
    /// By what the cost of each point may grow, each finite and above zero; only their ratios count.
    pub(crate) sizes: Vec<f64>,
    /// Least number of timings a point.
    pub(crate) repeat: u32,
}

/// The timings of one point.
#[derive(Clone, Debug, Default)]
struct Timings {
    clean: Vec<Timing>,
    preempted: Vec<Timing>,
    /// Timings of an earlier run, and how many it has set aside.
    restored: usize,
    lost: u32,
    /// Mean of the budget that one timing takes with its setup and cleanup, in this run.
    price: Option<f64>,
    priced: u32,
    width: f64,
    /// Where in its share of the sweep it is to be timed: a random number below one.
    jitter: f64,
}

impl Timings {
    fn total(&self) -> usize {
        self.clean.len() + self.preempted.len()
    }

    /// Timings that count towards its due. Where nearly all are preempted, waiting for others is vain.
    fn counted(&self, discard: bool) -> usize {
        if discard { self.clean.len().max(self.total() / 2) } else { self.total() }
    }

    /// The timings that are written: the undisturbed ones, unless they are too few.
    fn used(&self, repeat: usize, discard: bool) -> Vec<Timing> {
        let mut used = self.clean.clone();
        if !discard || used.len() < repeat {
            used.extend(&self.preempted);
            used.sort_by(|a, b| a.moment.total_cmp(&b.moment));
        }
        used
    }
}

/// What a point's timings say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) seconds: f64,
    pub(crate) spread: f64,
    pub(crate) preempted: u32,
    /// In the order in which they were taken.
    pub(crate) timings: Vec<Timing>,
}

#[derive(Debug)]
struct Work {
    order: Vec<usize>,
    sizes: Vec<f64>,
    points: Vec<Timings>,
    repeat: usize,
    /// Whether its task has reported a time of its own (`sample { … }`): nothing is known of what slows that.
    reports: bool,
    /// Time used on this model in this run.
    spent: f64,
    /// Next in `order` that may not have been begun.
    begin: usize,
    begun: usize,
    /// Least price of one timing by the size of the point (the bits of a positive number).
    prices: BTreeMap<u64, f64>,
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
    random: ChaCha8Rng,
    /// What the repeats of all points begun will still cost.
    owed: f64,
    /// Settles how many timings each point is due until the end of the run, see [`Self::due`].
    pace: f64,
    /// What was left of the budget when the pace was set.
    paced: f64,
}

impl Schedule {
    pub(crate) fn new(models: Vec<Outline>, rules: Rules) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(rules.seed);
        let models = models
            .into_iter()
            .map(|Outline { order, sizes, repeat }| Work {
                points: sizes
                    .iter()
                    .map(|_| Timings { width: f64::INFINITY, jitter: random.random(), ..Timings::default() })
                    .collect(),
                order,
                sizes,
                repeat: (repeat.max(1) as usize).min(rules.most),
                reports: false,
                spent: 0.0,
                begin: 0,
                begun: 0,
                prices: BTreeMap::new(),
            })
            .collect();
        Self { rules, models, random, owed: 0.0, pace: 0.0, paced: f64::INFINITY }
    }

    /// The point to time next when `left` seconds of the budget are left; `None` ends the run.
    pub(crate) fn next(&mut self, left: f64) -> Option<Place> {
        if left.is_nan() || left <= 0.0 {
            return None;
        }
        // A few points of every model come first: they tell how long it all will take.
        if let Some(place) =
            self.least_spent(|work| (work.begun < PROBES).then(|| work.fresh(left)).flatten())
        {
            return Some(place);
        }
        let free = left - self.owed;
        if let Some(place) = self.least_spent(|work| work.fresh(free / work.repeat as f64)) {
            return Some(place);
        }
        self.sweep(left)
    }

    /// The point that is furthest behind its share of the sweeps.
    fn sweep(&mut self, left: f64) -> Option<Place> {
        let begun = || self.models.iter().flat_map(|work| work.begun().map(move |point| (work, point)));
        let certain = |(work, point): (&Work, &Timings)| {
            let counted = point.counted(self.rules.discard);
            counted >= work.repeat.max(self.rules.least) && point.width <= self.rules.goal
        };
        if begun().all(certain) {
            return None;
        }
        // Prices change little from one timing to the next.
        if self.pace == 0.0 || self.paced - left > 0.01 * left {
            self.pace = self.pace(left);
            self.paced = left;
        }
        let mut best: Option<(f64, Place)> = None;
        for (model, work) in self.models.iter().enumerate() {
            for (point, timings) in work.points.iter().enumerate().filter(|(_, t)| t.total() > 0) {
                let (price, counted) = (work.price(point), timings.counted(self.rules.discard) as f64);
                let due = self.due(work, point, self.pace);
                let part = (counted + timings.jitter) / due;
                if counted < due && price <= left && best.is_none_or(|(least, _)| part < least) {
                    best = Some((part, Place { model, point }));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// How many timings a point is due by the end of the run.
    fn due(&self, work: &Work, point: usize, pace: f64) -> f64 {
        let (price, most) = (work.price(point), (self.rules.most + work.points[point].restored) as f64);
        // At a slow pace nothing is due but the repeats; then all points come to a fair number together.
        let fair = pace.min(1.0) * FAIR_TIMINGS;
        let more = if price > 0.0 { (pace - 1.0).max(0.0) / price.sqrt() } else { most };
        (fair + more).max(work.repeat as f64).min(most)
    }

    /// The pace at which the dues of all points cost what is left.
    fn pace(&self, left: f64) -> f64 {
        let cost = |pace: f64| -> f64 {
            let of_point = |work: &Work, point: usize| {
                let (price, counted) =
                    (work.price(point), work.points[point].counted(self.rules.discard) as f64);
                price * (self.due(work, point, pace) - counted).max(0.0)
            };
            let of_model = |work: &Work| -> f64 {
                let begun = (0..work.points.len()).filter(|point| work.points[*point].total() > 0);
                begun.map(|point| of_point(work, point)).sum()
            };
            self.models.iter().map(of_model).sum()
        };
        // By bisection of its logarithm; beyond the upper end every point is due the most.
        let (mut low, mut high) = (-20.0_f64, 40.0_f64);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            *(if cost(middle.exp()) > left { &mut high } else { &mut low }) = middle;
        }
        low.exp()
    }

    fn least_spent(&self, wanted: impl Fn(&Work) -> Option<usize>) -> Option<Place> {
        let mut best: Option<(f64, Place)> = None;
        for (model, work) in self.models.iter().enumerate() {
            if best.is_some_and(|(spent, _)| spent <= work.spent) {
                continue;
            }
            if let Some(point) = wanted(work) {
                best = Some((work.spent, Place { model, point }));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Takes in one timing that took `spent` seconds with its setup and cleanup, and `price` seconds of the budget:
    /// two things where time is simulated.
    pub(crate) fn record(&mut self, place: Place, timing: Timing, preempted: bool, spent: f64, price: f64) {
        let jitter = self.random.random();
        let work = &mut self.models[place.model];
        work.spent += spent;
        let before = work.owed(place.point, self.rules.discard);
        let timings = &mut work.points[place.point];
        timings.jitter = jitter;
        timings.priced += 1;
        let mean = timings.price.unwrap_or(0.0);
        let mean = mean + (price - mean) / f64::from(timings.priced);
        timings.price = Some(mean);
        let known = work.prices.entry(work.sizes[place.point].to_bits()).or_insert(price);
        *known = known.min(price);
        work.add(place.point, timing, preempted, self.rules.discard);
        let after = work.owed(place.point, self.rules.discard);
        self.owed = (self.owed + after - before).max(0.0);
    }

    /// The task of this model reports its time itself.
    pub(crate) fn reports(&mut self, model: usize) {
        self.models[model].reports = true;
    }

    /// Takes in a timing of an earlier run, which cost this one nothing.
    pub(crate) fn restore(&mut self, place: Place, timing: Timing, preempted: bool) {
        self.models[place.model].add(place.point, timing, preempted, self.rules.discard);
        self.models[place.model].points[place.point].restored += 1;
    }

    /// So many timings of an earlier run were set aside.
    pub(crate) fn lose(&mut self, place: Place, count: u32) {
        self.models[place.model].points[place.point].lost += count;
    }

    /// When the last timing was taken.
    pub(crate) fn latest(&self) -> f64 {
        let timings = |work: &Work| {
            work.points
                .iter()
                .flat_map(|t| t.clean.iter().chain(&t.preempted).map(|t| t.moment))
                .fold(0.0, f64::max)
        };
        self.models.iter().map(timings).fold(0.0, f64::max)
    }

    /// What is known of every point of every model; `None` before its first timing.
    pub(crate) fn summaries(&self) -> Vec<Vec<Option<Summary>>> {
        let used = |work: &Work| -> Vec<Vec<Timing>> {
            work.points.iter().map(|point| point.used(work.repeat, self.rules.discard)).collect()
        };
        let timed: Vec<Vec<Timing>> =
            self.models.iter().filter(|work| !work.reports).flat_map(used).collect();
        let mut together = levels(&timed).into_iter();
        let summary = |(point, timings, level): (&Timings, Vec<Timing>, Option<Level>)| {
            let Level { seconds, half_width } = level?;
            // Simulated time, of which one timing is enough, has no noise.
            let half_width = if self.rules.goal.is_infinite() { 0.0 } else { half_width };
            let preempted = point.preempted.len() as u32 + point.lost;
            Some(Summary { seconds, spread: half_width, preempted, timings })
        };
        let mut of_model = |work: &Work| -> Vec<Option<Summary>> {
            let timed = work.points.iter().zip(used(work)).map(|(point, timings)| {
                let level = if work.reports {
                    levels(std::slice::from_ref(&timings)).pop().flatten()
                } else {
                    together.next().flatten()
                };
                (point, timings, level)
            });
            timed.map(summary).collect()
        };
        self.models.iter().map(&mut of_model).collect()
    }

    /// Points with at least one timing, and all points.
    pub(crate) fn begun(&self) -> (usize, usize) {
        self.models.iter().fold((0, 0), |(begun, all), work| (begun + work.begun, all + work.points.len()))
    }

    /// Of each model: points begun, points in all, and what one timing of the cheapest of the others is expected to take
    /// of the budget.
    pub(crate) fn begun_by_model(&self) -> Vec<(usize, usize, f64)> {
        let cheapest = |work: &Work| {
            let fresh = (0..work.points.len()).filter(|point| work.points[*point].total() == 0);
            fresh.map(|point| work.expected(point)).fold(f64::INFINITY, f64::min)
        };
        self.models.iter().map(|work| (work.begun, work.points.len(), cheapest(work))).collect()
    }

    /// Whether enough has been timed for [`Self::remaining`] to mean something.
    pub(crate) fn probed(&self) -> bool {
        self.models.iter().all(|work| work.begun >= PROBES.min(work.points.len()))
    }

    /// Seconds that are needed at most to time every point as often as it ever is, as far as prices are known.
    pub(crate) fn remaining(&self) -> f64 {
        let of_point = |work: &Work, point: usize| {
            let more = self.rules.most.saturating_sub(work.points[point].priced as usize);
            more as f64 * work.price(point)
        };
        let of_model =
            |work: &Work| -> f64 { (0..work.points.len()).map(|point| of_point(work, point)).sum() };
        self.models.iter().map(of_model).sum()
    }
}

impl Work {
    fn begun(&self) -> impl Iterator<Item = &Timings> {
        self.points.iter().filter(|point| point.total() > 0)
    }

    /// Price of one timing of a point, measured or expected.
    fn price(&self, point: usize) -> f64 {
        self.points[point].price.unwrap_or_else(|| self.expected(point))
    }

    /// What one timing of a point that has not been timed is expected to cost at least: in proportion to its size from a
    /// smaller one, as much as a larger one, whichever is least, for what disturbs timings makes them longer. Zero before
    /// the first timing.
    fn expected(&self, point: usize) -> f64 {
        let size = self.sizes[point];
        let guess = |(near, price): (&u64, &f64)| price * (size / f64::from_bits(*near)).max(1.0);
        self.prices.iter().map(guess).reduce(f64::min).unwrap_or(0.0)
    }

    /// Seconds that the repeats of a point already begun will need.
    fn owed(&self, point: usize, discard: bool) -> f64 {
        let timings = &self.points[point];
        if timings.total() == 0 {
            return 0.0;
        }
        self.repeat.saturating_sub(timings.counted(discard)) as f64 * self.price(point)
    }

    fn add(&mut self, point: usize, timing: Timing, preempted: bool, discard: bool) {
        let timings = &mut self.points[point];
        self.begun += usize::from(timings.total() == 0);
        if preempted { &mut timings.preempted } else { &mut timings.clean }.push(timing);
        let used: Vec<f64> = timings.used(self.repeat, discard).iter().map(|timing| timing.seconds).collect();
        timings.width = relative_half_width(&used);
        while self.order.get(self.begin).is_some_and(|point| self.points[*point].total() > 0) {
            self.begin += 1;
        }
    }

    /// The next point to be begun of those that are not expected to cost more than `left`.
    fn fresh(&self, left: f64) -> Option<usize> {
        let mut fresh = self.order[self.begin..].iter().copied();
        fresh.find(|point| self.points[*point].total() == 0 && self.expected(*point) <= left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::spread;
    use proptest::prelude::*;

    /// Models of so many points; point i has size i + 1.
    fn outlines(models: &[(usize, u32)]) -> Vec<Outline> {
        let outline = |&(count, repeat): &(usize, u32)| Outline {
            order: spread(count, 0.3),
            sizes: (1..=count).map(|size| size as f64).collect(),
            repeat,
        };
        models.iter().map(outline).collect()
    }

    const STEADY: Rules = Rules { goal: 0.05, least: 0, most: 40, discard: true, seed: 1 };

    struct Played {
        schedule: Schedule,
        /// Seconds used.
        elapsed: f64,
        /// What was timed, in order.
        places: Vec<Place>,
    }

    impl Played {
        fn counts(&self, model: usize) -> Vec<usize> {
            let count = |summary: &Option<Summary>| summary.as_ref().map_or(0, |s| s.timings.len());
            self.schedule.summaries()[model].iter().map(count).collect()
        }
    }

    /// Runs a schedule against a cost and an outcome of each timing.
    fn play(
        models: &[(usize, u32)],
        rules: Rules,
        budget: f64,
        cost: impl Fn(Place) -> f64,
        outcome: impl Fn(Place, usize) -> (f64, bool),
    ) -> Played {
        let mut schedule = Schedule::new(outlines(models), rules);
        let (mut elapsed, mut places) = (0.0, Vec::new());
        while let Some(place) = schedule.next(budget - elapsed) {
            let (seconds, preempted) = outcome(place, places.len());
            let cost = cost(place);
            schedule.record(place, Timing { seconds, moment: elapsed }, preempted, cost, cost);
            elapsed += cost;
            places.push(place);
        }
        Played { schedule, elapsed, places }
    }

    fn noisy(_: Place, step: usize) -> (f64, bool) {
        (1.0 + (step % 7) as f64, false)
    }

    #[test]
    fn every_point_gets_its_repeats_and_steady_ones_no_more() {
        let cost = |place: Place| if place.model == 0 { 0.01 } else { 0.02 };
        let played = play(&[(12, 3), (20, 5)], STEADY, 60.0, cost, |_, _| (1.0, false));
        // All end together, so the model of three repeats may have more.
        assert!(played.counts(0).iter().all(|count| (3..=6).contains(count)), "{:?}", played.counts(0));
        assert!(played.counts(1).iter().all(|count| *count == 5), "{:?}", played.counts(1));
        assert!(played.schedule.summaries()[1].iter().flatten().all(|s| s.seconds == 1.0 && s.spread == 0.0));
    }

    #[test]
    fn time_that_was_asked_for_is_used_even_if_timings_agree() {
        let played = play(&[(4, 3)], Rules { least: 7, ..STEADY }, 60.0, |_| 0.1, |_, _| (1.0, false));
        assert!(played.counts(0).iter().all(|count| *count == 7), "{:?}", played.counts(0));
    }

    #[test]
    fn the_timings_of_a_point_are_spread_over_the_run() {
        // Costs over three decades.
        let cost = |place: Place| 1e-3 * f64::from(10 + place.point as i32).powi(2) / 100.0;
        let played = play(&[(30, 3), (30, 3)], STEADY, 20.0, cost, noisy);
        assert!(
            played.elapsed > 10.0 || played.counts(0).iter().all(|count| *count == 40),
            "{}",
            played.elapsed
        );
        let steps = played.places.len();
        for point in 0..30 {
            let place = Place { model: 1, point };
            let at: Vec<usize> = (0..steps).filter(|step| played.places[*step] == place).collect();
            assert!(*at.last().unwrap() > steps * 3 / 4, "point {point}: {at:?} of {steps}");
            let gap = at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(gap <= 3 * steps / at.len() + 60, "point {point}: {gap} of {steps} in {at:?}");
            assert!(at.windows(2).all(|pair| pair[1] > pair[0] + 1), "point {point} twice in a row");
        }
    }

    #[test]
    fn cheap_points_get_more_timings_but_costly_ones_their_share() {
        let cost = |place: Place| if place.point < 10 { 0.001 } else { 0.1 };
        let played = play(&[(20, 3)], STEADY, 8.0, cost, noisy);
        let counts = played.counts(0);
        assert!(counts[..10].iter().all(|count| *count >= 20), "{counts:?}");
        assert!(counts[10..].iter().all(|count| (5..=9).contains(count)), "{counts:?}");
        assert!(played.elapsed > 7.0, "{}", played.elapsed);
    }

    #[test]
    fn no_point_is_timed_without_end() {
        let played = play(&[(2, 3)], STEADY, f64::INFINITY, |_| 0.1, noisy);
        assert_eq!(played.counts(0), [40, 40]);
        // More repeats than that were asked for: that is all there are.
        let played = play(&[(2, 90)], STEADY, f64::INFINITY, |_| 0.0, noisy);
        assert_eq!(played.counts(0), [40, 40]);
    }

    #[test]
    fn where_time_is_simulated_every_point_is_timed_once() {
        let rules = Rules { goal: f64::INFINITY, most: 1, ..STEADY };
        let played = play(&[(9, 3), (4, 5)], rules, 60.0, |_| 0.1, noisy);
        assert_eq!((played.counts(0), played.counts(1)), (vec![1; 9], vec![1; 4]));
        assert_eq!(played.places.len(), 13);
        assert!(played.schedule.summaries().iter().flatten().flatten().all(|summary| summary.spread == 0.0));
    }

    #[test]
    fn preempted_timings_are_set_aside_while_others_can_be_had() {
        let disturbed = |_, step| if step == 1 { (13.0, true) } else { (1.0, false) };
        let played = play(&[(1, 3)], STEADY, 60.0, |_| 0.1, disturbed);
        let summary = played.schedule.summaries()[0][0].clone().unwrap();
        assert_eq!((summary.seconds, summary.timings.len(), summary.preempted), (1.0, 3, 1));
    }

    #[test]
    fn where_every_timing_is_preempted_they_count() {
        let played = play(&[(1, 3)], STEADY, 60.0, |_| 0.1, |_, _| (2.0, true));
        let summary = played.schedule.summaries()[0][0].clone().unwrap();
        assert_eq!((summary.seconds, summary.timings.len(), summary.preempted), (2.0, 6, 6));
    }

    #[test]
    fn a_short_budget_gives_fewer_points_with_their_repeats() {
        let played = play(&[(100, 3)], STEADY, 6.0, |_| 0.1, |_, _| (1.0, false));
        let repeats: Vec<usize> = played.counts(0).into_iter().filter(|count| *count > 0).collect();
        assert!((18..=20).contains(&repeats.len()), "{repeats:?}");
        assert!(repeats.iter().all(|count| *count >= 3), "{repeats:?}");
    }

    #[test]
    fn a_costly_model_does_not_starve_a_cheap_one() {
        let cost = |place: Place| if place.model == 0 { 1.0 } else { 0.01 };
        let played = play(&[(500, 3), (40, 3)], STEADY, 20.0, cost, |_, _| (1.0, false));
        let begun = played.schedule.begun_by_model();
        assert_eq!((begun[1].0, begun[1].1), (40, 40));
        assert!(begun[0].0 >= 4, "{begun:?}");
        assert!((begun[0].2 - 1.0).abs() < 1.0, "what the next would take: {begun:?}");
    }

    #[test]
    fn what_cannot_be_paid_is_not_begun() {
        // Ten times as many seconds each: the fifth would take a thousand.
        let cost = |place: Place| 10f64.powi(place.point as i32 - 2);
        let outline = Outline {
            order: vec![0, 7, 4, 2, 5, 1, 3, 6],
            sizes: (0..8).map(|point| 10f64.powi(point)).collect(),
            repeat: 3,
        };
        let mut schedule = Schedule::new(vec![outline], STEADY);
        let mut elapsed = 0.0;
        while let Some(place) = schedule.next(60.0 - elapsed) {
            elapsed += cost(place);
            assert!(elapsed <= 60.0, "{place:?}");
            schedule.record(place, Timing { seconds: 1.0, moment: elapsed }, false, cost(place), cost(place));
        }
        let (begun, points, next) = schedule.begun_by_model()[0];
        assert_eq!((begun, points), (4, 8));
        assert!((next / 100.0 - 1.0).abs() < 1e-6, "{next}");
    }

    #[test]
    fn what_an_earlier_run_measured_is_not_measured_again() {
        let mut schedule = Schedule::new(outlines(&[(4, 3)]), STEADY);
        let timing = Timing { seconds: 1.0, moment: 7.0 };
        for point in 0..3 {
            (0..3).for_each(|_| schedule.restore(Place { model: 0, point }, timing, false));
        }
        schedule.restore(Place { model: 0, point: 3 }, timing, false);
        assert_eq!(schedule.latest(), 7.0);
        let mut timed = 0;
        while let Some(place) = schedule.next(60.0) {
            assert_eq!(place.point, 3);
            schedule.record(place, timing, false, 0.1, 0.1);
            timed += 1;
        }
        assert_eq!(timed, 2);
    }

    #[test]
    fn timings_that_are_no_numbers_end_too() {
        let played = play(&[(3, 3)], STEADY, 60.0, |_| 0.1, |_, _| (f64::NAN, false));
        assert!(played.schedule.summaries()[0][0].as_ref().unwrap().seconds.is_nan());
    }

    #[test]
    fn how_long_it_takes_at_most_is_known_after_a_few() {
        let mut schedule = Schedule::new(outlines(&[(50, 3)]), STEADY);
        while !schedule.probed() {
            let place = schedule.next(60.0).unwrap();
            schedule.record(place, Timing { seconds: 1.0, moment: 0.0 }, false, 0.1, 0.1);
        }
        // No timing of a larger point is taken to cost less than in proportion to its size.
        assert!(schedule.remaining() >= 0.1 * (50.0 * 40.0 - 3.0) - 1e-9, "{}", schedule.remaining());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_budget_is_exceeded_by_one_timing_at_most(
            sizes in prop::collection::vec(1usize..60, 1..5),
            costs in prop::collection::vec(0.001..5.0f64, 5),
            budget in 0.0..30.0f64,
        ) {
            let models: Vec<_> = sizes.iter().map(|size| (*size, 3)).collect();
            let outcome = |place: Place, step| (1.0 + ((place.point * 7 + step) % 5) as f64, step % 3 == 0);
            let played = play(&models, STEADY, budget, |place| costs[place.model], outcome);
            let most = costs[..sizes.len()].iter().copied().fold(0.0, f64::max);
            prop_assert!(played.elapsed <= budget + most);
        }
    }
}
