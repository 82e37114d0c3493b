//! What packets carry.

use crate::block::Contents;
use crate::transport::{Network, Packet};
use strata_sim::network::Channel;

/// Channel of collectives' packets: they never wait for a program that does not receive.
pub(super) const COLLECTIVES: Channel = Channel(4);

/// The channel of a network's messages.
pub(super) fn messages(network: Network) -> Channel {
    Channel(network as u8)
}

/// The channel of a network's packets for ports. They have queues of their own, as a node takes
/// them in where it takes no messages.
pub(super) fn data(network: Network) -> Channel {
    Channel(2 + network as u8)
}

/// The channel of blocks that go without the processor: one of those for ports.
pub(super) const DMA: Channel = Channel(2);

/// Whether a channel is one of those for ports.
pub(super) fn is_data(channel: Channel) -> bool {
    Network::BOTH.into_iter().any(|network| channel == data(network))
}

/// Of all networks, the channels for ports, as bits.
pub(super) fn all_data() -> u8 {
    Network::BOTH.into_iter().fold(0, |bits, network| bits | 1 << data(network).0)
}

/// Bytes on their way; or, of a phantom, how many there would be.
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

/// A packet's contents, in the simulated network's units: a message of the run-time may take
/// several.
#[derive(Debug)]
pub(super) enum Payload {
    /// One of the `parts` of a message.
    Part {
        /// Of the messages from this sender to this receiver on this network.
        number: u32,
        parts: u16,
        /// The message, with its last part.
        message: Option<Box<Packet>>,
    },
    /// Bytes for a port.
    Put { port: u32, offset: usize, cargo: Cargo },
    /// One of the `packets` that one node sends to another in a collective. What they say is looked
    /// up (see [`rendezvous`](super::rendezvous)).
    Collective { epoch: u64, packets: u32 },
}
