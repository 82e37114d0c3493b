//! Split-phase collectives: start, query, complete.
//!
//! Only one is in flight at a time. Starting another one, or calling a whole collective, first
//! completes the one in flight; its result is kept until it is requested.

use super::Node;
use crate::block::{Block, RawBlock};
use crate::copy::{Hint, copy_hinted};
use crate::number::{Number, NumberType, Op};
use crate::transport::{Action, Awaited, Boundary, Call, Operation, Scan};
use bytemuck::bytes_of;
use std::marker::PhantomData;
use std::panic::Location;

/// A started collective, to be completed by [`Node::complete`], which returns an `R`.
#[must_use = "a collective that was started has to be completed"]
#[derive(Debug)]
pub struct Pending<R> {
    number: u64,
    result: PhantomData<fn() -> R>,
}

/// Completed results that may be kept; more indicate a mistake of the program.
const MOST_UNASKED: usize = 1024;

/// Number of tests of a collective before a node pauses.
const LOOKS: u32 = 64;

/// Polls for packets between two tests of a collective, if packets have arrived since it was
/// called: on MPI a test takes as long as a poll.
const PACKETS: u32 = 4;

/// The collective in flight, and results of earlier ones.
#[derive(Default)]
pub(super) struct Split {
    /// The number of collectives started.
    started: u64,
    /// The collective in flight.
    current: Option<(u64, Call)>,
    /// Results of completed collectives that were not yet requested.
    results: Vec<(u64, RawBlock)>,
    /// Memory for numbers, so that they need no allocation.
    spare: RawBlock,
}

mod sealed {
    pub trait Sealed {}
}

/// The operand and result of a split-phase collective: one number, or a [`Block`] of them, which
/// the run-time owns meanwhile.
pub trait Payload: sealed::Sealed + Sized {
    /// The numbers combined.
    type Number: Number;
    #[doc(hidden)]
    fn length(&self) -> usize;
    #[doc(hidden)]
    fn put(self, spare: &mut Spare<'_>) -> Raw;
    #[doc(hidden)]
    fn take(raw: Raw, spare: &mut Spare<'_>) -> Self;
}

/// Memory passed between a [`Payload`] and the run-time. Public only because a sealed trait names
/// it.
#[doc(hidden)]
pub struct Raw(RawBlock);

/// As [`Raw`].
#[doc(hidden)]
pub struct Spare<'a>(&'a mut RawBlock);

impl<T: Number> sealed::Sealed for T {}
impl<T: Number> Payload for T {
    type Number = T;
    fn length(&self) -> usize {
        1
    }
    fn put(self, spare: &mut Spare<'_>) -> Raw {
        Raw(spare.fill(bytes_of(&self)))
    }
    fn take(raw: Raw, spare: &mut Spare<'_>) -> T {
        // The block has exactly this size, except for the zeros of `complete` while a node unwinds.
        let value = bytemuck::pod_read_unaligned(&raw.0.as_bytes()[..size_of::<T>()]);
        *spare.0 = raw.0;
        value
    }
}

impl<T: Number> sealed::Sealed for Block<T> {}
impl<T: Number> Payload for Block<T> {
    type Number = T;
    fn length(&self) -> usize {
        self.elements()
    }
    fn put(self, _: &mut Spare<'_>) -> Raw {
        Raw(self.into_raw())
    }
    fn take(raw: Raw, _: &mut Spare<'_>) -> Self {
        Self::from_raw(raw.0)
    }
}

impl Spare<'_> {
    /// The spare memory with `bytes` in it.
    fn fill(&mut self, bytes: &[u8]) -> RawBlock {
        let mut block = std::mem::take(self.0);
        block.hold(bytes.len());
        copy_hinted(Hint::default().left(), block.as_bytes_mut(), bytes);
        block
    }
}

impl Node {
    /// Starts a barrier; [`complete`](Self::complete) returns when all nodes have started it.
    ///
    /// # Participation
    /// Collective to start; it never waits for other nodes, except to complete a collective in
    /// flight first.
    #[track_caller]
    pub fn start_barrier(&mut self) -> Pending<()> {
        let call = Call::plain(Action::Barrier, Location::caller());
        let block = Spare(&mut self.split.spare).fill(&[]);
        self.start(call, Operation::Barrier, block)
    }

    /// Starts a [`global_or`](Self::global_or).
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier).
    #[track_caller]
    pub fn start_global_or(&mut self, value: bool) -> Pending<bool> {
        let call = Call::combine(Action::GlobalOr, NumberType::U32, Op::Or, 1, Location::caller());
        let block = Spare(&mut self.split.spare).fill(&u32::from(value).to_ne_bytes());
        self.start(call, Operation::Reduce(NumberType::U32, Op::Or), block)
    }

    /// Starts a [`reduce`](Self::reduce) of a number or of a block, element by element.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// let sums = Machine::threads(2)?.run(|node| {
    ///     let pending = node.start_reduce(Op::Add, Block::from_slice(&[1u64, node.rank() as u64]));
    ///     let mut slices = 0;
    ///     while !node.query(&pending) {
    ///         slices += 1;                              // a slice of other work
    ///     }
    ///     Ok(node.complete(pending).to_vec())
    /// })?;
    /// assert_eq!(sums, [[2, 1], [2, 1]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier), with equal `op` and length.
    #[track_caller]
    pub fn start_reduce<P: Payload>(&mut self, op: Op, payload: P) -> Pending<P> {
        let kind = <P::Number as crate::number::Arithmetic>::KIND;
        let call = Call::combine(Action::Reduce, kind, op, payload.length(), Location::caller());
        self.start_combining(call, kind, op, Operation::Reduce(kind, op), payload)
    }

    /// Starts a [`scan`](Self::scan).
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier), with equal `op` and length.
    #[track_caller]
    pub fn start_scan<P: Payload>(&mut self, op: Op, payload: P) -> Pending<P> {
        self.start_any_scan(op, false, None, payload, Location::caller())
    }

    /// Starts a [`backward_scan`](Self::backward_scan).
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier), with equal `op` and length.
    #[track_caller]
    pub fn start_backward_scan<P: Payload>(&mut self, op: Op, payload: P) -> Pending<P> {
        self.start_any_scan(op, true, None, payload, Location::caller())
    }

    /// Starts a [`segmented_scan`](Self::segmented_scan).
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier), with equal `op` and length; each node has its own
    /// `boundary`.
    #[track_caller]
    pub fn start_segmented_scan<P: Payload>(&mut self, op: Op, boundary: Boundary, payload: P) -> Pending<P> {
        self.start_any_scan(op, false, Some(boundary), payload, Location::caller())
    }

    /// Starts a [`segmented_backward_scan`](Self::segmented_backward_scan).
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier), with equal `op` and length; each node has its own
    /// `boundary`.
    #[track_caller]
    pub fn start_segmented_backward_scan<P: Payload>(
        &mut self,
        op: Op,
        boundary: Boundary,
        payload: P,
    ) -> Pending<P> {
        self.start_any_scan(op, true, Some(boundary), payload, Location::caller())
    }

    /// Starts a [`broadcast`](Self::broadcast) of node `root`'s number or block.
    ///
    /// # Participation
    /// As [`start_barrier`](Self::start_barrier), with equal `root` and length.
    #[track_caller]
    pub fn start_broadcast<P: Payload>(&mut self, root: usize, payload: P) -> Pending<P> {
        let place = Location::caller();
        let call = Call::moving(Action::Broadcast, size_of::<P::Number>(), root, payload.length(), place);
        self.check_root(&call, root);
        let Raw(block) = payload.put(&mut Spare(&mut self.split.spare));
        self.start(call, Operation::Broadcast(root), block)
    }

    /// True if a started collective is complete; never waits, and receives no messages.
    ///
    /// It does this node's share of combining a long vector, so that alternating slices of work and
    /// queries suffice to complete the collective.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn query<R>(&mut self, pending: &Pending<R>) -> bool {
        match self.split.current {
            Some((number, _)) if number == pending.number => self.may_go_on() && self.transport.test(),
            _ => true,
        }
    }

    /// Waits until a started collective is complete, and returns its result. Receives messages
    /// meanwhile.
    ///
    /// # Participation
    /// Local: all nodes have started it, but each may complete it at any time.
    pub fn complete<R: Outcome>(&mut self, pending: Pending<R>) -> R {
        if let Some((number, call)) = self.split.current
            && number == pending.number
            && self.may_go_on()
        {
            let block = self.complete_started(&call);
            return R::from_raw(Raw(block), &mut Spare(&mut self.split.spare));
        }
        let at = self.split.results.iter().position(|(number, _)| *number == pending.number);
        // The result is missing only while this node unwinds, because `start` then did nothing.
        let block = at.map_or_else(|| RawBlock::zeroed(8), |at| self.split.results.swap_remove(at).1);
        R::from_raw(Raw(block), &mut Spare(&mut self.split.spare))
    }

    fn start_any_scan<P: Payload>(
        &mut self,
        op: Op,
        backward: bool,
        boundary: Option<Boundary>,
        payload: P,
        place: &'static Location<'static>,
    ) -> Pending<P> {
        let kind = <P::Number as crate::number::Arithmetic>::KIND;
        let scan = Scan { kind, op, backward, boundary };
        let call = Call::combine(scan.action(), kind, op, payload.length(), place);
        self.start_combining(call, kind, op, Operation::Scan(scan), payload)
    }

    fn start_combining<P: Payload>(
        &mut self,
        call: Call,
        kind: NumberType,
        op: Op,
        operation: Operation,
        payload: P,
    ) -> Pending<P> {
        self.check_op(&call, kind, op);
        let Raw(block) = payload.put(&mut Spare(&mut self.split.spare));
        self.start(call, operation, block)
    }

    fn start<R>(&mut self, call: Call, operation: Operation, block: RawBlock) -> Pending<R> {
        self.complete_current();
        if self.split.results.len() > MOST_UNASKED {
            self.misuse(&call, &format!("{MOST_UNASKED} collectives were started and never completed"));
        }
        self.split.started += 1;
        if self.may_go_on() {
            self.transport.start(call, operation, block);
            self.split.current = Some((self.split.started, call));
        }
        Pending { number: self.split.started, result: PhantomData }
    }

    /// Completes the collective in flight, if there is one, and keeps its result.
    #[inline]
    pub(super) fn complete_current(&mut self) {
        if let Some((number, call)) = self.split.current
            && self.may_go_on()
        {
            let block = self.complete_started(&call);
            self.split.results.push((number, block));
        }
    }

    /// Waits for the collective in flight, and returns its result.
    fn complete_started(&mut self, call: &Call) -> RawBlock {
        self.wait_for_operation(call);
        self.split.current = None;
        let block = self.transport.finish();
        self.has_left(block.as_bytes());
        block
    }

    fn wait_for_operation(&mut self, call: &Call) {
        // Nodes call a collective at about the same time: pausing, or polling for messages that
        // cannot arrive, would cost more than testing.
        let mut looks = if self.inbox.is_in_use() { 0 } else { LOOKS };
        let mut packets = 1;
        while !self.transport.test() {
            if looks > 0 {
                looks -= 1;
                std::hint::spin_loop();
            } else if !self.inbox.is_in_use() || (0..packets).all(|_| self.poll_once() == 0) {
                self.pause(call, Awaited::Operation);
            } else if !self.is_simulated() {
                packets = PACKETS;
            }
        }
    }

    /// A whole collective during which messages are received. `values` must be short: they are
    /// copied.
    pub(crate) fn combine_started(&mut self, call: Call, operation: Operation, values: &mut [u8]) {
        if !self.may_go_on() {
            return;
        }
        self.complete_current();
        let block = Spare(&mut self.split.spare).fill(values);
        self.transport.start(call, operation, block);
        self.wait_for_operation(&call);
        let block = self.transport.finish();
        values.copy_from_slice(block.as_bytes());
        self.has_left(values);
        self.split.spare = block;
    }

    /// True if waiting nodes receive messages.
    pub(crate) fn is_receiving(&self) -> bool {
        self.inbox.is_in_use()
    }

    /// True if waiting nodes receive messages; first completes a collective in flight. It is equal
    /// on all nodes.
    #[inline]
    pub(crate) fn receives(&mut self) -> bool {
        self.complete_current();
        self.inbox.is_in_use()
    }

    /// Runs a barrier if other nodes may still wait for messages, as in `receiving`: on a machine
    /// whose networks also carry blocks, blocks would delay the messages.
    pub(crate) fn come_together(&mut self, call: &Call) {
        if self.receives() || self.ended_receiving {
            self.combine_started(*call, Operation::Barrier, &mut []);
            self.ended_receiving = false;
        }
    }

    /// Ends the job unless `op` is an operation of numbers of `kind`.
    pub(crate) fn check_op(&mut self, call: &Call, kind: NumberType, op: Op) {
        if !kind.has(op) {
            self.misuse(call, "bitwise operations are for integers");
        }
    }

    /// Ends the job unless there is a node `root`.
    pub(crate) fn check_root(&mut self, call: &Call, root: usize) {
        if root >= self.size() {
            let last = self.size() - 1;
            self.misuse(call, &format!("there is no node {root}: nodes are 0 to {last}"));
        }
    }
}

/// The result type of a split-phase collective. Public only because [`Node::complete`] names it.
#[doc(hidden)]
pub trait Outcome {
    fn from_raw(raw: Raw, spare: &mut Spare<'_>) -> Self;
}

impl<P: Payload> Outcome for P {
    fn from_raw(raw: Raw, spare: &mut Spare<'_>) -> Self {
        P::take(raw, spare)
    }
}

impl Outcome for () {
    fn from_raw(raw: Raw, spare: &mut Spare<'_>) {
        *spare.0 = raw.0;
    }
}

impl Outcome for bool {
    fn from_raw(raw: Raw, spare: &mut Spare<'_>) -> bool {
        let any = raw.0.as_bytes().iter().any(|byte| *byte != 0);
        *spare.0 = raw.0;
        any
    }
}
