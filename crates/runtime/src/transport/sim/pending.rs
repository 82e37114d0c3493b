//! The collective in flight of a node.

use super::Sim;
use super::payload::{COLLECTIVES, Payload};
use super::rows::Row;
use super::steps::{MessageStep, Steps};
use super::world::{State, Wait};
use crate::block::RawBlock;
use crate::transport::contributions::CollectiveKind;
use crate::transport::{Awaited, Call, Operation, Simulated as _};
use strata_sim::Time;

/// A collective that this node has entered.
pub(super) struct PendingCollective {
    epoch: u64,
    call: Call,
    kind: CollectiveKind,
    values: RawBlock,
    steps: Steps,
    /// The current step.
    at: usize,
    /// Number of packets of the current message that have been sent.
    sent: u32,
    /// On the control network, which needs no messages: the time from the last node's arrival.
    control: Option<Time>,
}

impl Sim {
    /// Enters a collective with `values`, and advances it as far as possible.
    pub(super) fn arrive(&mut self, call: Call, kind: CollectiveKind, values: RawBlock) {
        let (rank, size) = (self.rank, self.world.size());
        let steps = Steps::of(kind, rank, size, values.size());
        let control = self.control(kind, values.size());
        let combines = matches!(kind, CollectiveKind::Operation(Operation::Reduce(..) | Operation::Scan(_)));
        if combines && control.is_none() {
            self.charge_combine_call();
        }
        self.enter(call, kind, values, steps, control);
    }

    /// Enters an exchange.
    pub(super) fn arrive_with_blocks(&mut self, call: Call, blocks: Vec<RawBlock>) {
        let (row, lengths) = Row::new(blocks);
        let steps = Steps::Exchange { rank: self.rank, size: self.world.size(), lengths };
        self.enter(call, CollectiveKind::Exchange, RawBlock::default(), steps, None);
        self.world.state.borrow_mut().rendezvouses.bring_row(self.epoch, self.rank, row);
    }

    fn enter(
        &mut self,
        call: Call,
        kind: CollectiveKind,
        values: RawBlock,
        steps: Steps,
        control: Option<Time>,
    ) {
        self.epoch += 1;
        let (epoch, rank, size) = (self.epoch, self.rank, self.world.size());
        let mut state = self.world.sync(rank);
        let now = self.world.time(rank);
        match state.rendezvouses.arrive(epoch, (rank, size), call, kind, now) {
            Ok(rendezvous) => rendezvous.bring(kind, (rank, size), values.as_bytes(), now),
            Err(failure) => {
                drop(state);
                self.world.fail(failure);
            }
        }
        let decides = match kind {
            CollectiveKind::Operation(Operation::Broadcast(root)) => rank == root,
            _ => true,
        };
        if let Some(cost) = control.filter(|_| decides)
            && let Some(done) =
                state.rendezvouses.get(epoch).and_then(|rendezvous| done_at(rendezvous, kind, size, cost))
        {
            state.wake_at(epoch, done);
        }
        drop(state);
        self.pending = Some(PendingCollective { epoch, call, kind, values, steps, at: 0, sent: 0, control });
    }

    /// The time of a collective on the control network, if there is one that supports it.
    fn control(&self, kind: CollectiveKind, bytes: usize) -> Option<Time> {
        let control = self.world.platform.control.as_ref()?;
        let words = |first: Time, each: Time| match bytes.div_ceil(8) as u64 {
            0 | 1 => first,
            words if control.pipelined => first + each.times(words - 1),
            words => first.times(words),
        };
        match kind {
            CollectiveKind::Operation(Operation::Barrier) => Some(control.barrier),
            CollectiveKind::Operation(Operation::Broadcast(_)) => {
                Some(words(control.broadcast, control.broadcast_word))
            }
            CollectiveKind::Operation(_) => Some(words(control.combine, control.combine_word)),
            CollectiveKind::Gather | CollectiveKind::Exchange => None,
        }
    }

    /// Advances the collective in flight as far as possible; returns true if it is complete.
    pub(super) fn advance(&mut self) -> bool {
        let Some(mut pending) = self.pending.take() else { return true };
        let done = match pending.control {
            Some(cost) => self.is_past(&pending, cost),
            None => self.go_on(&mut pending),
        };
        self.pending = Some(pending);
        done
    }

    /// True if the control network has completed it; the poll has a cost.
    fn is_past(&mut self, pending: &PendingCollective, cost: Time) -> bool {
        let done = self.control_done(&self.world.sync(self.rank), pending, cost);
        let now = self.world.time(self.rank);
        if done.is_some_and(|done| done <= now) {
            return true;
        }
        self.poll_failed(COLLECTIVES);
        false
    }

    fn control_done(&self, state: &State, pending: &PendingCollective, cost: Time) -> Option<Time> {
        let size = self.world.size();
        state
            .rendezvouses
            .get(pending.epoch)
            .and_then(|rendezvous| done_at(rendezvous, pending.kind, size, cost))
    }

    /// Advances the steps as far as possible.
    fn go_on(&mut self, pending: &mut PendingCollective) -> bool {
        while let Some(step) = pending.steps.get(pending.at) {
            let done = match step {
                MessageStep::Combine { bytes } => {
                    self.charge_combining(bytes);
                    true
                }
                MessageStep::Send { to, bytes } => {
                    self.send_message(pending.epoch, to, bytes, &mut pending.sent)
                }
                MessageStep::Receive { from } => self.received(pending.epoch, from),
            };
            if !done {
                return false;
            }
            (pending.at, pending.sent) = (pending.at + 1, 0);
        }
        true
    }

    /// Sends the remaining packets of a message; false if there is no room for all of them now.
    /// Receives arriving packets meanwhile.
    fn send_message(&mut self, epoch: u64, to: usize, bytes: usize, sent: &mut u32) -> bool {
        let packets = self.packets(bytes);
        while *sent < packets {
            let each = self.world.platform.interface.packet;
            let length = each.min(bytes - *sent as usize * each);
            let payload = Payload::Collective { epoch, packets };
            if self.inject(COLLECTIVES, to, length, payload).is_ok() {
                *sent += 1;
            } else if !self.take_message() {
                return false;
            }
        }
        true
    }

    /// True if a node's message has arrived.
    fn received(&mut self, epoch: u64, from: usize) -> bool {
        loop {
            if self.messages.has(epoch, from) {
                return true;
            }
            if !self.take_message() {
                return false;
            }
        }
    }

    /// Receives a packet of a collective, if one has arrived.
    fn take_message(&mut self) -> bool {
        let Some(arrival) = self.take(COLLECTIVES) else { return false };
        if let Payload::Collective { epoch, packets } = arrival.item {
            self.messages.came(epoch, arrival.from, packets);
        }
        true
    }

    /// Waits until the collective in flight is complete; receives no other packets.
    pub(super) fn complete(&mut self) {
        while !self.advance() {
            let Some(call) = self.pending.as_ref().map(|pending| pending.call) else { return };
            self.wait(&call, Awaited::Operation, 0, 0);
        }
    }

    /// Ends the complete collective and returns its values.
    pub(super) fn end(&mut self) -> RawBlock {
        let Some(mut pending) = self.pending.take() else { return RawBlock::default() };
        self.messages.completed();
        let (rank, size) = (self.rank, self.world.size());
        let mut state = self.world.state.borrow_mut();
        state.rendezvouses.go(pending.epoch, size, |rendezvous| {
            rendezvous.take((rank, size), pending.values.as_bytes_mut())
        });
        pending.values
    }

    /// Ends a complete gather or exchange; `take` takes the result.
    pub(super) fn end_by(&mut self, take: impl FnOnce(&mut super::rendezvous::Rendezvous)) {
        if let Some(pending) = self.pending.take() {
            self.messages.completed();
            let size = self.world.size();
            self.world.state.borrow_mut().rendezvouses.go(pending.epoch, size, take);
        }
    }

    /// Adds the event for which the collective in flight waits.
    pub(super) fn add_obstacle(&self, state: &State, wait: &mut Wait) {
        let Some(pending) = &self.pending else { return };
        if let Some(cost) = pending.control {
            wait.epoch = Some(pending.epoch);
            wait.until = self.control_done(state, pending, cost);
            return;
        }
        match pending.steps.get(pending.at) {
            Some(MessageStep::Send { .. }) => wait.room |= 1 << COLLECTIVES.0,
            Some(MessageStep::Receive { .. } | MessageStep::Combine { .. }) | None => {}
        }
    }
}

/// The completion time of a collective on the control network, if already known.
fn done_at(
    rendezvous: &super::rendezvous::Rendezvous,
    kind: CollectiveKind,
    size: usize,
    cost: Time,
) -> Option<Time> {
    match kind {
        CollectiveKind::Operation(Operation::Broadcast(_)) => rendezvous.root.map(|at| at + cost),
        _ => rendezvous.is_full(size).then(|| rendezvous.last + cost),
    }
}
