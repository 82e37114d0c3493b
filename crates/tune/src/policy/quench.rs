//! Simulated quenching with rated options (Borg 2006, §4.5).

use super::{Config, Policy, Random, Space, below, fits};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The generator of candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generator {
    /// Options of slow executions become ever less likely as the temperature falls.
    #[default]
    Rated,
    /// All options are always equally likely: the thesis's reference.
    Uniform,
}

/// Annealing that cools fast, e^(-5k/K) over a budget of K evaluations.
///
/// The thesis gives no formula for its generators, and calls them close to probabilistic tabu
/// search. Here every option has a rating, the exponential average of the relative times of
/// executions in which it took part. An option is drawn with the weight exp(-(8/3) (1-T) z), where
/// z is the distance of its rating from the knob's best in standard deviations: at the temperature
/// T = 1 all options are equally likely. Options without a time rate as the best.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quench {
    generator: Generator,
    /// Number of knobs that a candidate changes.
    redraw: usize,
    done: u32,
    budget: u32,
    knobs: Vec<Rated>,
    /// The configuration from which candidates start, and its time. Initially the largest number,
    /// because JSON has no infinity.
    current: Config,
    current_time: f64,
    best: Config,
    best_time: f64,
}

/// A knob's options.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Rated {
    rating: Vec<Option<f64>>,
    /// Cumulative weights for drawing; recomputed every few evaluations.
    #[serde(skip)]
    sums: Vec<f64>,
}

/// The smoothing factor of ratings.
const FOLLOW: f64 = 0.4;
/// The acceptance temperature as a share of the temperature; small, because relative times differ
/// by little.
const ACCEPT: f64 = 0.03;
/// The cap on a single relative time, for disturbed executions.
const LARGEST: f64 = 4.0;
/// Evaluations between two computations of the weights.
const STALE: u32 = 8;

impl Quench {
    /// A search of the space with `budget` evaluations. One knob changes at a time; with
    /// [`Generator::Uniform`] half of the knobs do, as in the thesis.
    #[must_use]
    pub fn new(space: &Space, budget: u32, generator: Generator) -> Self {
        let knobs = space.options.iter().zip(&space.prior).map(|(count, prior)| {
            let least = prior.iter().copied().fold(f64::INFINITY, f64::min);
            let rating = |option| prior.get(option).map(|cost| (cost / least).clamp(1.0, LARGEST));
            Rated { rating: (0..usize::from(*count)).map(rating).collect(), sums: Vec::new() }
        });
        let start = space.predicted();
        Self {
            generator,
            redraw: match generator {
                Generator::Rated => 1,
                Generator::Uniform => space.options.len().div_ceil(2).max(1),
            },
            done: 0,
            budget: budget.max(1),
            knobs: knobs.collect(),
            current: start.clone(),
            current_time: f64::MAX,
            best: start,
            best_time: f64::MAX,
        }
    }

    /// Sets the number of knobs that change at a time, at least one.
    #[must_use]
    pub fn redraw(mut self, knobs: usize) -> Self {
        self.redraw = knobs.clamp(1, self.knobs.len().max(1));
        self
    }

    fn temperature(&self) -> f64 {
        (-5.0 * f64::from(self.done) / f64::from(self.budget)).exp()
    }
}

impl Rated {
    fn weigh(&mut self, temperature: f64) {
        let seen = self.rating.iter().flatten();
        let count = seen.clone().count().max(1) as f64;
        let least = seen.clone().copied().fold(f64::INFINITY, f64::min);
        let mean = seen.clone().sum::<f64>() / count;
        let deviation = (seen.map(|rating| (rating - mean).powi(2)).sum::<f64>() / count).sqrt();
        let scale = if deviation > 0.0 { -8.0 / 3.0 * (1.0 - temperature) / deviation } else { 0.0 };
        let mut sum = 0.0;
        self.sums.clear();
        for rating in &self.rating {
            sum += rating.map_or(1.0, |rating| (scale * (rating - least)).exp());
            self.sums.push(sum);
        }
    }

    fn draw(&self, random: &mut Random) -> u16 {
        let point = random.random::<f64>() * self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|sum| *sum <= point).min(self.sums.len().saturating_sub(1)) as u16
    }
}

impl Policy for Quench {
    fn name(&self) -> &'static str {
        match self.generator {
            Generator::Rated => "quenching",
            Generator::Uniform => "quenching, uniform",
        }
    }

    fn next(&mut self, random: &mut Random, config: &mut Config) {
        config.clone_from(&self.current);
        let temperature = self.temperature();
        let mut wanted = self.redraw;
        let count = self.knobs.len();
        for (at, (knob, option)) in self.knobs.iter_mut().zip(config).enumerate() {
            if below(random, count - at) >= wanted {
                continue;
            }
            wanted -= 1;
            *option = if self.generator == Generator::Uniform {
                below(random, knob.rating.len()) as u16
            } else {
                if knob.sums.is_empty() || self.done.is_multiple_of(STALE) {
                    knob.weigh(temperature);
                }
                knob.draw(random)
            };
        }
    }

    fn learn(&mut self, random: &mut Random, config: &Config, time: f64) {
        if time < self.best_time {
            self.best.clone_from(config);
            self.best_time = time;
        }
        let time = time.min(LARGEST * self.best_time);
        for (knob, option) in self.knobs.iter_mut().zip(config) {
            if let Some(rating) = knob.rating.get_mut(usize::from(*option)) {
                *rating = Some(rating.map_or(time, |before| before + FOLLOW * (time - before)));
            }
        }
        let worse = (time - self.current_time) / self.best_time;
        let temperature = ACCEPT * self.temperature();
        if worse <= 0.0 || random.random::<f64>() < (-worse / temperature).exp() {
            self.current.clone_from(config);
            self.current_time = time;
        }
        self.done += 1;
    }

    fn is_done(&self) -> bool {
        self.done >= self.budget
    }

    fn best(&self) -> Config {
        self.best.clone()
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn restore(&mut self, saved: &Value) -> bool {
        let Ok(saved) = Self::deserialize(saved) else { return false };
        let counts = |each: &Self| each.knobs.iter().map(|knob| knob.rating.len() as u16).collect::<Vec<_>>();
        let fit = counts(&saved) == counts(self)
            && fits(&counts(self), &saved.current)
            && fits(&counts(self), &saved.best)
            && (1..=saved.knobs.len()).contains(&saved.redraw)
            && saved.budget > 0;
        if fit {
            *self = saved;
        }
        fit
    }
}
