//! The comparison that a configuration must win before it is adopted.
//!
//! The thesis had none: its searches ended with configurations that were fast by chance, and both
//! of its applications became slower by 0.15 to 0.20 % (Borg 2006, tables 6.1 and 6.2).

use crate::policy::Random;
use crate::stats::{Difference, Moments, stratified};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

/// Numbers of pairs after which the comparison is evaluated. Each evaluation has an equal share of
/// the risk (Bonferroni).
const LOOKS: [usize; 4] = [30, 60, 120, 240];
/// Times above this quantile of both sets together are clipped to the quantile: a preempted
/// execution carries no information about a configuration, and would hide the difference.
const CLIPPED: f64 = 0.95;

/// A stop, the mean time of the executions that ended there, and their number.
type Timed = (usize, f64, f64);

/// Fresh timings of two configurations in alternation; the order within each pair is random.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// For each stop, the times with the default and with the other configuration.
    times: Vec<[Vec<f64>; 2]>,
    /// Number of executions averaged in each of those times.
    weights: Vec<f64>,
    pairs: usize,
    /// The configuration of a pair's second evaluation, if that is due, and the times of the first.
    /// A later run begins with a whole pair.
    #[serde(skip)]
    second: Option<bool>,
    #[serde(skip)]
    first: Option<(bool, Vec<Timed>)>,
    confidence: f64,
    looks: usize,
}

/// The result of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The other configuration is significantly faster.
    Faster(Outcome),
    /// The other configuration is not significantly faster, or by no more than noise; or the
    /// default is faster.
    NotFaster(Outcome),
}

/// The difference, relative to the default: negative if the other configuration is faster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) mean: f64,
    pub(crate) half_width: f64,
    pub(crate) pairs: usize,
    /// True if the default is significantly faster.
    pub(crate) slower: bool,
}

impl Gate {
    /// A two-sided comparison at this confidence, over all its evaluations.
    pub(crate) fn new(confidence: f64) -> Self {
        Self { confidence, looks: LOOKS.len(), ..Self::default() }
    }

    /// A comparison with one evaluation, after 30 pairs.
    pub(crate) fn short(confidence: f64) -> Self {
        Self { looks: 1, ..Self::new(confidence) }
    }

    /// True if the state from a file can be a gate of an interval with `stops` stops.
    pub(crate) fn fits(&self, stops: usize) -> bool {
        let most = LOOKS[LOOKS.len() - 1];
        self.times.len() <= stops
            && self.weights.len() == self.times.len()
            && self.looks == LOOKS.len()
            && self.pairs < most
            && self.confidence > 0.0
            && self.confidence < 1.0
    }

    /// Decides the next evaluation; true for the other configuration.
    pub(crate) fn next(&mut self, random: &mut Random) -> bool {
        match self.second.take() {
            Some(other) => other,
            None => {
                let first = random.random::<bool>();
                self.second = Some(!first);
                first
            }
        }
    }

    pub(crate) fn is_even(&self) -> bool {
        self.second.is_none() && self.first.is_none()
    }

    /// Adds an evaluation: for each stop the mean time and the number of executions.
    pub(crate) fn push(&mut self, other: bool, times: impl Iterator<Item = Timed>) {
        let Some((before, first)) = self.first.take() else {
            self.first = Some((other, times.collect()));
            return;
        };
        self.pairs += 1;
        let second = times.map(|time| (other, time));
        for (other, (stop, time, executions)) in first.into_iter().map(|time| (before, time)).chain(second) {
            if self.times.len() <= stop {
                self.times.resize(stop + 1, Default::default());
                self.weights.resize(stop + 1, 0.0);
            }
            self.times[stop][usize::from(other)].push(time);
            self.weights[stop] += executions;
        }
    }

    /// The result so far; `None` between evaluations.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let pairs = self.pairs;
        if !self.is_even() || !LOOKS[..self.looks].contains(&pairs) {
            return None;
        }
        let last = pairs == LOOKS[self.looks - 1];
        let confidence = 1.0 - (1.0 - self.confidence) / self.looks as f64;
        let Some((found, reference)) = self.difference(confidence) else {
            return last.then_some(Verdict::NotFaster(Outcome { pairs, ..Outcome::default() }));
        };
        let outcome = Outcome {
            mean: found.mean / reference,
            half_width: found.half_width / reference,
            pairs,
            slower: found.is_greater(),
        };
        if found.is_less() {
            Some(Verdict::Faster(outcome))
        } else if last || found.is_greater() {
            Some(Verdict::NotFaster(outcome))
        } else {
            None
        }
    }

    /// The other configuration's mean less the default's; and the default's mean.
    fn difference(&self, confidence: f64) -> Option<(Difference, f64)> {
        let total: f64 = self.weights.iter().sum();
        let strata: Vec<(f64, Moments, Moments)> = self
            .times
            .iter()
            .zip(&self.weights)
            .filter(|([default, other], _)| default.len() >= 2 && other.len() >= 2)
            .map(|([default, other], weight)| {
                let mut all: Vec<f64> = default.iter().chain(other).copied().collect();
                all.sort_by(f64::total_cmp);
                let most = all[((all.len() - 1) as f64 * CLIPPED) as usize];
                let clipped = |times: &[f64]| times.iter().map(|time| time.min(most)).collect();
                (weight / total, clipped(default), clipped(other))
            })
            .collect();
        let reference: f64 = strata.iter().map(|(weight, default, _)| weight * default.mean).sum();
        let found =
            stratified(strata.iter().map(|(weight, default, other)| (*weight, other, default)), confidence)?;
        (reference > 0.0).then_some((found, reference))
    }
}
