//! What carries connections and barriers: memory that threads share, or messages.

use super::messages::Messages;
use super::ring::{Counter, LINE, Receiver, Ring, Sender};
use crate::barrier::Step;
use crate::link::Image;
use std::collections::BTreeMap;
use std::sync::Arc;
use strata_runtime::Node;

/// Looks for a line before the node waits in the run-time.
const LOOKS: usize = 100;

/// One cell's ends of connections and barriers.
pub(super) enum Fabric {
    /// All nodes are threads of one process.
    Shared(Box<Shared>),
    /// Messages; with times where they are those of a simulation.
    Messages(Box<Messages>),
}

/// What a cell receives in.
#[derive(Default)]
struct Own {
    rings: BTreeMap<usize, Arc<Ring>>,
    /// By barrier and sending member.
    steps: BTreeMap<(usize, usize), Arc<Counter>>,
    /// By connection: of its receiver's readiness; the sender waits for it.
    ready: BTreeMap<usize, Arc<Counter>>,
}

pub(super) struct Shared {
    senders: Vec<Option<Sender>>,
    receivers: Vec<Option<Receiver>>,
    /// By barrier: this cell's steps.
    barriers: Vec<Vec<Resolved>>,
    /// Counters of barriers: how often this cell has raised each, or seen it raised.
    counts: Vec<(Arc<Counter>, u64)>,
    /// By connection: readiness that this cell tells or awaits, and how often it has.
    ready: BTreeMap<usize, (Arc<Counter>, u64)>,
}

#[derive(Clone, Copy)]
struct Resolved {
    sends: bool,
    count: usize,
}

impl Fabric {
    /// Collective. `timed`: whether messages carry times, which only messages do.
    pub(super) fn open(node: &mut Node, image: &Image, timed: bool) -> Self {
        if timed {
            return Self::Messages(Box::new(Messages::install(node)));
        }
        let me = node.rank();
        let mut own = Own::default();
        for (number, linked) in image.connections.iter().enumerate() {
            if linked.to == me {
                own.rings.insert(number, Ring::new(linked.depth));
            }
            if linked.from == me {
                own.ready.insert(number, Arc::default());
            }
        }
        for (number, barrier) in image.barriers.iter().enumerate() {
            let Some(member) = barrier.cells.iter().position(|cell| *cell == me) else { continue };
            for step in barrier.schedule.steps(member) {
                if let Step::Receive(from) = step {
                    own.steps.entry((number, *from)).or_default();
                }
            }
        }
        match node.share(Arc::new(own)) {
            Some(all) => Self::Shared(Box::new(Shared::new(image, me, &all))),
            None => Self::Messages(Box::new(Messages::install(node))),
        }
    }
}

impl Shared {
    fn new(image: &Image, me: usize, all: &[Arc<Own>]) -> Self {
        let mut this = Self {
            senders: image.connections.iter().map(|_| None).collect(),
            receivers: image.connections.iter().map(|_| None).collect(),
            barriers: Vec::new(),
            counts: Vec::new(),
            ready: BTreeMap::new(),
        };
        for (number, linked) in image.connections.iter().enumerate() {
            let ring = || all.get(linked.to)?.rings.get(&number).map(Arc::clone);
            if linked.from == me {
                this.senders[number] = ring().map(Sender::new);
            }
            if linked.to == me {
                this.receivers[number] = ring().map(Receiver::new);
            }
            if linked.from == me || linked.to == me {
                let ready = all.get(linked.from).and_then(|of| of.ready.get(&number));
                this.ready.extend(ready.map(|counter| (number, (Arc::clone(counter), 0))));
            }
        }
        for (number, barrier) in image.barriers.iter().enumerate() {
            let mut steps = Vec::new();
            let mut known: BTreeMap<(bool, usize), usize> = BTreeMap::new();
            let member = barrier.cells.iter().position(|cell| *cell == me);
            for step in member.map_or(&[][..], |member| barrier.schedule.steps(member)) {
                let (sends, other, receiver, from) = match *step {
                    Step::Send(to) => (true, to, barrier.cells[to], member.unwrap_or(0)),
                    Step::Receive(from) => (false, from, me, from),
                };
                let count = *known.entry((sends, other)).or_insert_with(|| {
                    let counter = all.get(receiver).and_then(|of| of.steps.get(&(number, from)));
                    this.counts.push((counter.map(Arc::clone).unwrap_or_default(), 0));
                    this.counts.len() - 1
                });
                steps.push(Resolved { sends, count });
            }
            this.barriers.push(steps);
        }
        this
    }

    /// Sends a message; waits where the ring is full.
    #[inline]
    #[track_caller]
    pub(super) fn send(&mut self, node: &mut Node, connection: usize, bytes: &[u8]) {
        let Some(Some(sender)) = self.senders.get_mut(connection) else { return };
        let mut rest = bytes;
        loop {
            if !sender.has_room() {
                wait(node, || sender.has_room());
                if !sender.has_room() {
                    return; // The node unwinds.
                }
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
        let Some(Some(receiver)) = self.receivers.get_mut(connection) else { return };
        loop {
            if !receiver.is_ready() {
                wait(node, || receiver.is_ready());
                if !receiver.is_ready() {
                    return;
                }
            }
            if receiver.take(sink) {
                return;
            }
        }
    }

    pub(super) fn has_arrived(&self, connection: usize) -> bool {
        self.receivers.get(connection).and_then(Option::as_ref).is_some_and(Receiver::is_ready)
    }

    /// Executes this cell's steps of a barrier.
    #[inline]
    #[track_caller]
    pub(super) fn barrier(&mut self, node: &mut Node, barrier: usize) {
        for step in &self.barriers[barrier] {
            let (counter, count) = &mut self.counts[step.count];
            *count += 1;
            if step.sends {
                counter.raise(*count);
            } else if counter.get() < *count {
                wait(node, || counter.get() >= *count);
            }
        }
    }

    pub(super) fn tell_ready(&mut self, connection: usize) {
        if let Some((counter, count)) = self.ready.get_mut(&connection) {
            *count += 1;
            counter.raise(*count);
        }
    }

    #[track_caller]
    pub(super) fn await_ready(&mut self, node: &mut Node, connection: usize) {
        if let Some((counter, count)) = self.ready.get_mut(&connection) {
            *count += 1;
            wait(node, || counter.get() >= *count);
        }
    }
}

/// Waits until `there`; the node receives meanwhile, and unwinds where the job ends.
#[inline]
#[track_caller]
fn wait(node: &mut Node, mut there: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if there() {
            return;
        }
        std::hint::spin_loop();
    }
    node.wait_for_bytes(1, || u64::from(there()));
}
