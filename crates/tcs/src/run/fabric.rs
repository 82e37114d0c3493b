//! Transport of connections and barriers: memory shared by the nodes of one host, or messages.

use super::memory::{Count, Memory, Places};
use super::messages::Messages;
use super::ring::{LINE, Receiver, Ring, Sender};
use super::spool::{Spools, Transfer};
use super::watch::{Awaits, Watch};
use crate::barrier::Step;
use crate::link::Image;
use std::collections::BTreeMap;
use std::sync::Arc;
use strata_runtime::Node;

/// Polls of a line before the node waits in the run-time.
const LOOKS: usize = 100;

/// One cell's ends of connections and barriers.
pub(super) enum Fabric<'a> {
    /// All nodes are threads of one process, or processes of one host.
    Shared(Box<Shared<'a>>),
    /// Messages; with times in a simulation.
    Messages(Box<Messages<'a>>),
}

pub(super) struct Shared<'a> {
    pub(super) watch: Watch<'a>,
    senders: Vec<Option<Sender>>,
    receivers: Vec<Option<Receiver>>,
    /// By barrier: this cell's steps, and how often it has come to it.
    barriers: Vec<(Vec<Resolved>, u64)>,
    /// Counters of barriers: how often this cell has raised each, or has seen it raised.
    counts: Vec<(Count, u64)>,
    /// By connection: the readiness counter that this cell raises or awaits, and its count so far.
    ready: BTreeMap<usize, (Count, u64)>,
    pub(super) spools: Spools<'a>,
}

#[derive(Clone, Copy)]
struct Resolved {
    sends: bool,
    count: usize,
    /// The machine's cell at the other end.
    other: usize,
}

impl<'a> Fabric<'a> {
    /// Collective. `timed`: true if messages carry times, which only messages can; `circuits`: the
    /// picoseconds of a cycle, if the node is of a simulated machine with circuits.
    pub(super) fn open(node: &mut Node, image: &'a Image, timed: bool, circuits: Option<f64>) -> Self {
        let watch = Watch::new(node, image, timed);
        if timed {
            return Self::Messages(Box::new(Messages::open(node, watch, true, circuits)));
        }
        let (me, nodes) = (node.rank(), node.size());
        let places = Places::of(image, me, nodes);
        match places.memory(node) {
            Some(all) => Self::Shared(Box::new(Shared::new(watch, me, &places, &all))),
            None => Self::Messages(Box::new(Messages::open(node, watch, false, None))),
        }
    }

    pub(super) fn watch(&mut self) -> &mut Watch<'a> {
        match self {
            Self::Shared(shared) => &mut shared.watch,
            Self::Messages(messages) => &mut messages.watch,
        }
    }

    /// True if a message has arrived on a connection and has not been received.
    pub(super) fn has_arrived(&self, connection: usize) -> bool {
        match self {
            Self::Shared(shared) => shared.has_arrived(connection),
            Self::Messages(messages) => messages.has_arrived(connection),
        }
    }
}

impl<'a> Shared<'a> {
    fn new(watch: Watch<'a>, me: usize, places: &Places, all: &[Arc<Memory>]) -> Self {
        let image = watch.image();
        let mut this = Self {
            watch,
            senders: image.connections.iter().map(|_| None).collect(),
            receivers: image.connections.iter().map(|_| None).collect(),
            barriers: Vec::new(),
            counts: Vec::new(),
            ready: BTreeMap::new(),
            spools: Spools::default(),
        };
        for (number, (ring, ready)) in &places.connections {
            let linked = &image.connections[*number];
            let ring = || Ring::new(&all[linked.to], *ring, linked.depth);
            if linked.from == me {
                this.senders[*number] = Some(Sender::new(ring()));
            }
            if linked.to == me {
                this.receivers[*number] = Some(Receiver::new(ring()));
            }
            this.ready.insert(*number, (all[linked.from].count(*ready), 0));
        }
        for (number, barrier) in image.barriers.iter().enumerate() {
            let mut steps = Vec::new();
            let mut known: BTreeMap<(bool, usize), usize> = BTreeMap::new();
            let member = barrier.cells.iter().position(|cell| *cell == me);
            for (member, step) in member
                .into_iter()
                .flat_map(|member| barrier.schedule.steps(member).iter().map(move |step| (member, step)))
            {
                let (sends, other, ends) = match *step {
                    Step::Send(to) => (true, to, (to, member)),
                    Step::Receive(from) => (false, from, (member, from)),
                };
                let Some(place) = places.steps.get(&(number, ends.0, ends.1)) else { continue };
                let count = *known.entry((sends, other)).or_insert_with(|| {
                    this.counts.push((all[barrier.cells[ends.0]].count(*place), 0));
                    this.counts.len() - 1
                });
                steps.push(Resolved { sends, count, other: barrier.cells[other] });
            }
            this.barriers.push((steps, 0));
        }
        this
    }

    /// Sends a message; waits while the ring is full.
    #[inline]
    #[track_caller]
    pub(super) fn send(&mut self, node: &mut Node, connection: usize, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let Some(Some(sender)) = self.senders.get_mut(connection) else { return };
            if !sender.has_room() {
                let Some(to) = self.watch.image().connections.get(connection).map(|linked| linked.to) else {
                    return;
                };
                let room = |this: &mut Self| this.has_room(connection);
                if !self.wait_for(node, (to, Awaits::Room(connection)), room) {
                    return; // The node unwinds.
                }
                continue;
            }
            let (piece, after) = rest.split_at(rest.len().min(LINE));
            sender.send(piece, after.is_empty());
            if after.is_empty() {
                return;
            }
            rest = after;
        }
    }

    /// Receives a message.
    #[inline]
    #[track_caller]
    pub(super) fn receive(&mut self, node: &mut Node, connection: usize, sink: &mut impl FnMut(&[u8])) {
        loop {
            let Some(Some(receiver)) = self.receivers.get_mut(connection) else { return };
            if !receiver.is_ready() {
                let Some(from) = self.watch.image().connections.get(connection).map(|linked| linked.from)
                else {
                    return;
                };
                let awaits = (from, Awaits::Message(connection));
                if !self.wait_for(node, awaits, |this| this.has_arrived(connection)) {
                    return;
                }
                continue;
            }
            if receiver.take(sink) {
                return;
            }
        }
    }

    fn has_room(&mut self, connection: usize) -> bool {
        self.senders.get_mut(connection).and_then(Option::as_mut).is_some_and(Sender::has_room)
    }

    /// Advances all DMA transfers; returns true if any moved.
    pub(super) fn advance(&mut self) -> bool {
        let mut any = false;
        let moving: Vec<u64> = self.spools.moving().map(|(number, _)| number).collect();
        for number in moving {
            let Some(transfer) = self.spools.get_mut(number) else { continue };
            if transfer.sends {
                let Some(Some(sender)) = self.senders.get_mut(transfer.connection) else { continue };
                while !transfer.ended && sender.has_room() {
                    let rest = transfer.rest();
                    let piece = &rest[..rest.len().min(LINE)];
                    sender.send(piece, piece.len() == rest.len());
                    let sent = piece.len();
                    transfer.sent(sent);
                    any = true;
                }
            } else {
                let Some(Some(receiver)) = self.receivers.get_mut(transfer.connection) else { continue };
                while !transfer.ended && receiver.is_ready() {
                    let mut bytes = [0; LINE];
                    let mut length = 0;
                    let last = receiver.take(&mut |piece| {
                        length = piece.len();
                        bytes[..length].copy_from_slice(piece);
                    });
                    transfer.came(&bytes[..length], last);
                    any = true;
                }
            }
        }
        any
    }

    /// Waits until `there` is true, which the cell that is `awaited` makes true, and advances DMA
    /// transfers meanwhile. False if the node unwinds.
    #[track_caller]
    pub(super) fn wait_for(
        &mut self,
        node: &mut Node,
        awaited: (usize, Awaits),
        mut there: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        if self.spools.is_empty() && look(|| there(self)) {
            return true;
        }
        self.watch.begin();
        loop {
            let letters = self.watch.take();
            if !self.spools.is_empty() && self.advance() {
                // Whatever it waits for may come of this, so it is another wait.
                self.watch.begin();
            }
            if there(self) {
                return true;
            }
            self.watch.attend(node, awaited, letters);
            let movable = |this: &mut Self| {
                let ends: Vec<(usize, bool)> = this
                    .spools
                    .moving()
                    .map(|(_, Transfer { connection, sends, .. })| (*connection, *sends))
                    .collect();
                ends.into_iter().any(|(connection, sends)| {
                    if sends { this.has_room(connection) } else { this.has_arrived(connection) }
                })
            };
            let mut news = |this: &mut Self| there(this) || !this.spools.is_empty() && movable(this);
            let mut any = false;
            node.wait_for_bytes(1, || {
                any = news(self) || self.watch.is_due();
                u64::from(any)
            });
            if !any {
                return false;
            }
        }
    }

    pub(super) fn has_arrived(&self, connection: usize) -> bool {
        self.receivers.get(connection).and_then(Option::as_ref).is_some_and(Receiver::is_ready)
    }

    /// Executes this cell's steps of a barrier.
    #[inline]
    #[track_caller]
    pub(super) fn barrier(&mut self, node: &mut Node, barrier: usize, place: u64) {
        self.watch.come(place);
        let (steps, turn) = &mut self.barriers[barrier];
        *turn += 1;
        let (length, turn) = (steps.len(), *turn);
        for at in 0..length {
            let step = self.barriers[barrier].0[at];
            let (counter, count) = &mut self.counts[step.count];
            *count += 1;
            let count = *count;
            if step.sends {
                counter.raise_at(count, turn, place);
                continue;
            }
            let there = |this: &mut Self| this.counts[step.count].0.get() >= count;
            if counter.get() < count && !self.wait_for(node, (step.other, Awaits::Step), there) {
                return;
            }
            // The other cell may have gone on to the next barrier of these cells, but no further.
            let theirs = self.counts[step.count].0.name_of(turn);
            if theirs != place {
                self.watch.mismatch(node, step.other, theirs);
            }
        }
    }

    pub(super) fn tell_ready(&mut self, connection: usize, place: u64) {
        if let Some((counter, count)) = self.ready.get_mut(&connection) {
            *count += 1;
            counter.raise_at(*count, *count, place);
        }
    }

    #[track_caller]
    pub(super) fn await_ready(&mut self, node: &mut Node, (connection, to): (usize, usize), place: u64) {
        self.watch.come(place);
        let Some((_, count)) = self.ready.get_mut(&connection) else { return };
        *count += 1;
        let count = *count;
        let told =
            |this: &mut Self| this.ready.get(&connection).is_some_and(|(counter, _)| counter.get() >= count);
        if !self.wait_for(node, (to, Awaits::Ready(connection)), told) {
            return;
        }
        let Some((counter, _)) = self.ready.get(&connection) else { return };
        let theirs = counter.name_of(count);
        if counter.knows(count) && theirs != place {
            self.watch.mismatch(node, to, theirs);
        }
    }
}

/// True if `there` is true soon.
#[inline]
fn look(mut there: impl FnMut() -> bool) -> bool {
    for _ in 0..LOOKS {
        if there() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}
