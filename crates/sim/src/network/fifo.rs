//! A queue of packets.
//!
//! Packets are linked by their own `next`, and waiting queues by theirs, so moving a packet
//! allocates nothing. A large machine has a million queues, so each is half of a cache line.

/// No packet, queue or link.
pub(super) const NONE: u32 = u32::MAX;

/// The ends of a list of packets or queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };
}

/// A queue of packets at a link's far end, or between a node and the network.
#[derive(Debug)]
#[repr(align(32))]
pub(super) struct Fifo {
    /// Its packets, except one whose tail is leaving.
    pub(super) packets: List,
    /// Queues whose heads wait for a place in this one.
    pub(super) waiters: List,
    /// The next queue in the list that this one waits in.
    pub(super) next: u32,
    /// Free places: those not taken by packets that are here, leaving, arriving, or have a
    /// reservation.
    pub(super) room: u32,
    /// The link that its head waits for or uses; `NONE` without a head.
    pub(super) link: u32,
    /// The switch that it is at; `NONE` at a node.
    pub(super) at: u32,
}

impl Fifo {
    pub(super) fn new(room: u32, at: u32) -> Self {
        Self { packets: List::EMPTY, waiters: List::EMPTY, next: NONE, room, link: NONE, at }
    }
}
