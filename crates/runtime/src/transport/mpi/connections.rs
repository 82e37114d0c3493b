//! Communication outside collectives: packets, short and long puts, and credits.
//!
//! *Packet trains* (Jain and Routhier, 1986). The packets of a longer message are sent together in
//! one MPI message, as many as libraries send eagerly. A train is sent when it is full, when the
//! message ends, and before any other packet of its network. It counts as one packet for credits.
//!
//! *Credits* ([`credit`](crate::transport::credit)) limit the messages in flight to each node.
//! Packets and puts carry the counts of taken messages; if none is sent, a message without data
//! carries them.
//!
//! *Progress.* MPI has no thread of its own: messages move only during MPI calls. So every function
//! here that finds no work polls all lanes once and handles the transport's own messages.

use super::deadlock::{Detector, Needs, Step, Token, Traffic, report};
use super::ffi::post::{Inbox, Outbox};
use super::ffi::{Lane, World, simulated_clock};
use super::ports::Ports;
use crate::block::RawBlock;
use crate::transport::credit::{Credits, PUT};
use crate::transport::{Awaited, Call, Network, PACKET, Packet, Part};
use bytemuck::{Zeroable as _, bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};
use std::collections::VecDeque;

/// Packets in flight from one node to another on one network; fewer if there are very many nodes.
const PACKETS: u16 = 64;
const ALL_PACKETS: usize = 8192;

/// Puts in flight from one node to another.
const PUTS: u16 = 16;

/// The most receives posted on a network, and for control messages.
const RECEIVES: usize = 256;
const CONTROLS: usize = 32;

/// Packets of this node that can be in flight on one network.
const LEAVING: usize = 256;

/// The most bytes in a control message: the size that MPI libraries send eagerly (at least 4 KiB),
/// less the headers.
const SHORT_PUT: usize = 3968;

/// Numbers of words of a control message without data, of a packet, and of a packet's header.
const HEAD: usize = 4;
/// Number of words of the token, which follows such a head.
const TOKEN: usize = size_of::<Token>() / 8;
const PACKET_WORDS: usize = size_of::<Packet>() / 8;
const PACKET_HEAD: usize = PACKET_WORDS - PACKET / 8;

/// The most bytes of data in a train of packets: together with its header it is as long as a
/// control message.
const TRAIN: usize = SHORT_PUT / PACKET * PACKET;

/// The position of a train's number of data bytes in its header, above the length of its message;
/// packets outside trains have 0 there.
const TRAIN_SHIFT: u32 = 48;

/// Kinds of control messages.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
enum Control {
    /// Credits.
    Tell = 0,
    /// A put with its data.
    Put = 1,
    /// A put whose data follow separately.
    LongPut = 2,
    /// The token that detects whether all nodes wait.
    Token = 3,
}

/// A packet train: packets of a message that are buffered to be sent together with later ones. When
/// a train begins, it has credit, and memory from which it is sent.
struct Train {
    to: usize,
    /// The header of the last packet, then the data of all.
    words: Box<[u64]>,
    /// Number of data bytes; 0 if the train is empty.
    bytes: usize,
}

impl Train {
    fn empty() -> Self {
        Self { to: 0, words: vec![0; PACKET_HEAD + TRAIN / 8].into(), bytes: 0 }
    }

    /// True if the next packet, to node `to`, can join the train.
    fn takes(&self, to: usize, part: Part) -> bool {
        self.bytes > 0 && self.to == to && part != Part::Whole
    }

    /// Adds a packet; returns true if the train must be sent now. All packets but a message's last
    /// are full, so the data have no gaps.
    fn add(&mut self, to: usize, packet: &Packet) -> bool {
        let (head, data) = self.words.split_at_mut(PACKET_HEAD);
        head.copy_from_slice(&cast_slice(bytes_of(packet))[..PACKET_HEAD]);
        let data: &mut [u8] = cast_slice_mut(data);
        data[self.bytes..][..packet.bytes().len()].copy_from_slice(packet.bytes());
        self.to = to;
        self.bytes += packet.bytes().len();
        packet.part() == Part::Last || self.bytes == TRAIN
    }
}

/// One node's connections to all others.
pub(super) struct Connections {
    world: &'static World,
    inbox: Inbox,
    /// Memory for sending packets, by network; `puts` and `tells` have that of puts and of messages
    /// without data.
    packets: [Outbox; 2],
    /// The trains, by network.
    trains: [Train; 2],
    /// The number of bytes received of the train at the head of a lane.
    unloaded: [usize; 2],
    puts: Outbox,
    tells: Outbox,
    credits: Credits,
    /// The most packets of a network in flight to one node.
    most: usize,
    /// Control messages sent to each node and received from it.
    controls: Vec<(u64, u64)>,
    /// Packets to this node itself.
    own: [VecDeque<Packet>; 2],
    /// True if this network was found empty since it was last polled.
    polled: [bool; 2],
    /// True if no more messages are sent.
    closing: bool,
    detector: Detector,
    pub(super) ports: Ports,
}

impl Connections {
    pub(super) fn new(world: &'static World) -> Self {
        let size = world.size();
        let packets = u16::try_from(ALL_PACKETS / size).map_or(PACKETS, |each| each.clamp(8, PACKETS));
        let most = usize::from(packets);
        // SMPI compares each message with all posted receives of its node.
        let [receives, controls] = if simulated_clock().is_some() { [4, 4] } else { [RECEIVES, CONTROLS] };
        let posted = (most * (size - 1)).clamp(1, receives);
        let longest = PACKET_HEAD + TRAIN / 8;
        let sizes = [(posted, longest), (posted, longest), (controls, HEAD + SHORT_PUT / 8)];
        let outbox = || Outbox::new(world, LEAVING, longest);
        let puts = 2 * usize::from(PUTS);
        Self {
            world,
            inbox: Inbox::new(world, sizes),
            packets: [outbox(), outbox()],
            trains: [Train::empty(), Train::empty()],
            unloaded: [0; 2],
            puts: Outbox::new(world, puts, HEAD + SHORT_PUT / 8),
            tells: Outbox::new(world, puts, HEAD + TOKEN),
            credits: Credits::new(size, packets, PUTS),
            most,
            controls: vec![(0, 0); size],
            own: [VecDeque::with_capacity(most), VecDeque::with_capacity(most)],
            polled: [false; 2],
            closing: false,
            detector: Detector::new(),
            ports: Ports::new(world),
        }
    }

    /// True if there is no other node.
    fn is_alone(&self) -> bool {
        self.controls.len() == 1
    }

    /// True if there is room for a packet to node `to`.
    pub(super) fn has_room(&mut self, network: Network, to: usize) -> bool {
        if to == self.world.rank() {
            return self.own[network as usize].len() < self.most;
        }
        self.credits.may_send(network as usize, to) && self.packets[network as usize].has_room()
    }

    /// True if there is room for a put to node `to`.
    pub(super) fn has_put_room(&mut self, to: usize) -> bool {
        to == self.world.rank() || self.credits.may_send(PUT, to) && self.puts.has_room()
    }

    pub(super) fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        let lane = network as usize;
        if self.trains[lane].takes(to, packet.part()) {
            if self.trains[lane].add(to, packet) {
                self.send_train(lane);
            }
            return true;
        }
        if self.trains[lane].bytes > 0 {
            self.send_train(lane);
        }
        if !self.has_room(network, to) {
            // Credits arrive only during MPI calls.
            self.poll();
            if !self.has_room(network, to) {
                return false;
            }
        }
        if to == self.world.rank() {
            let mut packet = *packet;
            packet.from = to as u32;
            self.own[lane].push_back(packet);
        } else if packet.part() == Part::More {
            self.trains[lane].add(to, packet);
        } else {
            let length = size_of::<Packet>() - PACKET + packet.bytes().len();
            let mut packet = *packet;
            packet.from = self.credits.sent_packet(lane, to);
            self.packets[lane].send(Lane::ALL[lane], to, length, |words| {
                words[..PACKET_WORDS].copy_from_slice(cast_slice(bytes_of(&packet)));
            });
        }
        true
    }

    /// Sends the buffered packets of a train.
    fn send_train(&mut self, lane: usize) {
        let counts = self.credits.sent_packet(lane, self.trains[lane].to);
        let Train { to, words, bytes } = &mut self.trains[lane];
        let bytes = std::mem::take(bytes);
        let mut head: Packet = Packet::zeroed();
        let of_head: &mut [u64] = cast_slice_mut(bytes_of_mut(&mut head));
        of_head[..PACKET_HEAD].copy_from_slice(&words[..PACKET_HEAD]);
        head.from = counts;
        head.whole |= (bytes as u64) << TRAIN_SHIFT;
        words[..PACKET_HEAD].copy_from_slice(&cast_slice(bytes_of(&head))[..PACKET_HEAD]);
        let used = PACKET_HEAD + bytes.div_ceil(8);
        self.packets[lane].send(Lane::ALL[lane], *to, PACKET_HEAD * 8 + bytes, |to| {
            to[..used].copy_from_slice(&words[..used]);
        });
    }

    /// True if a packet has arrived on this network.
    pub(super) fn has_packet(&self, network: Network) -> bool {
        let lane = network as usize;
        !self.own[lane].is_empty() || self.inbox.head(Lane::ALL[lane]).is_some()
    }

    #[inline]
    pub(super) fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        let index = network as usize;
        let lane = Lane::ALL[index];
        if let Some(own) = self.own[index].pop_front() {
            *packet = own;
            return true;
        }
        if self.inbox.head(lane).is_none() {
            // Polling one network and then the other costs a single test of the lanes.
            if std::mem::take(&mut self.polled[index]) {
                return false;
            }
            self.poll();
            self.polled[index] = false;
        }
        let Some((from, words)) = self.inbox.head(lane) else { return false };
        cast_slice_mut::<u8, u64>(bytes_of_mut(packet)).copy_from_slice(&words[..PACKET_WORDS]);
        // The receiver knows the sender, so the field for it has space for counts.
        let counts = std::mem::replace(&mut packet.from, from as u32);
        let train = (packet.whole >> TRAIN_SHIFT) as usize;
        if train > 0 {
            packet.whole &= (1 << TRAIN_SHIFT) - 1;
            let start = self.unloaded[index];
            let end = train.min(start + PACKET);
            let part = if end < train { Part::More } else { packet.part() };
            packet.fill(part, &cast_slice(&words[PACKET_HEAD..])[start..end]);
            self.unloaded[index] = end % train;
            if end < train {
                return true;
            }
        }
        self.inbox.take(lane);
        if self.credits.took_packet(index, from, counts) {
            self.pay();
        }
        true
    }

    /// Tests all lanes once, serves puts and credits, and lets MPI make progress; returns true if
    /// there was anything new.
    pub(super) fn poll(&mut self) -> bool {
        if self.is_alone() {
            return false;
        }
        let mut news = self.inbox.poll();
        self.polled = [true; 2];
        while self.inbox.head(Lane::Control).is_some() {
            self.control();
            news |= self.inbox.poll();
        }
        news |= self.ports.receive();
        if self.credits.owes() {
            self.pay();
        }
        news
    }

    /// Called when this node enters a collective: invalidates the cached results about packets.
    pub(super) fn enters(&mut self) {
        self.polled = [false; 2];
    }

    /// Called when this node begins to wait for memory that other nodes write.
    pub(super) fn waits_anew(&mut self) {
        self.detector.waits_anew();
    }

    /// Serves the control message at the head of its lane.
    fn control(&mut self) {
        let Self { inbox, credits, controls, ports, detector, .. } = self;
        let Some((from, words)) = inbox.head(Lane::Control) else { return };
        let (head, data) = words.split_at(HEAD);
        let (what, offset, length) = (head[1], head[2], head[3]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let kind = head[0] as u16;
        controls[from].1 += 1;
        credits.learn(from, [16, 32, 48].map(|shift| (head[0] >> shift) as u16));
        if kind == Control::Tell as u16 {
            inbox.take(Lane::Control);
            return;
        }
        if kind == Control::Token as u16 {
            detector.take(bytemuck::pod_read_unaligned(cast_slice(&data[..TOKEN])));
            inbox.take(Lane::Control);
            return;
        }
        let port = usize::try_from(what).unwrap_or(usize::MAX);
        if kind == Control::Put as u16 {
            ports.write(from, port, offset, &cast_slice(data)[..length.min(SHORT_PUT)]);
        } else {
            ports.expect(from, port, offset, length);
        }
        inbox.take(Lane::Control);
        if credits.took_put(from) {
            self.pay();
        }
    }

    /// The numbers of all packets and puts of this node.
    fn traffic(&self) -> Traffic {
        let (sent, received) = self.credits.traffic();
        Traffic { sent, received }
    }

    /// Called when this node waits and has found no work; `needs` is set if it waits in a
    /// collective, `call` is `None` after the program's end. Ends the job if no node can ever
    /// continue.
    pub(super) fn idle(&mut self, call: Option<&Call>, awaited: Awaited, needs: Option<Needs>) {
        let has_own = self.own.iter().any(|own| !own.is_empty());
        if has_own || !self.ports.are_quiet() || !self.tells.has_room() {
            return;
        }
        let (world, traffic) = (self.world, self.traffic());
        match self.detector.idle(world, traffic, needs, call, awaited) {
            Step::Nothing => {}
            Step::Compare => {
                if let Some(failure) = world.unlike() {
                    super::blame(world, failure);
                }
            }
            Step::Pass(token) => {
                let to = (world.rank() + 1) % world.size();
                let head = self.head(to, Control::Token, 0, 0, 0);
                self.tells.send(Lane::Control, to, (HEAD + TOKEN) * 8, |words| {
                    words[..HEAD].copy_from_slice(&head);
                    words[HEAD..].copy_from_slice(cast_slice(bytes_of(&token)));
                });
            }
            Step::Stuck => match report(world) {
                Ok(failure) => world.die(failure.rank, failure.message),
                Err(error) => world.die(world.rank(), error),
            },
        }
    }

    /// The head of a control message, which reports to a node the number of its messages that were
    /// taken.
    fn head(&mut self, to: usize, kind: Control, what: u64, offset: u64, length: u64) -> [u64; HEAD] {
        self.controls[to].0 += 1;
        let [requests, replies, puts] = self.credits.tell(to).map(u64::from);
        [kind as u64 | requests << 16 | replies << 32 | puts << 48, what, offset, length]
    }

    /// Sends outstanding credits as long as there is room.
    fn pay(&mut self) {
        if self.closing {
            return;
        }
        while self.credits.owes() && self.tells.has_room() {
            let Some(to) = self.credits.next_owed() else { return };
            let head = self.head(to, Control::Tell, 0, 0, 0);
            self.tells.send(Lane::Control, to, HEAD * 8, |words| words[..HEAD].copy_from_slice(&head));
        }
    }

    /// The most bytes that [`Connections::try_put`] accepts.
    pub(super) fn put_limit() -> usize {
        SHORT_PUT
    }

    pub(super) fn try_put(
        &mut self,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        bytes: &[u8],
    ) -> bool {
        if bytes.len() > SHORT_PUT {
            let message = format!("{call}: {} bytes where {SHORT_PUT} is the most", bytes.len());
            self.world.die(self.world.rank(), message);
        }
        if !self.has_put_room(to) {
            self.poll();
            if !self.has_put_room(to) {
                return false;
            }
        }
        if to == self.world.rank() {
            self.ports.write(to, port, offset, bytes);
            return true;
        }
        self.send_put(Control::Put, to, port, offset, bytes.len(), bytes);
        true
    }

    fn send_put(&mut self, kind: Control, to: usize, port: usize, offset: usize, length: usize, with: &[u8]) {
        self.credits.sent_put(to);
        let head = self.head(to, kind, port as u64, offset as u64, length as u64);
        self.puts.send(Lane::Control, to, HEAD * 8 + with.len(), |words| {
            words[..HEAD].copy_from_slice(&head);
            cast_slice_mut(&mut words[HEAD..])[..with.len()].copy_from_slice(with);
        });
    }

    pub(super) fn put(&mut self, call: &Call, to: usize, port: usize, offset: usize, bytes: &[u8]) {
        let mut backoff = Backoff::default();
        if to == self.world.rank() {
            return self.ports.write(to, port, offset, bytes);
        }
        if bytes.len() <= SHORT_PUT {
            while !self.try_put(call, to, port, offset, bytes) {
                backoff.wait();
            }
            return;
        }
        while !self.has_put_room(to) {
            if !self.poll() {
                backoff.wait();
            }
        }
        self.send_put(Control::LongPut, to, port, offset, bytes.len(), &[]);
        let world = self.world;
        world.send_long(to, bytes, || {
            if !self.poll() {
                backoff.wait();
            }
        });
    }

    pub(super) fn close(&mut self, port: usize) -> Option<RawBlock> {
        while self.ports.is_expecting(port) {
            self.poll();
        }
        self.ports.close(port)
    }

    /// Receives the last messages of this job, after all nodes have left and no node sends any
    /// more.
    pub(super) fn finish(mut self, call: &Call) {
        self.closing = true;
        let world = self.world;
        let nodes = || 0..world.size();
        for lane in 0..3 {
            let sent =
                |to: usize| if lane == PUT { self.controls[to].0 } else { self.credits.sent(lane, to) };
            let leaving: Vec<u64> = nodes().map(sent).collect();
            let mut coming = vec![0; leaving.len()];
            world.all_to_all(call, &leaving, &mut coming);
            coming[world.rank()] = 0;
            let missing = |this: &Self| {
                let had = |from: usize| {
                    if lane == PUT { this.controls[from].1 } else { this.credits.taken(lane, from) }
                };
                nodes().any(|from| had(from) < coming[from])
            };
            let mut packet = Packet::new(0, crate::transport::Part::Whole, 0, &[]);
            while missing(&self) {
                for network in Network::BOTH {
                    self.own[network as usize].clear();
                    while self.try_receive(network, &mut packet) {}
                }
            }
        }
        while !self.ports.are_quiet() {
            self.poll();
        }
        self.inbox.finish();
        let [requests, replies] = self.packets;
        [requests, replies, self.puts, self.tells].into_iter().for_each(Outbox::finish);
    }
}

/// The waiting strategy of a node: it polls first (MPI yields if it knows that there are too few
/// cores), then yields, then sleeps.
#[derive(Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    /// Rounds of spinning, about 10 µs: the time of a message, and short compared with a time
    /// slice.
    const SPINS: u32 = 200;
    /// Rounds before sleeping: a sleeping node wakes at least 50 µs late.
    const YIELDS: u32 = 4000;

    pub(super) fn wait(&mut self) {
        self.wait_after(1);
    }

    /// Waits after `looks` polls of the awaited condition; a round of spinning counts as one poll.
    pub(super) fn wait_after(&mut self, looks: u32) {
        self.0 = self.0.saturating_add(if self.0 < Self::SPINS { looks } else { 1 });
        if self.0 < Self::SPINS || simulated_clock().is_some() {
            // Polls take simulated time, and all nodes share one thread: real time must not pass.
        } else if self.0 < Self::YIELDS {
            std::thread::yield_now();
        } else {
            let micros = u64::from((self.0 - Self::YIELDS).min(20) + 1) * 50;
            std::thread::sleep(std::time::Duration::from_micros(micros));
        }
    }

    /// True if the next wait sleeps.
    pub(super) fn is_sleeping(&self) -> bool {
        self.0 + 1 >= Self::YIELDS
    }

    /// True if the next wait spins.
    pub(super) fn is_spinning(&self) -> bool {
        self.0 + 1 < Self::SPINS
    }

    pub(super) fn renew(&mut self) {
        self.0 = 0;
    }
}
