//! Choices of libraries on a team of nodes: by models of this machine, equal on all nodes.
//!
//! A library's models come from the first of these sources that has them: the program's
//! [`Options`], the file named by `STRATA_MODELS`, the user's cache folder, where
//! `specc calibrate --install` puts them, and the compiled-in [`TABLES`](Library::TABLES) of the
//! [`Library`], of which the one that [fits](strata_select::Table::fitting) the transport and the
//! number of nodes is used, of several machines that of the
//! [nearest](strata_select::Table::nearest). A named file must be of this machine and cover this
//! number of nodes; other models of another machine only rank the candidates, and the choice
//! reports that. A simulated machine reads no cache: its results depend only on the program's
//! inputs.
//!
//! If only compiled-in models of another machine are left, they are scaled by the timings that a
//! [calibration](Node::calibrate) has kept on node 0.
//!
//! Installed models only make programs faster, so they never stop one. A file in the cache that is
//! damaged, of a newer Strata or of an older program is reported on node 0's stderr, and the
//! compiled-in models are used. The compiled-in models are also used if the hosts of a job have
//! different files in their caches.
//!
//! Settings are node 0's. The models, pin and options have a fingerprint, [`word`](Selector::word),
//! which the nodes compare before they choose: nodes that chose differently would deadlock.
//! [`Node::choose`] makes this comparison. A library that exchanges values anyway sends the
//! fingerprint with them, as `strata-sort` does, and calls [`Node::must_compare_again`].
//!
//! ```
//! use strata_runtime::{patterns::Schedule, prelude::*, select::Options};
//! use strata_select::Pin;
//!
//! let taken = Machine::threads(2)?.run(|node| {
//!     let pin = Pin::parse("all_to_all=free")?;
//!     let options = Options::default().pin(pin);           // without it the models choose
//!     let chosen = node.choose::<Schedule>(1024.0, &options)?;
//!     Ok(chosen.candidate)                                 // the same on all nodes
//! })?;
//! assert_eq!(taken, [Schedule::Free; 2]);
//! # Ok::<(), Error>(())
//! ```
//!
//! A pin that does not suit its library is an error. A pin of a library that the program never used
//! is reported on node 0's stderr when the program ends, because only then all libraries of a
//! program are known.

mod calibrate;
mod learn;
mod pins;
mod recent;
mod selector;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use strata_select::{
    Choice, Input as _, Library, Pin, Question, Source, calls,
    choice::Note,
    table::{Entry, Parameters},
};
use thiserror::Error;

pub use self::calibrate::TimedOnNodes;
pub(crate) use self::learn::Places;
use self::recent::Query;
pub use self::selector::Selector;
use crate::Node;

/// Options that override settings. They must be equal on every node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pin: Option<String>,
    models: Option<PathBuf>,
    inner: bool,
}

impl Options {
    /// Pins a candidate; overrides `STRATA_PIN`.
    #[must_use]
    pub fn pin(self, pin: Pin<'_>) -> Self {
        Self { pin: Some(pin.to_string()), ..self }
    }

    /// Chooses by the model set in this file; overrides `STRATA_MODELS`. Each process reads it
    /// once.
    #[must_use]
    pub fn models(self, path: impl AsRef<Path>) -> Self {
        Self { models: Some(path.as_ref().to_owned()), ..self }
    }

    /// True if nothing is overridden.
    #[inline]
    fn are_default(&self) -> bool {
        self.pin.is_none() && self.models.is_none() && !self.inner
    }

    /// Options for a library used inside another: a pin or a model file that does not name it is
    /// ignored.
    #[must_use]
    pub fn inner(self) -> Self {
        Self { inner: true, ..self }
    }
}

/// Why the selection failed: the settings, the options or the models are invalid. Every node gets
/// an error.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The text of a pin cannot be parsed.
    #[error("STRATA_PIN: {0}")]
    Pin(String),
    /// The pin does not suit the library or the problem, or no candidate does.
    #[error("{0}")]
    Choose(String),
    /// A file of models cannot be read, or is not for this library.
    #[error("cannot read the models in {}: {reason}; `specc calibrate {spec} -o FOLDER` makes such a file", path.display())]
    Models {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
        /// The spec that calibrates the library.
        spec: &'static str,
    },
    /// The models were measured on another machine.
    #[error(
        "the models in {} do not hold here: {difference}; calibrate again on this machine: \
         specc calibrate {spec} --on {transport} --nodes {nodes} -o FOLDER", path.display()
    )]
    OtherMachine {
        /// The file.
        path: PathBuf,
        /// The differences: the models' machine and this one.
        difference: String,
        /// The transport here.
        transport: String,
        /// The number of nodes here.
        nodes: usize,
        /// The spec that calibrates the library.
        spec: &'static str,
    },
    /// The nodes have different models or pins, and would choose differently.
    #[error(
        "the nodes have different models or pins and would choose differently; give every node the same file and options"
    )]
    Unlike,
}

impl From<SelectError> for crate::Error {
    fn from(error: SelectError) -> Self {
        Self::program(error)
    }
}

/// The chosen candidate of a library, and the reasons.
#[derive(Clone, Debug)]
pub struct Chosen<L: Library> {
    /// The candidate to run.
    pub candidate: L,
    /// The reasons.
    pub choice: Rc<Choice<L::Rows>>,
}

/// All candidates of a library, as bits; see [`which`].
pub const ALL: u64 = u64::MAX;

/// The candidates for which `applies` is true, one bit each in their order, the first the lowest: it
/// is asked with their least parameters.
#[must_use]
pub fn which<L: Library>(applies: impl Fn(L) -> bool) -> u64 {
    let entries = L::TABLE.entries.iter().enumerate().take(MOST_CANDIDATES);
    let bit = |(index, entry): (usize, &Entry)| {
        let candidate = L::candidate(index, &Parameters::least(entry.parameters));
        u64::from(candidate.is_some_and(&applies)) << index
    };
    entries.map(bit).fold(0, |all, bit| all | bit)
}

/// The most candidates of a library on several nodes.
const MOST_CANDIDATES: usize = u64::BITS as usize;

/// A node's state of a library.
struct Known<L: Library> {
    selector: Option<Rc<Selector<L>>>,
    /// The timings of this program's own calibration, with those before it.
    fresh: Option<String>,
    /// True if `STRATA_CALIBRATE` was looked at.
    asked: bool,
}

impl<L: Library> Default for Known<L> {
    fn default() -> Self {
        Self { selector: None, fresh: None, asked: false }
    }
}

impl Node {
    /// The best candidate of `L` for `inputs` by the models, or the pinned one; `applies` are the
    /// candidates that are correct, as by [`which`]. With a `note` the models only rank the
    /// candidates. `STRATA_EXPLAIN=1` prints the choice and the source of its models on node 0's
    /// stderr.
    ///
    /// # Participation
    /// Local: equal on all nodes for equal arguments and selectors of equal
    /// [`word`](Selector::word)s.
    ///
    /// # Errors
    /// If the pin does not suit the problem, or no candidate applies.
    #[inline]
    pub fn choose_by<L: Library>(
        &mut self,
        selector: &Selector<L>,
        inputs: &[f64],
        applies: u64,
        note: Option<Note>,
    ) -> Result<Chosen<L>, SelectError> {
        self.choose_for(self.size(), selector, inputs, applies, note)
    }

    /// As [`choose_by`](Self::choose_by), for a problem on `nodes` of the nodes.
    ///
    /// # Participation
    /// As [`choose_by`](Self::choose_by), on these nodes.
    ///
    /// # Errors
    /// As [`choose_by`](Self::choose_by).
    #[inline]
    pub fn choose_for<L: Library>(
        &mut self,
        nodes: usize,
        selector: &Selector<L>,
        inputs: &[f64],
        applies: u64,
        note: Option<Note>,
    ) -> Result<Chosen<L>, SelectError> {
        self.choose_with(nodes, selector, (selector.models.source, 0), inputs, applies, note)
    }

    /// As [`choose_for`](Self::choose_for), with a source made of the selector's models and others,
    /// and the fingerprint ([`word`](Selector::word)) of the latter.
    ///
    /// # Participation
    /// As [`choose_for`](Self::choose_for), for equal sources.
    ///
    /// # Errors
    /// As [`choose_by`](Self::choose_by).
    #[inline]
    pub fn choose_with<L: Library>(
        &mut self,
        nodes: usize,
        selector: &Selector<L>,
        (source, word): (&(dyn Source + Send + Sync), u64),
        inputs: &[f64],
        applies: u64,
        note: Option<Note>,
    ) -> Result<Chosen<L>, SelectError> {
        let query = Query::new(word, nodes, inputs, applies, note);
        match selector.kept(query) {
            Some(kept) => Ok(kept),
            None => selector.choose_anew(
                query,
                source,
                Question { note, ..selector.question(nodes, inputs) },
                self.rank() == 0,
            ),
        }
    }

    /// The best candidate of `L` for this problem by the models, or the pinned one, and the reasons.
    /// All candidates must be correct for the problem.
    ///
    /// # Participation
    /// Collective, with equal inputs and options.
    ///
    /// # Errors
    /// See [`SelectError`]; every node gets an error.
    #[track_caller]
    pub fn choose<L: Library>(
        &mut self,
        input: L::Input,
        options: &Options,
    ) -> Result<Chosen<L>, SelectError> {
        let (selector, alike) = loop {
            let selector = self.selector::<L>(options);
            // Even if this node fails, the exchange must take place, or the others would wait
            // forever.
            let word = selector.as_ref().map_or(0, |selector| selector.word());
            let alike = self.all_gather(&[word]).windows(2).all(|pair| pair[0] == pair[1]);
            if !self.must_compare_again(alike) {
                break (selector, alike);
            }
        };
        let selector = selector?;
        if self.rank() == 0 {
            calls::count(L::TABLE, input.values().as_ref());
        }
        if !alike {
            return Err(SelectError::Unlike);
        }
        self.choose_by(&selector, input.values().as_ref(), ALL, None)
    }
}
