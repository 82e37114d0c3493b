//! Choices of libraries on a team of nodes: by models of this machine, equal on all nodes.
//!
//! A library's models come from the first of these sources that has them: the program's
//! [`Options`], the file named by `STRATA_MODELS`, the user's cache folder, where
//! `specc calibrate --install` puts them, and the compiled-in [`TABLES`](Library::TABLES) of the
//! [`Library`], of which the one that [fits](Table::fitting) the transport and the number of nodes
//! is used. A named file must be of this machine and cover this number of nodes; other models of
//! another machine only rank the candidates, and the choice reports that. A simulated machine reads
//! no cache: its results depend only on the program's inputs.
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
//!     let pin = Pin::parse("all_to_all=free").map_err(Error::program)?;
//!     let options = Options::default().pin(pin);           // without it the models choose
//!     let chosen = node.choose::<Schedule>(&[1024.0], &options)?;
//!     Ok(chosen.candidate)                                 // the same on all nodes
//! })?;
//! assert_eq!(taken, [Schedule::Free; 2]);
//! # Ok::<(), Error>(())
//! ```
//!
//! A pin that does not suit its library is an error. A pin of a library that the program never used
//! is reported on node 0's stderr when the program ends, because only then all libraries of a
//! program are known.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, Once, PoisonError};

use strata_model::{FileModels, Platform, in_one_line, installed_models, is_for};
use strata_select::{
    Choice, Library, Models, Note, Parameters, Pin, Pins, Question, Source, Table, closest, say,
};
use thiserror::Error;

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
    pub choice: Choice<L::Rows>,
}

/// The models of a library in a file. Each process reads a file once and caches its models. If an
/// `installed` file cannot be read, the error is cached: all nodes of a process must decide alike.
fn read_once<L: Library>(path: &Path, installed: bool) -> Result<&'static FileModels, SelectError> {
    type Read = Result<&'static FileModels, SelectError>;
    static READ: Mutex<BTreeMap<(PathBuf, &str), Read>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    // Types with the same library name may have different candidates.
    let key = (path.to_owned(), type_name::<L>());
    if let Some(known) = read.get(&key).filter(|known| known.is_ok() || installed) {
        return known.clone();
    }
    let fail = |reason| SelectError::Models { path: path.to_owned(), reason, spec: L::TABLE.spec };
    let file = FileModels::read(L::TABLE, path).map(|file| &*Box::leak(Box::new(file))).map_err(fail);
    if file.is_ok() || installed {
        read.insert(key, file.clone());
    }
    file
}

/// The first 64 bits of a hash in hexadecimal digits; other texts are hashed by FNV-1a.
fn hash_of(text: &str) -> u64 {
    let start = text.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    start.unwrap_or_else(|| {
        text.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3))
    })
}

/// A node's view of the installed models.
#[derive(Default)]
struct Installed {
    use_of: Use,
    /// The files that this node could not use, each with the reason.
    unusable: Vec<(PathBuf, String)>,
}

/// Whether installed models may be used; equal on all nodes.
#[derive(Clone, Copy, Default, PartialEq)]
enum Use {
    #[default]
    Allowed,
    /// The fingerprints differed, and the nodes compare once more without installed models.
    Doubted,
    /// The hosts of the job have different installed models.
    Forbidden,
}

/// Reports an installed file that is not used; once a process.
fn tell_unusable(path: &Path, reason: &str) {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned()) {
        say!("strata: {}: {reason}", path.display());
    }
}

/// The inputs of a library's choice besides the problem.
#[derive(Clone)]
pub struct Selector {
    options: Options,
    models: Models<'static>,
    pin: Option<String>,
    /// True if nodes are processes.
    processes: bool,
    /// So many cores are reckoned with; see [`Question::cores`].
    cores: usize,
    explain: bool,
    word: u64,
    /// True if installed models were not read.
    without_installed: bool,
}

impl Selector {
    /// A fingerprint that is equal on all nodes with equal models and pins, and never 0.
    #[must_use]
    pub fn word(&self) -> u64 {
        self.word
    }

    /// True if a pin decides, or models that were measured on this machine, for a problem `like`
    /// the measured ones. Otherwise a library may prefer its default.
    #[must_use]
    pub fn decides(&self, like: bool) -> bool {
        self.pin.is_some() || like && self.models.note.is_none()
    }

    /// The models, with a note if they are of another machine.
    #[must_use]
    pub fn models(&self) -> Models<'static> {
        self.models
    }

    /// The query for a problem on `nodes` of the nodes, with the pin.
    #[must_use]
    pub fn question<'a>(&'a self, nodes: usize, inputs: &'a [f64]) -> Question<'a, 'a> {
        let pin = self.pin.as_deref().and_then(|pin| Pin::parse(pin).ok());
        Question { pin, processes: self.processes, cores: self.cores, ..Question::new(nodes, inputs) }
    }

    fn read<L: Library>(node: &mut Node, options: &Options) -> Result<Self, SelectError> {
        let without_installed = node.local::<Installed>().use_of != Use::Allowed;
        let here = node.platform();
        let all = L::TABLES.iter().copied();
        let table = Table::fitting(all, &here.transport, here.nodes).unwrap_or(L::TABLE);
        let own = |pin: &&String| Pin::parse(pin).is_ok_and(|pin| pin.library == table.library);
        let pinned = options.pin.as_ref().filter(|pin| !options.inner || own(pin));
        let pin = match (pinned, node.setting("STRATA_PIN")) {
            (Some(pin), _) => Some(pin.clone()),
            (None, Some(text)) => {
                let pins = Pins::parse(text).map_err(|error| SelectError::Pin(error.to_string()))?;
                pins.meant_for(table.library).map(|pin| pin.to_string())
            }
            (None, None) => None,
        };
        let named = options.models.as_deref().or_else(|| node.setting("STRATA_MODELS").map(Path::new));
        let named = named.filter(|path| !options.inner || is_for(path, table.library));
        let mut unusable = None;
        let mut installed = |path: PathBuf| match read_once::<L>(&path, true) {
            Ok(file) => Some(file),
            Err(error) => {
                let reason = match error {
                    SelectError::Models { reason, .. } => reason,
                    other => other.to_string(),
                };
                let reason = format!(
                    "{}; `{}` is chosen by the models that are compiled in: remove the file, or install \
                     others with `specc calibrate {} --install`",
                    in_one_line(&reason),
                    table.library,
                    table.spec
                );
                unusable = Some((path, reason));
                None
            }
        };
        let file = match named {
            Some(path) => {
                let file = read_once::<L>(path, false)?;
                if let Some(difference) = file.difference(&here) {
                    let (path, transport) = (path.to_owned(), here.transport.clone());
                    let (nodes, spec) = (here.nodes, L::TABLE.spec);
                    return Err(SelectError::OtherMachine { path, difference, transport, nodes, spec });
                }
                Some(file)
            }
            None if here.is_simulated() || without_installed => None,
            None => installed_models(&here, table.library).and_then(&mut installed),
        };
        let (models, platform, hash) = match file {
            Some(file) => {
                let models = Models { source: file, file: Some(&file.file), note: None };
                (models, file.platform.clone(), hash_of(&file.digest))
            }
            None => (
                Models { source: table, file: None, note: None },
                table.platform.parse().ok(),
                hash_of(table.digest),
            ),
        };
        let elsewhere = platform.is_some_and(|platform| Platform { nodes: here.nodes, ..platform } != here);
        let note = elsewhere.then_some(Note::OtherMachine { spec: table.spec });
        // The lowest bit is set, so that the fingerprint of a node without an error never equals
        // that of one with an error.
        let word = (hash.rotate_left(1) ^ pin.as_deref().map_or(0, hash_of)) | 1;
        let explain = node.is_on("STRATA_EXPLAIN");
        if let Some((path, reason)) = unusable {
            if node.rank() == 0 {
                tell_unusable(&path, &reason);
            }
            node.local::<Installed>().unusable.push((path, reason));
        }
        Ok(Self {
            options: options.clone(),
            models: Models { note, ..models },
            pin,
            processes: here.has_processes(),
            // Hosts of other transports may differ, and their nodes must choose the same.
            cores: if here.transport == "threads" { here.cores } else { usize::MAX },
            explain,
            word,
            without_installed,
        })
    }
}

/// A node's cache for a library: its selector, and its last choice, because programs often repeat a
/// query.
struct Known<L: Library> {
    selector: Option<Rc<Selector>>,
    last: Option<(Key, Rc<Chosen<L>>)>,
    /// The candidates with their least parameters, in the order of the bits of [`Key::applies`].
    least: Vec<Option<L>>,
}

impl<L: Library> Default for Known<L> {
    fn default() -> Self {
        let entries = L::TABLE.entries.iter().enumerate().take(64);
        let least =
            entries.map(|(index, entry)| L::candidate(index, &Parameters::least(entry.parameters))).collect();
        Self { selector: None, last: None, least }
    }
}

impl<L: Library> Known<L> {
    /// The applicable candidates, one bit each.
    fn which(&self, applies: &dyn Fn(L) -> bool) -> u64 {
        let bits = self.least.iter().enumerate();
        bits.map(|(index, least)| u64::from(least.is_some_and(applies)) << index)
            .fold(0, |all, bit| all | bit)
    }
}

/// All inputs of a choice.
#[derive(PartialEq)]
struct Key {
    word: u64,
    nodes: usize,
    inputs: Vec<f64>,
    /// The applicable candidates, one bit each.
    applies: u64,
    note: Option<Note>,
}

/// The libraries that this node has used.
#[derive(Default)]
struct Asked(Vec<&'static str>);

impl Node {
    /// The selector of `L`, to be compared by the team before [`choose_by`](Self::choose_by).
    ///
    /// # Participation
    /// Local, with equal options; settings are node 0's.
    ///
    /// # Errors
    /// If a setting or a file is invalid.
    pub fn selector<L: Library>(&mut self, options: &Options) -> Result<Rc<Selector>, SelectError> {
        let without_installed = self.local::<Installed>().use_of != Use::Allowed;
        if let Some(selector) = &self.local::<Known<L>>().selector
            && selector.options == *options
            && selector.without_installed == without_installed
        {
            return Ok(Rc::clone(selector));
        }
        self.asks(L::TABLE.library);
        let selector = Rc::new(Selector::read::<L>(self, options)?);
        self.local::<Known<L>>().selector = Some(Rc::clone(&selector));
        Ok(selector)
    }

    /// Records that this program used a library.
    fn asks(&mut self, library: &'static str) {
        let asked = &mut self.local::<Asked>().0;
        if !asked.contains(&library) {
            asked.push(library);
        }
    }

    /// The candidate, one of these, that `STRATA_PIN` names for a library without models; `None` if
    /// it is not pinned.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # Machine::threads(1)?.run(|node| {
    /// let in_words = node.pinned("output", &["text", "binary"])? == Some("text");
    /// # assert!(!in_words); Ok(()) })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local, with equal arguments; the setting is node 0's.
    ///
    /// # Errors
    /// If `STRATA_PIN` cannot be parsed, or pins something else for this library.
    pub fn pinned<'c>(
        &mut self,
        library: &'static str,
        candidates: &[&'c str],
    ) -> Result<Option<&'c str>, SelectError> {
        self.asks(library);
        let Some(text) = self.setting("STRATA_PIN") else { return Ok(None) };
        let pins = Pins::parse(text).map_err(|error| SelectError::Pin(error.to_string()))?;
        let Some(pin) = pins.meant_for(library) else { return Ok(None) };
        let reason = if pin.library != library {
            format!("pins a library that is not there: did you mean `{library}`?")
        } else if !pin.parameters.is_empty() {
            "gives parameters, and this library's candidates have none".to_owned()
        } else if let Some(known) = candidates.iter().find(|known| **known == pin.candidate) {
            return Ok(Some(known));
        } else {
            let meant = closest(pin.candidate, candidates.iter().copied());
            let meant = meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
            format!(
                "pins a candidate that `{library}` does not have{meant}; it has {}",
                candidates.join(", ")
            )
        };
        Err(SelectError::Choose(format!("`{pin}` {reason}")))
    }

    /// True if the nodes must take new selectors and compare once more. To be called after the
    /// nodes have compared the [`word`](Selector::word)s of their [`selector`](Self::selector)s;
    /// `alike` is true if these are equal. If the hosts have different models in their caches, all
    /// nodes then choose by the compiled-in models.
    ///
    /// ```
    /// # use strata_runtime::{patterns::Schedule, prelude::*, select::{Options, SelectError}};
    /// # Machine::threads(2)?.run(|node| {
    /// let (selector, alike) = loop {
    ///     let selector = node.selector::<Schedule>(&Options::default());
    ///     // Even if this node fails, or the others would wait forever.
    ///     let word = selector.as_ref().map_or(0, |selector| selector.word());
    ///     let alike = node.all_gather(&[word]).iter().all(|other| *other == word);
    ///     if !node.must_compare_again(alike) {
    ///         break (selector?, alike);
    ///     }
    /// };
    /// assert!(alike && selector.word() != 0);
    /// # Ok(()) })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local; equal on all nodes if `alike` is.
    pub fn must_compare_again(&mut self, alike: bool) -> bool {
        let node_0 = self.rank() == 0;
        let installed = self.local::<Installed>();
        match (installed.use_of, alike) {
            (Use::Allowed, false) => {
                installed.use_of = Use::Doubted;
                return true;
            }
            // Pins or options differ, so the installed models are not the cause.
            (Use::Doubted, false) => installed.use_of = Use::Allowed,
            (Use::Doubted, true) => {
                installed.use_of = Use::Forbidden;
                if node_0 {
                    // Printed once, although a process may run several jobs.
                    static TOLD: Once = Once::new();
                    TOLD.call_once(|| {
                        say!(
                            "strata: the hosts of the nodes have different models in their cache folders, so the \
                             models that are compiled in are used: install the same on every host, or name a file \
                             in STRATA_MODELS"
                        );
                    });
                }
                installed.unusable.iter().for_each(|(path, reason)| tell_unusable(path, reason));
            }
            (Use::Allowed, true) | (Use::Forbidden, _) => {}
        }
        false
    }

    /// The best candidate of `L` for `inputs` by the models, or the pinned one; `applies` is true
    /// for the candidates that are correct. With a `note` the models only rank the candidates.
    /// `STRATA_EXPLAIN=1` prints the choice and the source of its models on node 0's stderr.
    ///
    /// # Participation
    /// Local: equal on all nodes for equal arguments and selectors of equal
    /// [`word`](Selector::word)s.
    ///
    /// # Errors
    /// If the pin does not suit the problem, or no candidate applies.
    pub fn choose_by<L: Library>(
        &mut self,
        selector: &Selector,
        inputs: &[f64],
        applies: &dyn Fn(L) -> bool,
        note: Option<Note>,
    ) -> Result<Rc<Chosen<L>>, SelectError> {
        self.choose_for(self.size(), selector, inputs, applies, note)
    }

    /// As [`choose_by`](Self::choose_by), for a problem on `nodes` of the nodes.
    ///
    /// # Participation
    /// As [`choose_by`](Self::choose_by), on these nodes.
    ///
    /// # Errors
    /// As [`choose_by`](Self::choose_by).
    pub fn choose_for<L: Library>(
        &mut self,
        nodes: usize,
        selector: &Selector,
        inputs: &[f64],
        applies: &dyn Fn(L) -> bool,
        note: Option<Note>,
    ) -> Result<Rc<Chosen<L>>, SelectError> {
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
    pub fn choose_with<L: Library>(
        &mut self,
        nodes: usize,
        selector: &Selector,
        (source, word): (&(dyn Source + Send + Sync), u64),
        inputs: &[f64],
        applies: &dyn Fn(L) -> bool,
        note: Option<Note>,
    ) -> Result<Rc<Chosen<L>>, SelectError> {
        let word = selector.word ^ word.rotate_left(1);
        let models = Models { source, ..selector.models };
        let known = self.local::<Known<L>>();
        let bits = known.which(applies);
        let known = known.last.as_ref().filter(|(key, _)| {
            (key.word, key.nodes, key.applies, key.note, &key.inputs[..]) == (word, nodes, bits, note, inputs)
        });
        let chosen = match known {
            Some((_, chosen)) => Rc::clone(chosen),
            None => {
                let question = Question { note, ..selector.question(nodes, inputs) };
                let chosen = models
                    .choose(question, applies)
                    .map_err(|error| SelectError::Choose(error.to_string()))?;
                let chosen = Rc::new(Chosen { candidate: chosen.0, choice: chosen.1 });
                if L::TABLE.entries.len() <= 64 {
                    let inputs = inputs.to_vec();
                    let key = Key { word, nodes, inputs, applies: bits, note };
                    self.local::<Known<L>>().last = Some((key, Rc::clone(&chosen)));
                }
                chosen
            }
        };
        if selector.explain && self.rank() == 0 {
            say!("{}", models.explain(&chosen.choice, nodes, inputs));
        }
        Ok(chosen)
    }

    /// The best candidate of `L` for `inputs` by the models, or the pinned one, and the reasons.
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
        inputs: &[f64],
        options: &Options,
    ) -> Result<Rc<Chosen<L>>, SelectError> {
        let (selector, alike) = loop {
            let selector = self.selector::<L>(options);
            // Even if this node fails, the exchange must take place, or the others would wait
            // forever.
            let word = selector.as_ref().map_or(0, |selector| selector.word);
            let alike = self.all_gather(&[word]).windows(2).all(|pair| pair[0] == pair[1]);
            if !self.must_compare_again(alike) {
                break (selector, alike);
            }
        };
        let selector = selector?;
        if !alike {
            return Err(SelectError::Unlike);
        }
        self.choose_by(&selector, inputs, &|_| true, None)
    }

    /// Reports on node 0 the pins of libraries that were never used.
    pub(crate) fn report_pins(&mut self) {
        let asked = std::mem::take(&mut self.local::<Asked>().0);
        let Some(text) = self.setting("STRATA_PIN").filter(|_| self.rank() == 0) else { return };
        let libraries = if asked.is_empty() { "none".to_owned() } else { asked.join(", ") };
        match Pins::parse(text) {
            // A used library has already rejected it.
            Err(error) if asked.is_empty() => say!("strata: STRATA_PIN: {error}"),
            Err(_) => {}
            Ok(pins) => {
                // Copies, strided blocks and local sorts read their pins themselves, on each node.
                let local = ["copy", "copy_strided", "local_sort"];
                let used = |pin: &Pin<'_>| local.contains(&pin.library) || asked.contains(&pin.library);
                for pin in pins.iter().filter(|pin| !used(pin)) {
                    let meant = closest(pin.library, asked.iter().copied().chain(local));
                    let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                    say!(
                        "strata: STRATA_PIN: `{pin}` had no effect: this program chose nothing of library \
                         `{}`; it chose of {libraries}{meant}",
                        pin.library
                    );
                }
            }
        }
    }
}
