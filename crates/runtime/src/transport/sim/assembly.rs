//! Messages of several packets, and packets that overtake each other.
//!
//! A message of the run-time is longer than some machines' packets, so it is sent in parts. If
//! packets take different paths (up a fat tree), later ones may arrive first. Messages are
//! numbered, and are delivered whole and in the order sent.

use crate::transport::{Network, Packet};
use std::collections::BTreeMap;

/// The state for one other node on one network.
type Peer = (Network, usize);

/// A message whose parts are arriving.
#[derive(Default)]
struct Coming {
    parts: u16,
    is_whole: bool,
    /// The message; it arrives with its last part.
    message: Option<Box<Packet>>,
}

/// A node's sent and received messages.
pub(super) struct Assembly {
    /// True if packets may overtake each other; otherwise numbers are not needed.
    overtakes: bool,
    /// The number of the next message to a node.
    numbers: BTreeMap<Peer, u32>,
    /// Messages from a node that are incomplete, or not yet next in order, by number.
    coming: BTreeMap<(Peer, u32), Coming>,
    /// The number of the message from a node that is next in order.
    next: BTreeMap<Peer, u32>,
}

impl Assembly {
    pub(super) fn new(overtakes: bool) -> Self {
        Self { overtakes, numbers: BTreeMap::new(), coming: BTreeMap::new(), next: BTreeMap::new() }
    }

    /// The number of the next message to `peer`.
    pub(super) fn number(&self, peer: Peer) -> u32 {
        self.numbers.get(&peer).copied().unwrap_or(0)
    }

    /// Records that the message with this number has been sent, or begun.
    pub(super) fn sent(&mut self, peer: Peer) {
        if self.overtakes {
            let number = self.numbers.entry(peer).or_default();
            *number = number.wrapping_add(1);
        }
    }

    /// Records the arrival of one of `parts`. Returns the next message of `peer`, if it is complete
    /// now.
    pub(super) fn came(
        &mut self,
        peer: Peer,
        number: u32,
        parts: u16,
        message: Option<Box<Packet>>,
    ) -> Option<Box<Packet>> {
        if parts == 1 && !self.overtakes {
            return message;
        }
        let coming = self.coming.entry((peer, number)).or_default();
        coming.parts += 1;
        coming.is_whole = coming.parts == parts;
        coming.message = coming.message.take().or(message);
        self.next_whole(peer)
    }

    /// A message on `network` that had to wait for an earlier one.
    pub(super) fn early(&mut self, network: Network) -> Option<Box<Packet>> {
        if self.coming.is_empty() {
            return None;
        }
        let whole = |((peer, _), coming): (&(Peer, u32), &Coming)| {
            (coming.is_whole && peer.0 == network && self.next.contains_key(peer)).then_some(*peer)
        };
        let peers: Vec<Peer> = self.coming.iter().filter_map(whole).collect();
        peers.into_iter().find_map(|peer| self.next_whole(peer))
    }

    /// The next message of `peer`, if it is complete.
    fn next_whole(&mut self, peer: Peer) -> Option<Box<Packet>> {
        let number = self.next.get(&peer).copied().unwrap_or(0);
        if !self.coming.get(&(peer, number))?.is_whole {
            return None;
        }
        if self.overtakes {
            self.next.insert(peer, number.wrapping_add(1));
        }
        self.coming.remove(&(peer, number))?.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Part;

    fn message(handler: u16) -> Option<Box<Packet>> {
        Some(Box::new(Packet::new(handler, Part::Whole, 0, &[])))
    }

    fn handler(message: Option<Box<Packet>>) -> Option<u16> {
        message.map(|message| message.handler)
    }

    #[test]
    fn messages_are_given_out_in_the_order_sent() {
        let mut assembly = Assembly::new(true);
        let peer = (Network::Request, 3);
        assert_eq!(handler(assembly.came(peer, 2, 1, message(2))), None);
        assert_eq!(handler(assembly.came(peer, 1, 1, message(1))), None);
        assert_eq!(handler(assembly.early(Network::Request)), None);
        assert_eq!(handler(assembly.came(peer, 0, 1, message(0))), Some(0));
        assert_eq!(handler(assembly.early(Network::Reply)), None);
        assert_eq!(handler(assembly.early(Network::Request)), Some(1));
        assert_eq!(handler(assembly.early(Network::Request)), Some(2));
        assert_eq!(handler(assembly.early(Network::Request)), None);
    }

    #[test]
    fn a_message_is_whole_with_all_its_parts_whichever_comes_last() {
        for overtakes in [false, true] {
            let mut assembly = Assembly::new(overtakes);
            let peer = (Network::Reply, 0);
            assert_eq!(handler(assembly.came(peer, 0, 3, None)), None);
            assert_eq!(handler(assembly.came(peer, 0, 3, message(9))), None);
            assert_eq!(handler(assembly.came(peer, 0, 3, None)), Some(9));
        }
    }

    #[test]
    fn numbers_go_by_peer_and_only_where_they_are_needed() {
        let mut assembly = Assembly::new(true);
        assembly.sent((Network::Request, 1));
        assert_eq!(assembly.number((Network::Request, 1)), 1);
        assert_eq!(assembly.number((Network::Reply, 1)), 0);
        let mut ordered = Assembly::new(false);
        ordered.sent((Network::Request, 1));
        assert_eq!(ordered.number((Network::Request, 1)), 0);
    }
}
