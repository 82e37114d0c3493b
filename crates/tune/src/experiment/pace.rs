//! Decides when executions are timed, and when an experiment is idle.

use rand::RngExt as _;

use super::{Experiment, Phase};

/// Visits of a program after which a loop that has not run counts as finished.
const LEFT: u64 = 100_000;

impl Experiment {
    /// Counts an execution (on a team, a step) that is not timed.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.idle -= u32::from(self.idle != u32::MAX);
        if self.idle == 0 {
            self.timing = true;
            self.plan();
        }
    }

    /// Idles a search that has used up its allowed loss: untimed, with the default, until its share
    /// of the time has made up for the loss.
    pub(super) fn wait_for_credit(&mut self) {
        let between = self.phase == Phase::Search || self.phase == Phase::Gate && self.gate.is_even();
        if !between || !self.timing || self.credit > 0.0 || self.last_reference <= 0.0 {
            return;
        }
        let evaluations = -self.credit / (self.rules.loss * self.last_reference);
        let executions = (evaluations * self.last_executions).ceil().max(1.0);
        self.idle = executions.min(f64::from(u32::MAX - 1)) as u32;
        self.credit = f64::MIN_POSITIVE;
        self.timing = false;
    }

    /// True if the experiment times executions, and executions occur.
    pub(crate) fn is_busy(&mut self, visits: u64) -> bool {
        let endings = self.endings();
        if endings != self.seen.0 {
            self.seen = (endings, visits);
        }
        self.timing && visits - self.seen.1 < LEFT
    }

    pub(super) fn endings(&self) -> f64 {
        self.stops.iter().map(|stop| stop.endings as f64).sum()
    }

    /// The approximate number of visits for which the experiment needs none, if its executions so
    /// far took `visits`.
    pub(crate) fn idle_visits(&self, visits: f64) -> f64 {
        if self.idle == u32::MAX {
            f64::INFINITY
        } else {
            f64::from(self.idle) * visits / self.endings().max(1.0)
        }
    }

    /// Records that executions were not observed for `times` as long as the time before.
    pub(crate) fn has_slept(&mut self, times: f64) {
        if self.idle != u32::MAX {
            let executions = (times * self.endings().max(1.0)) as u32;
            self.idle = self.idle.saturating_sub(executions).max(1);
        }
    }

    /// Stops timing for a random while, so that timings do not coincide with regular events of the
    /// program.
    pub(super) fn pause(&mut self) {
        let settled = matches!(self.phase, Phase::Adopted | Phase::Default);
        if settled && self.gate.is_even() {
            self.timing = false;
            let watch = u64::from(self.rules.watch.max(1));
            self.idle = (watch / 2 + 1 + self.random.random_range(0..watch)) as u32;
        }
    }
}
