//! One bandit a knob: knobs are assumed not to interact.

use super::{Config, Policy, Random, Space, below};
use crate::stats::Moments;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strata_select::normal;

/// For each knob the option that is best in a random draw from the posteriors of all options
/// (Thompson 1933): a normal distribution about the mean of the option's times.
///
/// Simple, and good for knobs that hardly influence each other; interaction appears as noise.
/// Confidence bounds in place of draws would move all knobs in step, because all knobs see the same
/// times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bandit {
    arms: Vec<Vec<Arm>>,
    done: u32,
    budget: u32,
}

/// An option's times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Arm {
    count: u64,
    /// The last times; the mean is taken without those above twice their median (disturbed
    /// executions).
    recent: Vec<f64>,
    mean: f64,
}

/// The most times kept.
const RECENT: usize = 63;

impl Arm {
    fn push(&mut self, time: f64) {
        if self.recent.len() < RECENT {
            self.recent.push(time);
        } else {
            self.recent[self.count as usize % RECENT] = time;
        }
        self.count += 1;
        let most = 2.0 * super::median(&self.recent);
        let kept = self.recent.iter().filter(|time| **time <= most);
        self.mean = kept.clone().sum::<f64>() / kept.count().max(1) as f64;
    }
}

impl Bandit {
    /// A bandit that searches the space with `budget` evaluations.
    #[must_use]
    pub fn new(space: &Space, budget: u32) -> Self {
        let arms = space.options.iter().map(|count| vec![Arm::default(); usize::from(*count)]);
        Self { arms: arms.collect(), done: 0, budget }
    }
}

impl Policy for Bandit {
    fn name(&self) -> &'static str {
        "bandit"
    }

    fn next(&mut self, random: &mut Random, config: &mut Config) {
        config.clear();
        for arms in &self.arms {
            let unseen: Vec<usize> = (0..arms.len()).filter(|arm| arms[*arm].count == 0).collect();
            if !unseen.is_empty() {
                config.push(unseen[below(random, unseen.len())] as u16);
                continue;
            }
            let scatter: Moments = arms.iter().map(|arm| arm.mean).collect();
            let scale = scatter.variance().unwrap_or(0.0).sqrt();
            let mut least = (f64::INFINITY, 0);
            for (option, arm) in arms.iter().enumerate() {
                let drawn = arm.mean
                    + scale * normal::draw(random.random(), random.random()) / (arm.count as f64).sqrt();
                if drawn < least.0 {
                    least = (drawn, option as u16);
                }
            }
            config.push(least.1);
        }
    }

    fn learn(&mut self, _: &mut Random, config: &Config, time: f64) {
        self.done += 1;
        for (arms, option) in self.arms.iter_mut().zip(config) {
            if let Some(arm) = arms.get_mut(usize::from(*option)) {
                arm.push(time);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.done >= self.budget
    }

    fn best(&self) -> Config {
        let least = |arms: &Vec<Arm>| {
            let seen = arms.iter().enumerate().filter(|(_, arm)| arm.count > 0);
            seen.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).map_or(0, |(arm, _)| arm as u16)
        };
        self.arms.iter().map(least).collect()
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn restore(&mut self, saved: &Value) -> bool {
        let Ok(saved) = Self::deserialize(saved) else { return false };
        let counts = |bandit: &Self| bandit.arms.iter().map(Vec::len).collect::<Vec<_>>();
        let recent = |arm: &Arm| arm.recent.len() <= RECENT;
        let fit = counts(&saved) == counts(self) && saved.arms.iter().flatten().all(recent);
        if fit {
            *self = saved;
        }
        fit
    }
}
