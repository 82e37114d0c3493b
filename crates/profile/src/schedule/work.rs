//! The state of one model while its points are timed: their timings and costs.

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use rand::RngExt as _;
use strata_model::samples::Timing;

use super::Outline;
use crate::draws::Draws;
use crate::stats::relative_half_width;

/// The timings of one point.
#[derive(Clone, Debug, Default)]
pub(super) struct Timings {
    pub(super) clean: Vec<Timing>,
    pub(super) preempted: Vec<Timing>,
    /// Timings of an earlier run, and how many of them were excluded.
    pub(super) restored: usize,
    pub(super) lost: u32,
    /// Mean share of the budget of one timing with its setup and cleanup, in this run.
    pub(super) price: Option<f64>,
    pub(super) priced: u32,
    pub(super) width: f64,
    /// How many timings had the data of the one before.
    pub(super) again: u32,
    /// Random position within its share of the sweep, below one.
    pub(super) jitter: f64,
}

impl Timings {
    pub(super) fn total(&self) -> usize {
        self.clean.len() + self.preempted.len()
    }

    /// Timings that count towards the point's due. If nearly all are preempted, all count.
    pub(super) fn counted(&self, discard: bool) -> usize {
        if discard { self.clean.len().max(self.total() / 2) } else { self.total() }
    }

    /// The timings that are written: the undisturbed ones, or all if those are too few.
    pub(super) fn used(&self, repeat: usize, discard: bool) -> Vec<Timing> {
        let mut used = self.clean.clone();
        if !discard || used.len() < repeat {
            used.extend(&self.preempted);
            used.sort_by(|a, b| a.moment.total_cmp(&b.moment));
        }
        used
    }
}

/// The state of one model.
#[derive(Debug)]
pub(super) struct Measuring {
    pub(super) order: Vec<usize>,
    pub(super) sizes: Vec<f64>,
    pub(super) points: Vec<Timings>,
    pub(super) repeat: usize,
    /// Whether its task reports its own time (`sample { … }`), whose slow periods are unknown.
    pub(super) reports: bool,
    /// Timings on the same and on fresh data, and whether an earlier run found that they differ.
    pub(super) draws: Draws,
    pub(super) depends_on_data: bool,
    /// Time used on this model in this run.
    pub(super) spent: f64,
    /// Expected cost of the outstanding repeats of the points begun.
    pub(super) owed: f64,
    /// Index in `order` of the next point that may not have been begun.
    pub(super) begin: usize,
    pub(super) begun: usize,
    /// Least price of one timing for each size of point (the bits of a positive number).
    pub(super) prices: BTreeMap<u64, f64>,
}

impl Measuring {
    /// No point is timed yet; a point is not owed more repeats than its maximum.
    pub(super) fn new(
        Outline { order, sizes, repeat }: Outline,
        most: usize,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let point = |_| Timings { width: f64::INFINITY, jitter: random.random(), ..Timings::default() };
        Self {
            points: sizes.iter().map(point).collect(),
            order,
            sizes,
            repeat: (repeat.max(1) as usize).min(most),
            reports: false,
            draws: Draws::default(),
            depends_on_data: false,
            spent: 0.0,
            owed: 0.0,
            begin: 0,
            begun: 0,
            prices: BTreeMap::new(),
        }
    }

    /// Whether the mean represents a point.
    pub(super) fn is_by_mean(&self) -> bool {
        self.depends_on_data || self.draws.matter().is_some()
    }

    pub(super) fn begun(&self) -> impl Iterator<Item = &Timings> {
        self.points.iter().filter(|point| point.total() > 0)
    }

    /// Price of one timing of a point, measured or expected.
    pub(super) fn price(&self, point: usize) -> f64 {
        self.points[point].price.unwrap_or_else(|| self.expected(point))
    }

    /// A lower estimate of the price of one timing of a point not yet timed: a smaller point's
    /// price scaled to its size or a larger point's price, whichever is least, since disturbances
    /// only make timings longer. Zero before the first timing.
    pub(super) fn expected(&self, point: usize) -> f64 {
        let size = self.sizes[point];
        let guess = |(near, price): (&u64, &f64)| price * (size / f64::from_bits(*near)).max(1.0);
        self.prices.iter().map(guess).reduce(f64::min).unwrap_or(0.0)
    }

    /// Seconds that the repeats of a point already begun will need.
    pub(super) fn owed_at(&self, point: usize, discard: bool) -> f64 {
        let timings = &self.points[point];
        if timings.total() == 0 {
            return 0.0;
        }
        self.repeat.saturating_sub(timings.counted(discard)) as f64 * self.price(point)
    }

    pub(super) fn add(&mut self, point: usize, timing: Timing, preempted: bool, discard: bool) {
        let timings = &mut self.points[point];
        self.begun += usize::from(timings.total() == 0);
        if preempted { &mut timings.preempted } else { &mut timings.clean }.push(timing);
        let used: Vec<f64> = timings.used(self.repeat, discard).iter().map(|timing| timing.seconds).collect();
        timings.width = relative_half_width(&used);
        while self.order.get(self.begin).is_some_and(|point| self.points[*point].total() > 0) {
            self.begin += 1;
        }
    }

    /// The next point to begin among those expected to cost at most `left`.
    pub(super) fn fresh(&self, left: f64) -> Option<usize> {
        let mut fresh = self.order[self.begin..].iter().copied();
        fresh.find(|point| self.points[*point].total() == 0 && self.expected(*point) <= left)
    }
}
