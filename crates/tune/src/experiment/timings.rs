//! The times of executions: of the default at each stop, and of each option.

use serde::{Deserialize, Serialize};

use super::{BASELINE, Experiment, REOPENED};
use crate::policy::median;
use crate::stats::Moments;

/// Number of the default's times kept for each stop, and number of a watch's times after which both
/// are compared.
const WATCHED: usize = 30;
/// Factor by which the default's time must change to restart a search.
const CHANGED: f64 = 1.5;

/// Measurements of one option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Evaluations in which the option took part.
    pub evaluations: u64,
    /// The mean of their times, relative to the default.
    pub mean: f64,
    /// The least of their times, relative to the default.
    pub least: f64,
}

/// The timings of executions that ended at one stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// All executions that ended at the stop, timed or not.
    pub(crate) endings: u64,
    /// Times with the default.
    pub(crate) default: Moments,
    /// The time by which the search's times are divided: constant, because the search remembers
    /// relative times; 0 until it is measured.
    pub(super) reference: f64,
    /// Samples of the default's times, and of the watch's.
    pub(super) before: Vec<f64>,
    pub(super) recent: Vec<f64>,
    pub(super) sum: f64,
    pub(super) count: u32,
}

impl Stop {
    pub(super) fn push_default(&mut self, time: f64) {
        self.default.push(time);
        if self.before.len() < WATCHED {
            self.before.push(time);
        }
        // More evaluations than a baseline: the stop was first seen during the search.
        if self.reference == 0.0 && self.before.len() > BASELINE as usize {
            self.fix();
        }
    }

    /// Fixes the reference: further times are relative to the default's times so far.
    pub(super) fn fix(&mut self) {
        self.reference = if self.before.is_empty() { 0.0 } else { median(&self.before) };
    }
}

impl Experiment {
    /// True if the default's time has changed since the search ended: the middle halves of the
    /// recent and the earlier times are far apart. Single disturbed executions do not affect middle
    /// halves.
    pub(super) fn has_changed(&mut self) -> bool {
        let mut changed = false;
        for stop in self.stops.iter_mut().filter(|stop| stop.recent.len() >= WATCHED) {
            let recent = quartiles(&mut std::mem::take(&mut stop.recent));
            let before = quartiles(&mut stop.before);
            if let (Some(recent), Some(before)) = (recent, before) {
                changed |= recent[0] > CHANGED * before[1] || CHANGED * recent[1] < before[0];
            }
        }
        changed && self.reopened < REOPENED && self.space.options.iter().any(|count| *count > 1)
    }
}

/// The lower and the upper quartile; `None` if there are few times.
fn quartiles(times: &mut [f64]) -> Option<[f64; 2]> {
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[part * (times.len() - 1) / 4];
    (times.len() >= 4).then(|| [at(1), at(3)])
}

impl Tried {
    pub(super) fn push(&mut self, relative: f64) {
        self.least = if self.evaluations == 0 { relative } else { self.least.min(relative) };
        self.evaluations += 1;
        self.mean += (relative - self.mean) / self.evaluations as f64;
    }
}
