//! The reference for the semantics of each operation of an [`Endpoint`]: all of them are
//! implemented by packets alone.
//!
//! It runs the cases of the suite like the transports, so that the cases test the trait and not one
//! transport. No transport uses it, because each is faster at every operation. It is simple:
//! - A *collective* is gathered at node 0, which compares all calls, combines in rank order and
//!   sends each node its result; blocks of an exchange then go directly to their nodes.
//! - A *put* is a packet for each 64 bytes, written to the port when the receiver takes it.
//! - The asynchronous or and the ends of programs are sent to all nodes, each in a packet.
//!
//! Its own packets use the reply network, which is always emptied: a waiting node receives them,
//! and keeps the program's replies among them until the program polls. Requests stay in the
//! transport, so that senders stall if a program does not receive.

use crate::block::{Contents, RawBlock};
#[cfg(feature = "tune")]
use crate::transport::Tuned;
use crate::transport::contributions::{CollectiveKind, Contributions};
use crate::transport::header::{HEADER, Header};
use crate::transport::ports::Ports;
use crate::transport::{
    Awaited, Boundary, Call, Collective, Endpoint, Extras, Failure, Network, Networks, Operation, PACKET,
    Packet, Part, Way,
};
use bytemuck::Zeroable;
use std::collections::VecDeque;

/// The operations on packets.
pub(super) trait Transport {
    /// This node's number.
    fn rank(&self) -> usize;
    /// The number of nodes.
    fn size(&self) -> usize;
    /// Sends a packet to node `to` (which may be this one), with [`Packet::from`] filled in; false
    /// if there is no room now. Packets from one node to another on one network arrive in the order
    /// sent; those to a node that has left are lost.
    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool;
    /// Receives the next packet of a network; false if there is none. Unwinds with
    /// [`Stop`](crate::transport::Stop) if the job has failed.
    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool;
    /// Waits a while for a packet on `networks` or for room for one; may return at once. Unwinds as
    /// `try_receive` does.
    fn pause(&mut self, networks: Networks);
    /// Ends the job on every node because of `failure`.
    fn fail(&mut self, failure: Failure) -> !;
}

/// The endpoint's own packets, by handler number: above those of programs and of `Node`.
const FIRST: u16 = u16::MAX - 3;
/// Bytes of a message; the first packet of one has its length in `whole`.
const MESSAGE: u16 = FIRST;
/// Bytes for a port: port and offset are in `whole`.
const PUT: u16 = FIRST + 1;
/// The sender's bit of the asynchronous or.
const BIT: u16 = FIRST + 2;
/// The sender's program has ended.
const LEFT: u16 = FIRST + 3;

/// The position of a put's port in `whole`; the offset is below it.
const PORT: u32 = 48;

/// Data to be sent to another node when there is room.
enum Outgoing {
    Packet(Packet),
    /// A message, and the number of its bytes already sent.
    Message(RawBlock, usize),
}

/// Data received from one node.
#[derive(Default)]
struct Incoming {
    /// The message being received, and the number of its bytes so far.
    partial: Option<(RawBlock, usize)>,
    messages: VecDeque<RawBlock>,
}

/// The collective in flight.
struct Pending {
    call: Call,
    kind: CollectiveKind,
    values: RawBlock,
    complete: bool,
}

/// An endpoint that has only packets.
pub(super) struct OverPackets<T> {
    transport: T,
    rank: usize,
    size: usize,
    outgoing: VecDeque<(usize, Outgoing)>,
    incoming: Vec<Incoming>,
    /// Replies for the program that arrived before it polled.
    kept: VecDeque<Packet>,
    pending: Option<Pending>,
    ports: Ports,
    /// Every node's bit of the asynchronous or, and true for each node whose program has ended.
    bits: Vec<bool>,
    left: Vec<bool>,
}

impl<T: Transport> OverPackets<T> {
    pub(super) fn new(transport: T) -> Self {
        let (rank, size) = (transport.rank(), transport.size());
        Self {
            transport,
            rank,
            size,
            outgoing: VecDeque::new(),
            incoming: (0..size).map(|_| Incoming::default()).collect(),
            kept: VecDeque::new(),
            pending: None,
            ports: Ports::default(),
            bits: vec![true; size],
            left: vec![false; size],
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<T> {
        let rank = self.rank;
        (0..self.size).filter(move |node| *node != rank)
    }

    /// Sends as much as there is room for, and receives its own packets.
    fn progress(&mut self) {
        while let Some((to, outgoing)) = self.outgoing.front_mut() {
            let (packet, end) = match outgoing {
                Outgoing::Packet(packet) => (*packet, None),
                Outgoing::Message(block, sent) => {
                    let end = block.bytes.min(*sent + PACKET);
                    let bytes = &block.as_bytes()[*sent..end];
                    (Packet::new(MESSAGE, Part::Whole, block.bytes, bytes), Some(end))
                }
            };
            if !self.transport.try_send(Network::Reply, *to, &packet) {
                break;
            }
            match (outgoing, end) {
                (Outgoing::Message(block, sent), Some(end)) if end < block.bytes => *sent = end,
                _ => drop(self.outgoing.pop_front()),
            }
        }
        let mut packet = Packet::zeroed();
        while self.transport.try_receive(Network::Reply, &mut packet) {
            if packet.handler >= FIRST {
                self.absorb(&packet);
            } else {
                self.kept.push_back(packet);
            }
        }
    }

    /// Handles one of its own packets.
    fn absorb(&mut self, packet: &Packet) {
        let from = packet.from as usize;
        let whole = |bits: u64| usize::try_from(bits).unwrap_or(usize::MAX);
        match packet.handler {
            MESSAGE => {
                let incoming = &mut self.incoming[from];
                let new = || (RawBlock::zeroed(whole(packet.whole)), 0);
                let (mut block, had) = incoming.partial.take().unwrap_or_else(new);
                let end = had + packet.bytes().len();
                block.as_bytes_mut()[had..end].copy_from_slice(packet.bytes());
                if end < block.bytes {
                    incoming.partial = Some((block, end));
                } else {
                    incoming.messages.push_back(block);
                }
            }
            PUT => {
                let (port, offset) = (packet.whole >> PORT, packet.whole & ((1 << PORT) - 1));
                self.write(from, whole(port), whole(offset), packet.bytes());
            }
            BIT => self.bits[from] = packet.whole != 0,
            _ => self.left[from] = true,
        }
    }

    /// Writes bytes that node `from` has put into a port of this node.
    fn write(&mut self, from: usize, port: usize, offset: usize, bytes: &[u8]) {
        if let Err(message) = self.ports.write(self.rank, port, offset, bytes.into()) {
            self.transport.fail(Failure { rank: from, message });
        }
    }

    fn send(&mut self, to: usize, block: RawBlock) {
        self.outgoing.push_back((to, Outgoing::Message(block, 0)));
    }

    /// Sends a notice to all other nodes.
    fn tell(&mut self, handler: u16, value: u64) {
        let mut packet = Packet::new(handler, Part::Whole, 0, &[]);
        packet.whole = value;
        for to in self.others() {
            self.outgoing.push_back((to, Outgoing::Packet(packet)));
        }
        self.progress();
    }

    /// Enters a collective with `values`.
    fn enter(&mut self, call: Call, kind: CollectiveKind, values: RawBlock) {
        if self.pending.is_some() {
            let message = format!("{call}: a split-phase operation is in flight; complete it first");
            self.transport.fail(Failure { rank: self.rank, message });
        }
        if self.rank != 0 {
            let boundary = match kind {
                CollectiveKind::Operation(Operation::Scan(scan)) => scan.boundary.unwrap_or_default(),
                _ => Boundary::None,
            };
            let mut message = RawBlock::zeroed(HEADER + values.bytes);
            Header::new(&call).put(boundary, &mut message.words[..HEADER / 8]);
            message.as_bytes_mut()[HEADER..].copy_from_slice(values.as_bytes());
            self.send(0, message);
        }
        self.pending = Some(Pending { call, kind, values, complete: false });
        self.progress();
    }

    /// True if a message of each of `nodes` has arrived; ends the job if one of them has left
    /// without sending it.
    fn have(&mut self, mut nodes: impl Iterator<Item = usize>, call: &Call) -> bool {
        let Some(missing) = nodes.find(|node| self.incoming[*node].messages.is_empty()) else { return true };
        if self.left[missing] {
            let message = format!("left the program while node {} waits in {call}", self.rank);
            self.transport.fail(Failure { rank: missing, message });
        }
        false
    }

    fn take_message(&mut self, from: usize) -> RawBlock {
        self.incoming[from].messages.pop_front().unwrap_or_default()
    }

    /// At node 0, which has all calls and values: compares the calls and sends each node its
    /// result.
    fn combine(&mut self, call: &Call, kind: CollectiveKind, values: &mut RawBlock) {
        let size = self.size;
        let mut all = Contributions::default();
        all.bring(kind, (0, size), values.as_bytes());
        for from in self.others() {
            let message = self.take_message(from);
            let header = Header::from_words(&message.words[..HEADER / 8]);
            if !Header::words_agree(header.words(), Header::new(call).words()) {
                let message = format!("{header}, but node 0 called {call}");
                self.transport.fail(Failure { rank: from, message });
            }
            all.bring(kind, (from, size), &message.as_bytes()[HEADER..]);
            if matches!(kind, CollectiveKind::Operation(Operation::Scan(_))) {
                all.set_boundary((from, size), Header::boundary(&message.words));
            }
        }
        let bytes = all.received(kind, size);
        for to in self.others() {
            let mut result = RawBlock::zeroed(bytes);
            all.take(kind, (to, size), result.as_bytes_mut());
            self.send(to, result);
        }
        values.hold(bytes);
        all.take(kind, (0, size), values.as_bytes_mut());
        self.progress();
    }

    /// Waits until the collective in flight is complete, receiving only its own packets.
    fn complete(&mut self) -> RawBlock {
        while !self.test() {
            self.transport.pause(Networks::Only(Network::Reply));
        }
        self.finish()
    }

    /// Sends each node its block and waits for theirs; all nodes have agreed on the call.
    fn exchange(&mut self, call: &Call, blocks: &mut [RawBlock]) {
        for to in self.others() {
            self.send(to, std::mem::take(&mut blocks[to]));
        }
        self.progress();
        while !self.have(self.others(), call) {
            self.transport.pause(Networks::Only(Network::Reply));
            self.progress();
        }
        for from in self.others() {
            blocks[from] = self.take_message(from);
        }
    }
}

impl<T: Transport> Endpoint for OverPackets<T> {
    fn place(&self) -> (usize, usize) {
        (self.rank, self.size)
    }

    fn collective_by(&mut self, _: Way, call: Call, collective: Collective<'_>) {
        match collective {
            Collective::InPlace(operation, values) => {
                self.enter(call, CollectiveKind::Operation(operation), RawBlock::copy_of(values));
                values.copy_from_slice(self.complete().as_bytes());
            }
            Collective::AllGather { mine, all } => {
                self.enter(call, CollectiveKind::Gather, RawBlock::copy_of(mine));
                all.copy_from_slice(self.complete().as_bytes());
            }
            Collective::Exchange(blocks) => {
                self.enter(call, CollectiveKind::Exchange, RawBlock::default());
                self.complete();
                self.exchange(&call, blocks);
            }
        }
    }

    fn start(&mut self, call: Call, operation: Operation, values: RawBlock) {
        self.enter(call, CollectiveKind::Operation(operation), values);
    }

    fn test(&mut self) -> bool {
        self.progress();
        let Some(mut pending) = self.pending.take() else { return true };
        if !pending.complete {
            if self.rank != 0 {
                pending.complete = self.have(std::iter::once(0), &pending.call);
                if pending.complete {
                    let result = self.take_message(0);
                    pending.values.hold(result.bytes);
                    pending.values.as_bytes_mut().copy_from_slice(result.as_bytes());
                }
            } else if self.have(self.others(), &pending.call) {
                self.combine(&pending.call, pending.kind, &mut pending.values);
                pending.complete = true;
            }
        }
        self.pending.insert(pending).complete
    }

    fn finish(&mut self) -> RawBlock {
        self.pending.take().map(|pending| pending.values).unwrap_or_default()
    }

    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        self.transport.try_send(network, to, packet)
    }

    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        self.progress();
        if network == Network::Request {
            return self.transport.try_receive(network, packet);
        }
        let reply = self.kept.pop_front();
        if let Some(reply) = reply {
            *packet = reply;
        }
        reply.is_some()
    }

    fn open(&mut self, port: usize, memory: RawBlock) {
        self.ports.open(port, memory);
    }

    fn close(&mut self, port: usize) -> Option<RawBlock> {
        self.progress();
        self.ports.close(port)
    }

    fn try_put(&mut self, _: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>) -> bool {
        let bytes = contents.bytes;
        if to == self.rank {
            self.write(to, port, offset, bytes);
            return true;
        }
        // An offset beyond any memory saturates.
        let offset = (offset as u64).min((1 << PORT) - 1);
        let mut packet = Packet::new(PUT, Part::Whole, 0, bytes);
        packet.whole = (port as u64) << PORT | offset;
        bytes.is_empty() || self.transport.try_send(Network::Reply, to, &packet)
    }

    fn put_by(&mut self, _: Way, call: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>) {
        for sent in (0..contents.len()).step_by(PACKET) {
            let part = contents.part(sent, sent + PACKET);
            while !self.try_put(call, to, port, offset.saturating_add(sent), part) {
                self.progress();
                self.transport.pause(Networks::Only(Network::Reply));
            }
        }
    }

    fn arrivals(&mut self, _: Networks, report: &mut dyn FnMut(usize, usize)) {
        self.progress();
        self.ports.take_news().into_iter().for_each(|(port, bytes)| report(port, bytes));
    }

    fn set_async_or(&mut self, value: bool) {
        if std::mem::replace(&mut self.bits[self.rank], value) != value {
            self.tell(BIT, value.into());
        }
    }

    fn async_or(&mut self) -> bool {
        self.progress();
        self.bits.contains(&true)
    }

    fn pause(&mut self, _: &Call, networks: Networks, _: Awaited) {
        self.progress();
        if !self.kept.is_empty() || self.ports.has_news() {
            return;
        }
        self.transport.pause(networks);
    }

    fn leave(&mut self) {
        self.left[self.rank] = true;
        self.tell(LEFT, 0);
        // Other nodes wait for this node's messages, and it may leave after returning from here.
        while !self.outgoing.is_empty() {
            self.transport.pause(Networks::Only(Network::Reply));
            self.progress();
        }
    }

    fn all_left(&mut self) -> bool {
        self.progress();
        !self.left.contains(&false)
    }

    fn fail(&mut self, failure: Failure) -> ! {
        self.transport.fail(failure)
    }

    fn extras(&mut self) -> Extras<'_> {
        Extras {
            put_limit: PACKET,
            process: None,
            words: None,
            messages: None,
            library: None,
            simulated: None,
            #[cfg(feature = "tune")]
            ways: Way::none,
        }
    }

    #[cfg(feature = "tune")]
    fn tuned(&mut self) -> Option<&mut dyn Tuned> {
        None
    }
}
