//! Transport of connections and barriers: memory shared by the nodes of one host, or messages.

use super::RunOptions;
use super::memory::{Count, Memory, Places};
use super::messages::Messages;
use super::ring::{Loan, Receiver, Ring, Sender, Taken};
use super::sink::Sink;
use super::spool::{Spools, Transfer};
use super::watch::{Awaits, Watch};
use crate::barrier::Step;
use crate::link::Image;
use std::collections::BTreeMap;
use std::sync::Arc;
use strata_runtime::Node;

/// Bytes that are copied between two polls of a copy's end.
const LINE: usize = 64;

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
    /// Collective. In simulated time messages carry times, which only messages can; `circuits`: the
    /// picoseconds of a cycle, if the node is of a simulated machine with circuits.
    pub(super) fn open(
        node: &mut Node,
        image: &'a Image,
        options: RunOptions,
        circuits: Option<f64>,
    ) -> Self {
        let timed = options.simulated;
        let watch = Watch::new(node, image, timed);
        if timed || options.apart {
            return Self::Messages(Box::new(Messages::open(node, watch, timed, circuits)));
        }
        let (me, nodes) = (node.rank(), node.size());
        // The nodes of a simulated machine exchange messages, which take its time.
        let shared = if node.is_simulated() {
            None
        } else {
            let processes = node.share(Arc::new(())).is_none();
            let places = Places::of(image, me, nodes, processes);
            places.memory(node, processes).map(|all| (places, all, processes))
        };
        match shared {
            Some((places, all, processes)) => {
                Self::Shared(Box::new(Shared::new(watch, me, &places, (&all, processes))))
            }
            None => Self::Messages(Box::new(Messages::open(node, watch, false, None))),
        }
    }

    pub(super) fn watch(&mut self) -> &mut Watch<'a> {
        match self {
            Self::Shared(shared) => &mut shared.watch,
            Self::Messages(messages) => &mut messages.watch,
        }
    }

    pub(super) fn spools(&self) -> &Spools<'a> {
        match self {
            Self::Shared(shared) => &shared.spools,
            Self::Messages(messages) => &messages.spools,
        }
    }

    pub(super) fn spools_mut(&mut self) -> &mut Spools<'a> {
        match self {
            Self::Shared(shared) => &mut shared.spools,
            Self::Messages(messages) => &mut messages.spools,
        }
    }

    pub(super) fn advance(&mut self, node: &mut Node) {
        match self {
            Self::Shared(shared) => shared.advance(),
            Self::Messages(messages) => messages.advance(node),
        };
    }

    /// Waits for the end of a DMA transfer.
    #[track_caller]
    pub(super) fn wait_for_spool(&mut self, node: &mut Node, number: u64) {
        let Some(transfer) = self.spools().transfers.get(&number) else { return };
        let awaits = if transfer.sends { Awaits::Room } else { Awaits::Message };
        let awaited = (transfer.end.peer, awaits(transfer.end.connection));
        let ended = |spools: &Spools<'_>| spools.transfers.get(&number).is_none_or(|transfer| transfer.ended);
        match self {
            Self::Shared(shared) => shared.wait_for(node, awaited, |this| ended(&this.spools)),
            Self::Messages(messages) => messages.wait_for(node, awaited, |this, _| ended(&this.spools)),
        };
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
    fn new(watch: Watch<'a>, me: usize, places: &Places, (all, processes): (&[Arc<Memory>], bool)) -> Self {
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
        for (number, at) in &places.connections {
            let linked = &image.connections[*number];
            let ring = || Ring::new(&all[linked.to], (at.ring, at.desk), linked.depth, processes);
            if linked.from == me {
                this.senders[*number] = Some(Sender::new(ring()));
            }
            if linked.to == me {
                this.receivers[*number] = Some(Receiver::new(ring()));
            }
            this.ready.insert(*number, (all[linked.from].count(at.ready), 0));
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

    #[inline]
    fn sender(&mut self, connection: usize) -> Option<&mut Sender> {
        self.senders.get_mut(connection)?.as_mut()
    }

    #[inline]
    fn receiver(&mut self, connection: usize) -> Option<&mut Receiver> {
        self.receivers.get_mut(connection)?.as_mut()
    }

    /// What an end of a connection waits for, and at which cell.
    fn awaited(&self, connection: usize, sends: bool) -> (usize, Awaits) {
        let linked = &self.watch.image().connections[connection];
        match sends {
            true => (linked.to, Awaits::Room(connection)),
            false => (linked.from, Awaits::Message(connection)),
        }
    }

    /// Sends a message; waits while the ring is full.
    #[inline]
    #[track_caller]
    pub(super) fn send(&mut self, node: &mut Node, connection: usize, bytes: &[u8]) {
        if let Some(sender) = self.sender(connection)
            && let Some(loan) = sender.loan(bytes.len())
        {
            return self.send_there(node, connection, &loan, bytes);
        }
        let mut rest = bytes;
        loop {
            let Some(sender) = self.sender(connection) else { return };
            if !sender.has_room(rest.len()) {
                if !self.wait_for_room(node, connection, rest.len()) {
                    return; // The node unwinds.
                }
                continue;
            }
            let sent = sender.send(rest);
            rest = &rest[sent..];
            if rest.is_empty() {
                if !sender.may_go_on(bytes.len()) {
                    let sent = |this: &mut Self| {
                        this.sender(connection).is_none_or(|sender| sender.may_go_on(bytes.len()))
                    };
                    self.wait_for(node, self.awaited(connection, true), sent);
                }
                return;
            }
        }
    }

    /// Sends a message into memory that its receiver lends: one longer than what may be under way, for
    /// which this cell waits for the receiver in any case, or one whose receiver waits already.
    #[cold]
    #[track_caller]
    fn send_there(&mut self, node: &mut Node, connection: usize, loan: &Loan, bytes: &[u8]) {
        if !self.wait_for_room(node, connection, 0) {
            return;
        }
        if let Some(sender) = self.sender(connection) {
            sender.announce(loan);
        }
        if loan.is_lent() || self.wait_for(node, self.awaited(connection, true), |_| loan.is_lent()) {
            loan.write(bytes);
        }
    }

    /// Receives an announced message into memory that is lent to its sender.
    #[cold]
    #[track_caller]
    fn receive_here(&mut self, node: &mut Node, connection: usize, loan: &Loan, sink: &mut impl Sink) {
        let room = sink.room(loan.bytes).unwrap_or_default();
        loan.desk.lend(loan.number, room, || self.wait_until_written(node, connection, loan));
    }

    #[track_caller]
    fn wait_until_written(&mut self, node: &mut Node, connection: usize, loan: &Loan) {
        // A short copy is awaited about as long as it takes: this core has nothing better to do.
        if look((loan.bytes / LINE).min(MOST_LOOKS), || loan.is_written()) {
            return;
        }
        self.wait_for(node, self.awaited(connection, false), |_| loan.is_written());
    }

    /// Waits for the next line of a connection; false if the node unwinds.
    #[track_caller]
    fn wait_for_line(&mut self, node: &mut Node, connection: usize) -> bool {
        self.wait_for(node, self.awaited(connection, false), |this| this.has_arrived(connection))
    }

    /// Waits for the next line of a connection, and lends memory meanwhile: then the sender finds
    /// it when it comes. Returns true if the message has come into it.
    #[cold]
    #[track_caller]
    fn receive_ahead(&mut self, node: &mut Node, connection: usize, loan: &Loan, room: &mut [u8]) -> bool {
        loan.desk.lend(loan.number, room, || {
            if self.wait_for_line(node, connection)
                && let Some(receiver) = self.receiver(connection)
                && receiver.is_announced()
            {
                self.wait_until_written(node, connection, loan);
            }
        })
    }

    /// Waits for room for the next piece of so many bytes. False if the node unwinds.
    #[track_caller]
    fn wait_for_room(&mut self, node: &mut Node, connection: usize, rest: usize) -> bool {
        self.wait_for(node, self.awaited(connection, true), |this| this.has_room(connection, rest))
    }

    #[inline]
    #[track_caller]
    pub(super) fn receive(&mut self, node: &mut Node, connection: usize, sink: &mut impl Sink) {
        loop {
            let Some(receiver) = self.receiver(connection) else { return };
            if !receiver.is_ready() {
                let ahead = sink.whole().and_then(|room| Some((receiver.loan_ahead(room.len())?, room)));
                if let Some((loan, room)) = ahead {
                    if self.receive_ahead(node, connection, &loan, room) {
                        // The message is where it belongs: only its line is left to take.
                        if let Some(receiver) = self.receiver(connection)
                            && let Taken::Announced(loan) = receiver.take(sink)
                        {
                            sink.room(loan.bytes);
                        }
                        return;
                    }
                    if !self.has_arrived(connection) {
                        return; // The node unwinds.
                    }
                } else if !self.wait_for_line(node, connection) {
                    return;
                }
                continue;
            }
            match receiver.take(sink) {
                Taken::Piece => {}
                Taken::Last => return,
                Taken::Announced(loan) => return self.receive_here(node, connection, &loan, sink),
            }
        }
    }

    /// True if there is room for the next piece of so many bytes.
    fn has_room(&mut self, connection: usize, rest: usize) -> bool {
        self.sender(connection).is_some_and(|sender| sender.has_room(rest))
    }

    /// Advances all DMA transfers; returns true if any moved.
    pub(super) fn advance(&mut self) -> bool {
        if self.spools.transfers.is_empty() {
            return false;
        }
        let mut any = false;
        let moving: Vec<u64> = self.spools.moving().map(|(number, _)| number).collect();
        for number in moving {
            let Some(transfer) = self.spools.transfers.get_mut(&number) else { continue };
            if transfer.sends {
                let Some(Some(sender)) = self.senders.get_mut(transfer.end.connection) else { continue };
                any |= send_some(sender, transfer);
            } else {
                let Some(Some(receiver)) = self.receivers.get_mut(transfer.end.connection) else { continue };
                any |= receive_some(receiver, transfer);
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
        if self.spools.transfers.is_empty() && look(LOOKS, || there(self)) {
            return true;
        }
        self.watch.begin();
        let mut any = true;
        while any {
            let letters = self.watch.take();
            let mut moved = self.advance();
            if there(self) {
                return true;
            }
            // Whatever it waits for may come of a transfer's move, so it is another wait.
            if moved {
                self.watch.begin();
            }
            self.watch.attend(node, awaited, letters);
            (any, moved) = (false, false);
            node.wait_for_bytes(1, || {
                moved |= self.advance();
                any = moved || there(self) || self.watch.is_due();
                u64::from(any)
            });
            if moved {
                self.watch.begin();
            }
        }
        false
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
                self.watch.mismatch(node, Some(step.other), theirs);
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
            self.watch.mismatch(node, Some(to), theirs);
        }
    }
}

/// Advances a transfer that sends; true if it moved.
fn send_some(sender: &mut Sender, transfer: &mut Transfer<'_>) -> bool {
    if transfer.loan().is_none()
        && transfer.lengths().0 == 0
        && let Some(loan) = sender.loan(transfer.rest().len())
    {
        let room = sender.has_room(0);
        if room {
            sender.announce(&loan);
            transfer.waits_for(loan);
        }
        return room;
    }
    if let Some(loan) = transfer.loan() {
        let lent = loan.is_lent();
        if lent {
            loan.write(transfer.rest());
            transfer.sent(transfer.rest().len());
        }
        return lent;
    }
    let mut any = false;
    while !transfer.ended && sender.has_room(transfer.rest().len()) {
        let sent = sender.send(transfer.rest());
        transfer.sent(sent);
        any = true;
    }
    any
}

/// Advances a transfer that receives; true if it moved.
fn receive_some(receiver: &mut Receiver, transfer: &mut Transfer<'_>) -> bool {
    if let Some(loan) = transfer.loan() {
        let written = loan.is_written();
        if written {
            transfer.take_back();
        }
        return written;
    }
    let mut any = false;
    while !transfer.ended && transfer.loan().is_none() && receiver.is_ready() {
        match receiver.take(transfer) {
            Taken::Piece => {}
            Taken::Last => transfer.ended = true,
            Taken::Announced(loan) => transfer.lend(loan),
        }
        any = true;
    }
    any
}

/// The most looks for a copy under way, some 0.1 ms: after them the node waits as for any message,
/// gives way to others, and sees that its job has failed.
const MOST_LOOKS: usize = 2048;

/// True if `there` is true soon.
#[inline]
fn look(times: usize, mut there: impl FnMut() -> bool) -> bool {
    for _ in 0..times {
        if there() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}
