//! A library's models on a node: from options, a named file, the user's cache or its own tables,
//! those scaled by timings that node 0 has kept.

use std::any::type_name;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, Once, PoisonError};

use strata_model::{FileModels, Platform, in_one_line, installed_models, is_for};
use strata_select::{
    Library, Pin, Question, Source, Table,
    choice::{Note, Pins},
    models::Models,
    say,
    transfer::{Scaled, fnv, kept_among, origin, scaled_by, team},
};

use super::recent::{Query, Recent};
use super::{Chosen, Known, MOST_CANDIDATES, Options, SelectError};
use crate::Node;
use crate::installed::Use;

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
    start.unwrap_or_else(|| fnv(text.bytes()))
}

/// Compiled-in models that were scaled, and the text that names them.
#[derive(Clone, Copy)]
struct Fitted {
    source: &'static Scaled,
    file: &'static str,
}

/// The models of a table scaled by the timings in a text; computed once in a process, whose nodes
/// have the same text.
fn fitted(table: &'static Table, nodes: usize, text: &str) -> Option<Fitted> {
    type Key = (usize, usize, u64);
    static FITTED: Mutex<BTreeMap<Key, Option<Fitted>>> = Mutex::new(BTreeMap::new());
    let key = (std::ptr::from_ref(table).addr(), nodes, fnv(text.bytes()));
    let mut all = FITTED.lock().unwrap_or_else(PoisonError::into_inner);
    *all.entry(key).or_insert_with(|| {
        let source: &'static Scaled = Box::leak(Box::new(scaled_by(table, nodes, text)?));
        Some(Fitted { source, file: String::leak(origin(source, "the cache folder of node 0")) })
    })
}

/// Reports an installed file that is not used; once a process.
fn tell_unusable(path: &Path, reason: &str) {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned()) {
        say!("strata: {}: {reason}", path.display());
    }
}

/// How many candidates a node keeps of a library by a caller's numbers, as a power of two.
const BARE_BITS: u32 = 4;

type Bare<L> = Box<[Cell<Option<([u64; 3], L)>>; 1 << BARE_BITS]>;

/// The place of a caller's numbers, by Fibonacci hashing.
#[inline]
fn place(question: [u64; 3]) -> usize {
    let parts = question.into_iter().fold(0, |hash: u64, part| hash.rotate_left(20) ^ part);
    (parts.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BARE_BITS)) as usize
}

/// The inputs of a library's choice besides the problem, and the recent choices. What a repeated
/// choice reads comes first.
#[repr(C)]
pub struct Selector<L: Library> {
    word: u64,
    explain: bool,
    /// True if the options are the default ones.
    plain: bool,
    /// True if installed models were not read.
    without_installed: bool,
    /// True if the models are compiled in, and scaled to this machine.
    scaled: bool,
    /// True if nodes are processes.
    processes: bool,
    /// Candidates by the numbers of a caller, each at the place of these.
    bare: Bare<L>,
    recent: Recent<L>,
    pin: Option<String>,
    options: Options,
    pub(super) models: Models<'static>,
    /// So many cores are reckoned with; see [`Question::cores`].
    cores: usize,
}

impl<L: Library> Selector<L> {
    /// A fingerprint that is equal on all nodes with equal models and pins, and never 0.
    #[must_use]
    #[inline]
    pub fn word(&self) -> u64 {
        self.word
    }

    /// True if a pin decides, or models that were measured on this machine, for a problem `like`
    /// the measured ones. Otherwise a library may prefer its default.
    #[must_use]
    pub fn decides(&self, like: bool) -> bool {
        self.pin.is_some() || like && self.models.note.is_none()
    }

    /// True if a pin decides.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    /// The candidate that was [kept](Self::keep_bare) for these numbers: as a choice that is kept,
    /// without the reasons, in a third of the time.
    #[must_use]
    #[inline]
    pub fn bare(&self, question: [u64; 3]) -> Option<L> {
        self.bare[place(question)].get().and_then(|(of, candidate)| (of == question).then_some(candidate))
    }

    /// Keeps a candidate for [`bare`](Self::bare). The numbers must determine all other arguments of
    /// the choice. Where choices are explained each is made anew.
    #[inline]
    pub fn keep_bare(&self, question: [u64; 3], candidate: L) {
        self.bare[place(question)].set((!self.explain).then_some((question, candidate)));
    }

    /// True if it is for these options, and installed models were read or not, as now.
    #[inline]
    fn is_for(&self, options: &Options, without_installed: bool) -> bool {
        let alike = if self.plain { options.are_default() } else { self.options == *options };
        alike && self.without_installed == without_installed
    }

    /// The choice for a query, if it is kept.
    #[inline]
    pub(super) fn kept(&self, query: Query) -> Option<Chosen<L>> {
        if self.explain { None } else { self.recent.get(query) }
    }

    /// The choice for a query that is not kept. `first`: on node 0, which explains it.
    #[cold]
    #[inline(never)]
    pub(super) fn choose_anew(
        &self,
        query: Query,
        source: &(dyn Source + Send + Sync),
        question: Question<'_, '_>,
        first: bool,
    ) -> Result<Chosen<L>, SelectError> {
        let models = Models { source, ..self.models };
        let chosen = models.choose_of(question, query.applies());
        let (candidate, choice) = chosen.map_err(|error| SelectError::Choose(error.to_string()))?;
        if self.explain && first {
            say!("{}", models.explain(&choice, question.nodes, question.inputs));
        }
        let chosen = Chosen { candidate, choice: Rc::new(choice) };
        self.recent.keep(query, chosen.clone());
        Ok(chosen)
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

    /// Why nothing is to be calibrated: the models in use need it not, or were asked for; `None` for
    /// compiled-in models of another machine.
    pub(super) fn why_not_calibrated(&self) -> Option<String> {
        match (&self.pin, self.models.file, self.models.note) {
            (Some(pin), ..) => Some(format!("`{pin}` is pinned")),
            (None, Some(file), _) if !self.scaled => Some(format!("those in {file} are of this machine")),
            (None, None, None) => Some("they are of this machine".to_owned()),
            _ => None,
        }
    }

    fn read(node: &mut Node, options: &Options) -> Result<Self, SelectError> {
        let without_installed = node.installed.use_of != Use::Allowed;
        let here = node.platform();
        let table = compiled_table::<L>(&here);
        let own = |pin: &&String| Pin::parse(pin).is_ok_and(|pin| pin.library == table.library);
        let pinned = options.pin.as_ref().filter(|pin| !options.inner || own(pin));
        let pin = match (pinned, node.setting("STRATA_PIN")) {
            (Some(pin), _) => Some(pin.clone()),
            (None, Some(text)) => {
                let pins = Pins::parse(text).map_err(|error| SelectError::Pin(error.to_string()))?;
                // What the run-time asks for itself may have a name like a library of the program's.
                let pin = if options.inner { pins.get(table.library) } else { pins.meant_for(table.library) };
                pin.map(|pin| pin.to_string())
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
        let other = platform.filter(|other| other.as_used(&here) != here);
        let note = other.map(|other| {
            let (platform, spec) = (if file.is_none() { table.platform } else { "" }, table.spec);
            let transport = (other.transport != here.transport).then_some("another transport");
            let differs = transport.or_else(|| here.host().differs(platform)).unwrap_or_default();
            if (Platform { nodes: here.nodes, hosts: here.hosts, ..other }) == here {
                return Note::Other(OTHER_HOSTS);
            }
            Note::OtherMachine { spec, platform, differs }
        });
        let scaled = match note {
            Some(Note::OtherMachine { .. }) if file.is_none() && !without_installed => {
                let team = team(&here.transport, here.nodes);
                let fresh = node.local::<Known<L>>().fresh.clone();
                let kept = || kept_among(table, &here.host(), &team, node.kept_timings());
                fresh.or_else(kept).and_then(|text| fitted(table, here.nodes, &text))
            }
            _ => None,
        };
        let (models, note, hash) = match scaled {
            Some(Fitted { source, file }) => {
                let models = Models { source, file: Some(file), note: None };
                (models, None, hash.rotate_left(7) ^ source.digest())
            }
            None => (models, note, hash),
        };
        // The lowest bit is set, so that the fingerprint of a node without an error never equals
        // that of one with an error.
        let word = (hash.rotate_left(1) ^ pin.as_deref().map_or(0, hash_of)) | 1;
        let explain = node.is_on("STRATA_EXPLAIN");
        if let Some((path, reason)) = unusable {
            if node.rank() == 0 {
                tell_unusable(&path, &reason);
            }
            node.installed.unusable.push((path, reason));
        }
        Ok(Self {
            plain: options.are_default(),
            options: options.clone(),
            models: Models { note, ..models },
            pin,
            processes: here.has_processes(),
            // Hosts of other transports may differ, and their nodes must choose the same.
            cores: if here.transport == "threads" { here.cores } else { usize::MAX },
            explain,
            word,
            without_installed,
            scaled: scaled.is_some(),
            bare: Box::new([const { Cell::new(None) }; 1 << BARE_BITS]),
            recent: Recent::default(),
        })
    }
}

/// What a choice says where only the number of hosts is another one.
const OTHER_HOSTS: &str = "outside what was measured: ranked by models of another number of hosts; \
                           calibrate again on this one, or on several with the input `hosts`";

/// The compiled-in models that are the nearest to a machine.
pub(super) fn compiled_table<L: Library>(here: &Platform) -> &'static Table {
    let all = L::TABLES.iter().copied();
    Table::nearest(all, &here.transport, here.nodes, &here.host()).unwrap_or(L::TABLE)
}

impl Node {
    /// The selector of `L`, to be compared by the team before [`choose_by`](Self::choose_by).
    ///
    /// # Participation
    /// Local, with equal options; settings are node 0's.
    ///
    /// # Errors
    /// If a setting or a file is invalid.
    #[inline]
    pub fn selector<L: Library>(&mut self, options: &Options) -> Result<Rc<Selector<L>>, SelectError> {
        const { assert!(L::TABLE.entries.len() <= MOST_CANDIDATES, "a library has too many candidates") };
        let without_installed = self.installed.use_of != Use::Allowed;
        if let Some(selector) = &self.local::<Known<L>>().selector
            && selector.is_for(options, without_installed)
        {
            return Ok(Rc::clone(selector));
        }
        self.read_selector::<L>(options)
    }

    #[cold]
    #[inline(never)]
    fn read_selector<L: Library>(&mut self, options: &Options) -> Result<Rc<Selector<L>>, SelectError> {
        self.asks(L::TABLE.library);
        let selector = Rc::new(Selector::<L>::read(self, options)?);
        self.local::<Known<L>>().selector = Some(Rc::clone(&selector));
        Ok(selector)
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
    #[inline]
    pub fn must_compare_again(&mut self, alike: bool) -> bool {
        (self.installed.use_of, alike) != (Use::Allowed, true) && self.compares_again(alike)
    }

    #[cold]
    #[inline(never)]
    fn compares_again(&mut self, alike: bool) -> bool {
        let node_0 = self.rank() == 0;
        let installed = &mut self.installed;
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
}
