//! Packets, the units of active messages.

use bytemuck::{Pod, Zeroable};

/// The bytes of data that one packet carries.
pub(crate) const PACKET: usize = 64;

/// The two networks. Requests may wait until there is room for their replies; replies are always
/// received, because they cause no messages. So no program deadlocks because of a full buffer
/// (Brewer, manual, §6; von Eicken et al., 1992).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Network {
    /// Messages of programs.
    Request = 0,
    /// Replies of handlers.
    Reply = 1,
}

impl Network {
    /// Both, in the order of `as usize`.
    pub(crate) const BOTH: [Self; 2] = [Self::Request, Self::Reply];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Request => Self::Reply,
            Self::Reply => Self::Request,
        }
    }
}

/// The networks from which a node receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Networks {
    /// One: replies only, while a handler's replies wait for room.
    Only(Network),
    Both,
}

impl Networks {
    pub(crate) fn has(self, network: Network) -> bool {
        self == Self::Both || self == Self::Only(network)
    }
}

/// A packet: 16 bytes of header, 64 of data, of which `length` are in use.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Packet {
    /// The node that sent it; transports fill it in.
    pub(crate) from: u32,
    pub(crate) handler: u16,
    /// The number of data bytes in use.
    pub(crate) length: u8,
    /// [`Part`] as a number.
    part: u8,
    /// For the layer above: the length of a message of several packets.
    pub(crate) whole: u64,
    pub(crate) data: [u64; PACKET / 8],
}

/// The position of a packet in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    /// The whole message.
    Whole = 0,
    /// More packets of the same sender on the same network follow.
    More = 1,
    /// The last of several.
    Last = 2,
}

impl Part {
    /// The position of packet `index` of `count`.
    pub(crate) fn of(index: usize, count: usize) -> Self {
        match (count, index + 1 == count) {
            (1, _) => Self::Whole,
            (_, true) => Self::Last,
            (_, false) => Self::More,
        }
    }
}

impl Packet {
    /// A packet with `bytes` (at most [`PACKET`]) for `handler`.
    pub(crate) fn new(handler: u16, part: Part, whole: usize, bytes: &[u8]) -> Self {
        let mut packet = Self { handler, whole: whole as u64, ..Self::zeroed() };
        packet.fill(part, bytes);
        packet
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::bytes_of(&self.data)[..usize::from(self.length).min(PACKET)]
    }

    /// Makes `bytes` (at most [`PACKET`]) its data, as this part of a message.
    pub(crate) fn fill(&mut self, part: Part, bytes: &[u8]) {
        bytemuck::bytes_of_mut(&mut self.data)[..bytes.len()].copy_from_slice(bytes);
        (self.length, self.part) = (bytes.len() as u8, part as u8);
    }

    pub(crate) fn part(&self) -> Part {
        match self.part {
            0 => Part::Whole,
            1 => Part::More,
            _ => Part::Last,
        }
    }
}
