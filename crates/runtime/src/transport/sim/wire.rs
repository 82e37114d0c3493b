//! What packets carry.

use crate::block::Contents;
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
    Put { port: u32, offset: usize, cargo: Cargo },
    /// One of the `packets` that one node sends to another in a collective. What they say is looked up (see [`together`](super::together)).
    Together { turn: u64, packets: u32 },
}
