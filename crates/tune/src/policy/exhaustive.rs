//! All configurations, for small spaces.

use super::{Config, Policy, Random, Space, below, fits, median};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tries all configurations equally often, then the better half of them, until one remains.
///
/// Successive halving (Jamieson and Talwalkar 2016): each round has an equal share of the budget.
/// Configurations are compared by their median times, which a single fast execution does not
/// decide. In each round all configurations are run in turn, in random order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exhaustive {
    options: Vec<u16>,
    /// The remaining configurations, by number, with their times in this round.
    left: Vec<(u64, Vec<f64>)>,
    /// Positions in `left` of the configurations still to run in this turn.
    turn: Vec<usize>,
    /// Remaining turns of this round.
    turns: u32,
    rounds: u32,
    budget: u32,
}

/// The most configurations that are enumerated; further ones are left out.
const MOST: u64 = 1 << 16;

impl Exhaustive {
    /// A policy that searches the space with about `budget` evaluations, at least one a
    /// configuration.
    #[must_use]
    pub fn new(space: &Space, budget: u32) -> Self {
        let size = space.size().unwrap_or(MOST).min(MOST);
        let left: Vec<_> = (0..size).map(|number| (number, Vec::new())).collect();
        let rounds = size.next_power_of_two().trailing_zeros().max(1);
        let mut made =
            Self { options: space.options.clone(), left, turn: Vec::new(), turns: 0, rounds, budget };
        made.begin_round();
        made
    }

    fn begin_round(&mut self) {
        self.left.iter_mut().for_each(|(_, times)| times.clear());
        let share = self.budget / self.rounds / (self.left.len() as u32).max(1);
        self.turns = share.max(1);
        self.turn = (0..self.left.len()).collect();
    }

    fn write(&self, mut number: u64, config: &mut Config) {
        config.clear();
        for count in &self.options {
            config.push((number % u64::from(*count)) as u16);
            number /= u64::from(*count);
        }
    }

    fn number(&self, config: &Config) -> u64 {
        config
            .iter()
            .zip(&self.options)
            .rev()
            .fold(0, |number, (option, count)| number * u64::from(*count) + u64::from(*option))
    }

    /// Positions in `left`, best first.
    fn order(&self) -> Vec<usize> {
        let medians: Vec<f64> = self.left.iter().map(|(_, times)| median(times)).collect();
        let mut order: Vec<usize> = (0..self.left.len()).collect();
        order.sort_by(|a, b| medians[*a].total_cmp(&medians[*b]));
        order
    }
}

impl Policy for Exhaustive {
    fn name(&self) -> &'static str {
        "exhaustive"
    }

    fn next(&mut self, random: &mut Random, config: &mut Config) {
        if self.is_done() {
            config.clone_from(&self.best());
            return;
        }
        let at = below(random, self.turn.len());
        self.turn.get(at).into_iter().for_each(|at| self.write(self.left[*at].0, config));
    }

    fn learn(&mut self, _: &mut Random, config: &Config, time: f64) {
        let number = self.number(config);
        let Some(at) = self.left.iter().position(|(each, _)| *each == number) else { return };
        self.left[at].1.push(time);
        self.turn.retain(|each| *each != at);
        if !self.turn.is_empty() || self.is_done() {
            return;
        }
        self.turns = self.turns.saturating_sub(1);
        if self.turns > 0 {
            self.turn = (0..self.left.len()).collect();
            return;
        }
        let keep = self.left.len().div_ceil(2);
        let mut order = self.order();
        order.truncate(keep);
        self.left = order.into_iter().map(|at| (self.left[at].0, Vec::new())).collect();
        self.begin_round();
    }

    fn is_done(&self) -> bool {
        self.left.len() <= 1
    }

    fn best(&self) -> Config {
        let mut config = Config::new();
        let first = self.order().first().map_or(0, |at| self.left[*at].0);
        self.write(first, &mut config);
        config
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn restore(&mut self, saved: &Value) -> bool {
        let Ok(saved) = Self::deserialize(saved) else { return false };
        let size = saved.options.iter().try_fold(1u64, |size, count| size.checked_mul(u64::from(*count)));
        let fit = saved.options == self.options
            && !saved.left.is_empty()
            && saved.left.iter().all(|(number, _)| Some(*number) < size)
            && saved.turn.iter().all(|at| *at < saved.left.len())
            && (saved.left.len() == 1 || !saved.turn.is_empty() && saved.turns > 0)
            && saved.rounds > 0
            && fits(&saved.options, &vec![0; saved.options.len()]);
        if fit {
            *self = saved;
        }
        fit
    }
}
