//! Choosing on one node, or without nodes: the models of this machine, pins, and explanations.

use core::cell::Cell;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Release},
};
use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::String;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, format, thread_local};

use crate::calls;
use crate::library::{choose_from, fastest_from};
use crate::output::say_once;
use crate::wrapping::Wrapped;
use crate::{
    Choice, ChooseError, Library, Pin, Question, Row, Source, Table,
    choice::{ChooseResult, Fault, Note, Pins, Rows},
    machine::Machine,
    table::closest,
};

/// The models by which a library chooses, and where they are from.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    /// The models of the candidates, in the order of the library's tables.
    pub source: &'a (dyn Source + Send + Sync),
    /// The file that they were read from; `None`: they are compiled in.
    pub file: Option<&'static str>,
    /// A note that the models are of another machine, if so: they then only rank the candidates.
    pub note: Option<Note>,
}

/// Models of this machine that were found outside the program.
pub struct Found {
    /// The models of the candidates, in the order of the library's tables.
    pub source: Box<dyn Source + Send + Sync>,
    /// The file that they were read from.
    pub file: String,
}

/// Finds models of a library for a number of nodes, in files; `None` where there are none.
pub type Finder = fn(table: &'static Table, nodes: usize) -> Option<Found>;

static FINDER: OnceLock<Finder> = OnceLock::new();

/// The models in use, by the library's first table and the transport's number of nodes.
static IN_USE: Mutex<BTreeMap<(usize, usize), &'static Models<'static>>> = Mutex::new(BTreeMap::new());

/// How often models in use were replaced.
static REPLACED: AtomicU32 = AtomicU32::new(0);

/// Models in use: their key, and [`REPLACED`] before they were looked up.
type Recent = Option<((usize, usize), u32, &'static Models<'static>)>;

thread_local! {
    /// The models that this thread used last, by their libraries: to lock and search those in use
    /// would take as long as evaluating some models.
    static RECENT: [Cell<Recent>; 8] = const { [const { Cell::new(None) }; 8] };
}

/// Sets the function that looks for models before the compiled-in ones are used.
/// `strata_model::find_installed` passes one that reads the file in `STRATA_MODELS` and the user's
/// cache folder; `strata-runtime` calls it when a job starts.
///
/// # Errors
///
/// A choice was made already, or another function was set.
pub fn find_models_by(finder: Finder) -> Result<(), AlreadyChosen> {
    let in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let same = FINDER.get().is_some_and(|old| std::ptr::fn_addr_eq(*old, finder));
    if same || in_use.is_empty() && FINDER.set(finder).is_ok() { Ok(()) } else { Err(AlreadyChosen) }
}

/// The function that finds models can be set once, before the first choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyChosen;

impl fmt::Display for AlreadyChosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this program has chosen by other models already: say where models are before the first choice",
        )
    }
}

impl std::error::Error for AlreadyChosen {}

impl Models<'static> {
    /// The compiled-in models: of the library's tables the one that fits the transport and the
    /// number of nodes, and of several machines that of the [nearest](Table::nearest).
    #[must_use]
    pub fn compiled<L: Library>(transport: &str, nodes: usize) -> Self {
        let here = Machine::here();
        let table = Table::nearest(L::TABLES.iter().copied(), transport, nodes, here).unwrap_or(L::TABLE);
        let Table { platform, spec, .. } = *table;
        // A table written by hand names no machine.
        let differs = here.differs(platform).filter(|_| !platform.is_empty());
        let note = differs.map(|differs| Note::OtherMachine { spec, platform, differs });
        Self { source: table, file: None, note }
    }

    /// The models by which this process chooses from a library on `nodes` nodes: those of the
    /// [finder](find_models_by), else the compiled-in ones. The lookup runs once.
    #[inline]
    pub fn of<L: Library>(nodes: usize) -> &'static Self {
        let key = (std::ptr::from_ref(L::TABLE).addr(), nodes);
        // Tables are longer than cache lines.
        let place = (key.0 >> 6 ^ nodes) % 8;
        let replaced = REPLACED.load(Acquire);
        match RECENT.with(|recent| recent[place].get()) {
            Some((of, when, models)) if (of, when) == (key, replaced) => models,
            _ => {
                let models = Self::looked_up::<L>(key);
                RECENT.with(|recent| recent[place].set(Some((key, replaced, models))));
                models
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn looked_up<L: Library>(key: (usize, usize)) -> &'static Self {
        let in_use = || IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = in_use().get(&key).copied();
        // Without the lock, because a fault of a file is reported, which may wait for a reader of
        // standard error. Threads that look at the same time find the same models.
        known.unwrap_or_else(|| {
            let nodes = key.1;
            let found = FINDER.get().and_then(|finder| finder(L::TABLE, nodes));
            let models = match found {
                Some(Found { source, file }) => {
                    Self { source: Box::leak(source), file: Some(String::leak(file)), note: None }
                }
                None => {
                    let compiled = Self::compiled::<L>("threads", nodes);
                    crate::transfer::kept_models::<L>(&compiled, nodes).unwrap_or(compiled)
                }
            };
            in_use().entry(key).or_insert_with(|| Box::leak(Box::new(models)))
        })
    }
}

/// The file in which the finder finds models of a library for choices without nodes.
pub(crate) fn found<L: Library>() -> Option<String> {
    FINDER.get().and_then(|finder| finder(L::TABLE, 1)).map(|found| found.file)
}

/// Chooses by these models from now on.
pub(crate) fn adopt<L: Library>(nodes: usize, models: Models<'static>) {
    let key = (std::ptr::from_ref(L::TABLE).addr(), nodes);
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.insert(key, Box::leak(Box::new(models)));
    REPLACED.fetch_add(1, Release);
}

impl Models<'_> {
    /// The best candidate by these models; `applies` states which are correct for the problem. See
    /// [`choose_among`](crate::choose_among).
    ///
    /// # Errors
    /// Those of [`choose_among`](crate::choose_among).
    pub fn choose<'p, L: Library>(
        &self,
        question: Question<'_, 'p>,
        applies: &dyn Fn(L) -> bool,
    ) -> ChooseResult<'p, L> {
        let question = Question { note: question.note.or(self.note), ..question };
        choose_from(self.source, question, &|_, candidate| applies(candidate))
    }

    /// As [`choose`](Self::choose); `applies` has one bit for each candidate that is correct, in
    /// their order, the first the lowest. Candidates after the 64th do not compete.
    ///
    /// # Errors
    /// Those of [`choose_among`](crate::choose_among).
    pub fn choose_of<'p, L: Library>(&self, question: Question<'_, 'p>, applies: u64) -> ChooseResult<'p, L> {
        let question = Question { note: question.note.or(self.note), ..question };
        choose_from(self.source, question, &|index, _| index < 64 && applies >> index & 1 == 1)
    }

    /// The explanation of a choice by these models for a problem: the candidate and why, which
    /// models, and how sure the choice is.
    pub fn explain<R: AsRef<[Row]>>(&self, choice: &Choice<R>, nodes: usize, inputs: &[f64]) -> String {
        let here = self.note.is_none() && Machine::here().is_of(self.source.info().platform);
        let of = if here { ", of this machine" } else { "" };
        let by = self.file.map_or_else(|| format!("that are compiled in{of}"), |file| format!("in {file}"));
        let odds = choice.odds(self.source, nodes, inputs);
        let tied = choice.tied(self.source, nodes, inputs).unwrap_or_default();
        let tied = choice.ties_text(&tied).map_or(String::new(), |ties| format!("\n  {ties}"));
        let odds = odds.map_or(String::new(), |odds| format!("\n  {odds}"));
        format!("{choice}\n{}", Wrapped(format_args!("  by the models {by}{tied}{odds}")))
    }
}

/// The best candidate of a library on this node, by the models of this machine ([`Models::of`]).
///
/// `STRATA_PIN` takes precedence over the models, unless the question has a pin; `STRATA_EXPLAIN=1`
/// prints each choice to standard error.
pub(crate) fn choose<L: Library>(
    question: Question<'_, 'static>,
    applies: &dyn Fn(L) -> bool,
) -> ChooseResult<'static, L> {
    let library = L::TABLE.library;
    let fail = |error| ChooseError {
        library,
        pin: None,
        fault: Fault::Pins(error),
        rows: <L::Rows as Rows>::of(L::TABLE),
    };
    let pin = match (question.pin, environment::pins()) {
        (None, "") => None,
        (None, text) => Pins::parse(text).map_err(fail)?.meant_for(library),
        (pin, _) => pin,
    };
    choose_explained(Question { pin, ..question }, applies)
}

/// The candidate of [`choose`] without the reasons; `None` where these are printed, calls are logged,
/// `STRATA_PIN` is set, or the choice fails.
#[inline]
pub(crate) fn fastest<L: Library>(question: Question<'_, '_>, applies: &dyn Fn(L) -> bool) -> Option<L> {
    if environment::explain() || calls::folder().is_some() || !environment::pins().is_empty() {
        return None;
    }
    let source = Models::of::<L>(question.nodes).source;
    let question = Question { cores: question.cores.min(Machine::here().cores), ..question };
    fastest_from(source, question, applies)
}

/// As [`choose`], without a pin.
#[inline]
pub(crate) fn choose_explained<L: Library>(
    question: Question<'_, 'static>,
    applies: &dyn Fn(L) -> bool,
) -> ChooseResult<'static, L> {
    calls::count(L::TABLE, question.inputs);
    let models = Models::of::<L>(question.nodes);
    let question = Question { cores: question.cores.min(Machine::here().cores), ..question };
    let chosen = models.choose(question, applies);
    if environment::explain()
        && let Ok((_, choice)) = &chosen
    {
        crate::say!("{}", models.explain(choice, question.nodes, question.inputs));
    }
    chosen
}

/// Reports a pin at fault, or a problem for which nothing can be chosen, once in a process.
pub(crate) fn report<R: AsRef<[Row]>>(error: &ChooseError<'_, R>) {
    let by_pin = error.pin.is_some() || matches!(error.fault, Fault::Pins(_));
    let (setting, then) = if by_pin { ("STRATA_PIN: ", "") } else { ("", "; the first is taken") };
    say_once(format!("{}", Wrapped(format_args!("strata: {setting}{error}{then}"))));
}

/// Whether `STRATA_PIN` has a pin of this library or choice.
#[must_use]
pub fn is_pinned(library: &str) -> bool {
    Pins::parse(environment::pins()).is_ok_and(|pins| pins.get(library).is_some())
}

/// The name that `STRATA_PIN` gives for a choice without a library of models, such as `copy`. A pin
/// with a name outside `names` is reported once on standard error, and has no effect.
pub fn pinned<'n>(choice: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<usize> {
    let pin: Pin<'_> = Pins::parse(environment::pins()).ok()?.get(choice)?;
    let found = names.clone().position(|name| name == pin.candidate && pin.parameters.is_empty());
    if found.is_none() {
        let meant = closest(pin.candidate, names);
        let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        say_once(format!(
            "strata: STRATA_PIN: `{pin}` had no effect: there is none of this name here{meant}"
        ));
    }
    found
}

/// Whether choices are explained: `STRATA_EXPLAIN` was set, neither empty nor 0, when it was first
/// read.
#[must_use]
pub fn explains() -> bool {
    environment::explain()
}

/// How long libraries calibrate themselves, if `STRATA_CALIBRATE` was set when it was first read.
pub(crate) fn calibrates() -> Option<Duration> {
    environment::calibrates()
}

/// The settings of a program.
mod environment {
    use std::format;
    use std::string::String;
    use std::sync::OnceLock;
    use std::time::Duration;

    use crate::table::Seconds;

    /// `STRATA_PIN` when it was first read.
    pub(super) fn pins() -> &'static str {
        static PINS: OnceLock<String> = OnceLock::new();
        PINS.get_or_init(|| std::env::var("STRATA_PIN").unwrap_or_default())
    }

    /// `STRATA_CALIBRATE` when it was first read. A value that is no time is reported.
    pub(super) fn calibrates() -> Option<Duration> {
        static CALIBRATES: OnceLock<Option<Duration>> = OnceLock::new();
        *CALIBRATES.get_or_init(|| {
            let text =
                std::env::var("STRATA_CALIBRATE").ok().filter(|text| !text.is_empty() && text != "0")?;
            match text.parse::<Seconds>() {
                Ok(seconds) => Some(Duration::from_secs_f64(seconds.get().min(1e6))),
                Err(error) => {
                    crate::output::say_once(format!(
                        "strata: STRATA_CALIBRATE: {error}; nothing is calibrated"
                    ));
                    None
                }
            }
        })
    }

    pub(super) fn explain() -> bool {
        static EXPLAIN: OnceLock<bool> = OnceLock::new();
        *EXPLAIN.get_or_init(|| {
            std::env::var_os("STRATA_EXPLAIN").is_some_and(|value| value != "0" && !value.is_empty())
        })
    }
}
