//! Measurements as text: one line a sample, readable by people and by standard text tools.
//!
//! ```text
//! strata-samples 1
//! platform threads nodes=4 cores=2 cpu="AMD EPYC" cache="L1d:32K" os=linux arch=x86_64
//! spec specs/strata/combine.spec sha256=…
//! model CombineVector length logP length*logP
//! CombineVector 5.784e-5 1 4 4
//! @CombineVector 6.1532e-4 431 4 1724 ; at=431 repeats=3 spread=0.021
//! ```
//!
//! A row is the model's name, the seconds, and one value for each column of the model's structure
//! line; `@` marks the samples for verification (Brewer 1994, Fig 3-7). A column in parentheses is
//! an input that is not a candidate term. Everything before the structure line is optional, and so
//! is the word `model`, so that a fragment like Brewer's can be read. A line `fit CombineVector
//! robust huber` below it has the spec's way of fitting the model, if it is not the default; a line
//! `unit CombineVector instructions` the unit of what was measured, if it is not seconds. Notes on
//! the sample follow `;`. `#` begins a comment line. A file of several numbers of nodes has a
//! line `platform` for each, above the samples taken there. A line `busy 1.3` is the average number
//! of cores that other programs kept busy while the nodes had to wait for them. A line `launch
//! at=61.7` is the moment at which the program was started again, to go on with what it had
//! measured, or of files that were joined the moment at which the next one begins: what a process
//! or an allocation keeps differs from launch to launch, and a fit tells them apart by it. A model
//! with the name of such a line, as `platform`, is declared with the word `model`.
//!
//! A line below a sample may have its single timings, each with its moment in seconds since the run
//! began. A fit can then separate noise from error, and detect periods in which the machine was
//! slow. The sample is the lower quartile of its timings, after removing the slow periods that the
//! timings of all points show; with a note `draws=4` it is the mean, since its timings are on four
//! sets of data, drawn by its setup, whose times differ:
//!
//! ```text
//! Radix 1.02e-5 64 8 ; at=64,8 repeats=3 spread=0.021
//! & 1.01e-5@0.0031 1.02e-5@2.7103 1.34e-5@5.4071
//! ```
//!
//! A note `hot=2.4,0.2` says that the time, which is that of a call between other work, is 2.4
//! times (± 20 %) that of a call at once after another. `replayed=1.1,0.03` says that such a call
//! takes 1.1 times as long on fresh data as on the same data again.

mod compare;
mod parse;
mod write;

use std::collections::BTreeSet;

use crate::expr::{RESERVED, is_name};
use crate::{Hosts, Platform, Unit};

pub use compare::{Comparison, Ratio};
pub use parse::{MAX_ERRORS, Partial, SampleError, SamplesErrors, WORDS};
pub(crate) use parse::{parse_column, parse_spec};
pub use write::SamplesWriter;

/// The version of the format, in its first line.
pub const VERSION: u32 = 1;

/// The nodes had at least the rest of the cores, or they could not have measured.
const MOST_TAKEN: f64 = 0.95;

/// The identity of a spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecId {
    /// The path of the spec, relative to where `specc` ran.
    pub path: String,
    /// The hash of what it means, written out without comments, see
    /// [`sha256_hex`](crate::sha256_hex).
    pub sha256: String,
}

/// The contents of a samples file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Where the samples were taken, with the greatest of their numbers of nodes; unknown for a
    /// bare fragment.
    pub platform: Option<Platform>,
    /// The spec they belong to; unknown for a bare fragment.
    pub spec: Option<SpecId>,
    /// How many cores other programs kept busy on average while the nodes lacked them; 0: none.
    pub busy: f64,
    /// The moments at which the launches after the first began, ascending.
    pub launches: Vec<f64>,
    /// What the file says against models of these samples, with their names; not part of a samples
    /// file.
    pub doubts: Vec<(String, String)>,
    /// The models in the order in which they were declared.
    pub models: Vec<ModelSamples>,
}

/// The samples of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSamples {
    /// The name of the model.
    pub name: String,
    /// The meaning of the values of a row.
    pub columns: Vec<Column>,
    /// The unit of what was measured.
    pub unit: Unit,
    /// How the model is to be fitted, as in the `fit` statement of the spec; else empty.
    pub fit: String,
    /// The rows in the order of the file.
    pub rows: Vec<Sample>,
}

/// The meaning of one value of every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The canonical text of the expression (`length*logP`).
    pub text: String,
    /// Whether it is a candidate for a term of the model; if not, it is written in parentheses.
    pub candidate: bool,
}

/// One measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Whether the sample is kept back for verification.
    pub verify: bool,
    /// The time, as written, or the amount in the model's unit; the fit judges it.
    pub seconds: f64,
    /// One value a column.
    pub values: Vec<f64>,
    /// How the sample was taken.
    pub notes: Notes,
    /// The line of the file, from one; zero for a sample that was never in a file.
    pub line: usize,
}

/// How a sample was taken. A note that is zero or empty is absent, and is not written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// The number of nodes; zero if unknown. In a file it is in the `platform` line above.
    pub nodes: usize,
    /// The values of the iteration variables.
    pub at: Vec<i64>,
    /// How many timings the sample comes from.
    pub repeats: u32,
    /// Half the width of the median's interval over the median.
    pub spread: f64,
    /// How many timings were discarded because the system preempted them.
    pub preempted: u32,
    /// The number of different draws of its data whose mean the time is; zero if it is a quantile.
    pub draws: u32,
    /// The time over that of the same call at once after another, if both were timed.
    pub hot: Option<Ratio>,
    /// The time of such a call on fresh data over that on the same data again, if both were timed.
    pub replayed: Option<Ratio>,
    /// The single timings, in the order in which they were taken; empty if they were not kept.
    pub timings: Vec<Timing>,
}

/// One timing of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// How long the task took, s.
    pub seconds: f64,
    /// When it was timed, in seconds since the run began; of several launches and of joined files as
    /// if one had followed the other at once.
    pub moment: f64,
}

impl Column {
    /// A candidate term.
    #[must_use]
    pub fn term(text: impl Into<String>) -> Self {
        Self { text: text.into(), candidate: true }
    }

    /// An input that is not a candidate.
    #[must_use]
    pub fn input(text: impl Into<String>) -> Self {
        Self { text: text.into(), candidate: false }
    }

    /// Whether the column is an input of the model: a plain name that is not reserved.
    #[must_use]
    pub fn is_input(&self) -> bool {
        is_name(&self.text) && !RESERVED.contains(&self.text.as_str())
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.candidate { f.write_str(&self.text) } else { write!(f, "({})", self.text) }
    }
}

impl Samples {
    /// The samples of the model of this name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&ModelSamples> {
        self.models.iter().find(|model| model.name == name)
    }

    /// When the last timing began, in seconds of the run; 0 if time is simulated.
    #[must_use]
    pub fn latest(&self) -> f64 {
        let rows = self.models.iter().flat_map(|model| &model.rows);
        rows.flat_map(|row| &row.notes.timings).map(|timing| timing.moment).fold(0.0, f64::max)
    }

    /// The numbers of nodes on which the samples were taken, ascending.
    #[must_use]
    pub fn node_counts(&self) -> Vec<usize> {
        let rows = self.models.iter().flat_map(|model| &model.rows);
        let numbers: BTreeSet<usize> = rows.map(|row| row.notes.nodes).filter(|nodes| *nodes != 0).collect();
        numbers.into_iter().collect()
    }

    /// Which launch a moment belongs to, from zero.
    #[must_use]
    pub fn launch_of(&self, moment: f64) -> usize {
        self.launches.partition_point(|began| *began < moment)
    }

    /// The last moment of a timing; `None` without timings.
    fn last_moment(&self) -> Option<f64> {
        let rows = self.models.iter().flat_map(|model| &model.rows);
        let moments = rows.flat_map(|row| &row.notes.timings).map(|timing| timing.moment);
        moments.fold(None, |last: Option<f64>, moment| Some(last.map_or(moment, |last| last.max(moment))))
    }

    /// Moves all moments, so that they follow those of other samples, from which they are another
    /// launch.
    fn begin_at(&mut self, began: f64) {
        self.launches.iter_mut().for_each(|moment| *moment += began);
        self.launches.insert(0, began);
        let rows = self.models.iter_mut().flat_map(|model| &mut model.rows);
        rows.flat_map(|row| &mut row.notes.timings).for_each(|timing| timing.moment += began);
    }

    /// Adds the samples of another file, of the same machine and spec; the number of nodes may
    /// differ. They are of another launch, whose moments follow those that there are.
    ///
    /// # Errors
    /// A text that says how they differ; then no sample was added.
    pub fn join(&mut self, mut other: Self) -> Result<(), String> {
        if let (Some(ours), Some(theirs)) = (&self.spec, &other.spec)
            && ours.sha256 != theirs.sha256
        {
            return Err(format!(
                "they are of different specs, or texts of one: {} and {}",
                ours.path, theirs.path
            ));
        }
        if self.platform.is_some() != other.platform.is_some() {
            return Err("one of them does not say where it was measured".to_owned());
        }
        let platform = join_platforms(self.platform.as_ref(), other.platform.take())?;
        for model in &other.models {
            if self.model(&model.name).is_some_and(|own| own.columns != model.columns) {
                return Err(format!("the columns of model `{}` differ", model.name));
            }
            if self.model(&model.name).is_some_and(|own| own.unit != model.unit) {
                return Err(format!("the units of model `{}` differ", model.name));
            }
        }
        self.platform = platform;
        self.busy = self.busy.max(other.busy);
        if let (Some(last), Some(_)) = (self.last_moment(), other.last_moment()) {
            other.begin_at(last);
        }
        self.launches.append(&mut other.launches);
        self.doubts.append(&mut other.doubts);
        self.spec = self.spec.take().or(other.spec);
        for model in other.models {
            match self.models.iter_mut().find(|own| own.name == model.name) {
                Some(own) => own.rows.extend(model.rows),
                None => self.models.push(model),
            }
        }
        Ok(())
    }

    /// The share of the machine's cores that other programs used while the nodes lacked them, from
    /// 0 to below 1.
    #[must_use]
    pub fn taken_by_others(&self) -> f64 {
        let cores = self.platform.as_ref().map_or(1, |platform| platform.cores.max(1));
        (self.busy / cores as f64).clamp(0.0, MOST_TAKEN)
    }

    /// The whole file as text, as a [`SamplesWriter`] writes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        write::to_text(self)
    }
}

/// The platform of samples of both: the one with more nodes.
fn join_platforms(ours: Option<&Platform>, theirs: Option<Platform>) -> Result<Option<Platform>, String> {
    let (Some(ours), Some(theirs)) = (ours, &theirs) else { return Ok(ours.cloned().or(theirs)) };
    let nodes = ours.nodes.max(theirs.nodes);
    let hosts = join_hosts(ours, theirs);
    let [ours, theirs] = [ours, theirs].map(|platform| Platform { nodes, hosts, ..platform.clone() });
    match ours.difference(&theirs) {
        None => Ok(Some(ours)),
        Some(difference) => Err(format!("samples of one file are of one machine, but {difference}")),
    }
}

/// The hosts of samples of both. Simulated machines without hosts stay so.
fn join_hosts(ours: &Platform, theirs: &Platform) -> Option<Hosts> {
    // Where neither states any, the samples of both do not.
    ours.hosts.or(theirs.hosts)?;
    let (ours, theirs) = (ours.all_hosts(), theirs.all_hosts());
    Some(Hosts { min: ours.min.min(theirs.min), max: ours.max.max(theirs.max) })
}

impl ModelSamples {
    /// The columns that are inputs, each with its place among the columns.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(|(_, column)| column.is_input())
    }
}
