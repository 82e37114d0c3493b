//! The collective in flight of a node.
//!
//! While a node waits to enter a collective, or for it to complete, the scheduler advances it: a
//! packet needs several waits, and a switch to the node's stack for each would cost more than the
//! packet. [`World::go_on`] is therefore a state machine. It does in the same order what the node
//! would do itself, so nothing differs in simulated time.

use super::Sim;
use super::arrivals::Arrivals;
use super::payload::{COLLECTIVES, Payload};
use super::rendezvous::Rendezvous;
use super::rows::Row;
use super::steps::{MessageStep, Steps};
use super::world::{CaughtUp, State, Wait, World};
use crate::block::RawBlock;
use crate::transport::contributions::CollectiveKind;
use crate::transport::{Awaited, Call, Failure, Operation, Simulated as _, Stop};
use std::panic::resume_unwind;
use strata_sim::Time;

/// A collective that this node has entered.
struct PendingCollective {
    epoch: u64,
    call: Call,
    kind: CollectiveKind,
    contribution: Contribution,
    steps: Steps,
    /// The current step.
    at: usize,
    /// Number of packets of the current message that have been sent.
    sent: u32,
    point: Point,
    /// On the control network, which needs no messages: the time from the last node's arrival.
    control: Option<Time>,
}

/// What a node brings.
enum Contribution {
    Values(RawBlock),
    /// To an exchange, until the node has entered it.
    Blocks(Row),
}

/// Where a collective continues. Except for `Begin` and `Step`, each follows after the node has
/// caught up.
#[derive(Clone, Copy, Debug)]
enum Point {
    Begin,
    /// Enters, and brings its contribution.
    Enter,
    /// Continues with the current step.
    Step,
    /// Looks again whether there is room to send.
    Room,
    /// Puts a packet into the send queue.
    Send,
    /// Receives a packet.
    Receive,
    /// Asks the control network.
    Control,
    /// Waits, if nothing has happened meanwhile.
    Wait,
    Waited,
}

/// The progress of a collective.
enum Progress {
    Complete,
    /// It needs an event that has not occurred.
    Blocked,
    /// Another node runs first.
    Suspended,
    /// The job has ended.
    Failed,
}

/// The collectives of a node.
#[derive(Default)]
pub(super) struct InFlight {
    pending: Option<PendingCollective>,
    messages: Arrivals,
    /// The node waits for its collective, which the scheduler advances.
    advances: bool,
    /// While it waits, room on one of these channels wakes it, as bits.
    rest: u8,
}

impl InFlight {
    /// Loads what the collective's next step reads; the result means nothing.
    pub(super) fn loads(&self) -> bool {
        self.advances ^ self.pending.as_ref().is_some_and(|pending| pending.at > 0)
    }
}

impl Sim {
    /// Begins a collective with `values`: the node enters it as soon as it has caught up.
    pub(super) fn arrive(&mut self, call: Call, kind: CollectiveKind, values: RawBlock) {
        let (rank, size) = (self.rank, self.world.size());
        let steps = Steps::of(kind, rank, size, values.size());
        let control = self.control(kind, values.size());
        let combines = matches!(kind, CollectiveKind::Operation(Operation::Reduce(..) | Operation::Scan(_)));
        if combines && control.is_none() {
            self.charge_combine_call();
        }
        self.begin(call, kind, Contribution::Values(values), steps, control);
    }

    /// Begins an exchange.
    pub(super) fn arrive_with_blocks(&mut self, call: Call, blocks: Vec<RawBlock>) {
        let (row, lengths) = Row::new(blocks);
        let steps = Steps::Exchange { rank: self.rank, size: self.world.size(), lengths };
        self.begin(call, CollectiveKind::Exchange, Contribution::Blocks(row), steps, None);
    }

    fn begin(
        &mut self,
        call: Call,
        kind: CollectiveKind,
        contribution: Contribution,
        steps: Steps,
        control: Option<Time>,
    ) {
        self.epoch += 1;
        let (epoch, at, sent, point) = (self.epoch, 0, 0, Point::Begin);
        let pending = PendingCollective { epoch, call, kind, contribution, steps, at, sent, point, control };
        self.world.in_flight[self.rank].borrow_mut().pending = Some(pending);
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

    pub(super) fn has_pending(&self) -> bool {
        self.world.in_flight[self.rank].borrow().pending.is_some()
    }

    /// Advances the collective in flight as far as possible; returns true if it is complete.
    pub(super) fn advance(&mut self) -> bool {
        loop {
            match self.world.go_on(self.rank, false) {
                Progress::Complete => return true,
                Progress::Blocked => return false,
                Progress::Suspended => self.world.yield_to_others(),
                Progress::Failed => resume_unwind(Box::new(Stop)),
            }
        }
    }

    /// Waits until the collective in flight is complete; receives no other packets.
    pub(super) fn complete(&mut self) {
        let in_flight = &self.world.in_flight[self.rank];
        in_flight.borrow_mut().rest = self.rest_channels();
        loop {
            match self.world.go_on(self.rank, true) {
                Progress::Complete => return,
                Progress::Failed => resume_unwind(Box::new(Stop)),
                Progress::Blocked | Progress::Suspended => {}
            }
            in_flight.borrow_mut().advances = true;
            self.world.yield_to_others();
            // The scheduler has completed it, unless this node unwinds.
            if !std::mem::take(&mut in_flight.borrow_mut().advances) {
                return;
            }
        }
    }

    /// Ends the complete collective and returns its values.
    pub(super) fn end(&mut self) -> RawBlock {
        let Some(pending) = self.completed() else { return RawBlock::default() };
        let Contribution::Values(mut values) = pending.contribution else { return RawBlock::default() };
        let (rank, size) = (self.rank, self.world.size());
        let mut state = self.world.state.borrow_mut();
        let take = |rendezvous: &mut Rendezvous| rendezvous.take((rank, size), values.as_bytes_mut());
        state.rendezvouses.go(pending.epoch, size, take);
        values
    }

    /// Ends a complete gather or exchange; `take` takes the result.
    pub(super) fn end_by(&mut self, take: impl FnOnce(&mut Rendezvous)) {
        if let Some(pending) = self.completed() {
            let size = self.world.size();
            self.world.state.borrow_mut().rendezvouses.go(pending.epoch, size, take);
        }
    }

    fn completed(&self) -> Option<PendingCollective> {
        let mut in_flight = self.world.in_flight[self.rank].borrow_mut();
        let pending = in_flight.pending.take()?;
        in_flight.messages.completed();
        Some(pending)
    }

    /// Adds the event for which the collective in flight waits.
    pub(super) fn add_obstacle(&self, state: &State, wait: &mut Wait) {
        if let Some(pending) = &self.world.in_flight[self.rank].borrow().pending {
            pending.add_obstacle(state, wait);
        }
    }
}

impl PendingCollective {
    /// Node `rank` enters it, at the time `now`.
    fn enter(&mut self, state: &mut State, rank: usize, now: Time) -> Result<(), Failure> {
        let (epoch, kind, size) = (self.epoch, self.kind, state.nodes.len());
        let rendezvous = state.rendezvouses.arrive(epoch, (rank, size), self.call, kind, now)?;
        match &mut self.contribution {
            Contribution::Values(values) => rendezvous.bring(kind, (rank, size), values.as_bytes(), now),
            Contribution::Blocks(row) => rendezvous.bring_row(rank, std::mem::take(row)),
        }
        let decides = match kind {
            CollectiveKind::Operation(Operation::Broadcast(root)) => rank == root,
            _ => true,
        };
        let cost = self.control.filter(|_| decides);
        if let Some(done) = cost.and_then(|cost| done_at(rendezvous, kind, size, cost)) {
            state.wake_at(epoch, done);
        }
        Ok(())
    }

    fn next_step(&mut self) {
        (self.at, self.sent) = (self.at + 1, 0);
    }

    fn add_obstacle(&self, state: &State, wait: &mut Wait) {
        if let Some(cost) = self.control {
            wait.epoch = Some(self.epoch);
            wait.until = self.control_done(state, cost);
            return;
        }
        match self.steps.get(self.at) {
            Some(MessageStep::Send { .. }) => wait.room |= 1 << COLLECTIVES.0,
            Some(MessageStep::Receive { .. } | MessageStep::Combine { .. }) | None => {}
        }
    }

    /// The time at which the control network completes it, if already known.
    fn control_done(&self, state: &State, cost: Time) -> Option<Time> {
        let rendezvous = state.rendezvouses.get(self.epoch);
        rendezvous.and_then(|rendezvous| done_at(rendezvous, self.kind, state.nodes.len(), cost))
    }
}

impl World {
    /// Advances the collective for which a chosen node waits. Returns false if the node itself
    /// continues: it waits for none, or it is complete.
    pub(super) fn advances(&self, node: usize) -> bool {
        if !self.in_flight[node].borrow().advances {
            return false;
        }
        let complete = matches!(self.go_on(node, true), Progress::Complete);
        if complete {
            self.in_flight[node].borrow_mut().advances = false;
        }
        !complete
    }

    /// Advances a node's collective as far as possible. If it needs an event, the node waits for it
    /// (`waits`), or [`Progress::Blocked`] is returned.
    fn go_on(&self, node: usize, waits: bool) -> Progress {
        let mut in_flight = self.in_flight[node].borrow_mut();
        let InFlight { pending, messages, rest, .. } = &mut *in_flight;
        let Some(pending) = pending else { return Progress::Complete };
        let interface = &self.platform.interface;
        loop {
            let next = match pending.point {
                Point::Begin => Point::Enter,
                Point::Enter => {
                    let state = &mut *self.state.borrow_mut();
                    if let Err(failure) = pending.enter(state, node, self.time(node)) {
                        state.failure.get_or_insert(failure);
                        return Progress::Failed;
                    }
                    pending.point = Point::Step;
                    continue;
                }
                Point::Step if pending.control.is_some() => Point::Control,
                Point::Step | Point::Room => match pending.steps.get(pending.at) {
                    None => return Progress::Complete,
                    Some(MessageStep::Combine { bytes }) => {
                        self.charge_combining(node, bytes);
                        pending.next_step();
                        continue;
                    }
                    Some(MessageStep::Receive { from }) => {
                        if messages.has(pending.epoch, from) {
                            pending.next_step();
                            continue;
                        }
                        Point::Receive
                    }
                    Some(MessageStep::Send { bytes, .. }) => {
                        if pending.sent == self.packets(bytes) {
                            pending.next_step();
                            continue;
                        }
                        if self.state.borrow().network.has_room(node, COLLECTIVES) {
                            let length =
                                interface.packet.min(bytes - pending.sent as usize * interface.packet);
                            self.charge(node, interface.send + interface.send_byte.times(length as u64));
                            Point::Send
                        } else if matches!(pending.point, Point::Step) {
                            Point::Room
                        } else {
                            // Receives what arrives meanwhile.
                            self.poll_failed(node, COLLECTIVES);
                            Point::Receive
                        }
                    }
                },
                Point::Send => {
                    pending.point = Point::Step;
                    let Some(MessageStep::Send { to, bytes }) = pending.steps.get(pending.at) else {
                        continue;
                    };
                    let packets = self.packets(bytes);
                    let length = interface.packet.min(bytes - pending.sent as usize * interface.packet);
                    let payload = Payload::Collective { epoch: pending.epoch, packets };
                    let now = self.time(node);
                    let network = &mut self.state.borrow_mut().network;
                    // Only this node fills its send queue, which had room.
                    if network.try_send(now, node, to, COLLECTIVES, length, payload).is_ok() {
                        self.charge(node, interface.after_send);
                        pending.sent += 1;
                    }
                    continue;
                }
                Point::Receive => {
                    if let Some(arrival) = self.take(self.state.borrow_mut(), node, COLLECTIVES) {
                        if let Payload::Collective { epoch, packets } = arrival.item {
                            messages.came(epoch, arrival.from, packets);
                        }
                        pending.point = Point::Step;
                        continue;
                    }
                    Point::Wait
                }
                Point::Control => {
                    let cost = pending.control.unwrap_or_default();
                    let done = pending.control_done(&self.state.borrow(), cost);
                    if done.is_some_and(|done| done <= self.time(node)) {
                        pending.point = Point::Step;
                        return Progress::Complete;
                    }
                    self.poll_failed(node, COLLECTIVES);
                    Point::Wait
                }
                Point::Wait => {
                    let (call, awaited, channels) = (pending.call, Awaited::Operation, 1 << COLLECTIVES.0);
                    let mut wait = Wait { call, awaited, channels, room: *rest, epoch: None, until: None };
                    let state = self.state.borrow();
                    pending.add_obstacle(&state, &mut wait);
                    let news = state.has_news(node, &wait);
                    drop(state);
                    if news {
                        pending.point = Point::Step;
                        continue;
                    }
                    self.begin_wait(node, wait);
                    pending.point = Point::Waited;
                    return Progress::Suspended;
                }
                Point::Waited => {
                    self.end_wait(node);
                    pending.point = Point::Step;
                    continue;
                }
            };
            if matches!(next, Point::Wait) && !waits {
                pending.point = Point::Step;
                return Progress::Blocked;
            }
            pending.point = next;
            match self.catch_up(node) {
                CaughtUp::Now(_) => {}
                CaughtUp::Suspended => return Progress::Suspended,
                CaughtUp::Failed => return Progress::Failed,
            }
        }
    }
}

/// The completion time of a collective on the control network, if already known.
fn done_at(rendezvous: &Rendezvous, kind: CollectiveKind, size: usize, cost: Time) -> Option<Time> {
    match kind {
        CollectiveKind::Operation(Operation::Broadcast(_)) => rendezvous.root.map(|at| at + cost),
        _ => rendezvous.is_full(size).then(|| rendezvous.last + cost),
    }
}
