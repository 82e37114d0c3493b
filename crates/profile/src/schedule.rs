//! Scheduling of timings: which point is timed next, and when the run stops.
//!
//! First every point is timed once, which also shows its cost. Then come *sweeps*: each times every
//! point once, in random order, until the budget ends. A slow period of the machine then affects
//! all points alike, instead of all timings of one. Costly points are left out of most sweeps,
//! evenly over the run: a point of cost c gets timings in proportion to 1/√c, which minimises the
//! sum of the variances, but at least its `repeat`. A point is never timed several times in a row
//! because it looks uncertain: such timings share one period of the machine, and agree with each
//! other better than with the true time.
//!
//! In the first sweep the model that has used the least time is next, so that a costly model cannot
//! starve a cheap one. A point is begun only if the remaining budget suffices for it and for the
//! repeats of all points begun: a short budget gives fewer points, not worse ones.
//!
//! This module does not read a clock: the caller states how much time has passed. Only node 0
//! decides.

#[cfg(test)]
mod tests;
mod work;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_model::samples::Timing;

use crate::draws::Beside;
use crate::speed::{Level, levels};
use work::{Measuring, Timings};

/// Timings of every point, budget permitting, before costly points get fewer than cheap ones: the
/// lower quartile of five tolerates one disturbed timing.
const FAIR_TIMINGS: f64 = 5.0;

/// Points of each model that are timed before any model gets all of its own.
const PROBES: usize = 3;

/// The rules of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Relative half width of the median's interval that is sufficient; the run ends when all
    /// points have it.
    pub(crate) goal: f64,
    /// Timings of a point while there is time, even if they agree: few timings may agree by chance.
    pub(crate) least: usize,
    /// Timings in this run after which a point is timed no more.
    pub(crate) most: usize,
    /// Whether to exclude preempted timings; false if nodes outnumber cores, because all are
    /// preempted.
    pub(crate) discard: bool,
    /// Seed of the order within sweeps.
    pub(crate) seed: u64,
}

/// The properties of a model that scheduling needs.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    /// The indices of its points in the order in which they are begun.
    pub(crate) order: Vec<usize>,
    /// Upper estimates of how cost grows from point to point, finite and above zero; only ratios
    /// matter.
    pub(crate) sizes: Vec<f64>,
    /// Least number of timings a point.
    pub(crate) repeat: u32,
}

/// The timings of a point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) seconds: f64,
    pub(crate) spread: f64,
    pub(crate) preempted: u32,
    /// The number of different draws of its data, if `seconds` is their mean, else zero.
    pub(crate) draws: u32,
    /// In the order in which they were taken.
    pub(crate) timings: Vec<Timing>,
}

/// Which point of which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointIndex {
    pub(crate) model: usize,
    pub(crate) point: usize,
}

/// Decides how the budget is spent.
#[derive(Debug)]
pub(crate) struct Schedule {
    rules: Rules,
    models: Vec<Measuring>,
    random: ChaCha8Rng,
    /// The pace: determines how many timings each point is due until the end, see [`Self::due`].
    pace: f64,
    /// The remaining budget when the pace was set.
    paced: f64,
}

impl Schedule {
    pub(crate) fn new(models: Vec<Outline>, rules: Rules) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(rules.seed);
        let mut work = |outline| Measuring::new(outline, rules.most, &mut random);
        let models = models.into_iter().map(&mut work).collect();
        Self { rules, models, random, pace: 0.0, paced: f64::INFINITY }
    }

    /// The point to time next when `left` seconds of the budget are left; `None` ends the run.
    pub(crate) fn next(&mut self, left: f64) -> Option<PointIndex> {
        if left.is_nan() || left <= 0.0 {
            return None;
        }
        // A few points of every model come first, to estimate how long the run takes.
        if let Some(place) =
            self.least_spent(|work| (work.begun < PROBES).then(|| work.fresh(left)).flatten())
        {
            return Some(place);
        }
        let total = |of: fn(&Measuring) -> f64| self.models.iter().map(of).sum::<f64>();
        let free = left - total(|work| work.owed);
        // What costly models still need must not keep a cheap one from its part of the budget.
        let part = (left + total(|work| work.spent)) / self.models.len() as f64;
        let own = |work: &Measuring| (part - work.spent - work.owed).min(left);
        if let Some(place) = self.least_spent(|work| work.fresh(free.max(own(work)) / work.repeat as f64)) {
            return Some(place);
        }
        self.sweep(left)
    }

    /// The point whose timings lag furthest behind its due.
    fn sweep(&mut self, left: f64) -> Option<PointIndex> {
        let begun = || self.models.iter().flat_map(|work| work.begun().map(move |point| (work, point)));
        let certain = |(work, point): (&Measuring, &Timings)| {
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
        let mut best: Option<(f64, PointIndex)> = None;
        for (model, work) in self.models.iter().enumerate() {
            for (point, timings) in work.points.iter().enumerate().filter(|(_, t)| t.total() > 0) {
                let (price, counted) = (work.price(point), timings.counted(self.rules.discard) as f64);
                let due = self.due(work, point, self.pace);
                let part = (counted + timings.jitter) / due;
                if counted < due && price <= left && best.is_none_or(|(least, _)| part < least) {
                    best = Some((part, PointIndex { model, point }));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// How many timings a point is due by the end of the run.
    fn due(&self, work: &Measuring, point: usize, pace: f64) -> f64 {
        let (price, most) = (work.price(point), (self.rules.most + work.points[point].restored) as f64);
        // At a slow pace only the repeats are due; as the pace rises, all points reach a fair
        // number together.
        let fair = pace.min(1.0) * FAIR_TIMINGS;
        let more = if price > 0.0 { (pace - 1.0).max(0.0) / price.sqrt() } else { most };
        (fair + more).max(work.repeat as f64).min(most)
    }

    /// The pace at which the dues of all points cost the remaining budget.
    fn pace(&self, left: f64) -> f64 {
        let cost = |pace: f64| -> f64 {
            let of_point = |work: &Measuring, point: usize| {
                let (price, counted) =
                    (work.price(point), work.points[point].counted(self.rules.discard) as f64);
                price * (self.due(work, point, pace) - counted).max(0.0)
            };
            let of_model = |work: &Measuring| -> f64 {
                let begun = (0..work.points.len()).filter(|point| work.points[*point].total() > 0);
                begun.map(|point| of_point(work, point)).sum()
            };
            self.models.iter().map(of_model).sum()
        };
        // Bisection of its logarithm; beyond the upper end every point is due its maximum.
        let (mut low, mut high) = (-20.0_f64, 40.0_f64);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            *(if cost(middle.exp()) > left { &mut high } else { &mut low }) = middle;
        }
        low.exp()
    }

    fn least_spent(&self, wanted: impl Fn(&Measuring) -> Option<usize>) -> Option<PointIndex> {
        let mut best: Option<(f64, PointIndex)> = None;
        for (model, work) in self.models.iter().enumerate() {
            if best.is_some_and(|(spent, _)| spent <= work.spent) {
                continue;
            }
            if let Some(point) = wanted(work) {
                best = Some((work.spent, PointIndex { model, point }));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Records a timing that took `spent` seconds with its setup and cleanup, and `price` seconds
    /// of the budget. The two differ if time is simulated.
    pub(crate) fn record(
        &mut self,
        place: PointIndex,
        timing: Timing,
        preempted: bool,
        spent: f64,
        price: f64,
    ) {
        let jitter = self.random.random();
        let work = &mut self.models[place.model];
        work.spent += spent;
        let before = work.owed_at(place.point, self.rules.discard);
        let timings = &mut work.points[place.point];
        timings.jitter = jitter;
        timings.priced += 1;
        let mean = timings.price.unwrap_or(0.0);
        let mean = mean + (price - mean) / f64::from(timings.priced);
        timings.price = Some(mean);
        let known = work.prices.entry(work.sizes[place.point].to_bits()).or_insert(price);
        *known = known.min(price);
        work.add(place.point, timing, preempted, self.rules.discard);
        let after = work.owed_at(place.point, self.rules.discard);
        work.owed = (work.owed + after - before).max(0.0);
    }

    /// Compares a timing with the one before it of the same point.
    pub(crate) fn compare(&mut self, place: PointIndex, beside: Beside) {
        let work = &mut self.models[place.model];
        work.draws.note(beside);
        work.points[place.point].again += u32::from(beside.same);
    }

    /// Marks that an earlier run found that this model's time depends on its data.
    pub(crate) fn depends_on_data(&mut self, model: usize) {
        self.models[model].depends_on_data = true;
    }

    /// By how much each model's timings differ on the same data and on fresh data, if that depends
    /// on the data.
    pub(crate) fn data_matter(&self) -> impl Iterator<Item = Option<[f64; 2]>> {
        self.models.iter().map(|work| work.draws.matter())
    }

    /// Marks that this model's task reports its own time.
    pub(crate) fn reports(&mut self, model: usize) {
        self.models[model].reports = true;
    }

    /// Records a timing of an earlier run, which costs this run nothing.
    pub(crate) fn restore(&mut self, place: PointIndex, timing: Timing, preempted: bool) {
        self.models[place.model].add(place.point, timing, preempted, self.rules.discard);
        self.models[place.model].points[place.point].restored += 1;
    }

    /// Records that `count` timings of an earlier run were excluded.
    pub(crate) fn lose(&mut self, place: PointIndex, count: u32) {
        self.models[place.model].points[place.point].lost += count;
    }

    /// When the last timing was taken.
    pub(crate) fn latest(&self) -> f64 {
        let timings = |work: &Measuring| {
            work.points
                .iter()
                .flat_map(|t| t.clean.iter().chain(&t.preempted).map(|t| t.moment))
                .fold(0.0, f64::max)
        };
        self.models.iter().map(timings).fold(0.0, f64::max)
    }

    /// The timings of every point of every model; `None` for a point without any.
    pub(crate) fn summaries(&self) -> Vec<Vec<Option<Summary>>> {
        let used = |work: &Measuring| -> Vec<Vec<Timing>> {
            work.points.iter().map(|point| point.used(work.repeat, self.rules.discard)).collect()
        };
        let timed = || self.models.iter().filter(|work| !work.reports);
        let by_mean: Vec<bool> =
            timed().flat_map(|work| vec![work.is_by_mean(); work.points.len()]).collect();
        let timed: Vec<Vec<Timing>> = timed().flat_map(used).collect();
        let mut together = levels(&timed, |point| by_mean[point]).into_iter();
        let summary = |(point, timings, level, by_mean): (&Timings, Vec<Timing>, Option<Level>, bool)| {
            let Level { seconds, half_width } = level?;
            // Simulated time, of which one timing is enough, has no noise.
            let half_width = if self.rules.goal.is_infinite() { 0.0 } else { half_width };
            let preempted = point.preempted.len() as u32 + point.lost;
            let draws = if by_mean { (timings.len() as u32).saturating_sub(point.again).max(1) } else { 0 };
            Some(Summary { seconds, spread: half_width, preempted, draws, timings })
        };
        let mut of_model = |work: &Measuring| -> Vec<Option<Summary>> {
            let by_mean = work.is_by_mean();
            let timed = work.points.iter().zip(used(work)).map(|(point, timings)| {
                let level = if work.reports {
                    levels(std::slice::from_ref(&timings), |_| by_mean).pop().flatten()
                } else {
                    together.next().flatten()
                };
                (point, timings, level, by_mean)
            });
            timed.map(summary).collect()
        };
        self.models.iter().map(&mut of_model).collect()
    }

    /// Points with at least one timing, and all points.
    pub(crate) fn begun(&self) -> (usize, usize) {
        self.begun_by_model().fold((0, 0), |(begun, all), (of, points)| (begun + of, all + points))
    }

    /// For each model: points begun, and points in all.
    pub(crate) fn begun_by_model(&self) -> impl Iterator<Item = (usize, usize)> {
        self.models.iter().map(|work| (work.begun, work.points.len()))
    }

    /// The most seconds that timing every point its maximum number of times may take, by the known
    /// prices.
    pub(crate) fn remaining(&self) -> f64 {
        let of_point = |work: &Measuring, point: usize| {
            let more = self.rules.most.saturating_sub(work.points[point].priced as usize);
            more as f64 * work.price(point)
        };
        let of_model =
            |work: &Measuring| -> f64 { (0..work.points.len()).map(|point| of_point(work, point)).sum() };
        self.models.iter().map(of_model).sum()
    }
}
