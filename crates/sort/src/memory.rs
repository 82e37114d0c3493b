//! Sorting within a limit of memory.

use crate::item::Item;
use crate::problem::Problem;
use crate::{Balance, Choice, Sort, profile};
use strata_runtime::Node;
use strata_runtime::select::{Options, SelectError};

/// Why elements were not sorted; equal on every node, and the elements are unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// A setting is invalid.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Every algorithm needs more memory than allowed.
    #[error(
        "sorting needs {need} bytes on a node beside its elements, more than the {limit} that it may take: \
         allow it more, or use more nodes"
    )]
    Memory {
        /// The least need of any algorithm, in bytes.
        need: usize,
        /// The memory allowed, in bytes.
        limit: usize,
    },
}

impl From<SortError> for strata_runtime::Error {
    fn from(error: SortError) -> Self {
        Self::program(error)
    }
}

/// As [`sort_with`](crate::sort_with), by an algorithm whose buffers take at most `bytes` on any
/// node besides its elements.
///
/// # Participation
/// Collective, with equal options; if limits differ, the least one applies.
///
/// # Errors
/// [`SortError::Memory`] on every node if there is no such algorithm; otherwise as
/// [`sort`](crate::sort).
pub fn sort_within<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    options: &Options,
    bytes: usize,
) -> Result<Choice, SortError> {
    let limit = node.reduce_min(bytes as u64) as usize;
    let agreed = crate::agree(node, items, options, Balance::Even)?;
    crate::choose_and_sort(node, items, agreed, limit).map(crate::reasons)
}

/// The most bytes that a candidate takes on any node besides its elements.
pub(crate) fn need<T: Item>(problem: &Problem, candidate: Sort) -> usize {
    let elements = match problem.nodes() {
        // On one node every candidate is the local sort.
        1 => problem.largest(),
        _ => candidate.memory::<T>(problem),
    };
    // Buffers are rounded up to the next of four sizes an octave.
    elements.saturating_mul(size_of::<T>()).saturating_mul(5) / 4
}

/// The least need of all candidates, each with its least parameter.
pub(crate) fn least<T: Item>(problem: &Problem) -> usize {
    let candidates = profile::candidates(&[]).map(|(_, candidate)| candidate);
    candidates
        .filter(|candidate| candidate.applies::<T>(problem))
        .map(|candidate| need::<T>(problem, candidate))
        .min()
        .unwrap_or(usize::MAX)
}
