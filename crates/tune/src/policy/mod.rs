//! Policies: which configuration is tried next.

mod bandit;
mod exhaustive;
mod fixed;
mod quench;

pub use bandit::Bandit;
pub use exhaustive::Exhaustive;
pub use fixed::Fixed;
pub use quench::{Generator, Quench};

use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The random numbers of a search: equal for equal seeds, on every machine.
pub type Random = chacha20::ChaCha8Rng;

/// A number of an option for each knob; 0 is the default.
pub type Config = Vec<u16>;

/// What is searched: the knobs of one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The number of options of each knob, at least 1.
    pub options: Vec<u16>,
    /// Predicted costs of each knob's options, relative to each other; empty where no model says.
    pub prior: Vec<Vec<f64>>,
}

impl Space {
    /// A space of knobs with so many options each, of which no model predicts anything.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item = u16>) -> Self {
        let options: Vec<u16> = options.into_iter().map(|count| count.max(1)).collect();
        Self { prior: vec![Vec::new(); options.len()], options }
    }

    /// The number of configurations; `None` where it exceeds 64 bits.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.options.iter().try_fold(1u64, |size, count| size.checked_mul(u64::from(*count)))
    }

    /// The configuration of defaults.
    #[must_use]
    pub fn default_config(&self) -> Config {
        vec![0; self.options.len()]
    }

    /// The configuration that models predict to be the fastest; defaults where they say nothing.
    #[must_use]
    pub fn predicted(&self) -> Config {
        let least = |costs: &Vec<f64>| {
            let least = costs.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
            least.map_or(0, |(option, _)| option as u16)
        };
        self.prior.iter().map(least).collect()
    }

    /// How many evaluations a search takes by default: 40 a knob, times the root of its options.
    #[must_use]
    pub fn usual_budget(&self) -> u32 {
        let knobs = self.options.iter().filter(|count| **count > 1);
        knobs.map(|count| (40.0 * f64::from(*count).sqrt()).ceil() as u32).sum()
    }
}

/// A way to search. It is told the time of each configuration that it asked for, relative to that
/// of the default, so that executions which end at different places compare.
///
/// Everything follows from the numbers in `random` and the times: on a team all nodes get equal
/// ones.
pub trait Policy: Send {
    /// Its name in reports.
    fn name(&self) -> &'static str;
    /// Writes the configuration to try next.
    fn next(&mut self, random: &mut Random, config: &mut Config);
    /// Learns what `config` took, 1 being the time of the default.
    fn learn(&mut self, random: &mut Random, config: &Config, time: f64);
    /// Whether the search has ended.
    fn is_done(&self) -> bool;
    /// The configuration that has proved best so far.
    fn best(&self) -> Config;
    /// What it has learned, for a later run.
    fn save(&self) -> Value;
    /// Takes up what an earlier run has saved; `false`, and nothing is changed, if it does not fit.
    fn restore(&mut self, saved: &Value) -> bool;
}

/// Which policy searches an interval.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Search {
    /// [`Exhaustive`] where the budget suffices to try every configuration eight times, otherwise
    /// [`Quench`].
    #[default]
    Auto,
    /// No search: what models predict is compared with the default.
    Predicted,
    /// Simulated quenching.
    Quench(Generator),
    /// A bandit a knob.
    Bandit,
    /// All configurations in turn, the slower ones dropping out.
    Exhaustive,
    /// One of your own, by the space and the budget in evaluations.
    Own(fn(&Space, u32) -> Box<dyn Policy>),
}

impl Search {
    /// The policy for a space.
    #[must_use]
    pub fn policy(self, space: &Space, budget: u32) -> Box<dyn Policy> {
        match self {
            Self::Auto if space.size().is_some_and(|size| 8 * size <= u64::from(budget)) => {
                Box::new(Exhaustive::new(space, budget))
            }
            Self::Auto => Box::new(Quench::new(space, budget, Generator::Rated)),
            Self::Predicted => Box::new(Fixed::new(space.predicted())),
            Self::Quench(generator) => Box::new(Quench::new(space, budget, generator)),
            Self::Bandit => Box::new(Bandit::new(space, budget)),
            Self::Exhaustive => Box::new(Exhaustive::new(space, budget)),
            Self::Own(make) => make(space, budget),
        }
    }
}

/// A whole number below `end`.
fn below(random: &mut Random, end: usize) -> usize {
    random.random_range(0..end.max(1) as u64) as usize
}

/// The median, of an even number the lower one; infinite of none.
pub(crate) fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::INFINITY)
}

/// Whether `config` is one of the space, as what is read from files need not be.
pub(crate) fn fits(space: &[u16], config: &[u16]) -> bool {
    config.len() == space.len() && config.iter().zip(space).all(|(option, count)| option < count)
}
