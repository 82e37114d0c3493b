//! Blocks to nodes that do not know in advance what they will receive.

use super::{PORT, Schedule, TOGETHER, all_to_all, begin};
use crate::block::{Block, byte_length};
use crate::node::{Node, Piece};
use crate::transport::{Action, Call};
use bytemuck::{Pod, cast_slice};
use std::ops::Range;
use std::panic::Location;

/// The data received by a node, ordered by sender.
#[derive(Clone)]
pub struct Received<T> {
    values: Block<T>,
    /// The end of each node's part.
    ends: Vec<usize>,
}

impl<T: Pod> Received<T> {
    /// The data from node `from`, in the order sent; empty if there are none, or no such node.
    #[must_use]
    pub fn from(&self, from: usize) -> &[T] {
        self.values.get(self.range(from)).unwrap_or_default()
    }

    /// Everything, in the order of the senders.
    #[must_use]
    pub fn into_block(self) -> Block<T> {
        self.values
    }

    fn range(&self, from: usize) -> Range<usize> {
        let end = |rank: usize| self.ends.get(rank).copied().unwrap_or_default();
        (if from == 0 { 0 } else { end(from - 1) })..end(from)
    }
}

/// Sends each slice to its node. Only the senders know the targets: the nodes first exchange the
/// amounts, then send the packets of eight transfers at a time in turn.
///
/// ```
/// use strata_runtime::{patterns::unknown_targets, prelude::*};
/// let received = Machine::threads(3)?.run(|node| {
///     let mine = [node.rank() as u64; 2];
///     // Everybody sends to node 2.
///     let received = unknown_targets(node, &[(2, &mine[..])]);
///     Ok(received.into_block().to_vec())
/// })?;
/// assert_eq!(received, [vec![], vec![], vec![0, 0, 1, 1, 2, 2]]);
/// # Ok::<(), Error>(())
/// ```
///
/// Collective; each node may have any number of slices, for any nodes, also several for one node. A
/// target that does not exist ends the job.
#[track_caller]
pub fn unknown_targets<T: Pod>(node: &mut Node, slices: &[(usize, &[T])]) -> Received<T> {
    let call = Call::moving(Action::UnknownTargets, size_of::<T>(), 0, 0, Location::caller());
    if !node.may_go_on() {
        return Received { values: Block::default(), ends: Vec::new() };
    }
    node.receiving(|node| exchange(node, &call, slices))
}

fn exchange<T: Pod>(node: &mut Node, call: &Call, slices: &[(usize, &[T])]) -> Received<T> {
    let size = node.size();
    let mut leaving = vec![0u64; size];
    for (to, slice) in slices {
        node.check_root(call, *to);
        leaving[*to] += slice.len() as u64;
    }
    // The amounts from each node; then each node receives the offset of its part.
    let coming = all_to_all(node, &leaving, Block::default(), Schedule::Free);
    let mut ends: Vec<usize> = Vec::with_capacity(size);
    let mut end = 0usize;
    let mut starts = Vec::with_capacity(size);
    for count in coming.iter() {
        starts.push(end as u64);
        end = end.saturating_add(usize::try_from(*count).unwrap_or(usize::MAX));
        ends.push(end);
    }
    let mut next = all_to_all(node, &starts, coming, Schedule::Free);

    let bytes = byte_length::<T>(end);
    begin(node, call, Block::<T>::zeroed(end), bytes, size_of::<T>() as u64);
    let pieces: Vec<Piece<'_>> = slices
        .iter()
        .map(|(to, slice)| {
            let start = next[*to];
            next[*to] += slice.len() as u64;
            let offset = usize::try_from(start).unwrap_or(usize::MAX).saturating_mul(size_of::<T>());
            Piece { to: *to, offset, bytes: cast_slice(slice) }
        })
        .collect();
    node.paced(|node| node.put_interleaved(call, PORT, TOGETHER, &pieces));
    Received { values: node.close_own(call, PORT), ends }
}
