//! Neighbours along each dimension of a hypercube exchange blocks.

use super::PORT;
use crate::block::Block;
use crate::node::Node;
use crate::transport::{Action, Call};
use bytemuck::{Pod, cast_slice};
use std::panic::Location;

/// For each dimension d from 0: exchanges `values` with the node whose number differs in bit d, and
/// calls `combine(dimension, values, theirs)` to update them.
///
/// With addition this is a reduction in log2 P steps; with a selection of halves, a bitonic
/// exchange.
///
/// ```
/// use strata_runtime::{patterns::hypercube, prelude::*};
/// let sums = Machine::threads(4)?.run(|node| {
///     let mut sum = [1 + node.rank() as u64];
///     hypercube(node, &mut sum, |_, mine, theirs| mine[0] += theirs[0]);
///     Ok(sum[0])
/// })?;
/// assert_eq!(sums, [10; 4]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Participation
/// Collective, with equal lengths; the number of nodes must be a power of two of at most 4096.
/// Otherwise the job ends.
#[track_caller]
pub fn hypercube<T: Pod>(node: &mut Node, values: &mut [T], mut combine: impl FnMut(u32, &mut [T], &[T])) {
    let call = Call::moving(Action::Hypercube, size_of::<T>(), 0, values.len(), Location::caller());
    if !node.may_go_on() {
        return;
    }
    let (rank, size) = (node.rank(), node.size());
    if !size.is_power_of_two() || size > 4096 {
        node.misuse(&call, &format!("{size} nodes: a hypercube has a power of two of at most 4096"));
    }
    let dimensions = size.trailing_zeros();
    let bytes = size_of_val(values);
    // One port for each dimension, all open before the first block leaves, so that no node waits
    // until its neighbour is ready.
    let port = |dimension: u32| PORT + 1 + dimension as usize;
    node.receiving(|node| {
        for dimension in 0..dimensions {
            node.open_own(port(dimension), Block::<T>::zeroed(values.len()), bytes);
        }
        if !node.agree_on(call, values.len() as u64) {
            node.misuse(&call, "the nodes disagree on its arguments");
        }
        for dimension in 0..dimensions {
            let to = rank ^ (1 << dimension);
            node.paced(|node| node.put_all(&call, to, port(dimension), 0, cast_slice(values).into()));
            let theirs = node.close_own::<T>(&call, port(dimension));
            combine(dimension, values, &theirs);
        }
    });
}
