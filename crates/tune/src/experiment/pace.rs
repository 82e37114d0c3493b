//! When executions are timed, and when an experiment rests.

use rand::RngExt as _;

use super::{Experiment, Phase};

/// Visits of a program after which a loop that has not run counts as left for good.
const LEFT: u64 = 100_000;

impl Experiment {
    /// An execution, or on a team a step, passes without being timed.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.idle -= u32::from(self.idle != u32::MAX);
        if self.idle == 0 {
            self.timing = true;
            self.plan();
        }
    }

    /// A search that has used up what it may lose rests, untimed and with the default, until its
    /// share of the time makes up for it.
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

    /// Whether it times executions, and there are any.
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

    /// For about how many visits this does not need any, if its executions so far took so many.
    pub(crate) fn idle_visits(&self, visits: f64) -> f64 {
        if self.idle == u32::MAX {
            f64::INFINITY
        } else {
            f64::from(self.idle) * visits / self.endings().max(1.0)
        }
    }

    /// Nothing was looked at for so many times as long as before.
    pub(crate) fn has_slept(&mut self, times: f64) {
        if self.idle != u32::MAX {
            let executions = (times * self.endings().max(1.0)) as u32;
            self.idle = self.idle.saturating_sub(executions).max(1);
        }
    }

    /// No more timings for a while, by chance of how long: what the program does regularly must not
    /// meet always the same.
    pub(super) fn pause(&mut self) {
        let settled = matches!(self.phase, Phase::Adopted | Phase::Default);
        if settled && self.gate.is_even() {
            self.timing = false;
            let watch = u64::from(self.rules.watch.max(1));
            self.idle = (watch / 2 + 1 + self.random.random_range(0..watch)) as u32;
        }
    }
}
