//! Derived figures of a platform for a number of nodes, without simulating, to compare machines.

use crate::Time;
use crate::platform::SimulatedMachine;
use crate::topology::{End, Graph, TopologyError};

/// The parameters of LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995) of an idle machine,
/// and its limits.
///
/// Small messages carry [`SMALL`](Self::SMALL) bytes. Bandwidths count data, in bytes a second,
/// without headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Nodes.
    pub nodes: usize,
    /// Links, counted for each direction, including the nodes' own.
    pub links: usize,
    /// Hops between two nodes: the mean over all pairs, and the most.
    pub hops: (f64, usize),
    /// L: from the end of sending a small message to the beginning of its reception; the mean over
    /// all pairs, and the most.
    pub latency: (Time, Time),
    /// o at the sender of a small message.
    pub send: Time,
    /// o at its receiver.
    pub receive: Time,
    /// g: the least interval between small messages of one node to another.
    pub gap: Time,
    /// G: seconds a byte of a long block that the processors move; the inverse of `one_way`.
    pub gap_byte: f64,
    /// The bandwidth of a long block in one direction only, in bytes a second. The sender polls
    /// once a packet, without success.
    pub one_way: f64,
    /// The bandwidth of a long block in each direction if both nodes send, in bytes a second. Each
    /// polls once a packet, successfully (Brewer 1994, equation 47).
    pub two_way: f64,
    /// The bandwidth of a long block by DMA, if available, in bytes a second: the nodes' links are
    /// the limit.
    pub dma: Option<f64>,
    /// Bytes a second, including headers, from one half of the machine to the other: see
    /// [`Graph::bisection`].
    pub bisection: f64,
    /// A barrier at which all nodes arrive together.
    pub barrier: Barrier,
}

/// The time of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// The control network's time.
    Control(Time),
    /// An estimate: ⌈log₂ P⌉ rounds of dissemination (Hensgen, Finkel and Manber 1988), each of o +
    /// L + o with the mean L.
    Dissemination(Time),
}

impl Barrier {
    /// The time.
    #[must_use]
    pub fn time(self) -> Time {
        match self {
            Self::Control(time) | Self::Dissemination(time) => time,
        }
    }
}

impl Figures {
    /// Bytes of a small message: one word.
    pub const SMALL: usize = 8;

    /// The figures for this many nodes. Visits all pairs, which takes seconds for thousands of
    /// nodes.
    ///
    /// # Errors
    /// [`TopologyError`] if the nodes do not fit.
    pub fn new(platform: &SimulatedMachine, nodes: usize) -> Result<Self, TopologyError> {
        let graph = Graph::new(platform, nodes)?;
        let costs = &platform.interface;
        let wire = |bytes: usize| seconds(bytes + costs.header, platform.link.bandwidth);
        let at_sender = |bytes: usize| costs.send + costs.send_byte.times(bytes as u64) + costs.after_send;
        let at_receiver =
            |bytes: usize| costs.receive + costs.receive_byte.times(bytes as u64) + costs.dispatch;

        let small = Self::SMALL.min(costs.packet);
        let (send, receive) = (at_sender(small), at_receiver(small));
        let ways = Ways::new(platform, &graph, small + costs.header);

        let full = costs.packet;
        let polled = at_sender(full) + costs.failed_poll;
        let one_way = polled.max(at_receiver(full)).max(wire(full)).seconds() / full as f64;
        let two_way = (at_sender(full) + at_receiver(full)).max(wire(full)).seconds() / full as f64;

        let rounds = u64::from(nodes.next_power_of_two().ilog2());
        let barrier = match &platform.control {
            Some(control) => Barrier::Control(control.barrier),
            None => Barrier::Dissemination((send + ways.mean + receive).times(rounds)),
        };
        Ok(Self {
            nodes,
            links: graph.wires().len() * platform.link.networks,
            hops: (ways.hops, graph.diameter()),
            latency: (ways.mean, ways.most),
            send,
            receive,
            gap: send.max(receive).max(wire(small)),
            gap_byte: one_way,
            one_way: one_way.recip(),
            two_way: two_way.recip(),
            dma: platform.dma.map(|_| full as f64 / wire(full).seconds()),
            bisection: graph.bisection() * platform.link.networks as f64,
            barrier,
        })
    }
}

fn seconds(bytes: usize, bandwidth: f64) -> Time {
    Time::from_seconds(bytes as f64 / bandwidth)
}

/// Statistics of the paths between all pairs of nodes.
struct Ways {
    hops: f64,
    /// The mean time of a packet from queue to queue.
    mean: Time,
    /// The longest.
    most: Time,
}

impl Ways {
    fn new(platform: &SimulatedMachine, graph: &Graph, bytes: usize) -> Self {
        let nodes = graph.nodes();
        // All paths of a fat tree between two nodes are equivalent.
        let (mut hops, mut sum, mut most) = (0.0, 0.0, Time::ZERO);
        for from in 0..nodes {
            for to in (0..nodes).filter(|to| *to != from) {
                let time = way(platform, graph, from as u32, to as u32, bytes);
                hops += graph.hops(from, to) as f64;
                sum += time.seconds();
                most = most.max(time);
            }
        }
        let pairs = (nodes * (nodes - 1)).max(1) as f64;
        Self { hops: hops / pairs, mean: Time::from_seconds(sum / pairs), most }
    }
}

/// The transit time of a packet in an otherwise empty network.
fn way(platform: &SimulatedMachine, graph: &Graph, from: u32, to: u32, bytes: usize) -> Time {
    let mut hop = graph.first(from, to);
    let (mut latency, mut slowest, mut sum) = (Time::ZERO, Time::ZERO, Time::ZERO);
    loop {
        let wire = &graph.wires()[hop.link as usize];
        let passing = seconds(bytes, wire.bandwidth);
        latency += wire.latency;
        slowest = slowest.max(passing);
        sum += passing;
        match wire.to {
            End::Switch(at) => hop = graph.next(at, to),
            End::Node(_) | End::Nodes => break,
        }
    }
    latency + platform.interface.latency + if platform.link.cut_through { slowest } else { sum }
}
