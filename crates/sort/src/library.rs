//! The models that selection consults: compiled in, or read from a model-set file of this machine.

use crate::error::SortError;
use crate::models::SORT;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use strata_model::{LibraryModels, ModelSet, Platform};
use strata_runtime::Node;
use strata_select::{Domain, Prediction, Source as _, Table, Verdict};

/// The name of this library in specs, pins and model sets.
pub(crate) const LIBRARY: &str = "sort";

/// What the models of this library may depend on, as specs call it.
const INPUTS: [&str; 2] = ["keys", "width"];

/// Models of the time of each algorithm. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Models(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Where they were measured, if they say so.
    platform: Option<Platform>,
    /// The file they were read from.
    path: Option<PathBuf>,
    /// The number of nodes of the run; 0: any.
    nodes: usize,
    /// The first digits of their hash.
    hash: u64,
    /// The place of keys and width among the inputs.
    order: [usize; 2],
    /// The ranges of keys and width.
    ranges: [(f64, f64); 2],
    source: Source,
}

#[derive(Debug)]
enum Source {
    Table(&'static Table),
    File(LibraryModels),
}

impl Models {
    /// The models compiled in, if there are any.
    #[must_use]
    pub fn builtin() -> Option<&'static Self> {
        static BUILTIN: OnceLock<Option<Models>> = OnceLock::new();
        BUILTIN.get_or_init(|| Self::from_table(&SORT)).as_ref()
    }

    /// Models emitted as Rust; `None` if the table has no entries or other inputs than `keys` and `width`.
    #[must_use]
    pub fn from_table(table: &'static Table) -> Option<Self> {
        let order = input_order(table.inputs)?;
        (!table.entries.is_empty()).then(|| {
            Self(Arc::new(Inner {
                platform: table.platform.parse().ok(),
                path: None,
                nodes: if table.domain.nodes == Domain::ANY_NODES { 0 } else { table.domain.nodes.0 },
                hash: hash_of(table.digest),
                order,
                ranges: order.map(|i| table.domain.inputs[i]),
                source: Source::Table(table),
            }))
        })
    }

    /// Reads a model-set file, as `specc calibrate` writes it.
    ///
    /// # Participation
    /// Local: under MPI every process reads the file.
    ///
    /// # Errors
    /// [`SortError::Models`] if it cannot be read or has no library `sort` over `keys` and `width`.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SortError> {
        let path = path.as_ref();
        let fail = |reason: String| SortError::Models { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        let set = ModelSet::read(&text).map_err(|error| fail(error.to_string()))?;
        let library = set.library(LIBRARY).ok_or_else(|| fail(format!("it has no library `{LIBRARY}`")))?;
        let order = input_order(&library.inputs).ok_or_else(|| {
            fail(format!("its library `{LIBRARY}` must have the inputs {}", INPUTS.join(" and ")))
        })?;
        let resolved = set.resolve().map_err(|error| fail(error.to_string()))?;
        let models = LibraryModels::new(&resolved, library).map_err(|error| fail(error.to_string()))?;
        Ok(Self(Arc::new(Inner {
            nodes: set.platform.as_ref().map_or(0, |p| p.nodes),
            platform: set.platform.clone(),
            path: Some(path.to_owned()),
            hash: hash_of(&set.digest()),
            order,
            ranges: order.map(|i| {
                widest((0..models.candidates().len()).filter_map(|c| Some(*models.ranges(c)?.get(i)?)))
            }),
            source: Source::File(models),
        })))
    }

    /// The same, but each file is read once a process, and its models stay.
    pub(crate) fn read_once(path: &str) -> Result<&'static Self, SortError> {
        static READ: Mutex<BTreeMap<String, &'static Models>> = Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = read.get(path) {
            return Ok(models);
        }
        let models: &'static Self = Box::leak(Box::new(Self::read(path)?));
        read.insert(path.to_owned(), models);
        Ok(models)
    }

    /// Refuses models from a file that were measured elsewhere; those compiled in are borne, see [`Fit`].
    pub(crate) fn check(&self, node: &Node) -> Result<(), SortError> {
        let (Some(path), Some(platform)) = (&self.0.path, &self.0.platform) else { return Ok(()) };
        let here = node.platform();
        if *platform == here {
            return Ok(());
        }
        let difference = platform.difference(&here).unwrap_or_default();
        Err(SortError::OtherMachine {
            path: path.clone(),
            difference,
            transport: here.transport,
            nodes: here.nodes,
        })
    }

    /// A number that differs between different models, to be compared by the team.
    pub(crate) fn hash(&self) -> u64 {
        self.0.hash
    }

    /// How well the models suit a problem, and the nearest point that they were measured for.
    pub(crate) fn nearest(&self, node: &Node, keys: f64, width: f64) -> (Fit, Point) {
        let clamp = |value: f64, (least, greatest): (f64, f64)| value.max(least).min(greatest);
        let nodes = if self.0.nodes == 0 { node.size() } else { self.0.nodes };
        let point =
            Point { nodes, keys: clamp(keys, self.0.ranges[0]), width: clamp(width, self.0.ranges[1]) };
        let fit = if nodes != node.size() {
            Fit::OtherNodes
        } else if self.0.platform.as_ref().is_some_and(|platform| *platform != node.platform()) {
            Fit::OtherMachine
        } else if (point.keys, point.width) != (keys, width) {
            Fit::OutOfRange
        } else {
            Fit::Measured
        };
        (fit, point)
    }

    fn inputs(&self, point: &Point) -> [f64; 2] {
        let mut inputs = [0.0; 2];
        inputs[self.0.order[0]] = point.keys;
        inputs[self.0.order[1]] = point.width;
        inputs
    }

    /// The predicted time of a candidate in seconds.
    pub(crate) fn seconds(&self, candidate: &str, point: &Point, parameters: &[i64]) -> Option<f64> {
        let inputs = self.inputs(point);
        match &self.0.source {
            Source::Table(table) => (table.entries.iter().find(|e| e.name == candidate)?.seconds)(
                point.nodes,
                &inputs,
                parameters,
            ),
            Source::File(models) => {
                models.seconds(models.candidate(candidate)?, point.nodes, &inputs, parameters)
            }
        }
    }

    /// Whether the model of a candidate may be trusted.
    pub(crate) fn verdict(&self, candidate: &str) -> Verdict {
        let found = match &self.0.source {
            Source::Table(table) => {
                table.entries.iter().find(|e| e.name == candidate).map(|entry| entry.verdict)
            }
            Source::File(models) => models.candidate(candidate).map(|index| models.verdict(index)),
        };
        found.unwrap_or_default()
    }

    /// The predicted time with its interval.
    pub(crate) fn predict(&self, candidate: &str, point: &Point, parameters: &[i64]) -> Option<Prediction> {
        let inputs = self.inputs(point);
        match &self.0.source {
            Source::Table(table) => (table.entries.iter().find(|e| e.name == candidate)?.predict)(
                point.nodes,
                &inputs,
                parameters,
            ),
            Source::File(models) => {
                models.predict(models.candidate(candidate)?, point.nodes, &inputs, parameters)
            }
        }
    }
}

/// How well models suit a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They were measured on this machine, and cover it.
    Measured,
    /// They were measured for other sizes or widths.
    OutOfRange,
    /// They were measured with another number of nodes.
    OtherNodes,
    /// They were measured on another machine.
    OtherMachine,
}

/// What models are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) nodes: usize,
    pub(crate) keys: f64,
    pub(crate) width: f64,
}

/// The places of keys and width in `names`, if those are the inputs.
fn input_order<S: AsRef<str>>(names: &[S]) -> Option<[usize; 2]> {
    let at = |name| names.iter().position(|n| n.as_ref() == name);
    let [keys, width] = INPUTS;
    (names.len() == 2).then_some([at(keys)?, at(width)?])
}

/// The range from the least to the greatest of all.
fn widest(ranges: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
}

/// The first 64 bits of a hash in hexadecimal digits; of anything else the bytes are hashed (FNV-1a).
pub(crate) fn hash_of(text: &str) -> u64 {
    let start = text.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    start.unwrap_or_else(|| {
        text.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3))
    })
}
