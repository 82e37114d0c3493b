//! The contents of packets.

use crate::block::Contents;
use crate::transport::{Network, Packet};
use strata_sim::network::Channel;

/// Channel of collectives' packets: they never wait for a program that does not receive.
pub(super) const COLLECTIVES: Channel = Channel(4);

pub(super) fn messages(network: Network) -> Channel {
    Channel(network as u8)
}

/// The channel of a network's packets for ports. They have separate queues, because a node may
/// receive them while it receives no messages.
pub(super) fn data(network: Network) -> Channel {
    Channel(2 + network as u8)
}

/// The channel of blocks that are sent without the processor: one of those for ports.
pub(super) const DMA: Channel = Channel(2);

/// The network of blocks sent by the processor if the receiver's unit takes only those of [`DMA`].
pub(super) const SHORT: Network = Network::Reply;

/// True if a channel is one of those for ports.
pub(super) fn is_data(channel: Channel) -> bool {
    Network::BOTH.into_iter().any(|network| channel == data(network))
}

/// The channels for ports of all networks, as bits.
pub(super) fn all_data() -> u8 {
    Network::BOTH.into_iter().fold(0, |bits, network| bits | 1 << data(network).0)
}

/// Bytes in flight or, for a phantom, their number.
#[derive(Debug)]
pub(super) struct Cargo {
    bytes: Box<[u8]>,
    phantom: usize,
}

impl Cargo {
    pub(super) fn contents(&self) -> Contents<'_> {
        Contents { bytes: &self.bytes, phantom: self.phantom }
    }
}

impl From<Contents<'_>> for Cargo {
    fn from(contents: Contents<'_>) -> Self {
        Self { bytes: contents.bytes.into(), phantom: contents.phantom }
    }
}

/// A packet's contents, in the simulated network's units: a message of the run-time may need
/// several.
#[derive(Debug)]
pub(super) enum Payload {
    /// One of the `parts` of a message.
    Part {
        /// The number of the message among those from this sender to this receiver on this network.
        number: u32,
        parts: u16,
        /// The message; present with its last part.
        message: Option<Box<Packet>>,
    },
    /// Bytes for a port.
    Put {
        port: u32,
        offset: usize,
        cargo: Cargo,
        /// True for the last packet of a block that was sent without the processor.
        ends_block: bool,
    },
    /// One of the `packets` that one node sends to another in a collective. The values are kept
    /// elsewhere (see [`rendezvous`](super::rendezvous)).
    Collective { epoch: u64, packets: u32 },
}
