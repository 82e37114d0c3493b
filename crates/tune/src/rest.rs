//! A tuner rests where nothing can be gained: a visit then costs a branch.

use crate::experiment::{Experiment, Phase};
use crate::graph::Visit;
use crate::settings::Mode;
use crate::site::Sig;
use crate::tuner::Tuner;

/// Seconds that a visit takes while the tuner does not rest (`benches/figures/tune.md`).
const VISIT: f64 = 8e-9;
/// The longest rest, in shortest ones.
const LONGEST: u64 = 256;

/// The most visits of a rest until a search goes on.
const LONGEST_WAIT: f64 = 1e6;
/// A rest of less than this is not worth finding out afterwards where the program is.
const SHORTEST: f64 = 32.0;

/// When a tuner rests, and for how long. The program may change: it looks now and then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    /// Visits that are still to be slept through; 0 where it is awake.
    pub(crate) left: u64,
    /// How long this rest is, and all earlier ones were.
    length: u64,
    total: u64,
    /// How long the last one was at which every search had ended, in this run or before.
    settled: u64,
    /// Whether every search had ended when this rest began.
    ended: bool,
}

impl Rest {
    /// The rest of a tuner that is off: it never ends.
    pub(crate) const fn endless() -> Self {
        Self { left: u64::MAX, length: u64::MAX, total: 0, settled: 0, ended: false }
    }

    /// What a later run needs to know: how long the last rest was where every search had ended, and
    /// how much of one is left.
    pub(crate) const fn kept(&self) -> [u64; 2] {
        [self.settled, self.left]
    }

    /// All visits that were slept through.
    pub(crate) fn slept(&self) -> u64 {
        self.total + if self.left == 0 { 0 } else { self.length - self.left }
    }
}

impl Tuner {
    /// Whether visits take the default and are not recorded at present, as nothing is to be gained
    /// or tried, or the tuner is off.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.rest.left > 0
    }

    /// Ticks that timing an execution of so many visits takes.
    pub(crate) fn price_of_timing(&self, visits: usize) -> f64 {
        if self.clock_cost > 0.0 { self.clock_cost + visits as f64 * VISIT / self.tick } else { 0.0 }
    }

    /// Goes on with the rest of an earlier run that has found the default best everywhere: programs
    /// that are shorter than a rest look, too, in one run of several.
    pub(crate) fn rest_on(&mut self, [settled, left]: [u64; 2]) {
        if !self.experiments.iter().all(|each| each.phase == Phase::Default) {
            return;
        }
        // A rest is twice as long as the one before it.
        self.rest.settled = if left > 0 { settled / 2 } else { settled };
        self.rest_if_idle();
        if self.is_resting() && left > 0 {
            self.rest.length = left.min(self.rest.length);
            self.rest.left = self.rest.length;
        }
    }

    /// Rests if every interval is to run with the default for a while. What was adopted has to be
    /// worth the visits of the whole program, or is given up: its own comparison did not count
    /// those, as both sides paid them.
    ///
    /// Nodes of a team do not rest, as they would not agree; nor does a tuner of times that cost
    /// nothing to take.
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
        self.rest.ended = self.experiments.iter().all(is(Phase::Default));
        self.rest.length = if self.rest.ended {
            let shortest = u64::from(self.options.watch.max(1));
            self.rest.settled = self.rest.settled.saturating_mul(2).clamp(shortest, LONGEST * shortest);
            self.rest.settled
        } else {
            // Until the first one goes on.
            let visits = self.visits as f64;
            let least =
                self.experiments.iter().map(|each| each.idle_visits(visits)).fold(f64::INFINITY, f64::min);
            if least < SHORTEST {
                return;
            }
            least.min(LONGEST_WAIT) as u64
        };
        self.rest.left = self.rest.length;
    }

    /// A visit that takes the default and is only counted, as the tuner rests or is off; `false`
    /// where the place has to be looked at. For callers to whom it costs something to say where
    /// they are.
    #[inline]
    pub fn passes(&mut self) -> bool {
        let passes = self.rest.left > 1;
        self.rest.left -= u64::from(passes);
        passes
    }

    /// Finds out where the program is.
    #[cold]
    pub(crate) fn wake(
        &mut self,
        sig: Sig,
        describe: impl FnOnce() -> (Vec<String>, Vec<f64>),
    ) -> Option<usize> {
        self.rest.left = 0;
        self.rest.total += self.rest.length;
        self.run.active = false;
        let slept =
            if self.rest.ended { f64::INFINITY } else { self.rest.length as f64 / self.visits as f64 };
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
