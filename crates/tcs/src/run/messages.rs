//! Connections by active messages: what nodes use that share no memory, and what carries the time
//! of a simulation.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use strata_runtime::{Node, Request};

/// Bytes of data in a small piece: with its header and time it fills one packet.
const SMALL: usize = 48;
/// Bytes of data in a large one.
const LARGE: usize = 254 * 8;

const WORDS_SMALL: usize = 2 + SMALL / 8;
const WORDS_LARGE: usize = 2 + LARGE / 8;

/// A piece of a message.
struct Piece {
    bytes: Vec<u8>,
    last: bool,
    time: f64,
}

/// What has arrived at a node.
#[derive(Default)]
struct Inbox {
    pieces: BTreeMap<usize, VecDeque<Piece>>,
    /// Bytes that receivers have taken, by connection.
    taken: BTreeMap<usize, u64>,
    /// Messages of barriers: times, by barrier and sender.
    steps: BTreeMap<(usize, usize), VecDeque<f64>>,
    /// Readiness for a set, by connection: times.
    ready: BTreeMap<usize, VecDeque<f64>>,
}

/// A node's end of all its connections.
pub(super) struct Messages {
    inbox: Rc<RefCell<Inbox>>,
    small: Request<[u64; WORDS_SMALL]>,
    large: Request<[u64; WORDS_LARGE]>,
    taken: Request<[u64; 2]>,
    step: Request<[u64; 3]>,
    ready: Request<[u64; 2]>,
    sent: BTreeMap<usize, u64>,
    untold: BTreeMap<usize, u64>,
}

/// The header: connection, bytes, whether it is the message's last piece.
fn header(connection: usize, bytes: usize, last: bool) -> u64 {
    (connection as u64) << 32 | (bytes as u64) << 1 | u64::from(last)
}

fn arrived(inbox: &RefCell<Inbox>, words: &[u64]) {
    let [header, time, data @ ..] = words else { return };
    let bytes = (*header as u32 >> 1) as usize;
    let data: &[u8] = bytemuck::cast_slice(data);
    let piece = Piece {
        bytes: data.get(..bytes).unwrap_or(data).to_vec(),
        last: header & 1 == 1,
        time: f64::from_bits(*time),
    };
    inbox.borrow_mut().pieces.entry((header >> 32) as usize).or_default().push_back(piece);
}

impl Messages {
    /// Collective.
    pub(super) fn install(node: &mut Node) -> Self {
        let inbox = Rc::new(RefCell::new(Inbox::default()));
        let mut handlers = node.handlers();
        let own = || Rc::clone(&inbox);
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
            move |_, [connection, bytes]: [u64; 2]| {
                *inbox.borrow_mut().taken.entry(connection as usize).or_default() += bytes;
            }
        });
        let step = handlers.request({
            let inbox = own();
            move |_, [barrier, from, time]: [u64; 3]| {
                let mut inbox = inbox.borrow_mut();
                let steps = inbox.steps.entry((barrier as usize, from as usize)).or_default();
                steps.push_back(f64::from_bits(time));
            }
        });
        let ready = handlers.request({
            let inbox = own();
            move |_, [connection, time]: [u64; 2]| {
                let mut inbox = inbox.borrow_mut();
                inbox.ready.entry(connection as usize).or_default().push_back(f64::from_bits(time));
            }
        });
        node.install(handlers);
        let (sent, untold) = (BTreeMap::new(), BTreeMap::new());
        Self { inbox, small, large, taken, step, ready, sent, untold }
    }

    /// Sends a message to node `to`, at most `depth` bytes ahead of its receiver.
    #[track_caller]
    pub(super) fn send(
        &mut self,
        node: &mut Node,
        (connection, to): (usize, usize),
        depth: usize,
        bytes: &[u8],
        time: f64,
    ) {
        let mut rest = bytes;
        loop {
            let most = if rest.len() <= SMALL { SMALL } else { LARGE };
            let (piece, after) = rest.split_at(rest.len().min(most));
            let sent = self.sent.entry(connection).or_default();
            let before = *sent;
            // An empty message counts as a word.
            *sent += piece.len().max(8) as u64;
            let inbox = Rc::clone(&self.inbox);
            let after_it = *sent;
            node.wait_until(|| {
                let taken = inbox.borrow().taken.get(&connection).copied().unwrap_or(0);
                // The receiver may have taken this much more than it has told. So a piece longer
                // than the depth can leave, too.
                before - taken < untold_at(depth) || after_it - taken <= depth as u64
            });
            let head = [header(connection, piece.len(), after.is_empty()), time.to_bits()];
            if piece.len() <= SMALL {
                node.send(to, self.small, words(head, piece));
            } else {
                node.send(to, self.large, words(head, piece));
            }
            if after.is_empty() {
                return;
            }
            rest = after;
        }
    }

    /// Receives a message from node `from`; returns when it was sent.
    #[track_caller]
    pub(super) fn receive(
        &mut self,
        node: &mut Node,
        (connection, from): (usize, usize),
        depth: usize,
        sink: &mut impl FnMut(&[u8]),
    ) -> f64 {
        loop {
            let inbox = Rc::clone(&self.inbox);
            let next = || inbox.borrow_mut().pieces.get_mut(&connection)?.pop_front();
            let mut piece = next();
            if piece.is_none() {
                node.wait_until(|| {
                    piece = next();
                    piece.is_some()
                });
            }
            // `wait_until` returns without it only while this node unwinds.
            let Some(piece) = piece else { return 0.0 };
            sink(&piece.bytes);
            let untold = self.untold.entry(connection).or_default();
            *untold += piece.bytes.len().max(8) as u64;
            if *untold >= untold_at(depth) {
                let bytes = std::mem::take(untold);
                node.send(from, self.taken, [connection as u64, bytes]);
            }
            if piece.last {
                return piece.time;
            }
        }
    }

    pub(super) fn has_arrived(&self, connection: usize) -> bool {
        self.inbox.borrow().pieces.get(&connection).is_some_and(|pieces| !pieces.is_empty())
    }

    pub(super) fn step(&self, node: &mut Node, to: usize, barrier: usize, from: usize, time: f64) {
        node.send(to, self.step, [barrier as u64, from as u64, time.to_bits()]);
    }

    #[track_caller]
    pub(super) fn await_step(&self, node: &mut Node, barrier: usize, from: usize) -> f64 {
        let inbox = Rc::clone(&self.inbox);
        let mut time = None;
        node.wait_until(|| {
            time = inbox.borrow_mut().steps.get_mut(&(barrier, from)).and_then(VecDeque::pop_front);
            time.is_some()
        });
        time.unwrap_or(0.0)
    }

    pub(super) fn tell_ready(&self, node: &mut Node, to: usize, connection: usize, time: f64) {
        node.send(to, self.ready, [connection as u64, time.to_bits()]);
    }

    #[track_caller]
    pub(super) fn await_ready(&self, node: &mut Node, connection: usize) -> f64 {
        let inbox = Rc::clone(&self.inbox);
        let mut time = None;
        node.wait_until(|| {
            time = inbox.borrow_mut().ready.get_mut(&connection).and_then(VecDeque::pop_front);
            time.is_some()
        });
        time.unwrap_or(0.0)
    }
}

/// A receiver tells when it has taken this many bytes.
fn untold_at(depth: usize) -> u64 {
    (depth as u64 / 4).max(1)
}

fn words<const N: usize>([first, second]: [u64; 2], bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    words[0] = first;
    words[1] = second;
    bytemuck::cast_slice_mut(&mut words[2..])[..bytes.len()].copy_from_slice(bytes);
    words
}
