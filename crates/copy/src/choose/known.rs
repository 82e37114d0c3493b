//! The models by which copies are chosen: installed, from files, or compiled in.

use std::fmt;
use std::sync::OnceLock;

use strata_select::{Library as _, Source as Predicts, Table};

use super::{none_yet, sides};
use crate::{DEFAULT, Routine, exchange_models, models, processor, routines, strided_models};

/// The libraries of `specs/copy`, `specs/copy-exchange` and `specs/copy-strided`, in the order of
/// [`Models`].
pub const LIBRARIES: [&str; 10] = [
    "copy_hot",
    "copy_hot_read",
    "copy_cold",
    "copy_cold_read",
    "copy_exchange",
    "copy_exchange_used",
    "pack_hot",
    "pack_cold",
    "unpack_hot",
    "unpack_cold",
];

/// How many of [`LIBRARIES`] choose among [`routines`]; the others choose among movers.
const OF_ROUTINES: usize = 6;

/// Models of all [`LIBRARIES`], in their order. `specc calibrate` writes them for another machine.
pub type Models = [&'static Table; LIBRARIES.len()];

/// Models of one library that were read while the program runs.
pub struct FromFile {
    /// The candidates' names, in their order.
    pub candidates: Vec<String>,
    /// How many inputs the library has: the bytes, and of copies that are no exchange how far
    /// source and target are from being aligned alike; of blocks their bytes and stride.
    pub inputs: usize,
    /// What predicts the candidates.
    pub models: Box<dyn Predicts + Send + Sync>,
}

static INSTALLED: OnceLock<Models> = OnceLock::new();
static READ: OnceLock<[Option<FromFile>; LIBRARIES.len()]> = OnceLock::new();

/// Chooses by these models from now on, instead of those compiled in.
///
/// # Errors
/// Copies have been chosen already, or models were installed before.
pub fn install(models: Models) -> Result<(), Installed> {
    if !none_yet() {
        return Err(Installed);
    }
    INSTALLED.set(models).map_err(|_| Installed)
}

/// Chooses by these models from now on, in the order of [`LIBRARIES`]; of a library without any, by
/// those compiled in. What a program [installs](install) itself goes before them.
///
/// # Errors
/// As [`install`].
pub fn install_from_file(models: [Option<FromFile>; LIBRARIES.len()]) -> Result<(), Installed> {
    if !none_yet() {
        return Err(Installed);
    }
    READ.set(models).map_err(|_| Installed)
}

/// Models can be installed once, before the first copy of at least [`SHORT`](crate::SHORT) bytes,
/// and before blocks are packed or unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed;

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("copies are chosen by other models already; install them once, before the first copy")
    }
}

impl std::error::Error for Installed {}

/// What predicts copies in the measured situations, which are numbered as [`LIBRARIES`].
pub(crate) trait Known {
    /// The candidates of a situation; none where nothing is known.
    fn names(&self, situation: usize) -> Vec<&str>;
    /// What predicts them in this order, and over how many inputs.
    fn models(&self, situation: usize) -> Option<(&dyn Predicts, usize)>;
}

impl Known for Models {
    fn names(&self, situation: usize) -> Vec<&str> {
        self[situation].entries.iter().map(|entry| entry.name).collect()
    }

    fn models(&self, situation: usize) -> Option<(&dyn Predicts, usize)> {
        Some((self[situation], self[situation].inputs.len()))
    }
}

/// Those read from files where there are some, else those compiled in if they are of this
/// processor: of another one nothing is known that would be significantly better than `memcpy`.
pub(super) struct Found {
    read: &'static [Option<FromFile>; LIBRARIES.len()],
    compiled: Option<&'static Models>,
}

impl Found {
    fn read(&self, situation: usize) -> Option<&FromFile> {
        self.read.get(situation)?.as_ref()
    }
}

impl Known for Found {
    fn names(&self, situation: usize) -> Vec<&str> {
        match self.read(situation) {
            Some(read) => read.candidates.iter().map(String::as_str).collect(),
            None => self.compiled.map_or_else(Vec::new, |tables| tables.names(situation)),
        }
    }

    fn models(&self, situation: usize) -> Option<(&dyn Predicts, usize)> {
        match self.read(situation) {
            Some(read) => Some((&*read.models, read.inputs)),
            None => self.compiled.and_then(|tables| tables.models(situation)),
        }
    }
}

/// The models of this program, from now on.
pub(crate) fn in_use() -> &'static dyn Known {
    const COMPILED: Models = [
        models::CopyHot::TABLE,
        models::CopyHotRead::TABLE,
        models::CopyCold::TABLE,
        models::CopyColdRead::TABLE,
        exchange_models::CopyExchange::TABLE,
        exchange_models::CopyExchangeUsed::TABLE,
        strided_models::PackHot::TABLE,
        strided_models::PackCold::TABLE,
        strided_models::UnpackHot::TABLE,
        strided_models::UnpackCold::TABLE,
    ];
    static FOUND: OnceLock<Found> = OnceLock::new();
    match INSTALLED.get() {
        Some(models) => models,
        None => FOUND.get_or_init(|| {
            let ours = processor::is_described_by(COMPILED[0].platform);
            let read = READ.get_or_init(|| [const { None }; LIBRARIES.len()]);
            Found { read, compiled: ours.then_some(const { &COMPILED }) }
        }),
    }
}

/// The routines that are worth trying: those that the models know on a processor that they
/// describe, all [`routines`] on others. The first is [`DEFAULT`].
#[must_use]
pub fn candidates() -> Vec<&'static Routine> {
    let models = in_use();
    let names: Vec<&str> = (0..OF_ROUTINES).flat_map(|situation| models.names(situation)).collect();
    if names.is_empty() {
        return routines().to_vec();
    }
    let mut known: Vec<&'static Routine> = vec![&DEFAULT];
    for name in names.into_iter().flat_map(sides) {
        known.extend(Routine::named(name).filter(|routine| !known.contains(routine)));
    }
    known
}

/// The logarithm of `memcpy`'s time over the routine's, and its standard deviation; `None` without
/// a model of both. Beyond what was measured, at the nearest length that was.
pub(super) fn gain_of(
    known: &dyn Known,
    situation: usize,
    name: &str,
    mut inputs: [f64; 2],
    extra: f64,
) -> Option<(f64, f64)> {
    let (models, count) = known.models(situation)?;
    // Exchanges are of aligned blocks: their models take the length alone.
    let inputs = inputs.get_mut(..count)?;
    let (nodes, _) = models.domain().nearest(1, inputs);
    let names = known.names(situation);
    let predict = |name| {
        let candidate = names.iter().position(|known| *known == name)?;
        let found = models.predict(candidate, nodes, inputs, &[])?.times(models.expected_ratio(candidate))?;
        let extra = if name == DEFAULT.name() { 0.0 } else { extra };
        let seconds = found.seconds.get() + extra;
        (seconds > 0.0).then_some((seconds.ln(), found.deviation.get() / seconds))
    };
    let (default, routine) = (predict(DEFAULT.name())?, predict(name)?);
    Some((default.0 - routine.0, default.1.hypot(routine.1)))
}
