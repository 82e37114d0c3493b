//! A network, packet by packet.
//!
//! # Model
//! Every directed link has a queue of `link.buffer` packets at its far end for each [`Channel`];
//! more where a circle of links could lock up (two lanes), and behind a switch's backplane (one for
//! each target). A node has for each channel a send queue before its link into the network, and a
//! receive queue, which is the queue at the far end of its link out of the network.
//!
//! The packet at the head of a queue asks for the one link that it goes on by. It first needs a
//! place in the queue at that link's far end, and keeps it from then on; places go to those that
//! wait in the order of asking. Then it needs the link, which serves in the order in which packets
//! got their places, one at a time, whatever their channel. So a receiver that takes nothing fills
//! the network behind it, and stalls those who send through there, but no packet waits for ever
//! where others go on.
//!
//! The link is busy for the packet's bytes, header included, by its bandwidth. When the tail has
//! left, the link and the place in the queue behind are free. The head is at the far end after the
//! link's latency, the tail so much after it left. With `cut_through`, a packet may go on when its
//! head is there, but its tail does not leave before it has come; else it goes on when its tail is
//! there. It can be received when its tail has come and `interface.latency` has passed; its place
//! in the receive queue is taken all the while.
//!
//! Where several links do equally well, on the way up a fat tree, the packet takes the one that
//! fewest others want, and chance decides among equals: "adaptive routing on the way up the tree,
//! selecting pseudo-randomly from the available links" (Brewer 1994, section 7.1, of the CM-5).
//!
//! A packet to its own node goes from the send queue to the receive queue by a loop in the
//! interface: it takes no link, no latency but the interface's, and the time of its bytes at the
//! bandwidth of a link; the loop carries one packet at a time.
//!
//! # Determinism
//! Time is in whole picoseconds and the time of a byte a whole number; events are ordered by time,
//! those of equal time as they were scheduled; chance (among the fat tree's ways up that are wanted
//! equally little) comes from one seeded generator. Equal calls give equal events on every host.

mod build;
mod events;
mod fifo;
mod flow;
mod link;
mod statistics;

pub use statistics::{LinkUse, NodeUse, Statistics};

use crate::Time;
use crate::platform::Platform;
use crate::topology::{Graph, TopologyError};
use events::{Events, Kind};
use fifo::{Fifo, NONE};
use link::Link;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rustc_hash::FxHasher;
use slab::Slab;
use std::fmt;
use std::hash::Hasher;

/// Virtual channels.
pub const CHANNELS: usize = 5;

/// A virtual channel, 0 to 4: packets of one never wait for room that those of another take; they
/// share the links' time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u8);

impl Channel {
    /// Its number.
    ///
    /// # Panics
    /// Where it is not below [`CHANNELS`].
    fn index(self) -> usize {
        let index = usize::from(self.0);
        assert!(index < CHANNELS, "channel {index} of {CHANNELS}");
        index
    }
}

/// What a step was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The time came that was given to [`Network::schedule`] for this node.
    Wake(usize),
    /// A packet can be received.
    Arrived {
        /// Where.
        node: usize,
        /// In which of its receive queues.
        channel: Channel,
    },
    /// A send queue that was full has room again.
    Room {
        /// Whose.
        node: usize,
        /// Which.
        channel: Channel,
    },
    /// Something went on inside the network.
    Moved,
}

/// A packet that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival<T> {
    /// The node that sent it.
    pub from: usize,
    /// What it carries.
    pub item: T,
    /// Its bytes of data.
    pub bytes: usize,
    /// When it was put into the send queue.
    pub sent: Time,
}

/// A packet on its way.
#[derive(Debug)]
struct Packet<T> {
    /// When its tail is in the queue that it is in, or on its way to.
    tail: Time,
    sent: Time,
    bytes: usize,
    /// That queue; where its head has asked for the next, that.
    fifo: u32,
    /// The packet behind it there.
    next: u32,
    from: u32,
    to: u32,
    /// From a queue of channel 0 to that of its channel.
    channel_offset: u32,
    item: T,
}

/// A network and the packets in it. `T` is what a packet carries.
///
/// Its user schedules wakes, sends, receives, and calls [`step`](Self::step) for one event after
/// another. All calls that take a time `at` are to be in order: not before [`now`](Self::now), and
/// not while an event before `at` has still to happen (checked in debug builds; else what is before
/// now happens now). They panic where there is no such node or channel.
pub struct Network<T> {
    graph: Graph,
    /// The graph's, then each node's loop.
    links: Vec<Link>,
    classes: Vec<link::Class>,
    /// In the order of [`build::fifos`].
    fifos: Vec<Fifo>,
    /// Queues of one channel.
    channel_stride: u32,
    packets: Slab<Packet<T>>,
    events: Events,
    random: ChaCha8Rng,
    hasher: FxHasher,
    now: Time,
    steps: u64,
    header: usize,
    cut_through: bool,
    /// In the interfaces, from the arrival of a packet's tail until it can be received.
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

/// A node's packets so far.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    sent: u64,
    received: u64,
    /// On their way to it.
    waiting: usize,
    /// In its receive queues.
    arrived: [u32; CHANNELS],
}

impl<T> Network<T> {
    /// An empty network for so many nodes. Chance, where the topology leaves something to it, comes
    /// from `seed`.
    ///
    /// # Errors
    /// [`TopologyError`] where the nodes do not fit the topology (it says how many do), or the
    /// platform makes no network.
    pub fn new(platform: &Platform, nodes: usize, seed: u64) -> Result<Self, TopologyError> {
        let graph = Graph::new(platform, nodes)?;
        let fifos = build::fifos(platform, &graph)?;
        let (links, classes) = build::links(platform, &graph);
        Ok(Self {
            graph,
            links,
            classes,
            channel_stride: fifos.len() as u32 / CHANNELS as u32,
            fifos,
            packets: Slab::new(),
            events: Events::default(),
            random: ChaCha8Rng::seed_from_u64(seed),
            hasher: FxHasher::default(),
            now: Time::ZERO,
            steps: 0,
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

    /// Has [`step`](Self::step) return [`Step::Wake`] for the node at that time, or now where it
    /// has passed.
    pub fn schedule(&mut self, at: Time, node: usize) {
        assert!(node < self.nodes.len(), "node {node} of {}", self.nodes.len());
        self.events.push(at.max(self.now), Kind::Wake, node as u32);
    }

    /// Whether a node's send queue has room for a packet.
    #[must_use]
    pub fn has_room(&self, node: usize, channel: Channel) -> bool {
        self.fifos[self.send_fifo(node, channel) as usize].room > 0
    }

    /// Puts a packet with so many bytes of data into a node's send queue at the time `at`.
    ///
    /// # Errors
    /// The item, where the queue is full; [`Step::Room`] says when to try again.
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
        self.nodes[from].sent += 1;
        self.nodes[to].waiting += 1;
        let packet = self.packets.insert(Packet {
            tail: at,
            sent: at,
            bytes,
            fifo,
            next: NONE,
            from: from as u32,
            to: to as u32,
            channel_offset: channel.index() as u32 * self.channel_stride,
            item,
        });
        self.enter(at, packet as u32);
        Ok(())
    }

    /// How many packets a node can receive on a channel.
    #[must_use]
    pub fn arrived(&self, node: usize, channel: Channel) -> usize {
        self.nodes[node].arrived[channel.index()] as usize
    }

    /// Takes the packet that has been in a node's receive queue for longest, if there is one; its
    /// place is free from `at` on.
    pub fn receive(&mut self, at: Time, node: usize, channel: Channel) -> Option<Arrival<T>> {
        let at = self.in_order(at);
        let fifo = self.receive_fifo(node, channel);
        let packet = self.pop_packet(fifo)?;
        let Packet { from, item, bytes, sent, .. } = self.packets.remove(packet as usize);
        let traffic = &mut self.nodes[node];
        traffic.received += 1;
        traffic.waiting -= 1;
        traffic.arrived[channel.index()] -= 1;
        self.release(at, fifo);
        Some(Arrival { from: from as usize, item, bytes, sent })
    }

    /// The time of the next event.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.events.next()
    }

    /// Lets the next event happen: exactly one.
    pub fn step(&mut self) -> Option<Step> {
        let event = self.events.pop()?;
        self.now = event.time;
        self.steps += 1;
        let (step, detail) = match event.kind {
            Kind::Wake => (Step::Wake(event.id as usize), 0),
            Kind::Free => (self.free(event.time, event.id), 0),
            Kind::Head => {
                let Packet { from, to, .. } = self.packets[event.id as usize];
                (self.arrive(event.time, event.id), u64::from(from) << 32 | u64::from(to))
            }
        };
        self.hasher.write_u64(event.time.0);
        self.hasher.write_u64((event.kind as u64) << 32 | u64::from(event.id));
        self.hasher.write_u64(detail);
        Some(step)
    }

    /// Packets anywhere, receive queues included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Packets anywhere that are on their way to a node, its receive queues included.
    #[must_use]
    pub fn waiting_for(&self, node: usize) -> usize {
        self.nodes[node].waiting
    }

    /// Events so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Of all events so far, with their times: equal for equal runs, on all hosts with 64-bit
    /// words.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    /// What links and nodes have done so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let now = self.now;
        let links = self.links[..self.graph.wires().len()].iter().enumerate();
        let links = links.map(|(number, link)| {
            let busy = link.busy - (link.until - now);
            LinkUse {
                name: self.graph.name(number),
                packets: link.packets,
                bytes: link.bytes,
                busy,
                utilisation: busy.0 as f64 / now.0.max(1) as f64,
                most_waiting: link.most_waiting as usize,
            }
        });
        let nodes = self.nodes.iter().map(|node| NodeUse { sent: node.sent, received: node.received });
        Statistics { time: now, links: links.collect(), nodes: nodes.collect() }
    }

    fn receive_fifo(&self, node: usize, channel: Channel) -> u32 {
        assert!(node < self.nodes.len(), "node {node} of {}", self.nodes.len());
        channel.index() as u32 * self.channel_stride + node as u32
    }

    fn send_fifo(&self, node: usize, channel: Channel) -> u32 {
        self.nodes.len() as u32 + self.receive_fifo(node, channel)
    }

    /// Of a node's queue: receive queues count as those of nodes, send queues as those of nodes
    /// beyond the last.
    fn node_and_channel(&self, fifo: u32) -> (usize, Channel) {
        ((fifo % self.channel_stride) as usize, Channel((fifo / self.channel_stride) as u8))
    }

    fn in_order(&self, at: Time) -> Time {
        debug_assert!(at >= self.now, "a call for {at} after {}", self.now);
        debug_assert!(self.next().is_none_or(|next| next >= at), "a call for {at} before an earlier event");
        at.max(self.now)
    }
}
