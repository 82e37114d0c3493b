//! Tuning on the nodes of a team, and tuned copies.
//!
//! [`Node::tuner`] makes a tuner with which all nodes learn the same, from the slowest node's
//! times, and change their choices at the same step: that of [`agree`](NodeTuner::agree).
//!
//! ```
//! use strata_runtime::prelude::*;
//! use strata_tune::Knob;
//!
//! Machine::threads(2)?.run(|node| {
//!     let mut tuner = node.tuner("smooth")?;                // by STRATA_TUNE; unset: the default
//!     let rows = Knob::new("rows", 64, [16, 256]);
//!     for _ in 0..100 {
//!         let rows = *tuner.pick(node, &rows);                  // the value to use here and now
//!         node.reduce_max(rows as f64);                         // ... the work, with it ...
//!         tuner.agree(node)?;                                   // collective
//!     }
//!     let report = tuner.close(node)?;                          // node 0 keeps what was found
//!     if node.rank() == 0 {
//!         node.print(report.to_string());
//!     }
//!     Ok(())
//! })?;
//! # Ok::<(), Error>(())
//! ```
//!
//! [`copy`] is for the copies of one node: it needs no agreement.
//!
//! A program that does none of this is tuned, too: with `STRATA_TUNE=tune` its puts, whole
//! collectives and all-to-alls are done, at each place of the program and for each class of sizes,
//! in one of several ways that give the same result to the last bit (see
//! [`Machine::run_tuned`](crate::Machine::run_tuned)).

use crate::error::Error;
use crate::node::Node;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::OnceLock;
use strata_copy::{Hint, Routine, SHORT, candidates, copy_hinted};
use strata_select::say;
use strata_tune::{Agree, Knob, Mode, Options, Report, SizeClass, Tuner, VARIABLE};

/// Agreement by a maximum over all nodes.
impl Agree for Node {
    fn max(&mut self, values: &mut [f64]) {
        self.reduce_max(values);
    }
}

/// A tuner of one node of a team; made by [`Node::tuner`].
pub struct NodeTuner {
    tuner: Tuner,
    /// The file in which node 0 saves the results.
    file: Option<PathBuf>,
}

impl Node {
    /// A tuner for a program, in the mode of node 0's `STRATA_TUNE`: `off` (also if it is not set),
    /// `record`, `tune`, `use:FILE`. All nodes restore the results that node 0 saved in an earlier
    /// run on as many nodes; results that do not fit are ignored, which node 0 prints.
    ///
    /// # Errors
    /// If `STRATA_TUNE` is invalid, node 0 has no cache folder, or cannot read the file of
    /// `use:FILE`; the job then ends with that message.
    ///
    /// # Participation
    /// Collective.
    pub fn tuner(&mut self, program: &str) -> Result<NodeTuner, Error> {
        let mode = Mode::parse(self.setting(VARIABLE).unwrap_or_default())?;
        self.tuner_with(program, Options::of(mode))
    }

    /// As [`tuner`](Self::tuner), with the program's own options.
    ///
    /// # Errors
    /// As for [`tuner`](Self::tuner), or if an option is outside its range.
    ///
    /// # Participation
    /// Collective, with equal options.
    pub fn tuner_with(&mut self, program: &str, options: Options) -> Result<NodeTuner, Error> {
        // Results on threads, or on one simulated machine, are not valid on another.
        let program = &format!("{program} on {}", self.platform().transport);
        let Stored { text, file } = stored(program, &options, self.rank(), self.size())?;
        let length = self.broadcast_value(0, text.len() as u64);
        let mut bytes = text.into_bytes();
        bytes.resize(length as usize, 0);
        if length > 0 {
            self.broadcast(0, &mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = (length > 0).then_some(&*text);
        let mut tuner = Tuner::for_team(program, options, self.size(), text)?;
        if self.is_simulated() {
            tuner.set_tick(1e-9);
        }
        Ok(NodeTuner { tuner, file })
    }
}

/// What a team's earlier run has found.
pub(crate) struct Stored {
    /// On node 0: the state, empty if there is none that fits.
    pub(crate) text: String,
    /// On node 0: the file for what is found, if any.
    pub(crate) file: Option<PathBuf>,
}

pub(crate) fn stored(program: &str, options: &Options, rank: usize, size: usize) -> Result<Stored, Error> {
    if rank != 0 {
        return Ok(Stored { text: String::new(), file: None });
    }
    let (text, notes) = Tuner::stored(program, options, size)?;
    notes.iter().for_each(|note| say!("strata: {note}"));
    let file = match options.mode {
        Mode::Use(_) => None,
        _ => Tuner::file_of(program, &options.mode, size)?,
    };
    Ok(Stored { text: text.unwrap_or_default(), file })
}

impl NodeTuner {
    /// The value in force for this call site. Keep it with its use.
    ///
    /// # Participation
    /// Local; but all nodes must reach the same call sites in the same order.
    #[track_caller]
    #[inline]
    pub fn pick<'knob, T>(&mut self, node: &Node, knob: &'knob Knob<T>) -> &'knob T {
        knob.value(self.option(node, Location::caller(), knob, SizeClass::Any))
    }

    /// As [`pick`](Self::pick), for each class of sizes separately: sizes must be in equal classes
    /// on all nodes.
    ///
    /// # Participation
    /// As [`pick`](Self::pick).
    #[track_caller]
    #[inline]
    pub fn pick_for<'knob, T>(&mut self, node: &Node, knob: &'knob Knob<T>, size: usize) -> &'knob T {
        knob.value(self.option(node, Location::caller(), knob, SizeClass::of(size)))
    }

    #[inline]
    fn option<T>(
        &mut self,
        node: &Node,
        place: &'static Location<'static>,
        knob: &Knob<T>,
        class: SizeClass,
    ) -> u16 {
        let now = node.is_simulated().then(|| node.simulated_ns());
        self.tuner.option_at(place, knob, class, now)
    }

    /// A step: all nodes learn the same, and use the same choices from their next executions on.
    ///
    /// # Errors
    /// On all nodes, if their call sites differ; the error names the first that does.
    ///
    /// # Participation
    /// Collective, for example once an iteration.
    pub fn agree(&mut self, node: &mut Node) -> Result<(), Error> {
        self.tuner.agree(node).map_err(Error::program)
    }

    /// Saves the results on node 0 for later runs, at the end or at any time; returns the report.
    ///
    /// # Errors
    /// On node 0, if the file cannot be written.
    ///
    /// # Participation
    /// Local.
    pub fn close(self, node: &Node) -> Result<Report, Error> {
        if let (0, Some(file)) = (node.rank(), &self.file) {
            self.tuner.save(file)?;
        }
        Ok(self.tuner.report())
    }

    /// The underlying tuner, for inspection.
    #[must_use]
    pub fn tuner(&self) -> &Tuner {
        &self.tuner
    }
}

/// The routines worth trying on this processor as options, because a search of all would cost more
/// than it gains; the default is the choice of models.
fn routine_knob() -> &'static Knob<Option<&'static Routine>> {
    static KNOB: OnceLock<Knob<Option<&'static Routine>>> = OnceLock::new();
    KNOB.get_or_init(|| {
        let all = candidates().into_iter().map(|routine| (routine.name(), Some(routine)));
        Knob::named("copy", ("models", None), all)
    })
}

/// Copies all of `from` to `to` with the fastest routine for this call site and class of sizes;
/// short copies are not tuned. The time until the next call site counts, so that a routine pays for
/// the state in which it leaves the cache.
///
/// ```
/// use strata_runtime::copy::Hint;
/// use strata_runtime::tune::copy;
/// use strata_tune::Tuner;
///
/// let mut tuner = Tuner::from_env("copies")?;
/// let (from, mut to) = (vec![7u8; 10_000], vec![0u8; 10_000]);
/// copy(&mut tuner, Hint::default(), &mut to, &from);
/// assert_eq!(to, from);
/// # Ok::<(), strata_tune::TuneError>(())
/// ```
///
/// # Panics
/// If the lengths differ.
#[track_caller]
#[inline]
pub fn copy(tuner: &mut Tuner, hint: Hint, to: &mut [u8], from: &[u8]) {
    let routine = if from.len() < SHORT || tuner.passes() {
        None
    } else {
        let (knob, class) = (routine_knob(), SizeClass::of(from.len()));
        *knob.value(tuner.option_at(Location::caller(), knob, class, None))
    };
    match routine {
        Some(routine) => routine.copy(to, from),
        None => copy_hinted(hint, to, from),
    }
}
