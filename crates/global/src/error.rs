//! Errors: memory and settings.

use thiserror::Error;

/// Why a space cannot be opened, or an array not allocated; the same on every node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum GlobalError {
    /// The heap has no free part of the size.
    #[error(
        "the heap has no room for {asked} bytes on each node: {free} of {heap} bytes are free, at most \
         {largest} of them in one piece; open the space with more bytes, or free arrays"
    )]
    Full {
        /// The bytes asked for on each node.
        asked: u64,
        heap: u64,
        free: u64,
        /// The largest free part in bytes.
        largest: u64,
    },
    /// An array or a heap is longer than offsets can address.
    #[error("{elements} elements of {size} bytes are more than a heap can have: offsets have 44 bits")]
    TooLong { elements: usize, size: usize },
    /// The selection failed: settings or models are invalid.
    #[error("{0}")]
    Select(String),
    /// Not all nodes share memory.
    #[error(
        "the nodes do not share memory: take threads or MPI processes of one host, or take `global=shared` out \
         of STRATA_PIN and the way out of the program"
    )]
    NotShared,
    /// The transport has no one-sided transfers between the nodes.
    #[error("there are no one-sided transfers here: memory is shared, or the transport has none")]
    NotOneSided,
}

impl From<GlobalError> for strata_runtime::Error {
    fn from(error: GlobalError) -> Self {
        Self::program(error)
    }
}
