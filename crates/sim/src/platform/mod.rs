//! Description of a simulated machine: costs, queues, topology.
//!
//! [`SimulatedMachine::find`] takes a built-in platform by its name, or reads one from a file. The
//! format is TOML; `platforms/cm5.toml` is a commented example.

mod built_in;
mod circuits;
mod error;
mod fields;
mod interruptions;
mod read;

pub use circuits::Circuits;
pub use error::{Fault, FaultKind, Faults, MachineError};
pub use interruptions::{Interrupts, Slices};

use crate::Time;
use std::collections::BTreeMap;

/// A machine, for any number of nodes that fits its topology.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedMachine {
    /// Its name, as in `--on sim:NAME`: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// A description of one line.
    pub summary: String,
    /// The hash of its text, in hexadecimal: models are valid for one machine only.
    pub sha256: String,
    /// The processor of each node.
    pub cpu: Cpu,
    /// The processor's costs of communication, and the queues between it and the network.
    pub interface: Interface,
    /// The connections between nodes.
    pub topology: Topology,
    /// The hosts, if nodes share them; otherwise each node is a host of its own.
    pub host: Option<Host>,
    /// The network's links, including the nodes' own unless the topology says otherwise.
    pub link: Link,
    /// A second network for barriers, combining and broadcasts, if any.
    pub control: Option<Control>,
    /// A unit that moves blocks without the processor, if any.
    pub dma: Option<Dma>,
    /// Connections that are reserved beforehand and take no packets, if the machine has them.
    pub circuits: Option<Circuits>,
    /// Interrupts of the processors' timers, if any.
    pub interrupts: Option<Interrupts>,
    /// Time slices that empty the network, if any.
    pub slices: Option<Slices>,
    /// Kernels with a time of their own in place of [`Cpu::kernel_factor`].
    pub kernels: BTreeMap<String, KernelTime>,
}

/// The time of a kernel on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelTime {
    /// That of its model, times this.
    Factor(f64),
    /// Cycles, whatever its model says.
    Cycles {
        /// Of a call.
        call: f64,
        /// Of each unit of its first input.
        each: f64,
    },
}

/// A host of several nodes: they reach each other inside it, and other hosts by one link each way,
/// which they share and which is one of the network's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Nodes of one host, consecutive ones; the last host may have fewer.
    pub nodes: usize,
    /// Bytes a second between a node and its host.
    pub bandwidth: f64,
    /// Latency between a node and its host; a packet to another node of the host passes it twice.
    pub latency: Time,
}

impl SimulatedMachine {
    /// The number of hosts of so many nodes.
    #[must_use]
    pub fn hosts(&self, nodes: usize) -> usize {
        self.host.map_or(nodes, |host| nodes.div_ceil(host.nodes.max(1)))
    }

    /// The same machine with `nodes` nodes on each host; `None` if its hosts have one node each.
    #[must_use]
    pub fn with_hosts_of(self, nodes: usize) -> Option<Self> {
        match self.host {
            None if nodes == 1 => Some(self),
            None => None,
            Some(host) => Some(Self { host: Some(Host { nodes, ..host }), ..self }),
        }
    }
}

/// A node's processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpu {
    /// Cycles a second; converts costs in cycles.
    pub frequency: f64,
    /// The factor of local work relative to the machine on which the kernels' models were
    /// calibrated.
    pub kernel_factor: f64,
}

/// A node's processor costs of messages, and the queues between it and the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interface {
    /// Putting one packet into the send queue.
    pub send: Time,
    /// Additional, for each byte of data in it.
    pub send_byte: Time,
    /// Additional, once the packet is in the queue and may already be leaving: the return from the
    /// kernel.
    pub after_send: Time,
    /// Taking one packet out of the receive queue.
    pub receive: Time,
    /// Additional, for each byte of data in it.
    pub receive_byte: Time,
    /// A failed poll of one network: no packet, or no room.
    pub failed_poll: Time,
    /// Finding and calling a message's handler.
    pub dispatch: Time,
    /// Starting a block of several packets.
    pub block_setup: Time,
    /// Calling a reduction or a scan that needs messages.
    pub combine_call: Time,
    /// Combining one 8-byte word with another, in collectives without a control network.
    pub combine_word: Time,
    /// The most bytes of data in a packet.
    pub packet: usize,
    /// Bytes of a packet besides its data.
    pub header: usize,
    /// The latency of a packet besides its links: the time in both nodes' interfaces, which uses no
    /// processor time. It passes after the last link; packets are pipelined through it, each with a
    /// place in the receive queue.
    pub latency: Time,
    /// Length of the send queue in packets, for each channel.
    pub send_queue: usize,
    /// Length of the receive queue in packets, for each channel.
    pub receive_queue: usize,
    /// Whether a packet keeps its place in the receive queue until the processor has read it;
    /// otherwise the place is free when reading begins.
    pub holds_place: bool,
}

/// The connections between nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Every node has its own path to every other: only the links into and out of a node are
    /// shared.
    Crossbar,
    /// A crossbar whose packets also share a backplane.
    Switch {
        /// Bytes a second through the whole switch.
        backplane: f64,
    },
    /// One link shared by all nodes.
    Bus,
    /// A fat tree of switches with `arity` children each; a packet takes random links up, and the
    /// unique path down.
    FatTree {
        /// Children of a switch.
        arity: usize,
        /// Parents of a switch at each level above the nodes', from below; the last value is for
        /// all further levels.
        parents: Vec<usize>,
        /// Bytes a second of one link above the nodes', at each level from below; the last value is
        /// for all further levels.
        bandwidths: Vec<f64>,
    },
    /// A grid of two or three dimensions, or with `wrap` a torus; packets travel along the first
    /// dimension first.
    Mesh {
        /// Nodes in each dimension; if not given, as square as possible.
        extents: Option<Vec<usize>>,
        /// The number of dimensions if the extents are not given.
        dimensions: usize,
        /// True if the ends of each row are connected.
        wrap: bool,
    },
    /// A hypercube; packets correct the lowest differing bit first (e-cube).
    Hypercube,
    /// Groups of switches, all connected within a group, and groups connected by at least one link
    /// each; packets take a shortest path (local, global, local).
    Dragonfly {
        /// Nodes of one switch.
        nodes: usize,
        /// Switches of one group.
        switches: usize,
        /// Links of one switch to other groups.
        global: usize,
        /// Bytes a second of one global link.
        global_bandwidth: f64,
        /// Latency of one global link.
        global_latency: Time,
    },
}

impl Topology {
    /// Columns and rows of a two-dimensional grid for `nodes` nodes; `None` for other topologies.
    #[must_use]
    pub fn columns_and_rows(&self, nodes: usize) -> Option<[usize; 2]> {
        match self {
            Self::Mesh { extents: Some(extents), .. } => extents[..].try_into().ok(),
            Self::Mesh { extents: None, dimensions: 2, .. } => Some(squarest(nodes)),
            _ => None,
        }
    }
}

/// A link, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second.
    pub bandwidth: f64,
    /// Latency of a packet's first byte from one switch to the next.
    pub latency: Time,
    /// Packets that fit at the far end, for each channel.
    pub buffer: usize,
    /// True if a switch forwards a packet before it has arrived completely.
    pub cut_through: bool,
    /// Separate networks, 1 or 2, each with all links of the topology: with two, packets of even
    /// and of odd channels never share a link.
    pub networks: usize,
}

/// A separate network for whole collectives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// From the last node's arrival at a barrier until all leave.
    pub barrier: Time,
    /// From the last node's arrival at a reduce or scan of one word until all leave.
    pub combine: Time,
    /// For each further word.
    pub combine_word: Time,
    /// A broadcast of one word.
    pub broadcast: Time,
    /// For each further word.
    pub broadcast_word: Time,
    /// True if words are pipelined, so that only the first one has the latency of the network.
    pub pipelined: bool,
}

/// A unit that moves blocks between memory and network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dma {
    /// The processor's cost for each block, before it leaves.
    pub setup: Time,
    /// And after it has left, if the processor waits for that: as long as its bytes take on a link.
    pub after: Option<Time>,
    /// The least bytes of a block for which it is used.
    pub least: usize,
    /// The receiver's cost for each block that the unit has received, charged when its processor
    /// sees the arrival.
    pub receive: Time,
    /// Per-hop latency before a block leaves: the sender requests a buffer and waits for the
    /// answer. It uses no processor time.
    pub request_hop: Time,
    /// True if the receiver's unit takes shorter blocks, which the sender's processor sends, out of
    /// the network; otherwise its processor does.
    pub receives_short: bool,
}

/// The two most equal factors of a number, the larger first.
pub(crate) fn squarest(nodes: usize) -> [usize; 2] {
    let less = (1..=nodes.isqrt()).rev().find(|&factor| nodes.is_multiple_of(factor)).unwrap_or(1);
    [nodes / less, less]
}
