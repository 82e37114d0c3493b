//! A network, packet by packet.
//!
//! # Model
//! Every directed link has a queue of `link.buffer` packets at its far end for each [`Channel`].
//! There are more queues where a cycle of links could deadlock (two lanes), and behind a switch's
//! backplane (one for each target). A node has for each channel a send queue before its link into
//! the network, and a receive queue, which is the queue at the far end of its link out of the
//! network.
//!
//! The packet at the head of a queue requests the next link of its path. It first needs a place in
//! the queue at that link's far end, which it keeps from then on; places are given in the order of
//! requests. Then it needs the link, which serves packets in the order in which they got their
//! places, one at a time, regardless of channel. So a receiver that takes no packets fills the
//! network behind it and stalls the senders through it, but no packet waits forever while others
//! move.
//!
//! The link is busy for the packet's bytes, header included, at its bandwidth. When the tail has
//! left, the link and the place in the previous queue are free. The head reaches the far end after
//! the link's latency, and the tail the same time after it left. With `cut_through`, a packet may
//! continue when its head has arrived, but its tail does not leave before it has arrived; otherwise
//! it continues when its tail has arrived. It can be received when its tail has arrived and
//! `interface.latency` has passed; it occupies its place in the receive queue during that time.
//!
//! If several links are equivalent, on the way up a fat tree, the packet takes the one with the
//! fewest requests, chosen at random among equals: "adaptive routing on the way up the tree,
//! selecting pseudo-randomly from the available links" (Brewer 1994, section 7.1, of the CM-5).
//!
//! A machine may have two separate networks (`link.networks`): each has all links of the topology,
//! and carries the packets of the even or of the odd channels.
//!
//! A packet to its own node goes from the send queue to the receive queue through a loop in the
//! interface, which carries one packet at a time. It uses no link and has only the interface's
//! latency; it takes the time of its bytes at the bandwidth of a link.
//!
//! # Determinism
//! Time is in whole picoseconds, and the time of a byte is an integer. Events are ordered by time,
//! those of equal time by when they were scheduled. Random choices (among equally requested links
//! up a fat tree) come from one seeded generator. Equal calls give equal events on every host.

mod ahead;
mod build;
mod events;
mod fifo;
mod flow;
mod link;
mod statistics;

pub use statistics::{LinkUse, NodeUse, Statistics};

use crate::Time;
use crate::platform::SimulatedMachine;
use crate::topology::{Graph, TopologyError};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use events::{EventKind, Events};
use fifo::{Fifo, NONE};
use link::Link;
use rustc_hash::FxHasher;
use slab::Slab;
use std::fmt;
use std::hash::Hasher;

/// Virtual channels.
pub const CHANNELS: usize = 5;

/// A virtual channel, 0 to 4: packets of one channel never wait for space used by those of another;
/// they share the links' time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u8);

impl Channel {
    /// Its number.
    ///
    /// # Panics
    /// If it is not below [`CHANNELS`].
    fn index(self) -> usize {
        let index = usize::from(self.0);
        assert!(index < CHANNELS, "channel {index} of {CHANNELS}");
        index
    }
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The time passed to [`Network::schedule`] for this node has been reached.
    Wake(usize),
    /// A packet can be received.
    Arrived {
        /// The receiving node.
        node: usize,
        /// The channel of the receive queue.
        channel: Channel,
    },
    /// A send queue that was full has room again.
    Room {
        /// The sending node.
        node: usize,
        /// The channel of the send queue.
        channel: Channel,
    },
    /// An event inside the network.
    Moved,
}

/// A packet that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival<T> {
    /// The node that sent it.
    pub from: usize,
    /// Its contents.
    pub item: T,
    /// Its bytes of data.
    pub bytes: usize,
    /// When it was put into the send queue.
    pub sent: Time,
}

/// A packet in the network, without its contents: every event on its way needs this much.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// The time at which its tail is in its current queue; it may be in the future.
    tail: Time,
    bytes: usize,
    /// Its current queue; after its head has requested the next queue, the next one.
    fifo: u32,
    /// The packet behind it there.
    next: u32,
    from: u32,
    to: u32,
    channel: u32,
}

/// What only the sender and the receiver of a packet need.
#[derive(Debug)]
struct Contents<T> {
    sent: Time,
    item: T,
}

/// A network and the packets in it. `T` is the type of a packet's contents.
///
/// The caller schedules wakes, sends, receives, and calls [`step`](Self::step) for one event after
/// another. All calls with a time `at` must be in order: not before [`now`](Self::now), and not
/// while an event before `at` is pending (checked in debug builds; otherwise earlier times are
/// treated as now). They panic if there is no such node or channel.
pub struct Network<T> {
    graph: Graph,
    /// The graph's links, of one network after the other, then each node's loop.
    links: Vec<Link>,
    classes: Vec<link::Class>,
    /// The queues, in the order of [`build::fifos`].
    fifos: Vec<Fifo>,
    /// Number of queues of one channel.
    channel_stride: u32,
    /// By number; those of packets that have been received are used again.
    packets: Vec<Packet>,
    contents: Slab<Contents<T>>,
    events: Events,
    random: ChaCha8Rng,
    hasher: FxHasher,
    now: Time,
    steps: u64,
    /// Separate networks, each with the graph's links.
    networks: u32,
    /// The sum over packets of their time in the network in ps, until `counted`.
    standing: u128,
    counted: Time,
    header: usize,
    cut_through: bool,
    /// The time of packets in the interfaces, from the arrival of the tail until they can be
    /// received.
    interface: Time,
    nodes: Vec<Traffic>,
}

impl<T> fmt::Debug for Network<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Network");
        text.field("now", &self.now).field("steps", &self.steps).field("in_flight", &self.in_flight());
        text.finish_non_exhaustive()
    }
}

/// A node's current packets.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    sent: u64,
    received: u64,
    waiting: usize,
    /// Packets in its receive queues.
    arrived: [u32; CHANNELS],
}

impl<T> Network<T> {
    /// An empty network for this many nodes. `seed` determines the random choices, if the topology
    /// has any.
    ///
    /// # Errors
    /// [`TopologyError`] if the nodes do not fit the topology (it says how many do), or the
    /// platform's values are impossible.
    pub fn new(platform: &SimulatedMachine, nodes: usize, seed: u64) -> Result<Self, TopologyError> {
        let graph = Graph::new(platform, nodes)?;
        let fifos = build::fifos(platform, &graph)?;
        let (links, classes) = build::links(platform, &graph);
        Ok(Self {
            graph,
            links,
            classes,
            channel_stride: fifos.len() as u32 / CHANNELS as u32,
            fifos,
            packets: Vec::new(),
            contents: Slab::new(),
            events: Events::default(),
            random: ChaCha8Rng::seed_from_u64(seed),
            hasher: FxHasher::default(),
            now: Time::ZERO,
            steps: 0,
            networks: platform.link.networks as u32,
            standing: 0,
            counted: Time::ZERO,
            header: platform.interface.header,
            cut_through: platform.link.cut_through,
            interface: platform.interface.latency,
            nodes: vec![Traffic::default(); nodes],
        })
    }

    /// The switches and links.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The time of the last step.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Makes [`step`](Self::step) return [`NetworkEvent::Wake`] for the node at that time, or now
    /// if it has passed.
    pub fn schedule(&mut self, at: Time, node: usize) {
        assert!(node < self.nodes.len(), "node {node} of {}", self.nodes.len());
        self.events.push(at.max(self.now), EventKind::Wake, node as u32);
    }

    /// True if a node's send queue has room for a packet.
    #[must_use]
    pub fn has_room(&self, node: usize, channel: Channel) -> bool {
        self.fifos[self.send_fifo(node, channel) as usize].room > 0
    }

    /// Puts a packet with this many bytes of data into a node's send queue at the time `at`.
    ///
    /// # Errors
    /// The item, if the queue is full; [`NetworkEvent::Room`] reports when to try again.
    pub fn try_send(
        &mut self,
        at: Time,
        from: usize,
        to: usize,
        channel: Channel,
        bytes: usize,
        item: T,
    ) -> Result<(), T> {
        let at = self.in_order(at);
        assert!(to < self.nodes.len(), "node {to} of {}", self.nodes.len());
        let fifo = self.send_fifo(from, channel);
        let queue = &mut self.fifos[fifo as usize];
        if queue.room == 0 {
            return Err(item);
        }
        queue.room -= 1;
        self.count(at);
        self.nodes[from].sent += 1;
        self.nodes[to].waiting += 1;
        let number = self.contents.insert(Contents { sent: at, item });
        let packet = Packet {
            tail: at,
            bytes,
            fifo,
            next: NONE,
            from: from as u32,
            to: to as u32,
            channel: channel.index() as u32,
        };
        match self.packets.get_mut(number) {
            Some(place) => *place = packet,
            // The slab counts its new numbers up.
            None => self.packets.push(packet),
        }
        self.enter(at, number as u32);
        Ok(())
    }

    /// The number of packets that a node can receive on a channel.
    #[must_use]
    pub fn arrived(&self, node: usize, channel: Channel) -> usize {
        self.nodes[node].arrived[channel.index()] as usize
    }

    /// Removes the oldest packet from a node's receive queue, if there is one; its place is free
    /// from `at` on.
    pub fn receive(&mut self, at: Time, node: usize, channel: Channel) -> Option<Arrival<T>> {
        self.receive_during(at, node, channel, |_| Time::ZERO)
    }

    /// As [`receive`](Self::receive); the packet keeps its place while it is read, for a time that
    /// depends on its bytes of data.
    pub fn receive_during(
        &mut self,
        at: Time,
        node: usize,
        channel: Channel,
        reading: impl FnOnce(usize) -> Time,
    ) -> Option<Arrival<T>> {
        let at = self.in_order(at);
        let fifo = self.receive_fifo(node, channel);
        let packet = self.pop_packet(fifo)?;
        self.count(at);
        let Packet { from, bytes, .. } = self.packets[packet as usize];
        let Contents { sent, item } = self.contents.remove(packet as usize);
        let traffic = &mut self.nodes[node];
        traffic.received += 1;
        traffic.waiting -= 1;
        traffic.arrived[channel.index()] -= 1;
        let reading = reading(bytes);
        if reading > Time::ZERO {
            self.events.push(at + reading, EventKind::Place, fifo);
        } else {
            self.release(at, fifo);
        }
        Some(Arrival { from: from as usize, item, bytes, sent })
    }

    /// The time of the next event.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.events.next()
    }

    /// Processes exactly one event, the next.
    pub fn step(&mut self) -> Option<NetworkEvent> {
        let event = self.events.pop()?;
        self.load_ahead();
        self.now = event.time;
        self.steps += 1;

        let id = event.id();
        let (step, detail) = match event.kind() {
            EventKind::Wake => (NetworkEvent::Wake(id as usize), 0),
            EventKind::Free => (self.free(event.time, id), 0),
            EventKind::Place => {
                self.release(event.time, id);
                (NetworkEvent::Moved, 0)
            }
            EventKind::Head => {
                let Packet { from, to, .. } = self.packets[id as usize];
                (self.arrive(event.time, id), u64::from(from) << 32 | u64::from(to))
            }
        };
        self.hasher.write_u64(event.time.0);
        self.hasher.write_u64(event.word());
        self.hasher.write_u64(detail);
        Some(step)
    }

    /// Packets anywhere, receive queues included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.contents.len()
    }

    /// Packets on their way to a node, including its receive queues.
    #[must_use]
    pub fn waiting_for(&self, node: usize) -> usize {
        self.nodes[node].waiting
    }

    /// Events so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// A hash of all events so far, with their times: equal for equal runs, on all hosts with
    /// 64-bit words.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    /// Statistics of links and nodes so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let now = self.now;
        let wires = self.graph.wires().len();
        let links = self.links[..wires * self.networks as usize].iter().enumerate();
        let links = links.map(|(number, link)| {
            let busy = link.busy - (link.until - now);
            let name = self.graph.name(number % wires);
            let of_network = format!("{name}, network {}", number / wires);
            LinkUse {
                name: if self.networks > 1 { of_network } else { name },
                packets: link.packets,
                bytes: link.bytes,
                busy,
                utilisation: busy.0 as f64 / now.0.max(1) as f64,
                most_waiting: link.most_waiting as usize,
            }
        });
        let nodes = self.nodes.iter().map(|node| NodeUse { sent: node.sent, received: node.received });
        let standing = self.standing + self.contents.len() as u128 * u128::from((now - self.counted).0);
        let standing = standing as f64 / (now.0.max(1) as f64 * self.nodes.len() as f64);
        Statistics { time: now, links: links.collect(), nodes: nodes.collect(), standing }
    }

    /// Adds the time of the packets in the network until `at`, before their number changes.
    fn count(&mut self, at: Time) {
        self.standing += self.contents.len() as u128 * u128::from((at - self.counted).0);
        self.counted = at;
    }

    fn receive_fifo(&self, node: usize, channel: Channel) -> u32 {
        assert!(node < self.nodes.len(), "node {node} of {}", self.nodes.len());
        channel.index() as u32 * self.channel_stride + node as u32
    }

    fn send_fifo(&self, node: usize, channel: Channel) -> u32 {
        self.nodes.len() as u32 + self.receive_fifo(node, channel)
    }

    /// The index of a node's queue: receive queues have the nodes' indices, send queues follow.
    fn node_and_channel(&self, fifo: u32) -> (usize, Channel) {
        ((fifo % self.channel_stride) as usize, Channel((fifo / self.channel_stride) as u8))
    }

    fn in_order(&self, at: Time) -> Time {
        debug_assert!(at >= self.now, "a call for {at} after {}", self.now);
        debug_assert!(self.next().is_none_or(|next| next >= at), "a call for {at} before an earlier event");
        at.max(self.now)
    }
}
