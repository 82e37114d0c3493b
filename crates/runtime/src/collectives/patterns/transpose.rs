//! A block from each node to each.

use super::{PORT, Schedule, TOGETHER, begin};
use crate::block::{Block, byte_length};
use crate::copy::{Hint, copy, copy_hinted};
use crate::node::{Node, Piece};
use crate::transport::{Action, Call};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::panic::Location;

/// Bytes between two barriers: several small blocks share one (Brewer, §7.2.3).
const BETWEEN_BARRIERS: usize = 512;

/// Sends the i-th part of `values`, which has one part of equal length for each node, to node i;
/// returns the received parts, ordered by sender, in the memory of `receive`.
///
/// ```
/// use strata_runtime::{patterns::{Schedule, all_to_all}, prelude::*};
/// let columns = Machine::threads(2)?.run(|node| {
///     let row = [10 * node.rank() as u32, 10 * node.rank() as u32 + 1];
///     Ok(all_to_all(node, &row, Block::default(), Schedule::Barriers).to_vec())
/// })?;
/// assert_eq!(columns, [[0, 10], [1, 11]]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Participation
/// Collective, with equal lengths, a multiple of the number of nodes, and equal `schedule`;
/// otherwise the job ends. If calls are tuned (`STRATA_TUNE`), another schedule may be used.
#[track_caller]
pub fn all_to_all<T: Pod>(node: &mut Node, values: &[T], receive: Block<T>, schedule: Schedule) -> Block<T> {
    let place = Location::caller();
    let (rank, size) = (node.rank(), node.size());
    let each = values.len() / size;
    let call = Call::moving(Action::AllToAll, size_of::<T>(), 0, each, place);
    if !values.len().is_multiple_of(size) {
        let message = format!("{} elements cannot be shared out to {size} nodes", values.len());
        node.misuse(&call, &message);
    }
    let mut receive = receive.reuse::<T>(values.len());
    if each == 0 || !node.may_go_on() {
        return receive;
    }
    let mine = rank * each..(rank + 1) * each;
    copy(cast_slice_mut(&mut receive[mine.clone()]), cast_slice(&values[mine]));
    #[cfg(feature = "tune")]
    let schedule = tuned_schedule(node, &call, byte_length::<T>(each), schedule);
    let received = if schedule == Schedule::Library {
        by_library(node, values, receive, each)
    } else {
        node.receiving(|node| node.paced(|node| by_ports(node, &call, values, receive, schedule)))
    };
    #[cfg(feature = "tune")]
    if let Some(tuned) = node.transport.tuned() {
        tuned.ends();
    }
    received
}

/// The schedule for an all-to-all that the program wants done by `wanted`: another one if calls are
/// tuned, equal on all nodes.
#[cfg(feature = "tune")]
fn tuned_schedule(node: &mut Node, call: &Call, bytes: usize, wanted: Schedule) -> Schedule {
    if node.transport.tuned().is_none() {
        return wanted;
    }
    node.come_together(call);
    node.transport.tuned().map_or(wanted, |tuned| tuned.begins(call, bytes, wanted))
}

fn by_ports<T: Pod>(
    node: &mut Node,
    call: &Call,
    values: &[T],
    receive: Block<T>,
    schedule: Schedule,
) -> Block<T> {
    let (rank, size) = (node.rank(), node.size());
    let each = values.len() / size;
    let bytes = byte_length::<T>(each);
    begin(node, call, receive, bytes * (size - 1), ((each as u64) << 2) | schedule as u64);
    let piece = |step: usize| {
        let to = (rank + step) % size;
        Piece { to, offset: rank * bytes, bytes: cast_slice(&values[to * each..(to + 1) * each]) }
    };
    if schedule == Schedule::Interleaved {
        let pieces: Vec<Piece<'_>> = (1..size).map(piece).collect();
        node.put_interleaved(call, PORT, TOGETHER, &pieces);
    } else {
        let blocks = BETWEEN_BARRIERS.div_ceil(bytes.max(1));
        for step in 1..size {
            if schedule == Schedule::Barriers && step > 1 && (step - 1).is_multiple_of(blocks) {
                node.barrier();
            }
            let Piece { to, offset, bytes } = piece(step);
            node.put_all(call, to, PORT, offset, bytes.into());
        }
    }
    node.close_own(call, PORT)
}

fn by_library<T: Pod>(node: &mut Node, values: &[T], mut receive: Block<T>, each: usize) -> Block<T> {
    let rank = node.rank();
    let blocks = values.chunks_exact(each).map(Block::from_slice).collect();
    let received = node.all_to_all_v(blocks);
    for (from, (part, block)) in receive.chunks_exact_mut(each).zip(&received).enumerate() {
        if from != rank {
            copy_hinted(Hint::RECEIVE, cast_slice_mut(part), block.bytes());
        }
    }
    receive
}
