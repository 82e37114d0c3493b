//! Connections by messages: what nodes use that share no memory, and what carries simulated time.
//!
//! Pieces of messages, credits for them, and the steps of barriers are items that are delivered at
//! another node: as active messages, or on a simulated machine with reserved circuits into its memory,
//! with the time at which they are there.

use super::spool::{Spools, Transfer};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_runtime::simulation::Time;
use strata_runtime::{Node, Request};

/// Bytes of data in the smallest pieces: most messages are a number.
const TINY: usize = 8;
/// Bytes of data in a small piece: with its header and time it fills one packet.
const SMALL: usize = 48;
/// Bytes of data in a large one.
const LARGE: usize = 254 * 8;

const WORDS_TINY: usize = 2 + TINY / 8;
const WORDS_SMALL: usize = 2 + SMALL / 8;
const WORDS_LARGE: usize = 2 + LARGE / 8;

/// A piece of a message.
struct Piece {
    bytes: Bytes,
    last: bool,
    time: f64,
}

/// The bytes of a piece; short ones need no allocation.
enum Bytes {
    Short([u8; SMALL], usize),
    Long(Vec<u8>),
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        if bytes.len() > SMALL {
            return Self::Long(bytes.to_vec());
        }
        let mut short = [0; SMALL];
        short[..bytes.len()].copy_from_slice(bytes);
        Self::Short(short, bytes.len())
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Short(bytes, length) => &bytes[..*length],
            Self::Long(bytes) => bytes,
        }
    }
}

/// Something for each connection, by its number.
struct ByConnection<T>(Vec<T>);

impl<T> Default for ByConnection<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByConnection<T> {
    #[inline]
    fn of(&mut self, connection: usize) -> &mut T {
        if connection >= self.0.len() {
            self.0.resize_with(connection + 1, T::default);
        }
        &mut self.0[connection]
    }

    #[inline]
    fn get(&self, connection: usize) -> Option<&T> {
        self.0.get(connection)
    }
}

/// What has arrived at a node. All times are those of arrival.
#[derive(Default)]
struct Inbox {
    /// Which run's messages are for it; others come late, and are of no use any more.
    tag: u64,
    pieces: ByConnection<VecDeque<Piece>>,
    /// Bytes that receivers have taken, by connection, and when it is known.
    taken: ByConnection<VecDeque<(u64, f64)>>,
    /// Messages of barriers: times of sending, by barrier and sender.
    steps: BTreeMap<(usize, usize), VecDeque<f64>>,
    /// Readiness for a set, by connection: times of sending.
    ready: BTreeMap<usize, VecDeque<f64>>,
}

impl Inbox {
    fn piece(&mut self, connection: usize, piece: Piece) {
        self.pieces.of(connection).push_back(piece);
    }

    fn credit(&mut self, connection: usize, bytes: u64, time: f64) {
        self.taken.of(connection).push_back((bytes, time));
    }

    fn step(&mut self, barrier: usize, from: usize, time: f64) {
        self.steps.entry((barrier, from)).or_default().push_back(time);
    }

    fn ready(&mut self, connection: usize, time: f64) {
        self.ready.entry(connection).or_default().push_back(time);
    }
}

type Inboxes = Arc<Mutex<Inbox>>;

/// No code panics while it holds the lock.
fn open(inbox: &Mutex<Inbox>) -> MutexGuard<'_, Inbox> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How items are delivered.
enum Way {
    Packets(Rc<Packets>),
    /// Into the memory of each node; picoseconds of a clock.
    Circuits(Vec<Inboxes>, f64),
}

struct Packets {
    tiny: Request<[u64; WORDS_TINY]>,
    small: Request<[u64; WORDS_SMALL]>,
    large: Request<[u64; WORDS_LARGE]>,
    taken: Request<[u64; 3]>,
    step: Request<[u64; 3]>,
    ready: Request<[u64; 2]>,
}

/// What a node keeps from one run to the next: its handlers, which deliver into the inbox.
#[derive(Default)]
struct Kept {
    packets: Option<(Rc<Packets>, Inboxes)>,
    /// How often handlers had been removed when they were installed.
    removed: u64,
    runs: u64,
}

/// A node's end of all its connections.
pub(super) struct Messages {
    inbox: Inboxes,
    way: Way,
    /// The number of the run, in what it sends as messages.
    tag: u64,
    /// Bytes sent, and of these known to be taken, by connection.
    sent: ByConnection<[u64; 2]>,
    untold: ByConnection<u64>,
    pub(super) spools: Spools,
}

/// One end of a connection.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) connection: usize,
    /// The node at the other end.
    pub(super) peer: usize,
    pub(super) depth: usize,
    /// Bytes a clock.
    pub(super) rate: f64,
    /// Clocks from one end to the other.
    pub(super) latency: f64,
}

impl End {
    fn of(transfer: &Transfer) -> Self {
        Self {
            connection: transfer.connection,
            peer: transfer.peer,
            depth: transfer.depth,
            rate: transfer.active.rate,
            latency: transfer.active.latency,
        }
    }
}

/// A run, and the number of a connection or barrier of it.
fn tagged(tag: u64, number: usize) -> u64 {
    tag << 48 | number as u64
}

/// The number, if it is of this run.
fn untagged(inbox: &Inbox, word: u64) -> Option<usize> {
    (word >> 48 == inbox.tag).then_some((word & ((1 << 48) - 1)) as usize)
}

/// The header: connection, bytes, whether it is the message's last piece.
fn header(tag: u64, connection: usize, bytes: usize, last: bool) -> u64 {
    tagged(tag, connection << 16 | bytes << 1 | usize::from(last))
}

fn arrived(inbox: &Mutex<Inbox>, words: &[u64]) {
    let [header, time, data @ ..] = words else { return };
    let mut inbox = open(inbox);
    let Some(header) = untagged(&inbox, *header) else { return };
    let bytes = (header & 0xffff) >> 1;
    let data: &[u8] = bytemuck::cast_slice(data);
    let bytes = data.get(..bytes).unwrap_or(data).into();
    let piece = Piece { bytes, last: header & 1 == 1, time: f64::from_bits(*time) };
    inbox.piece(header >> 16, piece);
}

impl Packets {
    /// Collective.
    fn install(node: &mut Node, inbox: &Inboxes) -> Self {
        let mut handlers = node.handlers();
        let own = || Arc::clone(inbox);
        let tiny = handlers.request({
            let inbox = own();
            move |_, words: [u64; WORDS_TINY]| arrived(&inbox, &words)
        });
        let small = handlers.request({
            let inbox = own();
            move |_, words: [u64; WORDS_SMALL]| arrived(&inbox, &words)
        });
        let large = handlers.request({
            let inbox = own();
            move |_, words: [u64; WORDS_LARGE]| arrived(&inbox, &words)
        });
        let taken = handlers.request({
            let inbox = own();
            move |_, [connection, bytes, time]: [u64; 3]| {
                let mut inbox = open(&inbox);
                if let Some(connection) = untagged(&inbox, connection) {
                    inbox.credit(connection, bytes, f64::from_bits(time));
                }
            }
        });
        let step = handlers.request({
            let inbox = own();
            move |_, [barrier, from, time]: [u64; 3]| {
                let mut inbox = open(&inbox);
                if let Some(barrier) = untagged(&inbox, barrier) {
                    inbox.step(barrier, from as usize, f64::from_bits(time));
                }
            }
        });
        let ready = handlers.request({
            let inbox = own();
            move |_, [connection, time]: [u64; 2]| {
                let mut inbox = open(&inbox);
                if let Some(connection) = untagged(&inbox, connection) {
                    inbox.ready(connection, f64::from_bits(time));
                }
            }
        });
        node.install(handlers);
        Self { tiny, small, large, taken, step, ready }
    }
}

impl Messages {
    /// Collective. `circuits`: the picoseconds of a clock, where this is a simulated machine on whose
    /// circuits connections stand.
    pub(super) fn open(node: &mut Node, circuits: Option<f64>) -> Self {
        let (sent, untold) = (ByConnection::default(), ByConnection::default());
        let new = |inbox, way, tag| Self { inbox, way, tag, sent, untold, spools: Spools::default() };
        if let Some(clock) = circuits {
            let inbox = Inboxes::default();
            if let Some(inboxes) = node.circuit_share(Arc::clone(&inbox)) {
                return new(inbox, Way::Circuits(inboxes, clock), 0);
            }
        }
        let removed = node.handlers_removed();
        let kept = node.local::<Kept>();
        kept.runs += 1;
        let tag = kept.runs & 0xffff;
        let known = kept.packets.clone().filter(|_| kept.removed == removed);
        let (packets, inbox) = match known {
            Some((packets, inbox)) => {
                *open(&inbox) = Inbox { tag, ..Inbox::default() };
                // Nobody sends before all have an empty inbox.
                node.barrier();
                (packets, inbox)
            }
            None => {
                let inbox: Inboxes = Arc::new(Mutex::new(Inbox { tag, ..Inbox::default() }));
                let packets = Rc::new(Packets::install(node, &inbox));
                let kept = node.local::<Kept>();
                kept.packets = Some((Rc::clone(&packets), Arc::clone(&inbox)));
                kept.removed = removed;
                (packets, inbox)
            }
        };
        new(inbox, Way::Packets(packets), tag)
    }

    /// Delivers an item at node `to`: as a message, or into its memory, to be there at `time`.
    fn deliver(
        &self,
        node: &mut Node,
        to: usize,
        time: f64,
        message: impl FnOnce(&mut Node, &Packets),
        memory: impl FnOnce(&mut Inbox),
    ) {
        match &self.way {
            Way::Packets(packets) => message(node, packets),
            Way::Circuits(inboxes, clock) => {
                if let Some(inbox) = inboxes.get(to) {
                    memory(&mut open(inbox));
                }
                node.circuit_wake(to, Time((time * clock).round() as u64));
            }
        }
    }

    /// Whether the next piece of a connection may leave; takes the credits that it needs. In
    /// simulated time it then leaves at `time` at the earliest.
    fn may_leave(&mut self, end: End, piece: usize, time: &mut f64) -> bool {
        let [before, taken] = self.sent.of(end.connection);
        // The receiver may have taken this much more than it has told. So a piece longer than the
        // depth can leave, too. An empty message counts as a word.
        let room = |taken: u64| {
            *before - taken < untold_at(end.depth)
                || *before + piece.max(8) as u64 - taken <= end.depth as u64
        };
        while !room(*taken) {
            let credit = open(&self.inbox).taken.of(end.connection).pop_front();
            let Some((bytes, at)) = credit else { return false };
            *taken += bytes;
            *time = time.max(at);
        }
        true
    }

    /// Sends the next piece of `rest`, for which there must be room; returns its length. In simulated
    /// time it leaves after `time`, when its bytes have.
    fn send_piece(&mut self, node: &mut Node, end: End, rest: &[u8], time: f64) -> usize {
        let piece = &rest[..rest.len().min(piece_of(rest.len()))];
        let last = piece.len() == rest.len();
        let counts = self.sent.of(end.connection);
        counts[0] += piece.len().max(8) as u64;
        let arrival = time + end.latency;
        let head = [header(self.tag, end.connection, piece.len(), last), arrival.to_bits()];
        self.deliver(
            node,
            end.peer,
            arrival,
            |node, packets| {
                if piece.len() <= TINY {
                    node.send(end.peer, packets.tiny, words(head, piece));
                } else if piece.len() <= SMALL {
                    node.send(end.peer, packets.small, words(head, piece));
                } else {
                    node.send(end.peer, packets.large, words(head, piece));
                }
            },
            |inbox| inbox.piece(end.connection, Piece { bytes: piece.into(), last, time: arrival }),
        );
        piece.len()
    }

    /// Sends a message, at most `depth` bytes ahead of its receiver; returns when it has left.
    #[track_caller]
    pub(super) fn send(&mut self, node: &mut Node, end: End, bytes: &[u8], mut time: f64) -> f64 {
        let mut sent = 0;
        loop {
            let rest = &bytes[sent..];
            let piece = rest.len().min(piece_of(rest.len()));
            while !self.may_leave(end, piece, &mut time) {
                if !self.wait_for(node, |this| this.has_credit(end.connection)) {
                    return time;
                }
            }
            let after = sent + piece;
            // Whole clocks for the bytes of the whole message.
            time += (after as f64 / end.rate).floor() - (sent as f64 / end.rate).floor();
            self.send_piece(node, end, rest, time);
            sent = after;
            if sent == bytes.len() {
                return time;
            }
        }
    }

    /// Takes the next piece of a connection, if it is there.
    fn take(&mut self, node: &mut Node, end: End, time: &mut f64) -> Option<Piece> {
        let piece = open(&self.inbox).pieces.of(end.connection).pop_front()?;
        *time = time.max(piece.time);
        let untold = self.untold.of(end.connection);
        *untold += piece.bytes.len().max(8) as u64;
        if *untold >= untold_at(end.depth) {
            let bytes = std::mem::take(untold);
            let at = *time + end.latency;
            self.deliver(
                node,
                end.peer,
                at,
                |node, packets| {
                    let connection = tagged(self.tag, end.connection);
                    node.send(end.peer, packets.taken, [connection, bytes, at.to_bits()]);
                },
                |inbox| inbox.credit(end.connection, bytes, at),
            );
        }
        Some(piece)
    }

    /// Receives a message; returns when its last byte is here.
    #[track_caller]
    pub(super) fn receive(
        &mut self,
        node: &mut Node,
        end: End,
        mut time: f64,
        sink: &mut impl FnMut(&[u8]),
    ) -> f64 {
        loop {
            let mut piece = self.take(node, end, &mut time);
            while piece.is_none() {
                if !self.wait_for(node, |this| this.has_arrived(end.connection)) {
                    return time;
                }
                piece = self.take(node, end, &mut time);
            }
            let Some(piece) = piece else { return time };
            sink(&piece.bytes);
            if piece.last {
                return time;
            }
        }
    }

    pub(super) fn has_arrived(&self, connection: usize) -> bool {
        open(&self.inbox).pieces.get(connection).is_some_and(|pieces| !pieces.is_empty())
    }

    fn has_credit(&self, connection: usize) -> bool {
        open(&self.inbox).taken.get(connection).is_some_and(|credits| !credits.is_empty())
    }

    /// Moves all transfers in the background on; returns whether any moved.
    pub(super) fn advance(&mut self, node: &mut Node) -> bool {
        let mut any = false;
        loop {
            let next = self.spools.moving().find(|(_, of)| self.movable(of)).map(|(number, _)| number);
            let Some(number) = next else { return any };
            let Some(mut transfer) = self.spools.remove(number) else { return any };
            let end = End::of(&transfer);
            let mut time = transfer.time;
            if transfer.sends {
                let rest = transfer.rest();
                let (piece, before) = (rest.len().min(piece_of(rest.len())), transfer.lengths().0);
                if self.may_leave(end, piece, &mut time) {
                    let bytes = |sent: usize| (sent as f64 / end.rate).floor();
                    time += bytes(before + piece) - bytes(before);
                    let sent = self.send_piece(node, end, rest, time);
                    transfer.sent(sent);
                    any = true;
                }
            } else if let Some(piece) = self.take(node, end, &mut time) {
                transfer.came(&piece.bytes, piece.last);
                any = true;
            }
            transfer.time = time;
            self.spools.put_back(number, transfer);
        }
    }

    /// Whether a transfer can go on, or at least knows more.
    fn movable(&self, transfer: &Transfer) -> bool {
        if !transfer.sends {
            return self.has_arrived(transfer.connection);
        }
        let [before, taken] = self.sent.get(transfer.connection).copied().unwrap_or_default();
        let rest = transfer.rest().len();
        let piece = rest.min(piece_of(rest)).max(8) as u64;
        before - taken < untold_at(transfer.depth)
            || before + piece - taken <= transfer.depth as u64
            || self.has_credit(transfer.connection)
    }

    /// Waits until `there`, and moves transfers in the background on meanwhile. False if the node
    /// unwinds.
    #[track_caller]
    pub(super) fn wait_for(&mut self, node: &mut Node, there: impl Fn(&Self) -> bool) -> bool {
        loop {
            self.advance(node);
            if there(self) {
                return true;
            }
            let mut news = || there(self) || self.spools.moving().any(|(_, transfer)| self.movable(transfer));
            match self.way {
                Way::Packets(_) => node.wait_until(&mut news),
                Way::Circuits(..) => node.circuit_wait(&mut news),
            }
            // They return without news only while the node unwinds.
            if !news() {
                return false;
            }
        }
    }

    pub(super) fn step(
        &self,
        node: &mut Node,
        to: usize,
        (barrier, from): (usize, usize),
        time: f64,
        arrival: f64,
    ) {
        self.deliver(
            node,
            to,
            arrival,
            |node, packets| {
                let barrier = tagged(self.tag, barrier);
                node.send(to, packets.step, [barrier, from as u64, time.to_bits()]);
            },
            |inbox| inbox.step(barrier, from, time),
        );
    }

    #[track_caller]
    pub(super) fn await_step(&mut self, node: &mut Node, barrier: usize, from: usize) -> f64 {
        let key = (barrier, from);
        let next = |this: &Self| open(&this.inbox).steps.get_mut(&key).and_then(VecDeque::pop_front);
        if let Some(time) = next(self) {
            return time;
        }
        self.wait_for(node, |this| open(&this.inbox).steps.get(&key).is_some_and(|steps| !steps.is_empty()));
        next(self).unwrap_or(0.0)
    }

    pub(super) fn tell_ready(&self, node: &mut Node, to: usize, connection: usize, time: f64, arrival: f64) {
        self.deliver(
            node,
            to,
            arrival,
            |node, packets| node.send(to, packets.ready, [tagged(self.tag, connection), time.to_bits()]),
            |inbox| inbox.ready(connection, time),
        );
    }

    #[track_caller]
    pub(super) fn await_ready(&mut self, node: &mut Node, connection: usize) -> f64 {
        let there =
            |this: &Self| open(&this.inbox).ready.get(&connection).is_some_and(|times| !times.is_empty());
        self.wait_for(node, there);
        let time = open(&self.inbox).ready.get_mut(&connection).and_then(VecDeque::pop_front);
        time.unwrap_or(0.0)
    }
}

/// A receiver tells when it has taken this many bytes.
fn untold_at(depth: usize) -> u64 {
    (depth as u64 / 4).max(1)
}

/// The most bytes of a piece, of so many.
fn piece_of(rest: usize) -> usize {
    if rest <= SMALL { SMALL } else { LARGE }
}

fn words<const N: usize>([first, second]: [u64; 2], bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    words[0] = first;
    words[1] = second;
    bytemuck::cast_slice_mut(&mut words[2..])[..bytes.len()].copy_from_slice(bytes);
    words
}
