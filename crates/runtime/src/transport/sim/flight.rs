//! The collective that a node is in.

use super::Sim;
use super::steps::{self, Step};
use super::wire::{TOGETHER, Wire};
use super::world::{State, Wait};
use crate::block::RawBlock;
use crate::transport::contributions::CollectiveKind;
use crate::transport::{Awaited, Call, Operation};
use strata_sim::Time;

/// A collective that this node has come to.
pub(super) struct Flight {
    turn: u64,
    call: Call,
    kind: CollectiveKind,
    values: RawBlock,
    steps: Vec<Step>,
    /// The step it is at.
    at: usize,
    /// Packets of the message being sent that have left.
    sent: u32,
    /// What the control network does needs no messages: how long it takes from when the last node has come.
    control: Option<Time>,
}

impl Sim {
    /// Comes to a collective with `values`, and does as much of it as can be done now.
    pub(super) fn come(&mut self, call: Call, kind: CollectiveKind, values: RawBlock) {
        let (rank, size) = (self.rank, self.world.size());
        let steps = steps::of(kind, rank, size, values.size());
        let control = self.control(kind, values.size());
        self.enter(call, kind, values, steps, control);
    }

    /// Comes to an exchange.
    pub(super) fn come_with_blocks(&mut self, call: Call, blocks: &mut [RawBlock]) {
        let lengths: Vec<usize> = blocks.iter().map(RawBlock::size).collect();
        let steps = steps::exchange(self.rank, &lengths);
        let blocks = blocks.iter_mut().map(std::mem::take).collect();
        self.enter(call, CollectiveKind::Exchange, RawBlock::default(), steps, None);
        self.world.state.borrow_mut().meetings.bring_blocks(self.turn, self.rank, blocks);
    }

    fn enter(
        &mut self,
        call: Call,
        kind: CollectiveKind,
        values: RawBlock,
        steps: Vec<Step>,
        control: Option<Time>,
    ) {
        self.turn += 1;
        let (turn, rank, size) = (self.turn, self.rank, self.world.size());
        let mut state = self.world.sync(rank);
        let now = self.world.time(rank);
        match state.meetings.come(turn, (rank, size), call, kind, now) {
            Ok(meeting) => meeting.bring(kind, (rank, size), values.as_bytes(), now),
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
                state.meetings.get(turn).and_then(|meeting| done_at(meeting, kind, size, cost))
        {
            state.wake_at(turn, done);
        }
        drop(state);
        self.flight = Some(Flight { turn, call, kind, values, steps, at: 0, sent: 0, control });
    }

    /// What the control network, where there is one, takes for a collective that it can do.
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

    /// Does what can be done now for the collective in flight; whether it is complete.
    pub(super) fn advance(&mut self) -> bool {
        let Some(mut flight) = self.flight.take() else { return true };
        let done = match flight.control {
            Some(cost) => self.is_past(&flight, cost),
            None => self.go_on(&mut flight),
        };
        self.flight = Some(flight);
        done
    }

    /// Whether the control network is done; looking costs something.
    fn is_past(&mut self, flight: &Flight, cost: Time) -> bool {
        let done = self.control_done(&self.world.sync(self.rank), flight, cost);
        let now = self.world.time(self.rank);
        if done.is_some_and(|done| done <= now) {
            return true;
        }
        self.look(TOGETHER);
        false
    }

    fn control_done(&self, state: &State, flight: &Flight, cost: Time) -> Option<Time> {
        let size = self.world.size();
        state.meetings.get(flight.turn).and_then(|meeting| done_at(meeting, flight.kind, size, cost))
    }

    /// Goes on with the steps as far as possible.
    fn go_on(&mut self, flight: &mut Flight) -> bool {
        while let Some(step) = flight.steps.get(flight.at) {
            let done = match *step {
                Step::Combine { bytes } => {
                    let word = self.world.platform.interface.combine_word;
                    self.spend(word.times(bytes.div_ceil(8) as u64));
                    true
                }
                Step::Send { to, bytes } => self.send_message(flight.turn, to, bytes, &mut flight.sent),
                Step::Receive { from } => self.received(flight.turn, from),
            };
            if !done {
                return false;
            }
            (flight.at, flight.sent) = (flight.at + 1, 0);
        }
        true
    }

    /// Sends the rest of a message; false if there is no room for all of it now. What arrives meanwhile is taken in.
    fn send_message(&mut self, turn: u64, to: usize, bytes: usize, sent: &mut u32) -> bool {
        let packets = self.packets(bytes);
        while *sent < packets {
            let each = self.world.platform.interface.packet;
            let length = each.min(bytes - *sent as usize * each);
            let wire = Wire::Together { turn, packets };
            if self.inject(TOGETHER, to, length, wire).is_ok() {
                *sent += 1;
            } else if !self.take_message() {
                return false;
            }
        }
        true
    }

    /// Whether a node's message has come.
    fn received(&mut self, turn: u64, from: usize) -> bool {
        loop {
            if let Some((come, packets)) = self.messages.get(&(turn, from))
                && come == packets
            {
                self.messages.remove(&(turn, from));
                return true;
            }
            if !self.take_message() {
                return false;
            }
        }
    }

    /// Takes in a packet of a collective, if one has come.
    fn take_message(&mut self) -> bool {
        let Some(arrival) = self.take(TOGETHER) else { return false };
        if let Wire::Together { turn, packets } = arrival.item {
            let entry = self.messages.entry((turn, arrival.from)).or_insert((0, packets));
            entry.0 += 1;
        }
        true
    }

    /// Waits until the collective in flight is complete; takes in nothing else.
    pub(super) fn complete(&mut self) {
        while !self.advance() {
            let Some(call) = self.flight.as_ref().map(|flight| flight.call) else { return };
            self.wait(&call, Awaited::Operation, 0, 0);
        }
    }

    /// Ends the complete collective: its values.
    pub(super) fn end(&mut self) -> RawBlock {
        let Some(mut flight) = self.flight.take() else { return RawBlock::default() };
        let (rank, size) = (self.rank, self.world.size());
        let mut state = self.world.state.borrow_mut();
        state
            .meetings
            .go(flight.turn, size, |meeting| meeting.take((rank, size), flight.values.as_bytes_mut()));
        flight.values
    }

    /// Ends a complete gather or exchange, of which `take` takes the result.
    pub(super) fn end_by(&mut self, take: impl FnOnce(&mut super::together::Meeting)) {
        if let Some(flight) = self.flight.take() {
            let size = self.world.size();
            self.world.state.borrow_mut().meetings.go(flight.turn, size, take);
        }
    }

    /// What the collective in flight waits for.
    pub(super) fn obstacle(&self, state: &State, wait: &mut Wait) {
        let Some(flight) = &self.flight else { return };
        if let Some(cost) = flight.control {
            wait.turn = Some(flight.turn);
            wait.until = self.control_done(state, flight, cost);
            return;
        }
        match flight.steps.get(flight.at) {
            Some(Step::Send { .. }) => wait.room |= 1 << TOGETHER.0,
            Some(Step::Receive { .. } | Step::Combine { .. }) | None => {}
        }
    }
}

/// When a collective by the control network is done, where that can be said already.
fn done_at(
    meeting: &super::together::Meeting,
    kind: CollectiveKind,
    size: usize,
    cost: Time,
) -> Option<Time> {
    match kind {
        CollectiveKind::Operation(Operation::Broadcast(_)) => meeting.root.map(|at| at + cost),
        _ => meeting.is_full(size).then(|| meeting.last + cost),
    }
}
