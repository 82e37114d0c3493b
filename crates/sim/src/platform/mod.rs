//! What a simulated machine is like: costs, queues, topology.
//!
//! [`Platform::find`] takes a built-in platform by its name, or reads one from a file. The format
//! is TOML; `platforms/cm5.toml` is an example, and explains itself.

mod built_in;
mod error;
mod fields;
mod figures;
mod read;

pub use error::{Fault, FaultKind, Faults, PlatformError};
pub use figures::{Barrier, Figures};

use crate::Time;

/// A machine, for any number of nodes that its topology has room for.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Its name, as in `--on sim:NAME`: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// Of the text that it was read from, in hexadecimal: models hold for one machine only.
    pub sha256: String,
    /// The processor of each node.
    pub cpu: Cpu,
    /// What communication costs the processor, and the queues between it and the network.
    pub interface: Interface,
    /// How nodes are connected.
    pub topology: Topology,
    /// The network's links, all but the nodes' own where the topology says otherwise.
    pub link: Link,
    /// A second network, for barriers, combining and broadcasts, where there is one.
    pub control: Option<Control>,
    /// What moves blocks without the processor, where there is one.
    pub dma: Option<Dma>,
}

/// A node's processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpu {
    /// Cycles a second; all costs in cycles are by it.
    pub frequency: f64,
    /// How much longer local work takes than on the machine that the kernels' models were
    /// calibrated on.
    pub kernel_factor: f64,
}

/// What messages cost a node's processor, and the queues between it and the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interface {
    /// To put one packet into the send queue.
    pub send: Time,
    /// More, for each byte of data in it.
    pub send_byte: Time,
    /// What sending costs on top once the packet is in the queue and may already be on its way: the
    /// way back from the kernel.
    pub after_send: Time,
    /// To take one packet out of the receive queue.
    pub receive: Time,
    /// More, for each byte of data in it.
    pub receive_byte: Time,
    /// To look at the queues of one network and find nothing, or no room.
    pub failed_poll: Time,
    /// To find and call a message's handler.
    pub dispatch: Time,
    /// To start a block of several packets.
    pub block_setup: Time,
    /// To combine one 8-byte word with another, in collectives that go without a control network.
    pub combine_word: Time,
    /// Bytes of data that a packet holds at most.
    pub packet: usize,
    /// Bytes of a packet besides its data.
    pub header: usize,
    /// What a packet takes besides its links: the time in both nodes' interfaces, which no
    /// processor spends. It passes after the last link; packets follow each other through it, each
    /// with a place in the receive queue.
    pub latency: Time,
    /// Packets that wait to be sent, at most; of each channel.
    pub send_queue: usize,
    /// Packets that wait to be received, at most; of each channel.
    pub receive_queue: usize,
}

/// How nodes are connected.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Every node has its own way to every other: only the links into and out of a node are shared.
    Crossbar,
    /// As a crossbar, whose packets also share a backplane of so many bytes a second.
    Switch {
        /// Bytes a second through the whole switch.
        backplane: f64,
    },
    /// One link for all.
    Bus,
    /// A fat tree of switches with `arity` children each; a packet goes up by links drawn at
    /// random, and down by the only way.
    FatTree {
        /// Children of a switch.
        arity: usize,
        /// Parents of a switch at each level above the nodes', from below; the last holds for all
        /// levels above.
        parents: Vec<usize>,
        /// Bytes a second of one link above the nodes', at each level from below; the last holds
        /// for all above.
        bandwidths: Vec<f64>,
    },
    /// A grid of two or three dimensions, or with `wrap` a torus; packets go along the first
    /// dimension first.
    Mesh {
        /// Nodes in each dimension; where not given, as square as the number of nodes allows.
        extents: Option<Vec<usize>>,
        /// How many dimensions where the extents are not given.
        dimensions: usize,
        /// Whether the ends of each row are connected.
        wrap: bool,
    },
    /// A hypercube; packets correct the lowest differing bit first (e-cube).
    Hypercube,
    /// Groups of switches, all connected within a group, and groups connected by at least one link
    /// each; packets take a least way (local, global, local).
    Dragonfly {
        /// Nodes of one switch.
        nodes: usize,
        /// Switches of one group.
        switches: usize,
        /// Links of one switch to other groups.
        global: usize,
        /// Bytes a second of one global link.
        global_bandwidth: f64,
        /// Time from end to end of one global link.
        global_latency: Time,
    },
}

/// A link, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second.
    pub bandwidth: f64,
    /// Time for a packet's first byte from one switch to the next.
    pub latency: Time,
    /// Packets that find room at the far end, of each channel.
    pub buffer: usize,
    /// Whether a switch passes a packet on before it is whole.
    pub cut_through: bool,
}

/// A network of its own for whole collectives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// From the last node's arrival at a barrier to everyone's departure.
    pub barrier: Time,
    /// The same for a reduce or scan of one word.
    pub combine: Time,
    /// For each further word.
    pub combine_word: Time,
    /// A broadcast of one word.
    pub broadcast: Time,
    /// For each further word.
    pub broadcast_word: Time,
    /// Whether words follow each other, so that only the first pays the way through the network.
    pub pipelined: bool,
}

/// A unit that moves blocks between memory and network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dma {
    /// What the processor pays for each block.
    pub setup: Time,
    /// Bytes from which on a block goes this way.
    pub least: usize,
}
