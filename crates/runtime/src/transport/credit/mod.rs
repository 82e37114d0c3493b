//! Credits: a bound on the messages that a node may send to a node that takes none of them.
//!
//! For each other node, the numbers of packets of each network and of puts that were sent but are
//! not known to be taken are limited, which bounds the memory for messages. Every packet and put in
//! the other direction carries the counts of messages taken since the job began, modulo 2^16. When
//! half of a limit was taken and no message has carried the count, a message without data carries
//! it.
//!
//! A node that waits for room for a reply takes no requests, and so receives no counts from them:
//! the count of taken replies is considered reported only when another kind of message has carried
//! it.
//!
//! Messages travel on lanes: one for each network, and one for puts and credits. Each lane is in
//! order, but a message may overtake any number of messages of another lane. So a count may be out
//! of date when it is taken. It is *stale* if it is 2^16 or more below the number sent. A count
//! that is not stale is never mistaken for a later one, and the limit holds. A stale count may be:
//! until the true count has passed it, it admits up to the limit once more. So after `n` stale
//! counts up to `1 + n` times the limit can be in flight.
//!
//! This module has no MPI calls: sent and taken messages are reported to it, and it returns the
//! counts to carry.

#[cfg(test)]
mod tests;

/// The counted kinds: packets of each network, by its number, and puts.
const REQUEST: usize = 0;
const REPLY: usize = 1;
pub(crate) const PUT: usize = 2;

/// The number of messages of each kind that were taken, modulo 2^16.
pub(crate) type Counts = [u16; 3];

pub(crate) struct Credits {
    peers: Vec<Peer>,
    /// Nodes to which the counts must be sent in a separate message.
    owed: Vec<usize>,
    /// The most of each kind in flight to one node.
    limits: [u16; 3],
}

/// The state with another node, by kind.
#[derive(Clone, Default)]
struct Peer {
    /// Number sent to it, and number known to be taken there.
    sent: [u64; 3],
    acknowledged: Counts,
    /// Number taken from it, and number reported to it.
    taken: [u64; 3],
    told: [u64; 3],
    /// True if it is in [`Credits::owed`].
    owed: bool,
}

impl Peer {
    /// The number sent to it and not known to be taken there.
    fn in_flight(&self, kind: usize) -> u16 {
        (self.sent[kind] as u16).wrapping_sub(self.acknowledged[kind])
    }

    /// Updates the number that it has taken, unless a later count has arrived on another lane.
    ///
    /// No count exceeds the number sent, so a count outside the range in flight is old, however
    /// old.
    fn learn(&mut self, kind: usize, count: u16) {
        if count.wrapping_sub(self.acknowledged[kind]) <= self.in_flight(kind) {
            self.acknowledged[kind] = count;
        }
    }

    /// True if half of a limit was taken since the count was reported.
    fn is_due(&self, kind: usize, limits: &[u16; 3]) -> bool {
        self.taken[kind] - self.told[kind] >= u64::from(limits[kind] / 2)
    }
}

impl Credits {
    /// The credits of a node among `nodes` before any message: at most this many `packets` of each
    /// network, and `puts`, are in flight to one node.
    pub(crate) fn new(nodes: usize, packets: u16, puts: u16) -> Self {
        Self {
            peers: vec![Peer::default(); nodes],
            owed: Vec::with_capacity(nodes),
            limits: [packets, packets, puts],
        }
    }

    /// True if one more message of a kind may be sent to node `to`.
    #[inline]
    pub(crate) fn may_send(&self, kind: usize, to: usize) -> bool {
        self.peers[to].in_flight(kind) < self.limits[kind]
    }

    /// Counts a message of packets that is sent to node `to`. Returns the counts that it must
    /// carry: that of requests in the low half, that of replies in the high half.
    #[inline]
    pub(crate) fn sent_packet(&mut self, network: usize, to: usize) -> u32 {
        let peer = &mut self.peers[to];
        peer.sent[network] += 1;
        peer.told[REQUEST] = peer.taken[REQUEST];
        // A request does not count as a report, because its receiver may be unable to take it until
        // it knows this count.
        if network == REPLY {
            peer.told[REPLY] = peer.taken[REPLY];
        }
        u32::from(peer.taken[REQUEST] as u16) | u32::from(peer.taken[REPLY] as u16) << 16
    }

    /// Counts a put that is sent to node `to`, in a message with the counts of [`Credits::tell`].
    pub(crate) fn sent_put(&mut self, to: usize) {
        self.peers[to].sent[PUT] += 1;
    }

    /// The counts that a put or a message without data carries to node `to`.
    pub(crate) fn tell(&mut self, to: usize) -> Counts {
        let peer = &mut self.peers[to];
        peer.told = peer.taken;
        peer.taken.map(|taken| taken as u16)
    }

    /// Counts a message of packets that is taken from node `from`, with `counts` as returned by
    /// [`Credits::sent_packet`] there. Returns true if counts are now owed to a node.
    #[inline]
    pub(crate) fn took_packet(&mut self, network: usize, from: usize, counts: u32) -> bool {
        let peer = &mut self.peers[from];
        peer.learn(REQUEST, counts as u16);
        peer.learn(REPLY, (counts >> 16) as u16);
        self.took(network, from)
    }

    /// Counts a put that is taken from node `from`. Returns as [`Credits::took_packet`].
    pub(crate) fn took_put(&mut self, from: usize) -> bool {
        self.took(PUT, from)
    }

    /// Reads the counts of a put or a message without data from node `from`.
    pub(crate) fn learn(&mut self, from: usize, counts: Counts) {
        let peer = &mut self.peers[from];
        counts.into_iter().enumerate().for_each(|(kind, count)| peer.learn(kind, count));
    }

    #[inline]
    fn took(&mut self, kind: usize, from: usize) -> bool {
        let peer = &mut self.peers[from];
        peer.taken[kind] += 1;
        let due = peer.is_due(kind, &self.limits);
        if due && !std::mem::replace(&mut peer.owed, true) {
            self.owed.push(from);
        }
        due
    }

    /// True if counts must be sent to a node in a separate message.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Removes and returns a node to which counts are owed; the caller sends them next.
    pub(crate) fn next_owed(&mut self) -> Option<usize> {
        let to = self.owed.pop()?;
        self.peers[to].owed = false;
        Some(to)
    }

    /// The number of messages of a kind that were sent to node `to`.
    pub(crate) fn sent(&self, kind: usize, to: usize) -> u64 {
        self.peers[to].sent[kind]
    }

    /// The number of messages of a kind that were taken from node `from`.
    pub(crate) fn taken(&self, kind: usize, from: usize) -> u64 {
        self.peers[from].taken[kind]
    }

    /// The total number of messages sent to all nodes, and taken from all.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        self.peers.iter().fold((0, 0), |(sent, taken), peer| {
            (sent + peer.sent.iter().sum::<u64>(), taken + peer.taken.iter().sum::<u64>())
        })
    }
}
