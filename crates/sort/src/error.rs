//! Why a sort was refused. Every node of the team gets an error, none is left waiting.

use std::path::PathBuf;
use thiserror::Error;

/// Why nothing was sorted: the settings, the options or the models are at fault, never the data.
///
/// The elements are as they were.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SortError {
    /// The text of a pin is not understood.
    #[error("STRATA_PIN: {0}")]
    Pin(String),
    /// The pin does not suit this library or this problem.
    #[error("{0}")]
    Choose(String),
    /// A file of models could not be read.
    #[error("cannot read the models in {}: {reason}; `specc calibrate specs/sort -o FOLDER` makes such a file", path.display())]
    Models {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The models were measured on another machine.
    #[error(
        "the models in {} do not hold here: {difference}; calibrate again on this machine: \
         specc calibrate specs/sort --on {transport} --nodes {nodes} -o FOLDER", path.display()
    )]
    OtherMachine {
        /// The file.
        path: PathBuf,
        /// What differs: the models' against this machine's.
        difference: String,
        /// How the nodes talk here.
        transport: String,
        /// How many nodes there are here.
        nodes: usize,
    },
    /// The nodes do not have the same models and pin, and would choose differently.
    #[error(
        "the nodes have different models or pins and would choose differently; give every node the same file and options"
    )]
    Unlike,
}

impl From<SortError> for strata_runtime::Error {
    fn from(error: SortError) -> Self {
        Self::program(error)
    }
}
