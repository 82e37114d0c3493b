//! Connections by messages: for nodes that share no memory, and for simulated time.
//!
//! Pieces of messages, credits for them and steps of barriers are items. An item is delivered to
//! another node as an active message, or, on a simulated machine with reserved circuits, into its
//! memory with the time of arrival.

use super::cell::Active;
use super::installed;
use super::links::Links;
use super::mail::{ByConnection, Bytes, Inbox, Item, Key, Mail, Piece, TAG, What};
use super::puts::{Ports, is_long};
use super::sink::Sink;
use super::spool::{Spools, Transfer};
use super::watch::{Awaits, Watch};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use strata_runtime::{
    Node,
    message::{Request, WithBytes},
};

/// The most bytes of data in a piece.
const LARGE: usize = 254 * 8;

/// The delivery of items.
enum Way {
    Packets(Rc<Packets>),
    /// Into the memory of each node, over the machine's links.
    Circuits(Vec<Arc<Mail>>, Links),
}

/// The requests that bring items: heads, then what these have besides.
struct Packets {
    /// A piece. It carries no time, so that a piece with one number, the usual case, is one packet
    /// even if packets hold four words.
    piece: Request<WithBytes<u64>>,
    /// As `piece`, with the time.
    timed_piece: Request<WithBytes<[u64; 2]>>,
    /// Any other item: its value.
    note: Request<[u64; 2]>,
    timed_note: Request<[u64; 3]>,
}

/// A node's end of all its connections.
pub(super) struct Messages<'a> {
    pub(super) watch: Watch<'a>,
    mail: Arc<Mail>,
    /// True if pieces carry times, as in simulations.
    timed: bool,
    way: Way,
    /// The run's number, carried by its messages.
    tag: u64,
    /// By connection: bytes sent, and bytes that the receiver is known to have taken.
    sent: ByConnection<[u64; 2]>,
    untold: ByConnection<u64>,
    /// By connection: how often it has become active.
    lives: ByConnection<usize>,
    pub(super) spools: Spools<'a>,
    ports: Ports,
}

/// One end of a connection.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub(super) connection: usize,
    /// The node at the other end.
    pub(super) peer: usize,
    pub(super) depth: usize,
    pub(super) active: Active<'a>,
}

/// Bits of the number of a connection's lives in a piece's head.
const LIFE: u32 = 16;

impl Packets {
    /// Collective.
    fn install(node: &mut Node, mail: &Arc<Mail>) -> Self {
        let mut handlers = node.handlers();
        let own = || Arc::clone(mail);
        let mail = own();
        let piece = handlers.request_with_bytes(move |_, head, bytes| mail.came(head, 0, 0, bytes));
        let mail = own();
        let timed_piece = handlers
            .request_with_bytes(move |_, [head, time]: [u64; 2], bytes| mail.came(head, 0, time, bytes));
        let mail = own();
        let note = handlers.request(move |_, [head, value]: [u64; 2]| mail.came(head, value, 0, &[]));
        let mail = own();
        let timed_note =
            handlers.request(move |_, [head, value, time]: [u64; 3]| mail.came(head, value, time, &[]));
        node.install(handlers);
        Self { piece, timed_piece, note, timed_note }
    }
}

impl<'a> Messages<'a> {
    /// Collective. `timed`: true if messages carry times; `circuits`: the picoseconds of a cycle,
    /// if connections use a simulated machine's circuits.
    pub(super) fn open(node: &mut Node, watch: Watch<'a>, timed: bool, circuits: Option<f64>) -> Self {
        let (sent, untold, lives) = Default::default();
        let (spools, ports) = (Spools::default(), Ports::default());
        let new =
            |watch, mail, way, tag| Self { watch, mail, timed, way, tag, sent, untold, lives, spools, ports };
        if let Some(clock) = circuits {
            let mail = Arc::<Mail>::default();
            let links = Links::open(node, watch.image(), clock);
            if let (Some(links), Some(mails)) = (links, node.circuit_share(Arc::clone(&mail))) {
                return new(watch, mail, Way::Circuits(mails, links), 0);
            }
        }
        let (packets, mail) = installed(node, |node| {
            let mail = Arc::<Mail>::default();
            (Rc::new(Packets::install(node, &mail)), mail)
        });
        let tag = (mail.open().tag + 1) & ((1 << TAG) - 1);
        *mail.open() = Inbox { tag, ..Inbox::default() };
        // No node sends before all inboxes are empty.
        node.barrier();
        new(watch, mail, Way::Packets(packets), tag)
    }

    /// Delivers an item, and the bytes of a piece, at node `to`: as a message, or into its memory with
    /// arrival at `arrival`.
    fn tell(&self, node: &mut Node, to: usize, item: Item, bytes: &[u8], arrival: f64) {
        let (head, time) = (item.head(self.tag), item.time.to_bits());
        match &self.way {
            Way::Packets(by) => match (item.key.0.has_bytes(), self.timed) {
                (true, false) => node.send_with_bytes(to, by.piece, head, bytes),
                (true, true) => node.send_with_bytes(to, by.timed_piece, [head, time], bytes),
                (false, false) => node.send(to, by.note, [head, item.value]),
                (false, true) => node.send(to, by.timed_note, [head, item.value, time]),
            },
            Way::Circuits(mails, links) => {
                if let Some(mail) = mails.get(to) {
                    mail.tell(item, bytes);
                }
                node.circuit_wake(to, links.time(arrival));
            }
        }
    }

    /// The bytes of the next piece if `rest` bytes are left. On circuits no more are under way than
    /// the buffers hold, which is more than one piece.
    fn piece_of(&self, depth: usize, rest: usize) -> usize {
        let most = if let Way::Circuits(..) = self.way { (depth / 4).clamp(8, LARGE) } else { LARGE };
        rest.min(most)
    }

    /// True if the next piece of a connection may leave; takes the credits that it needs. In
    /// simulated time it leaves at `time` at the earliest.
    fn may_leave(&mut self, end: End, piece: usize, time: &mut f64) -> bool {
        let [before, taken] = self.sent.of(end.connection);
        let room = |taken: u64| has_room(*before - taken, piece, end.depth);
        while !room(*taken) {
            let credit = self.mail.open().taken.of(end.connection).pop_front();
            let Some((bytes, at)) = credit else { return false };
            *taken += bytes;
            *time = time.max(at);
        }
        true
    }

    /// Sends the next piece of `rest`, for which credits must be available; returns its length. In
    /// simulated time it leaves at `time` plus the time of its bytes.
    fn send_piece(&mut self, node: &mut Node, end: End, rest: &[u8], time: f64) -> usize {
        let piece = &rest[..self.piece_of(end.depth, rest.len())];
        let last = piece.len() == rest.len();
        let counts = self.sent.of(end.connection);
        counts[0] += piece.len().max(8) as u64;
        let arrival = time + end.active.latency;
        let what = if last { What::Last } else { What::Piece };
        let key = (what, (end.connection, self.life(end.connection)));
        self.tell(node, end.peer, Item { key, value: 0, time: arrival }, piece, arrival);
        piece.len()
    }

    /// True if a message of so many bytes is announced, and put in one piece.
    fn is_put(&self, end: End, bytes: usize) -> bool {
        !self.timed && is_long(bytes, end.depth)
    }

    /// Announces a message when credits of a word are available, and puts it when its receiver has
    /// opened a port for it. True when it has left.
    #[track_caller]
    fn put(&mut self, node: &mut Node, end: End, bytes: &[u8], announced: &mut bool) -> bool {
        if !*announced {
            if !self.may_leave(end, 8, &mut 0.0) {
                return false;
            }
            *announced = true;
            self.sent.of(end.connection)[0] += 8;
            let key = (What::Announced, (end.connection, self.life(end.connection)));
            let item = Item { key, value: bytes.len() as u64, time: 0.0 };
            self.tell(node, end.peer, item, &[], 0.0);
        }
        let port = self.mail.open().opened.of(end.connection).pop_front();
        port.inspect(|port| node.put(end.peer, *port, 0, bytes)).is_some()
    }

    /// Opens a port for an announced message, and tells its sender.
    fn open_port(&mut self, node: &mut Node, end: End, bytes: usize) -> Option<usize> {
        let port = self.ports.open(node, &self.mail, bytes)?;
        let item = Item { key: (What::Opened, (end.connection, 0)), value: port as u64, time: 0.0 };
        self.tell(node, end.peer, item, &[], 0.0);
        Some(port)
    }

    /// Receives an announced message.
    #[track_caller]
    fn receive_put(&mut self, node: &mut Node, end: End, bytes: usize, sink: &mut impl Sink) {
        let Some(port) = self.open_port(node, end, bytes) else { return };
        let mut came = None;
        self.wait_for(node, (end.peer, Awaits::Message(end.connection)), |this, node| {
            came = this.ports.take(node, &this.mail, port);
            came.is_some()
        });
        if let Some(came) = came {
            sink.put(&came);
        }
    }

    /// Sends a message, at most `depth` bytes ahead of its receiver; returns the time at which it
    /// has left.
    #[track_caller]
    pub(super) fn send(&mut self, node: &mut Node, end: End, bytes: &[u8], mut time: f64) -> f64 {
        if self.is_put(end, bytes.len()) {
            let mut announced = false;
            let there = |this: &mut Self, node: &mut Node| this.put(node, end, bytes, &mut announced);
            self.wait_for(node, (end.peer, Awaits::Room(end.connection)), there);
            return time;
        }
        let mut sent = 0;
        loop {
            let rest = &bytes[sent..];
            let piece = self.piece_of(end.depth, rest.len());
            let mut leaves = time;
            let awaited = (end.peer, Awaits::Room(end.connection));
            if !self.wait_for(node, awaited, |this, _| this.may_leave(end, piece, &mut leaves)) {
                return time;
            }
            time = leaves;
            let after = sent + piece;
            time = match &self.way {
                Way::Circuits(_, links) => links.pass(node, end.active, (sent, after), time),
                Way::Packets(_) => time + cycles((sent, after), end.active.rate),
            };
            self.send_piece(node, end, rest, time);
            sent = after;
            if sent == bytes.len() {
                return time;
            }
        }
    }

    /// Takes the next piece of a connection, if it has arrived.
    fn take(&mut self, node: &mut Node, end: End, time: &mut f64) -> Option<Piece> {
        let piece = self.mail.open().pieces.of(end.connection).pop_front()?;
        if piece.life != self.life(end.connection) {
            // It came after the switch that ended the connection's former life.
            self.watch.unread(node, end.connection);
        }
        *time = time.max(piece.time);
        let untold = self.untold.of(end.connection);
        *untold += piece.bytes.len().max(8) as u64;
        if *untold >= untold_at(end.depth) {
            let bytes = std::mem::take(untold);
            let at = *time + end.active.latency;
            let item = Item { key: (What::Taken, (end.connection, 0)), value: bytes, time: at };
            self.tell(node, end.peer, item, &[], at);
        }
        Some(piece)
    }

    /// Receives a message; returns the arrival time of its last byte.
    #[track_caller]
    pub(super) fn receive(&mut self, node: &mut Node, end: End, mut time: f64, sink: &mut impl Sink) -> f64 {
        loop {
            let (mut piece, mut came) = (None, time);
            self.wait_for(node, (end.peer, Awaits::Message(end.connection)), |this, node| {
                piece = this.take(node, end, &mut came);
                piece.is_some()
            });
            let Some(piece) = piece else { return time };
            if let Bytes::Announced(bytes) = piece.bytes {
                self.receive_put(node, end, bytes, sink);
                return came;
            }
            // A cell takes data that wait for it as fast as a link brings them, word by word.
            time = match &self.way {
                Way::Circuits(_, links) => came.max(time + links.cycles(piece.bytes.len())),
                Way::Packets(_) => came,
            };
            sink.put(&piece.bytes);
            if piece.last {
                return time;
            }
        }
    }

    pub(super) fn has_arrived(&self, connection: usize) -> bool {
        self.mail.open().pieces.get(connection).is_some_and(|pieces| !pieces.is_empty())
    }

    fn has_credit(&self, connection: usize) -> bool {
        self.mail.open().taken.get(connection).is_some_and(|credits| !credits.is_empty())
    }

    /// Advances all DMA transfers; returns true if any moved.
    pub(super) fn advance(&mut self, node: &mut Node) -> bool {
        let mut any = false;
        loop {
            let next = self.spools.moving().find(|(_, of)| self.movable(of)).map(|(number, _)| number);
            let Some(number) = next else { return any };
            let Some(mut transfer) = self.spools.transfers.remove(&number) else { return any };
            let end = transfer.end;
            let mut time = transfer.time;
            if transfer.sends && self.is_put(end, transfer.lengths().1) {
                let (before, mut announced) = (transfer.announced, transfer.announced);
                let left = self.put(node, end, transfer.rest(), &mut announced);
                transfer.announced = announced;
                if left {
                    transfer.sent(transfer.rest().len());
                }
                any |= left || announced != before;
            } else if let Some(port) = transfer.port {
                if let Some(came) = self.ports.take(node, &self.mail, port) {
                    transfer.put(&came);
                    (transfer.port, transfer.ended, any) = (None, true, true);
                }
            } else if transfer.sends {
                let rest = transfer.rest();
                let (piece, before) = (self.piece_of(end.depth, rest.len()), transfer.lengths().0);
                if self.may_leave(end, piece, &mut time) {
                    let spooled = time + self.watch.image().target.spool_byte * piece as f64;
                    time += match &self.way {
                        Way::Circuits(_, links) => {
                            links.take(end.active, (before, before + piece), time) - time
                        }
                        Way::Packets(_) => cycles((before, before + piece), end.active.rate),
                    };
                    time = time.max(spooled);
                    let sent = self.send_piece(node, end, rest, time);
                    transfer.sent(sent);
                    any = true;
                }
            } else if let Some(piece) = self.take(node, end, &mut time) {
                if let Bytes::Announced(bytes) = piece.bytes {
                    transfer.port = self.open_port(node, end, bytes);
                } else {
                    let spool = self.watch.image().target.spool_byte * piece.bytes.len() as f64;
                    time = time.max(transfer.time + spool);
                    transfer.put(&piece.bytes);
                    transfer.ended = piece.last;
                }
                any = true;
            }
            transfer.time = time;
            self.spools.transfers.insert(number, transfer);
        }
    }

    /// True if a transfer can move, or new reports about it have arrived.
    fn movable(&self, transfer: &Transfer) -> bool {
        if transfer.announced {
            return self
                .mail
                .open()
                .opened
                .get(transfer.end.connection)
                .is_some_and(|ports| !ports.is_empty());
        }
        if let Some(port) = transfer.port {
            return self.mail.open().whole.contains(&port);
        }
        if !transfer.sends {
            let inbox = self.mail.open();
            let first = inbox.pieces.get(transfer.end.connection).and_then(VecDeque::front);
            let announced = |piece: &Piece| matches!(piece.bytes, Bytes::Announced(_));
            return first.is_some_and(|piece| !announced(piece) || self.ports.has_free());
        }
        let [before, taken] = self.sent.get(transfer.end.connection).copied().unwrap_or_default();
        let rest = transfer.rest().len();
        let is_put = self.is_put(transfer.end, rest);
        let piece = if is_put { 8 } else { self.piece_of(transfer.end.depth, rest) };
        has_room(before - taken, piece, transfer.end.depth) || self.has_credit(transfer.end.connection)
    }

    /// Waits until `there` is true, which the cell that is `awaited` makes true, and advances DMA
    /// transfers meanwhile. False if the node unwinds.
    #[inline]
    #[track_caller]
    pub(super) fn wait_for(
        &mut self,
        node: &mut Node,
        awaited: (usize, Awaits),
        mut there: impl FnMut(&mut Self, &mut Node) -> bool,
    ) -> bool {
        let mut waits = false;
        loop {
            let (seen, letters) = (self.mail.arrivals(), self.watch.take());
            let moved = !self.spools.transfers.is_empty() && self.advance(node);
            if there(self, node) {
                return true;
            }
            // Where transfers move, what is awaited may come of it: then it is another wait.
            if !std::mem::replace(&mut waits, true) || moved {
                self.watch.begin();
            }
            self.watch.attend(node, awaited, letters);
            let mut any = false;
            let mut news = || {
                any = self.mail.arrivals() != seen || self.watch.is_due();
                any
            };
            match self.way {
                Way::Packets(_) => node.wait_until(news),
                Way::Circuits(..) => node.circuit_wait(&mut news),
            }
            // Without news, the wait returns only if the node unwinds.
            if !any {
                return false;
            }
        }
    }

    /// The number of a connection's life: how often it has become active.
    fn life(&self, connection: usize) -> usize {
        self.lives.get(connection).map_or(0, |life| life & ((1 << LIFE) - 1))
    }

    /// A connection that begins or ends here becomes active.
    pub(super) fn enter(&mut self, connection: usize) {
        *self.lives.of(connection) += 1;
    }

    /// Tells node `to` that this one is at the place with this name: by a step of a barrier, or by
    /// readiness.
    pub(super) fn tell_place(
        &self,
        node: &mut Node,
        to: usize,
        key: Key,
        place: u64,
        (time, arrival): (f64, f64),
    ) {
        self.tell(node, to, Item { key, value: place, time }, &[], arrival);
    }

    /// Waits until cell `other` is at the same place; returns its time of sending.
    #[track_caller]
    pub(super) fn await_place(&mut self, node: &mut Node, other: usize, key: Key, place: u64) -> f64 {
        self.watch.come(place);
        let awaits = if key.0 == What::Ready { Awaits::Ready(key.1.0) } else { Awaits::Step };
        let mut came = None;
        self.wait_for(node, (other, awaits), |this, _| {
            came = this.mail.open().places.get_mut(&key).and_then(VecDeque::pop_front);
            came.is_some()
        });
        // Nothing has come only if the node unwinds.
        let Some((time, theirs)) = came else { return 0.0 };
        if theirs != place {
            self.watch.mismatch(node, Some(other), theirs);
        }
        time
    }
}

/// Cycles of a message's bytes from one count to another: those of the whole message are a whole
/// number.
pub(super) fn cycles((from, to): (usize, usize), rate: f64) -> f64 {
    let [from, to] = [from, to].map(|bytes| (bytes as f64 / rate).floor());
    to - from
}

/// True if a piece may leave when so many bytes have left that are not known to be taken. The
/// receiver may have taken up to [`untold_at`] more than it has reported: so a message as long as
/// the buffer leaves when all before it are taken, and so does a piece longer than the buffer. An
/// empty message counts as one word.
fn has_room(untaken: u64, piece: usize, depth: usize) -> bool {
    let untold = untold_at(depth);
    untaken < untold || untaken + piece.max(8) as u64 <= depth as u64 + untold
}

/// The number of taken bytes at which a receiver reports to the sender.
fn untold_at(depth: usize) -> u64 {
    (depth as u64 / 4).max(1)
}
