//! Sorting within a limit of memory.

use crate::item::Item;
use crate::problem::Problem;
use crate::{Choice, Limits, Sort, profile};
use strata_runtime::Node;
use strata_runtime::select::{Options, SelectError};

/// Why elements were not sorted; equal on every node, and the elements are unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// A setting is at fault.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// No algorithm needs as little memory as there is.
    #[error(
        "sorting needs {need} bytes on a node beside its elements, more than the {limit} that it may take: \
         allow it more, or use more nodes"
    )]
    Memory {
        /// What the algorithm that needs least takes, in bytes.
        need: usize,
        /// What it may take.
        limit: usize,
    },
}

/// As [`sort_with`](crate::sort_with), by an algorithm whose buffers take at most `bytes` on any
/// node beside its elements.
///
/// # Participation
/// Collective, with equal options; of limits that differ the least counts.
///
/// # Errors
/// [`SortError::Memory`] on every node if there is no such algorithm; as
/// [`sort`](crate::sort).
pub fn sort_within<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    options: &Options,
    bytes: usize,
) -> Result<Choice, SortError> {
    let limits = Limits { bytes: node.reduce_min(bytes as u64) as usize, ..Limits::default() };
    crate::choose_and_sort(node, items, options, &limits).map(|chosen| chosen.choice)
}

/// The most bytes that a candidate takes on any node beside its elements.
pub(crate) fn need<T: Item>(problem: &Problem, candidate: Sort) -> usize {
    let elements = match problem.nodes() {
        // On one node all are the local sort.
        1 => problem.largest(),
        _ => candidate.memory::<T>(problem),
    };
    // Buffers are rounded up to the next of four sizes an octave.
    elements.saturating_mul(size_of::<T>()).saturating_mul(5) / 4
}

/// What the candidate needs that needs least, with the least of its parameters.
pub(crate) fn least<T: Item>(problem: &Problem) -> usize {
    let candidates = profile::candidates(&[]).map(|(_, candidate)| candidate);
    candidates
        .filter(|candidate| candidate.applies::<T>(problem))
        .map(|candidate| need::<T>(problem, candidate))
        .min()
        .unwrap_or(usize::MAX)
}
