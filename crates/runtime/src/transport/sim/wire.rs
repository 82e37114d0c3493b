//! What packets carry.

use crate::transport::{Network, Packet};
use strata_sim::network::Channel;

/// Channel of packets for ports.
pub(super) const DATA: Channel = Channel(2);
/// Channel of collectives' packets: they never wait for a program that does not receive.
pub(super) const TOGETHER: Channel = Channel(3);

/// The channel of a network.
pub(super) fn channel(network: Network) -> Channel {
    Channel(network as u8)
}

/// A packet's contents, in the simulated network's units: a message of the run-time may take several.
#[derive(Debug)]
pub(super) enum Wire {
    /// One of the `parts` of a message.
    Part {
        /// Of the messages from this sender to this receiver on this network.
        number: u32,
        parts: u16,
        /// The message, with its last part.
        message: Option<Box<Packet>>,
    },
    /// Bytes for a port.
    Put { port: u32, offset: usize, bytes: Box<[u8]> },
    /// One of the `packets` that one node sends to another in a collective. What they say is looked up (see [`together`](super::together)).
    Together { turn: u64, packets: u32 },
}
