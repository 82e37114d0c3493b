//! A node's state for messages: installed handlers, unsent replies, and incomplete messages of
//! several packets.

use super::handlers::{Handlers, OnReply, OnRequest, Outbox, QUIET, Replied, Requested};
use crate::transport::{Network, Packet, Part};

pub(crate) struct Inbox {
    requests: Vec<OnRequest>,
    replies: Vec<OnReply>,
    /// Replies of the last handled request that have not yet left; bounded, as no request is
    /// handled meanwhile.
    pub(crate) outbox: Outbox,
    /// The parts received so far, by network and sender; the memory grows to the longest message,
    /// and is kept.
    parts: [Vec<Vec<u8>>; 2],
    /// Packets sent and received since the first handler was installed.
    pub(crate) sent: u64,
    pub(crate) taken: u64,
    /// The number of times that all handlers were removed.
    pub(crate) cleared: u64,
    /// The network that the next message for either tries first.
    next: Network,
    rank: usize,
}

impl Inbox {
    pub(crate) fn new(rank: usize) -> Self {
        Self {
            requests: Vec::new(),
            replies: Vec::new(),
            outbox: Outbox::new(),
            parts: [Vec::new(), Vec::new()],
            sent: 0,
            taken: 0,
            cleared: 0,
            next: Network::Reply,
            rank,
        }
    }

    /// True if handlers (or an empty list of them) have been installed; equal on all nodes.
    #[inline]
    pub(crate) fn is_in_use(&self) -> bool {
        !self.parts[0].is_empty()
    }

    /// The numbers of installed handlers of requests and of replies.
    pub(crate) fn handlers(&self) -> (usize, usize) {
        (self.requests.len(), self.replies.len())
    }

    /// Adds handlers that are equal on all nodes.
    pub(crate) fn install(&mut self, handlers: Handlers, size: usize) {
        self.requests.extend(handlers.requests.into_iter().map(|(_, handler)| handler));
        self.replies.extend(handlers.replies.into_iter().map(|(_, handler)| handler));
        self.parts.iter_mut().for_each(|parts| parts.resize(size, Vec::new()));
        self.outbox.reserve(64);
    }

    /// The network that a message for either tries first: they alternate (Brewer, manual, §6.1).
    pub(crate) fn next_network(&mut self) -> Network {
        self.next = self.next.other();
        self.next
    }

    /// Removes the handlers after the first `requests` and `replies`; none of them may be running,
    /// or be sent to any more.
    pub(crate) fn remove_after(&mut self, requests: usize, replies: usize) {
        self.requests.truncate(requests);
        self.replies.truncate(replies);
    }

    /// Removes all handlers; none may be running.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.replies.clear();
        self.parts = [Vec::new(), Vec::new()];
        (self.sent, self.taken) = (0, 0);
        self.cleared += 1;
    }

    /// Runs the handler of a message if `packet` completes it.
    ///
    /// # Errors
    /// If the packet is for a handler that is not installed here.
    #[inline]
    pub(crate) fn handle(&mut self, network: Network, packet: &Packet) -> Result<(), String> {
        let from = packet.from as usize;
        if packet.part() == Part::Whole {
            return self.run(network, from, packet.handler, packet.bytes());
        }
        let Some(slot) = self.parts[network as usize].get_mut(from) else {
            return Err(self.unknown(network, packet));
        };
        slot.extend_from_slice(packet.bytes());
        if packet.part() == Part::More {
            return Ok(());
        }
        let mut message = std::mem::take(slot);
        let result = self.run(network, from, packet.handler, &message);
        message.clear();
        self.parts[network as usize][from] = message;
        result
    }

    #[inline]
    fn run(&mut self, network: Network, from: usize, handler: u16, bytes: &[u8]) -> Result<(), String> {
        let size = self.parts[0].len();
        let index = usize::from(handler);
        match network {
            Network::Request if handler & QUIET != 0 => {
                if let Some(on_reply) = self.replies.get_mut(usize::from(handler & !QUIET)) {
                    on_reply(&Replied { from, rank: self.rank, size }, bytes);
                    return Ok(());
                }
            }
            Network::Request => {
                if let Some(on_request) = self.requests.get_mut(index) {
                    let (rank, replies) = (self.rank, self.replies.len());
                    let outbox = &mut self.outbox;
                    on_request(&mut Requested { from, rank, size, replies, outbox }, bytes);
                    return Ok(());
                }
            }
            Network::Reply => {
                if let Some(on_reply) = self.replies.get_mut(index) {
                    on_reply(&Replied { from, rank: self.rank, size }, bytes);
                    return Ok(());
                }
            }
        }
        Err(format!("a message from node {from} for handler {handler}, which is not installed here"))
    }

    #[cold]
    fn unknown(&self, network: Network, packet: &Packet) -> String {
        format!(
            "a {network:?} from node {} for handler {}, before any handler was installed here",
            packet.from, packet.handler
        )
    }
}
