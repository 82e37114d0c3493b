//! Idle periods of a tuner: while nothing can be gained, a visit costs only a branch.

use crate::experiment::{Experiment, Phase};
use crate::graph::Visit;
use crate::settings::Mode;
use crate::site::Sig;
use crate::tuner::Tuner;

/// Seconds that a visit takes while the tuner is not idle (`benches/figures/tune.md`).
const VISIT: f64 = 8e-9;
/// The longest idle period, in units of the shortest.
const LONGEST: u64 = 256;

/// The most visits of an idle period before a search continues.
const LONGEST_WAIT: f64 = 1e6;
/// The shortest worthwhile idle period, in visits: afterwards the program's position must be found
/// again.
const SHORTEST: f64 = 32.0;

/// The schedule of a tuner's idle periods. The program may change, so idle periods end now and
/// then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idle {
    /// Visits left in the idle period; 0 if there is none.
    pub(crate) left: u64,
    /// Length of this idle period, and total length of all earlier ones.
    length: u64,
    total: u64,
    /// Length of the last idle period that began after every search had ended, in this run or an
    /// earlier one.
    settled: u64,
    /// True if every search had ended when this idle period began.
    ended: bool,
}

impl Idle {
    /// The idle period of a tuner that is off: it never ends.
    pub(crate) const fn endless() -> Self {
        Self { left: u64::MAX, length: u64::MAX, total: 0, settled: 0, ended: false }
    }

    /// The state kept for a later run: the length of the last idle period after every search had
    /// ended, and the visits left of one.
    pub(crate) const fn kept(&self) -> [u64; 2] {
        [self.settled, self.left]
    }

    /// Total number of visits in idle periods.
    pub(crate) fn slept(&self) -> u64 {
        self.total + if self.left == 0 { 0 } else { self.length - self.left }
    }
}

impl Tuner {
    /// True if visits currently take the default and are not recorded, because nothing is to be
    /// gained or tried, or the tuner is off.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.idle.left > 0
    }

    /// Ticks that timing an execution of `visits` visits takes.
    pub(crate) fn price_of_timing(&self, visits: usize) -> f64 {
        if self.clock_cost > 0.0 { self.clock_cost + visits as f64 * VISIT / self.tick } else { 0.0 }
    }

    /// Continues the idle period of an earlier run that found the default best everywhere, so that
    /// of many programs shorter than an idle period one run in several observes, too.
    pub(crate) fn rest_on(&mut self, [settled, left]: [u64; 2]) {
        if !self.experiments.iter().all(|each| each.phase == Phase::Default) {
            return;
        }
        // Each idle period is twice as long as the one before it.
        self.idle.settled = if left > 0 { settled / 2 } else { settled };
        self.rest_if_idle();
        if self.is_resting() && left > 0 {
            self.idle.length = left.min(self.idle.length);
            self.idle.left = self.idle.length;
        }
    }

    /// Begins an idle period if every interval is to run with the default for a while. An adopted
    /// configuration is given up unless it saves more than the visits of the whole program cost;
    /// its own comparison did not count them, because both sides paid them.
    ///
    /// Nodes of a team are never idle, because they would not agree; nor is a tuner whose timing
    /// costs nothing.
    #[cold]
    pub(crate) fn rest_if_idle(&mut self) {
        let rests = matches!(self.options.mode, Mode::Tune(_)) && self.clock_cost > 0.0 && !self.team;
        let visits = self.visits;
        if !rests || self.unsettled || self.experiments.iter_mut().any(|each| each.is_busy(visits)) {
            return;
        }
        let is = |phase| move |each: &Experiment| each.phase == phase;
        if self.experiments.iter().any(is(Phase::Adopted)) {
            let saved: f64 = self.experiments.iter().map(Experiment::saved).sum();
            if saved * self.tick > self.visits as f64 * VISIT {
                return;
            }
            for number in 0..self.experiments.len() {
                self.experiments[number].give_up();
                self.put_in_force(number);
            }
        }
        self.idle.ended = self.experiments.iter().all(is(Phase::Default));
        self.idle.length = if self.idle.ended {
            let shortest = u64::from(self.options.watch.max(1));
            self.idle.settled = self.idle.settled.saturating_mul(2).clamp(shortest, LONGEST * shortest);
            self.idle.settled
        } else {
            // The idle period ends when the first search continues.
            let visits = self.visits as f64;
            let least =
                self.experiments.iter().map(|each| each.idle_visits(visits)).fold(f64::INFINITY, f64::min);
            if least < SHORTEST {
                return;
            }
            least.min(LONGEST_WAIT) as u64
        };
        self.idle.left = self.idle.length;
    }

    /// Counts a visit and returns true if the tuner is idle or off, so that the visit takes the
    /// default; `false` if the place has to be looked up. For callers that pay to find out their
    /// place.
    #[inline]
    pub fn passes(&mut self) -> bool {
        let passes = self.idle.left > 1;
        self.idle.left -= u64::from(passes);
        passes
    }

    /// Finds the program's position in the graph after an idle period.
    #[cold]
    pub(crate) fn wake(
        &mut self,
        sig: Sig,
        describe: impl FnOnce() -> (Vec<String>, Vec<f64>),
    ) -> Option<usize> {
        self.idle.left = 0;
        self.idle.total += self.idle.length;
        self.run.active = false;
        let slept =
            if self.idle.ended { f64::INFINITY } else { self.idle.length as f64 / self.visits as f64 };
        self.experiments.iter_mut().for_each(|each| each.has_slept(slept));
        match self.graph.land(sig, describe) {
            Visit::Known(node) => Some(node),
            Visit::New(node) => {
                self.discover();
                Some(node)
            }
            Visit::Untracked => None,
        }
    }
}
