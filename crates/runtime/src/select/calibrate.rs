//! Compiled-in models that fit themselves to the machine, on a team of nodes.
//!
//! Node 0 decides what is timed, and when it is enough; the time of the slowest node counts. The
//! timings are node 0's: it keeps them in its cache folder and sends them to the others, in a later
//! job with its settings. All nodes then compute the same scales from the same text.

use std::panic::Location;
use std::time::Duration;

use strata_model::{Platform, Seconds};

use strata_select::{
    Library, Table,
    models::explains,
    output::say_once,
    table::MAX_PARAMETERS,
    transfer::{Calibrated, Calibration, Point, keep_timings, kept_among, team, timings_of, timings_text},
};

use super::selector::compiled_table;
use super::{Known, Options};
use crate::Node;
use crate::transport::{Action, Call};

/// A library whose candidates run on all nodes, and can be timed by the program itself; its
/// counterpart without nodes is [`Timed`](strata_select::transfer::Timed).
///
/// The one function that its author writes makes an input of given sizes and times one call. The
/// spec can call it too.
pub trait TimedOnNodes: Library {
    /// The seconds of one call of this candidate on a fresh input of these sizes, another for each
    /// seed, as [`Node::now`] tells them; the greatest of all nodes counts. `None` if the candidate
    /// cannot run here. Called for inputs of the measured domain.
    ///
    /// # Participation
    /// Collective, with equal arguments.
    fn seconds(self, node: &mut Node, inputs: &[f64], seed: u64) -> Option<f64>;
}

/// Whether the nodes time candidates.
#[derive(Default)]
struct Times(bool);

/// What node 0 says before each timing.
const DONE: u64 = 0;
const WARM: u64 = 1;
const TIME: u64 = 2;

/// Times as numbers of which the greatest counts: one that is none, and a candidate that cannot run.
const NO_TIME: f64 = f64::MAX;
const CANNOT: f64 = f64::INFINITY;

/// Node 0's part.
struct First {
    calibration: Calibration,
    earlier: Vec<Point>,
    /// The candidates whose code and memory are loaded.
    warm: Vec<bool>,
    next: Option<Point>,
}

impl First {
    /// The next message: what to do, the candidate, its parameters and the bits of the inputs.
    fn say(&mut self, message: &mut [u64], left: f64, budget: f64) {
        if self.next.is_none() {
            self.next = self.calibration.next(left, budget);
        }
        let Some(point) = &self.next else { return message[0] = DONE };
        let warm = std::mem::replace(&mut self.warm[point.candidate], true);
        message[0] = if warm { TIME } else { WARM };
        message[1] = point.candidate as u64;
        let values = message[2..][..MAX_PARAMETERS].iter_mut().zip(point.parameters.iter());
        values.for_each(|(to, value)| *to = value.cast_unsigned());
        let inputs = message[2 + MAX_PARAMETERS..].iter_mut().zip(&point.inputs);
        inputs.for_each(|(to, input)| *to = input.to_bits());
    }

    fn heard(&mut self, seconds: f64) {
        let Some(point) = self.next.take() else { return };
        let seconds = match seconds {
            CANNOT => None,
            NO_TIME => Some(f64::NAN),
            seconds => Some(seconds),
        };
        self.calibration.took(point, seconds);
    }
}

impl Node {
    /// Fits the compiled-in models of `L` to this machine, transport and number of nodes, in about
    /// so much time of node 0, and keeps the timings there for later programs. Later choices use
    /// the fitted models. Node 0 gets a report of what was done, the others `None`.
    ///
    /// Nothing is timed if the models in use are of this machine, named, pinned or of other numbers
    /// of nodes. If they choose no faster when they are fitted, they stay as they are.
    ///
    /// # Participation
    /// Collective, with equal `budget`. A node that fails while a candidate is timed ends the job.
    #[track_caller]
    pub fn calibrate<L: TimedOnNodes>(&mut self, budget: Duration) -> Option<Calibrated> {
        // The collectives of the calibration itself go the way that they will go later.
        self.settle_choices(&Call::plain(Action::Barrier, Location::caller()));
        let here = self.platform();
        let table = compiled_table::<L>(&here);
        let budget = budget.as_secs_f64();
        let first = (self.rank() == 0).then(|| self.first::<L>(table, &here));
        let (mut first, why_not) = match first {
            Some(Ok(first)) => (Some(first), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let mut message = vec![DONE; 2 + MAX_PARAMETERS + table.inputs.len()];
        let mut seed = 1;
        let start = self.now().get();
        let nested = std::mem::replace(&mut self.local::<Times>().0, true);
        loop {
            let left = budget - (self.now().get() - start);
            if let Some(first) = &mut first {
                first.say(&mut message, left, budget);
            }
            self.broadcast(0, &mut message);
            let time = match message[0] {
                DONE => break,
                what => what == TIME,
            };
            seed += 1 << 16;
            let seconds = self.timed::<L>(table, &message[1..], seed);
            if time {
                let seconds = self.reduce_max(seconds);
                if let Some(first) = &mut first {
                    first.heard(seconds);
                }
            }
        }
        self.local::<Times>().0 = nested;
        let took = Duration::from_secs_f64((self.now().get() - start).max(0.0));
        let report =
            |timings, fitted, kept| Calibrated { library: table.library, timings, fitted, took, kept };
        let ended = first.map(|first| first.end(table, &here));
        let text = ended.as_ref().map_or("", |ended| &ended.text);
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(self.broadcast_value(0, bytes.len() as u64) as usize, 0);
        self.broadcast(0, &mut bytes);
        if !bytes.is_empty() {
            let known = self.local::<Known<L>>();
            known.fresh = Some(String::from_utf8_lossy(&bytes).into_owned());
            known.selector = None;
            self.forget_choices();
        }
        match (ended, why_not) {
            (Some(ended), _) => Some(report(ended.timings, ended.fitted, ended.kept)),
            (None, Some(why)) => Some(report(0, 0, Err(why))),
            (None, None) => None,
        }
    }

    /// Node 0's part, or why nothing is to be calibrated.
    fn first<L: Library>(&mut self, table: &'static Table, here: &Platform) -> Result<First, String> {
        let selector = self.selector::<L>(&Options::default()).map_err(|error| error.to_string())?;
        if let Some(why) = selector.why_not_calibrated() {
            return Err(why);
        }
        let (least, most) = table.domain.nodes;
        if !(least..=most).contains(&here.nodes) {
            return Err(format!("they are of {least} to {most} nodes"));
        }
        let fresh = self.local::<Known<L>>().fresh.clone();
        let team = team(&here.transport, here.nodes);
        let earlier = fresh.or_else(|| kept_among(table, &here.host(), &team, self.kept_timings()));
        let earlier = earlier.map_or(Vec::new(), |text| timings_of(table, &text));
        let calibration = Calibration::new(table, here.nodes, earlier.clone());
        Ok(First { calibration, earlier, warm: vec![false; table.entries.len()], next: None })
    }

    /// The time of what a message of node 0 names, in this node's clock.
    fn timed<L: TimedOnNodes>(&mut self, table: &Table, message: &[u64], seed: u64) -> f64 {
        let candidate = message[0] as usize;
        let count = table.entries.get(candidate).map_or(0, |entry| entry.parameters.len());
        let values: Vec<i64> = message[1..][..count].iter().map(|word| word.cast_signed()).collect();
        let inputs: Vec<f64> =
            message[1 + MAX_PARAMETERS..].iter().map(|bits| f64::from_bits(*bits)).collect();
        let seconds = L::candidate(candidate, &values).and_then(|found| found.seconds(self, &inputs, seed));
        match seconds {
            None => CANNOT,
            Some(seconds) if seconds.is_finite() && seconds > 0.0 => seconds,
            Some(_) => NO_TIME,
        }
    }

    /// Calibrates a library if `STRATA_CALIBRATE` has a time and node 0 has no timings of it yet;
    /// once. Libraries call it before their first choice; later calls and, without the variable, all
    /// do nothing. If the library stays uncalibrated, node 0 says why on standard error; a report is
    /// printed with `STRATA_EXPLAIN=1`.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn calibrate_as_set<L: TimedOnNodes>(&mut self) {
        // Libraries that a candidate uses choose by the models that there are.
        if !self.calibrates() || self.local::<Times>().0 {
            return;
        }
        if std::mem::replace(&mut self.local::<Known<L>>().asked, true) {
            return;
        }
        let Some(text) = self.setting("STRATA_CALIBRATE") else { return };
        let budget = match text.parse::<Seconds>() {
            Ok(seconds) => Duration::from_secs_f64(seconds.get().min(1e6)),
            Err(error) => {
                if self.rank() == 0 {
                    say_once(format!("strata: STRATA_CALIBRATE: {error}; nothing is calibrated"));
                }
                return;
            }
        };
        let here = self.platform();
        let table = compiled_table::<L>(&here);
        let team = team(&here.transport, here.nodes);
        if kept_among(table, &here.host(), &team, self.kept_timings()).is_some() {
            return;
        }
        // Models that need no calibration are no reason for a line.
        let needed = self.rank() == 0 && self.needs_calibration::<L>();
        if self.broadcast_value(0, u64::from(needed)) == 0 {
            return;
        }
        let report = self.calibrate::<L>(budget);
        if let Some(report) = report.filter(|report| report.kept.is_err() || explains()) {
            say_once(format!("strata: {report}"));
        }
    }

    fn needs_calibration<L: Library>(&mut self) -> bool {
        // An error is one of the choice that follows.
        let selector = self.selector::<L>(&Options::default());
        selector.is_ok_and(|selector| selector.why_not_calibrated().is_none())
    }
}

/// What node 0 has found.
struct Ended {
    /// All timings, for all nodes; empty if the models stay as they are.
    text: String,
    timings: usize,
    fitted: usize,
    kept: Result<std::path::PathBuf, String>,
}

impl First {
    fn end(self, table: &'static Table, here: &Platform) -> Ended {
        let points = self.calibration.points().to_vec();
        let (team, timings) = (team(&here.transport, here.nodes), points.len());
        let keep = |points: &[Point]| match here.is_simulated() {
            true => Err("a simulated machine keeps nothing".to_owned()),
            false => keep_timings(table, &team, points).map_err(|error| error.to_string()),
        };
        let unchanged = |why| Ended { text: String::new(), timings, fitted: 0, kept: Err(why) };
        match self.calibration.finish() {
            Ok(scaled) if scaled.timings() == 0 => unchanged("there was no time for a timing".to_owned()),
            Ok(scaled) => {
                let kept = keep(&points);
                let all: Vec<Point> = self.earlier.into_iter().chain(points).collect();
                let text = timings_text(table, &here.host(), &team, &all);
                Ended { text, timings, fitted: scaled.timings(), kept }
            }
            Err(problems) => {
                // Kept without timings: programs that set `STRATA_CALIBRATE` do not try again.
                let kept = if self.earlier.is_empty() { keep(&[]).ok() } else { None };
                let kept =
                    kept.map_or(String::new(), |path| format!(" (remove {} to try again)", path.display()));
                unchanged(format!(
                    "scaled by {timings} timings they chose no faster at {problems} problems{kept}"
                ))
            }
        }
    }
}
