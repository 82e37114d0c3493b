//! All blocks move by the same distance.

use super::{PORT, begin};
use crate::block::Block;
use crate::node::Node;
use crate::transport::{Action, Call};
use bytemuck::{Pod, cast_slice};
use std::panic::Location;

/// Sends `values` to the node `distance` further on (modulo the number of nodes; negative: back),
/// and returns those of the node `distance` before, in the memory of `receive`.
///
/// ```
/// use strata_runtime::{patterns::cyclic_shift, prelude::*};
/// let from = Machine::threads(4)?.run(|node| {
///     let mine = [node.rank() as u32];
///     Ok(cyclic_shift(node, 1, &mine, Block::zeroed(1))[0])
/// })?;
/// assert_eq!(from, [3, 0, 1, 2]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Participation
/// Collective, with equal `distance` and lengths; `receive` may have any length, which becomes that
/// of `values`.
#[track_caller]
pub fn cyclic_shift<T: Pod>(node: &mut Node, distance: isize, values: &[T], receive: Block<T>) -> Block<T> {
    let call = Call::moving(Action::CyclicShift, size_of::<T>(), 0, values.len(), Location::caller());
    if !node.may_go_on() {
        return receive.reuse(values.len());
    }
    let size = node.size() as isize;
    let to = (node.rank() as isize + distance.rem_euclid(size)).rem_euclid(size).unsigned_abs();
    let bytes = size_of_val(values);
    let agreed = (values.len() as u64) ^ (distance.rem_euclid(size).unsigned_abs() as u64).rotate_right(16);
    node.receiving(|node| {
        begin(node, &call, receive.reuse::<T>(values.len()), bytes, agreed);
        node.paced(|node| node.put_all(&call, to, PORT, 0, cast_slice(values).into()));
        node.close_own(&call, PORT)
    })
}
