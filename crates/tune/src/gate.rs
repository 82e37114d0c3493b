//! The comparison that a configuration must win before it is adopted.
//!
//! The thesis had none: its searches ended with configurations that were fast by luck, and both of
//! its applications became slower by 0.15 to 0.20 % (Borg 2006, tables 6.1 and 6.2).

use crate::policy::Random;
use crate::stats::{Difference, Moments, stratified};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

/// Numbers of pairs after which is looked. Each look has an equal share of the risk (Bonferroni).
const LOOKS: [usize; 4] = [30, 60, 120, 240];
/// Times above this quantile of both sets together count as that quantile: a preempted execution
/// says nothing about either, and would hide the difference.
const CLIPPED: f64 = 0.95;

/// A stop, the mean time of executions that ended there, and how many they are.
type Timed = (usize, f64, f64);

/// Fresh timings of two configurations in turns, by chance of which is first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// For each stop the times with the default, and with the other configuration.
    times: Vec<[Vec<f64>; 2]>,
    /// Executions that each of those times is the mean of.
    weights: Vec<f64>,
    /// Pairs that are complete.
    pairs: usize,
    /// Whether the second of a pair is due, and which that is; and what the first one took. A later
    /// run begins with a whole pair.
    #[serde(skip)]
    second: Option<bool>,
    #[serde(skip)]
    first: Option<(bool, Vec<Timed>)>,
    confidence: f64,
    looks: usize,
}

/// What the comparison shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The other configuration is significantly faster.
    Faster(Outcome),
    /// It is not, or not by as much as noise; or the default is faster.
    NotFaster(Outcome),
}

/// The difference, relative to the default: negative where the other one is faster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) mean: f64,
    pub(crate) half_width: f64,
    pub(crate) pairs: usize,
    /// Whether the default is significantly faster.
    pub(crate) slower: bool,
}

impl Gate {
    /// A comparison at this confidence, two-sided, over all its looks.
    pub(crate) fn new(confidence: f64) -> Self {
        Self {
            times: Vec::new(),
            weights: Vec::new(),
            pairs: 0,
            second: None,
            first: None,
            confidence,
            looks: LOOKS.len(),
        }
    }

    /// A comparison with one look, after 30 pairs.
    pub(crate) fn short(confidence: f64) -> Self {
        Self { looks: 1, ..Self::new(confidence) }
    }

    /// Whether what a file says can be a gate of an interval with so many stops.
    pub(crate) fn fits(&self, stops: usize) -> bool {
        let most = LOOKS[LOOKS.len() - 1];
        self.times.len() <= stops
            && self.weights.len() == self.times.len()
            && self.looks == LOOKS.len()
            && self.pairs < most
            && self.confidence > 0.0
            && self.confidence < 1.0
    }

    /// Whether the next evaluation is one of the other configuration.
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

    /// Whether both of every pair have been taken.
    pub(crate) fn is_even(&self) -> bool {
        self.second.is_none() && self.first.is_none()
    }

    /// Adds an evaluation: for each stop the mean time of so many executions.
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

    /// What is known; `None` between looks.
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

    /// The other configuration's mean less the default's, and the default's.
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
