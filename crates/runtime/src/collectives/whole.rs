//! Whole (not split-phase) collectives.
//!
//! In a program that has installed handlers, waiting nodes must keep receiving, or two nodes could
//! wait for each other forever. Short collectives are therefore run split-phase, with polls in
//! between. A long collective is preceded by such a barrier; after it, no node depends on another
//! one that must receive messages before it has done its own part.

use crate::block::{Block, RawBlock};
use crate::node::Node;
use crate::number::{Arithmetic, Number, NumberType, Op, Operand, fold};
use crate::transport::{Action, Boundary, Call, Collective, Operation, Scan};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::panic::Location;

/// The most bytes of a collective that is run split-phase with copied values if nodes receive
/// messages; a longer one is preceded by a barrier.
const SHORT: usize = 128;

impl Node {
    /// Returns when every node has called it.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn barrier(&mut self) {
        let call = Call::plain(Action::Barrier, Location::caller());
        self.in_place(call, Operation::Barrier, &mut []);
    }

    /// True if `value` is true on any node.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn global_or(&mut self, value: bool) -> bool {
        let mut any = u32::from(value);
        let call = Call::combine(Action::GlobalOr, NumberType::U32, Op::Or, 1, Location::caller());
        self.in_place(call, Operation::Reduce(NumberType::U32, Op::Or), bytemuck::bytes_of_mut(&mut any));
        any != 0
    }

    /// Sets this node's part of the asynchronous or, which is initially true. Never waits.
    ///
    /// # Participation
    /// Local.
    pub fn set_async_or(&mut self, value: bool) {
        self.transport.set_async_or(value);
    }

    /// True if any node's part of the asynchronous or is true, as far as this node knows now. After
    /// all nodes have set theirs to false and passed a barrier, it becomes false immediately or
    /// some time later.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// Machine::threads(3)?.run(|node| {
    ///     // ... work until this node has nothing left to do ...
    ///     node.set_async_or(false);
    ///     while node.async_or() {
    ///         node.poll();                              // others may still send work
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local.
    pub fn async_or(&mut self) -> bool {
        self.may_go_on() && self.transport.async_or()
    }

    /// Combines a number, or a vector element by element, over all nodes: a number is returned, a
    /// vector changed in place.
    ///
    /// Bitwise operations are for integers; with `f32` or `f64` they end the job.
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length.
    #[track_caller]
    pub fn reduce<O: Operand>(&mut self, op: Op, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.reduce_vector(op, values, place))
    }

    /// [`reduce`](Self::reduce) with [`Op::Add`].
    #[track_caller]
    pub fn reduce_add<O: Operand>(&mut self, operand: O) -> O::Output {
        self.reduce(Op::Add, operand)
    }

    /// [`reduce`](Self::reduce) with [`Op::Min`].
    #[track_caller]
    pub fn reduce_min<O: Operand>(&mut self, operand: O) -> O::Output {
        self.reduce(Op::Min, operand)
    }

    /// [`reduce`](Self::reduce) with [`Op::Max`].
    #[track_caller]
    pub fn reduce_max<O: Operand>(&mut self, operand: O) -> O::Output {
        self.reduce(Op::Max, operand)
    }

    /// Combines the values of the nodes *before* this one (exclusive scan); node 0 receives the
    /// identity of `op`.
    ///
    /// A number is returned, a vector changed in place.
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length.
    #[track_caller]
    pub fn scan<O: Operand>(&mut self, op: Op, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.scan_vector(op, false, None, values, place))
    }

    /// Combines the values of the nodes before this one with its own (an inclusive scan, like
    /// Split-C's `all_scan`).
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// let sums = Machine::threads(3)?.run(|node| Ok(node.inclusive_scan(Op::Add, 1 + node.rank() as u64)))?;
    /// assert_eq!(sums, [1, 3, 6]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`scan`](Self::scan).
    #[track_caller]
    pub fn inclusive_scan<O: Operand>(&mut self, op: Op, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| {
            let mine = values.to_vec();
            self.scan_vector(op, false, None, values, place);
            if self.rank() == 0 {
                // Copied rather than combined with the identity, so that -0.0 is preserved.
                values.copy_from_slice(&mine);
            } else {
                let kind = <O::Number as Arithmetic>::KIND;
                fold(kind, op, cast_slice_mut(values), cast_slice(&mine));
            }
            self.correct_result(cast_slice(values));
        })
    }

    /// Combines the values of the nodes *after* this one, from the last to the first; the last node
    /// receives the identity of `op`. Otherwise as [`scan`](Self::scan).
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length.
    #[track_caller]
    pub fn backward_scan<O: Operand>(&mut self, op: Op, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.scan_vector(op, true, None, values, place))
    }

    /// A [`scan`](Self::scan) in segments: `boundary` is this node's position in its segment.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// // Brewer's second case (manual, §4.3.1) on four nodes: the first node of a segment receives
    /// // the sum of the segment before.
    /// let sums = Machine::threads(4)?.run(|node| {
    ///     let boundary = if node.rank() % 2 == 0 { Boundary::Array } else { Boundary::None };
    ///     Ok(node.segmented_scan(Op::Add, boundary, 1 + node.rank() as u64 / 2))
    /// })?;
    /// assert_eq!(sums, [0, 1, 2, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length; each node has its own `boundary`.
    #[track_caller]
    pub fn segmented_scan<O: Operand>(&mut self, op: Op, boundary: Boundary, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.scan_vector(op, false, Some(boundary), values, place))
    }

    /// A [`backward_scan`](Self::backward_scan) in segments. A boundary marks the first node of a
    /// segment *in the scan's direction*: the one of highest rank.
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length; each node has its own `boundary`.
    #[track_caller]
    pub fn segmented_backward_scan<O: Operand>(
        &mut self,
        op: Op,
        boundary: Boundary,
        operand: O,
    ) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.scan_vector(op, true, Some(boundary), values, place))
    }

    /// [`scan`](Self::scan) with [`Op::Add`].
    #[track_caller]
    pub fn scan_add<O: Operand>(&mut self, operand: O) -> O::Output {
        self.scan(Op::Add, operand)
    }

    /// Replaces `values` on every node by those of node `root`.
    ///
    /// # Participation
    /// Collective, with equal `root` and equal lengths.
    #[track_caller]
    pub fn broadcast<T: Pod>(&mut self, root: usize, values: &mut [T]) {
        let place = Location::caller();
        let call = Call::moving(Action::Broadcast, size_of::<T>(), root, values.len(), place);
        self.check_root(&call, root);
        self.in_place(call, Operation::Broadcast(root), cast_slice_mut(values));
    }

    /// Node `root`'s `value`, on every node.
    ///
    /// # Participation
    /// Collective, with equal `root`.
    #[track_caller]
    pub fn broadcast_value<T: Pod>(&mut self, root: usize, value: T) -> T {
        let mut value = value;
        self.broadcast(root, std::slice::from_mut(&mut value));
        value
    }

    /// Every node's `values`, one after the other in rank order.
    ///
    /// # Participation
    /// Collective, with equal lengths.
    #[track_caller]
    pub fn all_gather<T: Pod>(&mut self, values: &[T]) -> Vec<T> {
        let mut all = vec![T::zeroed(); values.len() * self.size()];
        self.all_gather_into(values, &mut all);
        all
    }

    /// As [`all_gather`](Self::all_gather), into `all`, which must have room for as many values
    /// from each node; reusing memory avoids fresh pages.
    ///
    /// # Participation
    /// Collective, with equal lengths.
    #[track_caller]
    pub fn all_gather_into<T: Pod>(&mut self, values: &[T], all: &mut [T]) {
        let call = Call::moving(Action::AllGather, size_of::<T>(), 0, values.len(), Location::caller());
        if all.len() != values.len() * self.size() {
            let (room, each, nodes) = (all.len(), values.len(), self.size());
            self.misuse(&call, &format!("room for {room} values, not for {each} from each of {nodes} nodes"));
        }
        if self.may_go_on() {
            self.come_together(&call);
            let (mine, all) = (cast_slice(values), cast_slice_mut(all));
            self.transport.collective(call, Collective::AllGather { mine, all: &mut *all });
            self.has_left(all);
        }
    }

    /// Sends `blocks[i]` to node i, and returns the blocks received: the one at index i comes from
    /// node i.
    ///
    /// Blocks change owner: threads pass them on without copying. Any lengths are allowed,
    /// including 0. The block for this node itself stays in place.
    ///
    /// # Participation
    /// Collective, with one block for each node.
    #[track_caller]
    pub fn all_to_all_v<T: Pod>(&mut self, blocks: Vec<Block<T>>) -> Vec<Block<T>> {
        let call = Call::moving(Action::AllToAllV, size_of::<T>(), 0, 0, Location::caller());
        if blocks.len() != self.size() {
            self.misuse(&call, &format!("{} blocks for {} nodes", blocks.len(), self.size()));
        }
        let mut raw: Vec<RawBlock> = blocks.into_iter().map(Block::into_raw).collect();
        if self.may_go_on() {
            self.come_together(&call);
            self.transport.collective(call, Collective::Exchange(&mut raw));
            self.has_left(&[]);
        }
        raw.into_iter().map(Block::from_raw).collect()
    }

    fn reduce_vector<T: Number>(&mut self, op: Op, values: &mut [T], place: &'static Location<'static>) {
        let kind = <T as Arithmetic>::KIND;
        let call = Call::combine(Action::Reduce, kind, op, values.len(), place);
        self.check_op(&call, kind, op);
        self.in_place(call, Operation::Reduce(kind, op), cast_slice_mut(values));
    }

    fn scan_vector<T: Number>(
        &mut self,
        op: Op,
        backward: bool,
        boundary: Option<Boundary>,
        values: &mut [T],
        place: &'static Location<'static>,
    ) {
        let kind = <T as Arithmetic>::KIND;
        let scan = Scan { kind, op, backward, boundary };
        let call = Call::combine(scan.action(), kind, op, values.len(), place);
        self.check_op(&call, kind, op);
        self.in_place(call, Operation::Scan(scan), cast_slice_mut(values));
    }

    #[inline]
    fn in_place(&mut self, call: Call, operation: Operation, values: &mut [u8]) {
        if !self.may_go_on() {
            return;
        }
        if self.is_started(&call, values.len()) {
            self.combine_started(call, operation, values);
        } else {
            if self.library_above.is_some_and(|above| values.len() > above) {
                self.run_chosen(call, operation, values);
            } else {
                self.transport.collective(call, Collective::InPlace(operation, values));
            }
            self.has_left(values);
        }
        // A barrier or a reduction ends only when all nodes have entered it.
        self.ended_receiving &= !matches!(operation, Operation::Barrier | Operation::Reduce(..));
    }

    /// True if a collective of `bytes` must be run split-phase, with polls. Otherwise a barrier has
    /// been run if needed, and the whole collective may follow.
    #[inline]
    fn is_started(&mut self, call: &Call, bytes: usize) -> bool {
        let receives = self.receives();
        if bytes > SHORT {
            self.come_together(call);
        }
        receives && bytes <= SHORT
    }
}
