//! Models that fit themselves to the machine they run on.
//!
//! Compiled-in models are of the machine on which they were measured. What they know is how time
//! grows; what another machine changes is mostly scale. [`Timed::calibrate`] times candidates in the
//! program itself, some tens of calls each, at problems where the models are least sure which one is
//! the fastest, and scales the coefficients ([`Scaled`]). The timings are kept in the user's cache
//! folder by machine, so that every later program with the library chooses by them.

mod cache;
mod matrix;
mod normal;
mod parts;
mod pool;
mod scaled;
#[cfg(test)]
mod tests;
mod trial;

use std::boxed::Box;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::string::{String, ToString as _};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::vec::Vec;
use std::{fmt, format};

pub use self::cache::{
    all_kept, cache_folder, fnv, keep_timings, kept_among, kept_timings, team, timings_of, timings_text,
};
use self::cache::{is_kept, lock};
use self::pool::{Contest, Wanted, all, problems};
pub use self::scaled::Scaled;
use self::trial::{Pair, Trial};
use crate::models::{adopt, found};
use crate::{
    Library, Table,
    models::Models,
    output::say_once,
    table::{Parameters, Seconds},
};

/// One timing of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The index of the candidate.
    pub candidate: usize,
    /// The number of nodes.
    pub nodes: usize,
    /// The library's inputs, in order.
    pub inputs: Vec<f64>,
    /// The candidate's parameters.
    pub parameters: Parameters,
    /// The time of one call, in seconds.
    pub seconds: f64,
}

/// How much machines differ: deviations of the logarithm of a coefficient's scale, in parts.
#[derive(Clone, Copy, Debug)]
struct Widths {
    /// What all terms of a library share.
    machine: f64,
    /// What the terms of one kind share: start-up, work, work beyond some size.
    kind: f64,
    /// What the terms of one model share.
    model: f64,
    /// Each term's own.
    term: f64,
    /// What no term describes: of a factor over each input, at a few knots.
    shape: f64,
}

/// Two hosts of one kind.
const WIDTHS: Widths = Widths { machine: 0.6, kind: 0.3, model: 0.25, term: 0.25, shape: 0.15 };

impl Widths {
    fn wider(self, by: f64, shape: f64) -> Self {
        Self {
            machine: by * self.machine,
            kind: by * self.kind,
            model: by * self.model,
            term: by * self.term,
            shape: shape * self.shape,
        }
    }
}

/// Timings from which the widths are told, and again whenever there are twice as many.
const FEWEST_TOLD: usize = 24;

/// By what all widths but `shape`, and `shape`, may be wider here, the narrowest first: those count by which the timings
/// are the likeliest (empirical Bayes). Two hosts with one kind of network between their nodes differ
/// less than threads and a cluster.
const WIDER: [(f64, f64); 4] = [(1.0, 1.0), (2.5, 1.0), (1.0, 3.0), (2.5, 3.0)];

/// The most timings in one calibration, by candidate; a fit takes as many of the newest, and the
/// newest so many of each.
const MOST_TIMINGS: usize = 30;

/// A calibration ends when no timing is expected to save so large a share of the time anywhere.
const LEAST_LOSS: f64 = 0.001;

/// A timing may take this share of what is left of the budget.
const LONGEST: f64 = 1.0 / 12.0;

/// The share of the budget in which the fitted models are tried against the shipped ones.
const TRIAL: f64 = 0.3;

/// A library whose candidates can be timed by the program itself.
///
/// The one function that its author writes makes an input of given sizes and times one call. The
/// spec calls it too (`sample { … }`), so that both measure the same.
///
/// ```
/// use std::time::Duration;
/// # use strata_select::{Library, Row, Table};
/// # use strata_select::table::{Domain, Entry, Model, Parameter, Prediction, Verdict};
/// use strata_select::transfer::{Timed, timed};
/// # #[derive(Clone, Copy, Debug, PartialEq)]
/// # enum Count { Sorted, Marked }
/// # static SORTED: Model = Model::Unknown;
/// # static TABLE: Table = Table {
/// #     library: "count", spec: "", platform: "", digest: "", inputs: &["n"],
/// #     domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(8.0, 1e4)] },
/// #     entries: &[
/// #         Entry::new("sorted", Verdict::Unverified, 1.0, &SORTED),
/// #         Entry::new("marked", Verdict::Unverified, 1.0, &SORTED),
/// #     ],
/// # };
/// # impl Library for Count {
/// #     type Rows = [Row; 2];
/// #     type Input = f64;
/// #     const TABLES: &'static [&'static Table] = &[&TABLE];
/// #     fn candidate(index: usize, _: &[i64]) -> Option<Self> {
/// #         [Self::Sorted, Self::Marked].get(index).copied()
/// #     }
/// # }
/// # fn numbers(n: usize, seed: u64) -> Vec<u16> { (0..n as u64).map(|i| (i * seed) as u16).collect() }
/// # fn count(way: Count, numbers: &[u16]) -> usize { numbers.len() + way as usize }
///
/// impl Timed for Count {
///     fn seconds(self, inputs: &[f64], seed: u64) -> Option<f64> {
///         timed(|part| numbers(inputs[0] as usize, seed + part), |numbers| count(self, &numbers))
///     }
/// }
///
/// // Tables without a platform say nothing about machines: there is nothing to be scaled.
/// println!("{}", Count::calibrate(Duration::from_millis(50)));
/// ```
pub trait Timed: Library {
    /// The seconds of one call of this candidate on a fresh input of these sizes, another for each
    /// seed; `None` if the candidate cannot run here. Called for inputs of the measured domain.
    fn seconds(self, inputs: &[f64], seed: u64) -> Option<f64>;

    /// Fits the models by which this process chooses from the library to this machine, in about so
    /// much time, and keeps the timings for later programs. Call it before the first choice: a
    /// library may cache choices. While another process calibrates the library, it first waits as
    /// long.
    ///
    /// Nothing is timed if the models in use are of this machine. If a candidate panics, or no fit
    /// is possible, the models stay as they are. The report says what was done.
    ///
    /// # Participation
    /// Local: for choices without nodes. `TimedOnNodes` of `strata-runtime` is for teams.
    fn calibrate(budget: Duration) -> Calibrated {
        let _lock = lock(compiled_table::<Self>(1), "threads", budget);
        calibrate::<Self>(budget)
    }
}

/// The seconds of one call of `run` on an input from `make`, which is given a number: calls shorter
/// than 20 µs are made several times between two readings of the clock, each with an input of its
/// own.
pub fn timed<I, R>(mut make: impl FnMut(u64) -> I, mut run: impl FnMut(I) -> R) -> Option<f64> {
    const LEAST: f64 = 20e-6;
    let mut count = 1;
    loop {
        let inputs: Vec<I> = (0..count).map(&mut make).collect();
        let mut results = Vec::with_capacity(inputs.len());
        let start = Instant::now();
        for input in inputs {
            results.push(std::hint::black_box(run(std::hint::black_box(input))));
        }
        let seconds = start.elapsed().as_secs_f64();
        if seconds >= LEAST || count >= 4096 {
            return (seconds > 0.0).then_some(seconds / count as f64);
        }
        count = if seconds > 0.0 { (1.2 * LEAST / seconds * count as f64).ceil() as u64 } else { 8 * count };
        count = count.clamp(2, 4096);
    }
}

/// What a calibration did.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The library.
    pub library: &'static str,
    /// How many timings it took.
    pub timings: usize,
    /// How many timings the models in use follow from, those of earlier calibrations included; 0:
    /// they are as they were.
    pub fitted: usize,
    /// The time it took.
    pub took: Duration,
    /// Where the timings are kept, or why they are not; why nothing was fitted, if so.
    pub kept: Result<PathBuf, String>,
}

impl fmt::Display for Calibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, timings, fitted, took, kept } = self;
        let took = Seconds::new(took.as_secs_f64()).unwrap_or_default();
        match (fitted, kept) {
            (0, Err(why)) => write!(f, "{library}: the models stay as they are: {why}"),
            (_, Ok(path)) => {
                write!(f, "{library}: {timings} timings in {took}, kept in {}", path.display())
            }
            (_, Err(why)) => {
                write!(f, "{library}: {timings} timings in {took}, for this run alone: {why}")
            }
        }
    }
}

/// A calibration of one table under way: which timing comes next, and what follows from all. The
/// last timings are a trial: the fitted models are used only if their choices were faster.
#[derive(Debug)]
pub struct Calibration {
    table: &'static Table,
    nodes: usize,
    problems: Vec<Vec<f64>>,
    models: Scaled,
    contest: Contest,
    /// The choices of the shipped models.
    shipped: Vec<Wanted>,
    /// The trial, once it has begun.
    trial: Option<Trial>,
    points: Vec<Point>,
    /// How many of the points are of earlier calibrations.
    earlier: usize,
    available: Vec<bool>,
    counts: Vec<usize>,
    /// Timings since the last fit.
    since: usize,
    /// How many timings there were when the widths were last told from them.
    told: usize,
}

impl Calibration {
    /// A calibration on `nodes` nodes that goes on from `earlier` timings.
    #[must_use]
    pub fn new(table: &'static Table, nodes: usize, earlier: Vec<Point>) -> Self {
        let problems = problems(table, nodes);
        let models = Scaled::new(table, nodes, &problems);
        let available = all(table);
        let contest = Contest::new(table, &models, nodes, &problems, &available);
        let shipped = contest.choices().collect();
        let counts = std::vec![0; table.entries.len()];
        let since = earlier.len();
        let (points, earlier) = (earlier, since);
        let trial = None;
        let mut made = Self {
            table,
            nodes,
            problems,
            models,
            contest,
            shipped,
            trial,
            points,
            earlier,
            available,
            counts,
            since,
            told: FEWEST_TOLD / 2,
        };
        if made.since > 0 {
            made.fit();
        }
        made
    }

    fn fit(&mut self) {
        match self.points.len() >= 2 * self.told {
            true => {
                self.told = self.points.len();
                self.models.fit_widths(self.nodes, &self.points);
            }
            false => self.models.fit(self.nodes, &self.points),
        }
        self.contest = Contest::new(self.table, &self.models, self.nodes, &self.problems, &self.available);
        self.since = 0;
    }

    /// The next timing to take with `left` of `budget` seconds left; its seconds are the predicted
    /// ones. `None`: it is done.
    pub fn next(&mut self, left: f64, budget: f64) -> Option<Point> {
        if !(left > 0.0 && budget > 0.0) {
            return None;
        }
        if self.trial.is_none() {
            let for_fit = left - TRIAL * budget;
            if let Some(point) = self.next_of_fit(for_fit, budget) {
                return Some(point);
            }
            self.trial = Some(self.trial(left));
        }
        self.trial.as_mut()?.next(left)
    }

    /// The trial in so many seconds.
    fn trial(&mut self, left: f64) -> Trial {
        self.told = 0;
        self.fit();
        let fitted: Vec<Wanted> = self.contest.choices().collect();
        let point = |wanted: Wanted| Point {
            candidate: wanted.candidate,
            nodes: self.nodes,
            inputs: wanted.inputs,
            parameters: wanted.parameters,
            seconds: wanted.seconds,
        };
        let pair = |shipped: &Wanted| {
            let fitted = fitted.iter().find(|fitted| fitted.inputs == shipped.inputs)?;
            let alike = (shipped.candidate, shipped.parameters) == (fitted.candidate, fitted.parameters);
            (!alike && self.available[shipped.candidate]).then(|| {
                // How long it takes here the fitted models know better.
                let shipped = self.contest.predicted(shipped).unwrap_or_else(|| shipped.clone());
                Pair::new([point(shipped), point(fitted.clone())])
            })
        };
        Trial::new(self.shipped.iter().filter_map(pair).collect(), left)
    }

    fn next_of_fit(&mut self, left: f64, budget: f64) -> Option<Point> {
        if left <= 0.0 {
            return None;
        }
        let usual = budget / 1000.0;
        let allowed = (LONGEST * left).max(usual);
        // The shortest timing of each candidate first: it shows the speed of the machine.
        let untried = (0..self.counts.len())
            .find(|candidate| self.counts[*candidate] == 0 && self.available[*candidate]);
        let wanted = match untried {
            Some(candidate) if self.earlier == 0 => {
                let found = self.contest.shortest_of(candidate);
                if found.is_none() {
                    // Without a prediction anywhere there is nothing to fit.
                    self.available[candidate] = false;
                    return self.next_of_fit(left, budget);
                }
                found.filter(|(wanted, _)| wanted.seconds <= left)
            }
            _ => {
                if self.since > 0 && self.since * 8 >= self.points.len() {
                    self.fit();
                }
                let found = self.contest.next(&self.models, allowed, usual, LEAST_LOSS);
                if found.is_none() && self.since > 0 {
                    // What was expected of timings is not yet what they say.
                    self.told = 0;
                    self.fit();
                    self.contest.next(&self.models, allowed, usual, LEAST_LOSS)
                } else {
                    found
                }
            }
        };
        let (wanted, local) = wanted?;
        self.counts[wanted.candidate] += 1;
        if self.counts.iter().sum::<usize>() > MOST_TIMINGS * self.counts.len() {
            return None;
        }
        self.models.expect(&local);
        Some(Point {
            candidate: wanted.candidate,
            nodes: self.nodes,
            inputs: wanted.inputs,
            parameters: wanted.parameters,
            seconds: wanted.seconds,
        })
    }

    /// Takes a timing of [`next`](Self::next): `None` if the candidate cannot run.
    pub fn took(&mut self, point: Point, seconds: Option<f64>) {
        if let Some(trial) = &mut self.trial {
            return trial.took(seconds);
        }
        match seconds {
            Some(seconds) if seconds.is_finite() && seconds > 0.0 => {
                self.points.push(Point { seconds, ..point });
                self.since += 1;
            }
            // A clock that stepped back says nothing about the candidate.
            Some(_) => {}
            None => {
                self.available[point.candidate] = false;
                self.fit();
            }
        }
    }

    /// The timings taken to fit, without earlier ones.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points[self.earlier..]
    }

    /// The models by all timings.
    ///
    /// # Errors
    /// Their choices were not faster than those of the shipped models; at how many problems both
    /// were timed. Choices that are everywhere alike are not tried.
    pub fn finish(mut self) -> Result<Scaled, usize> {
        if self.since > 0 {
            self.models.fit_widths(self.nodes, &self.points);
        }
        match self.trial {
            Some(trial) if !trial.is_empty() && !trial.is_won() => Err(trial.timed()),
            _ => Ok(self.models),
        }
    }
}

/// The models of a table scaled by kept timings; `None` if none of them fits.
#[must_use]
pub fn scaled_by(table: &'static Table, nodes: usize, timings: &str) -> Option<Scaled> {
    let points = timings_of(table, timings);
    if points.is_empty() {
        return None;
    }
    let mut scaled = Scaled::new(table, nodes, &problems(table, nodes));
    scaled.fit_widths(nodes, &points);
    (scaled.timings() > 0).then_some(scaled)
}

/// The text that names scaled models in explanations.
#[must_use]
pub fn origin(scaled: &Scaled, place: &str) -> String {
    format!("{place}: compiled in, and scaled by {} timings on this machine", scaled.timings())
}

/// Compiled-in models of another machine, scaled by the timings that were kept on this one.
pub(crate) fn kept_models<L: Library>(compiled: &Models<'static>, nodes: usize) -> Option<Models<'static>> {
    compiled.note?;
    let table = compiled_table::<L>(nodes);
    let scaled = scaled_by(table, nodes, &kept_timings(table, "threads")?)?;
    Some(models_of(scaled, "the cache folder"))
}

fn models_of(scaled: Scaled, place: &str) -> Models<'static> {
    let file: &'static str = String::leak(origin(&scaled, place));
    Models { source: Box::leak(Box::new(scaled)), file: Some(file), note: None }
}

fn compiled_table<L: Library>(nodes: usize) -> &'static Table {
    let here = crate::machine::Machine::here();
    Table::nearest(L::TABLES.iter().copied(), "threads", nodes, here).unwrap_or(L::TABLE)
}

fn calibrate<L: Timed>(budget: Duration) -> Calibrated {
    let start = Instant::now();
    let table = compiled_table::<L>(1);
    let report = |timings, fitted, kept| Calibrated {
        library: table.library,
        timings,
        fitted,
        took: start.elapsed(),
        kept,
    };
    let compiled = Models::compiled::<L>("threads", 1);
    if compiled.note.is_none() {
        return report(0, 0, Err("they are of this machine".to_owned()));
    }
    if let Some(file) = found::<L>() {
        return report(0, 0, Err(format!("those in {file} are of this machine")));
    }
    let earlier = kept_timings(table, "threads").map_or(Vec::new(), |text| timings_of(table, &text));
    let mut calibration = Calibration::new(table, 1, earlier);
    let budget = budget.as_secs_f64();
    let measured = catch_unwind(AssertUnwindSafe(|| {
        let _timing = Timing::begin();
        let mut seed = 1;
        let mut warm = std::vec![false; table.entries.len()];
        while let Some(point) = calibration.next(budget - start.elapsed().as_secs_f64(), budget) {
            let candidate = L::candidate(point.candidate, &point.parameters);
            let mut time = || {
                seed += 1 << 16;
                candidate.and_then(|candidate| candidate.seconds(&point.inputs, seed))
            };
            // The first call of a candidate loads its code and its memory.
            if !std::mem::replace(&mut warm[point.candidate], true) {
                let _ = time();
            }
            let seconds = time();
            calibration.took(point, seconds);
        }
    }));
    if measured.is_err() {
        return report(0, 0, Err("a candidate panicked while it was timed".to_owned()));
    }
    let points = calibration.points().to_vec();
    let earlier = calibration.earlier;
    let scaled = match calibration.finish() {
        Ok(scaled) => scaled,
        Err(problems) => {
            // Kept without timings: programs that set `STRATA_CALIBRATE` do not try again.
            let kept = if earlier == 0 { keep_timings(table, "threads", &[]).ok() } else { None };
            let kept =
                kept.map_or(String::new(), |path| format!(" (remove {} to try again)", path.display()));
            let why = format!(
                "scaled by {} timings they chose no faster at {problems} problems{kept}",
                points.len()
            );
            return report(points.len(), 0, Err(why));
        }
    };
    if scaled.timings() == 0 {
        return report(0, 0, Err("there was no time for a timing".to_owned()));
    }
    let fitted = scaled.timings();
    adopt::<L>(1, models_of(scaled, "this run"));
    let kept = keep_timings(table, "threads", &points).map_err(|error| error.to_string());
    report(points.len(), fitted, kept)
}

/// Calibrates a library if `STRATA_CALIBRATE` has a time and there are no timings of it yet; once
/// in a process. Libraries call it before a choice that they do not have cached. A library that
/// stays uncalibrated says why on standard error; a report of the others is printed with
/// `STRATA_EXPLAIN=1`.
///
/// Other threads and processes that come meanwhile wait, for twice the time at most. A candidate
/// that is timed may itself choose from libraries: those then choose by the models that there are.
pub fn calibrate_as_set<L: Timed>() {
    let Some(budget) = crate::models::calibrates() else { return };
    once(std::ptr::from_ref(L::TABLE).addr(), budget, || {
        let table = compiled_table::<L>(1);
        let compiled = Models::compiled::<L>("threads", 1);
        if compiled.note.is_none() || is_kept(table, "threads") {
            return;
        }
        let lock = lock(table, "threads", 2 * budget);
        if is_kept(table, "threads") {
            // By another process meanwhile; models may have been looked up before.
            if let Some(models) = kept_models::<L>(&compiled, 1) {
                adopt::<L>(1, models);
            }
            return;
        }
        let report = calibrate::<L>(budget);
        drop(lock);
        if report.kept.is_err() || crate::models::explains() {
            say_once(format!("strata: {report}"));
        }
    });
}

std::thread_local! {
    /// Whether this thread times candidates.
    static TIMES: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, this thread times candidates.
struct Timing(bool);

impl Timing {
    fn begin() -> Self {
        Self(TIMES.replace(true))
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        TIMES.set(self.0);
    }
}

/// Runs `calibrate` of the library with this number, unless it has run before, or this thread times
/// a candidate. While another thread runs it, waits for its end, but not longer than twice the budget:
/// that thread may wait for this one.
fn once(library: usize, budget: Duration, calibrate: impl FnOnce()) {
    /// By library: when its calibration began; `None`: it has ended.
    static BEGUN: Mutex<BTreeMap<usize, Option<Instant>>> = Mutex::new(BTreeMap::new());
    static ENDED: Condvar = Condvar::new();
    struct End(usize);
    impl Drop for End {
        fn drop(&mut self) {
            BEGUN.lock().unwrap_or_else(PoisonError::into_inner).insert(self.0, None);
            ENDED.notify_all();
        }
    }
    if TIMES.get() {
        return;
    }
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let start = match begun.get(&library) {
            Some(None) => return,
            Some(Some(start)) => *start,
            None => break,
        };
        let Some(left) = (2 * budget).checked_sub(start.elapsed()) else { return };
        begun = ENDED.wait_timeout(begun, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    begun.insert(library, Some(Instant::now()));
    drop(begun);
    let _end = End(library);
    calibrate();
}
