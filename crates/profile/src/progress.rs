//! Progress reports: sentences on stderr for people, or lines on stdout for the program that
//! started the run.

use std::io::Write as _;

use strata_select::say;

use super::schedule::Schedule;
use super::signals::Interrupt;

/// Seconds between two reports.
const EVERY: f64 = 0.2;
const EVERY_SENTENCE: f64 = 5.0;

/// Reports from node 0.
pub(crate) struct Progress {
    machine: bool,
    last: f64,
    announced: bool,
    interrupt: Interrupt,
}

impl Progress {
    /// The estimated time of a run that is one of several `part`s is not announced.
    pub(crate) fn new(machine: bool, part: bool, interrupt: Interrupt) -> Self {
        Self { machine, last: 0.0, announced: part, interrupt }
    }

    /// Reports the progress after so many seconds of the budget. When every point has been timed
    /// once, and its price is known, also reports once the longest time that the run will take.
    pub(crate) fn tell(&mut self, schedule: &Schedule, elapsed: f64, budget: f64, model: &str) {
        let (begun, points) = schedule.begun();
        let more = schedule.remaining();
        if !self.announced && begun == points && more > 0.0 {
            self.announced = true;
            let end = (elapsed + more).min(budget);
            if self.machine {
                self.line(&format!(
                    "strata-expect points={points} elapsed={elapsed:.3} seconds={end:.3} budget={budget:.3}"
                ));
            } else {
                say!(
                    "all {points} points are timed after {elapsed:.1} s; repeats of them take until {end:.1} s at \
                     most (budget {budget:.1} s)"
                );
            }
        }
        if elapsed - self.last < if self.machine { EVERY } else { EVERY_SENTENCE } {
            return;
        }
        self.last = elapsed;
        let remaining = more.min((budget - elapsed).max(0.0));
        if self.machine {
            self.line(&format!(
                "strata-progress begun={begun} points={points} elapsed={elapsed:.3} remaining={remaining:.3} model={model}"
            ));
        } else {
            say!("{begun} of {points} points, {elapsed:.0} s, about {remaining:.0} s left; now {model}");
        }
    }

    /// If the lines can no longer be written, the program that started this one is gone: stop.
    fn line(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            self.interrupt.set();
        }
    }
}
