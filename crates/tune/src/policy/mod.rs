//! Policies: the choice of the configuration to try next.

mod exhaustive;
mod fixed;
mod quench;

pub use exhaustive::Exhaustive;
pub use fixed::Fixed;
pub use quench::{Generator, Quench};

use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The random numbers of a search: equal for equal seeds, on every machine.
pub type Random = chacha20::ChaCha8Rng;

/// The option number of each knob; 0 is the default.
pub type Config = Vec<u16>;

/// The search space: the knobs of one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The number of options of each knob, at least 1.
    pub options: Vec<u16>,
    /// Predicted costs of each knob's options, relative to each other; empty without a prediction.
    pub prior: Vec<Vec<f64>>,
}

impl Space {
    /// A space of knobs with these numbers of options and no predictions.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item = u16>) -> Self {
        let options: Vec<u16> = options.into_iter().map(|count| count.max(1)).collect();
        Self { prior: vec![Vec::new(); options.len()], options }
    }

    /// The number of configurations; `None` if it exceeds 64 bits.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.options.iter().try_fold(1u64, |size, count| size.checked_mul(u64::from(*count)))
    }

    /// The configuration of defaults.
    #[must_use]
    pub fn default_config(&self) -> Config {
        vec![0; self.options.len()]
    }

    /// The configuration with the least predicted costs; knobs without predictions take their
    /// default.
    #[must_use]
    pub fn predicted(&self) -> Config {
        let least = |costs: &Vec<f64>| {
            let least = costs.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
            least.map_or(0, |(option, _)| option as u16)
        };
        self.prior.iter().map(least).collect()
    }

    /// The default number of evaluations of a search: 40 a knob, times the root of its options.
    #[must_use]
    pub fn usual_budget(&self) -> u32 {
        let knobs = self.options.iter().filter(|count| **count > 1);
        knobs.map(|count| (40.0 * f64::from(*count).sqrt()).ceil() as u32).sum()
    }
}

/// A search method. It receives the time of each configuration that it requested, relative to the
/// default's, so that executions that end at different places are comparable.
///
/// A policy must be determined by the numbers in `random` and the times: on a team all nodes get
/// the same.
pub trait Policy: Send {
    /// Its name in reports.
    fn name(&self) -> &'static str;
    /// Writes the configuration to try next.
    fn next(&mut self, random: &mut Random, config: &mut Config);
    /// Learns the time of `config`, relative to the default's.
    fn learn(&mut self, random: &mut Random, config: &Config, time: f64);
    /// True if the search has ended.
    fn is_done(&self) -> bool;
    /// The best configuration so far.
    fn best(&self) -> Config;
    /// The learned state, for a later run.
    fn save(&self) -> Value;
    /// Restores the state of an earlier run; if it does not fit, returns `false` and changes
    /// nothing.
    fn restore(&mut self, saved: &Value) -> bool;
}

/// The search policy of an interval.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Search {
    /// [`Exhaustive`] if the budget suffices to try every configuration eight times, otherwise
    /// [`Quench`].
    #[default]
    Auto,
    /// No search: the predicted configuration is compared with the default.
    Predicted,
    /// Simulated quenching.
    Quench(Generator),
    /// All configurations in turn; the slower ones drop out.
    Exhaustive,
    /// The program's own policy, made from the space and the budget in evaluations.
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
            Self::Exhaustive => Box::new(Exhaustive::new(space, budget)),
            Self::Own(make) => make(space, budget),
        }
    }
}

/// A random whole number below `end`.
fn below(random: &mut Random, end: usize) -> usize {
    random.random_range(0..end.max(1) as u64) as usize
}

/// The median; of an even number of times the lower one, of none infinity.
pub(crate) fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::INFINITY)
}

/// True if `config` is in the space; one read from a file may not be.
pub(crate) fn fits(space: &[u16], config: &[u16]) -> bool {
    config.len() == space.len() && config.iter().zip(space).all(|(option, count)| option < count)
}
