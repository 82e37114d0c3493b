//! Sorting within a limit of memory.

use crate::item::Item;
use crate::problem::Problem;
use crate::{Choice, Limits, Sort, batcher, packets};
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
pub(crate) fn need<T>(problem: &Problem, candidate: Sort) -> usize {
    let share = problem.keys();
    let total = problem.layout().total();
    let largest = problem.largest().max(share);
    let nodes = problem.nodes();
    let elements = match candidate {
        // On one node all are the local sort.
        _ if nodes == 1 => largest,
        // All elements, those of this node's share, and its sorted share.
        Sort::Gather => total.saturating_add(nodes.saturating_mul(largest)).saturating_add(2 * share),
        // Blocks to send and those received.
        Sort::Radix { bits } => {
            let counts = ((8 * nodes.max(4)) << bits.clamp(1, 16)) / size_of::<T>().max(1);
            2 * largest + 2 * share + counts
        }
        // A bucket may hold twice the share, is sorted through a buffer, and evened out.
        Sort::Sample { .. } => 2 * largest + 3 * (2 * share + crate::sample::SLACK),
        Sort::Batcher => {
            let steps = nodes.next_power_of_two().ilog2() as usize;
            2 * largest + (steps * (steps + 1) / 2 + 2) * share
        }
        // Two arrays beside the elements, and the counts.
        Sort::Packets { bits } => {
            let counts = ((8 * nodes.max(4)) << bits.clamp(1, 16)) / size_of::<T>().max(1);
            3 * share + counts
        }
        // On the way a node may come to hold them all, with their positions, as they arrive and
        // merged.
        Sort::Quick => {
            let placed = 1 + 8_usize.div_ceil(size_of::<T>().max(1));
            (2 * largest + 3 * total).saturating_mul(placed)
        }
        // As sample sort; what passes a node on the way is at most that of its column.
        Sort::Grid { .. } => 2 * total + 3 * (2 * share + crate::sample::SLACK),
        // Its blocks, those received, and a buffer to sort them.
        Sort::Histogram => 2 * largest + 3 * share,
    };
    // Buffers are rounded up to the next of four sizes an octave.
    elements.saturating_mul(size_of::<T>()).saturating_mul(5) / 4
}

/// Every candidate once, with parameters that need least.
pub(crate) fn least<T>(problem: &Problem) -> usize {
    let few = problem.keys() <= batcher::MOST;
    [Sort::Gather, Sort::Radix { bits: 2 }, Sort::Sample { oversample: 8 }, Sort::Histogram]
        .into_iter()
        .chain(few.then_some(Sort::Batcher))
        .chain(packets::applies::<T>(problem.keys()).then_some(Sort::Packets { bits: 2 }))
        .map(|candidate| need::<T>(problem, candidate))
        .min()
        .unwrap_or(usize::MAX)
}
