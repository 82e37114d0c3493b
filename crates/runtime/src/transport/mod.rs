//! What a transport does for a node: the one trait under [`Node`](crate::Node).
//!
//! The trait is object safe, so that a program is compiled once and runs on any transport. It speaks bytes: element types end at `Node`,
//! which has checked lengths and operations by the time a transport sees them. A transport whose peers failed unwinds
//! out of the method it is in (see [`Stop`]).
//!
//! Three things are here, each as fast as the transport can make it. *Whole collectives* do not return until they are
//! done. *Split-phase* ones are started, tested and finished; one is in flight at a time. *Packets* go from one node to
//! another on two networks and are only ever tried: what to do when there is no room is for `Node` to decide, which
//! goes on receiving. *Puts* write into memory that another node has opened, and need nothing of that node's program.

use crate::block::RawBlock;
use crate::clock::SimulatedClock;
use crate::develop::Ender;
use crate::number::{Kind, Op};
use crate::work::{Charge, Computing, Work};
use std::any::Any;
use std::fmt;
use std::panic::Location;

#[cfg(feature = "mpi")]
pub(crate) mod mpi;
mod packet;
mod prefix;
pub(crate) mod sim;
pub(crate) mod threads;

pub use packet::Network;
pub(crate) use packet::{Networks, PACKET, Packet, Part};

/// One node's end of a transport.
pub(crate) trait Transport {
    /// This node's number.
    fn rank(&self) -> usize;
    /// How many nodes there are.
    fn size(&self) -> usize;

    /// Returns when every node has called it.
    fn barrier(&mut self, call: Call);
    /// Combines every node's `values` in rank order; all nodes receive the result.
    fn reduce(&mut self, call: Call, kind: Kind, op: Op, values: &mut [u8]);
    /// Combines the `values` of the nodes that `scan` takes for this one.
    fn scan(&mut self, call: Call, scan: Scan, values: &mut [u8]);
    /// Replaces every node's `values` by those of node `root`.
    fn broadcast(&mut self, call: Call, root: usize, values: &mut [u8]);
    /// Places every node's `mine` in `all`, in rank order; `all` has `size` times the length of `mine`.
    fn all_gather(&mut self, call: Call, mine: &[u8], all: &mut [u8]);
    /// Sends `blocks[i]` to node i and replaces it by what node i sent here; there are `size` blocks.
    fn exchange(&mut self, call: Call, blocks: &mut [RawBlock]);

    /// Starts a collective that combines or moves `values`, which belong to the transport until [`Transport::finish`]. None is in
    /// flight. Never waits. Started and whole collectives may meet only each their own kind.
    fn start(&mut self, call: Call, operation: Operation, values: RawBlock);
    /// Whether the collective in flight is complete; does what this node can do for it now, and never waits.
    fn test(&mut self) -> bool;
    /// The result of the collective in flight, which [`Transport::test`] has found complete; in the memory given to `start`.
    fn finish(&mut self) -> RawBlock;

    /// Puts a packet on its way to node `to` (which may be this one); false if there is no room now. Packets from one
    /// node to another on one network arrive in the order sent.
    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool;
    /// Takes the next packet off a network; false if there is none.
    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool;

    /// Opens `port` of this node (below [`PORTS`], not open): until it is closed any node may write into `memory`.
    fn open(&mut self, port: usize, memory: RawBlock);
    /// Closes a port of this node and answers with its memory; waits for a put that is just being written. `None` if
    /// it was not open.
    fn close(&mut self, port: usize) -> Option<RawBlock>;
    /// The most bytes that [`Transport::try_put`] takes.
    fn put_limit(&self) -> usize;
    /// Writes `bytes` at `offset` into a port of node `to`, or puts them on their way; false if there is no room now.
    /// The bytes may be reused at once. A port that is not open, or too short, ends the job, with both nodes named.
    fn try_put(&mut self, call: &Call, to: usize, port: usize, offset: usize, bytes: &[u8]) -> bool;
    /// As [`Transport::try_put`] for any length; returns when `bytes` may be reused. While it waits it does for other
    /// nodes' puts what they need of this one, but takes no packet off a network.
    fn put(&mut self, call: &Call, to: usize, port: usize, offset: usize, bytes: &[u8]);
    /// As [`Transport::try_put`] of so many bytes that only a simulation's clocks and queues see. Other machines have no such blocks.
    fn try_put_phantom(&mut self, call: &Call, to: usize, port: usize, offset: usize, bytes: usize) -> bool {
        let _ = (call, to, port, offset, bytes);
        true
    }
    /// As [`Transport::put`] of such bytes.
    fn put_phantom(&mut self, call: &Call, to: usize, port: usize, offset: usize, bytes: usize) {
        let _ = (call, to, port, offset, bytes);
    }
    /// Reports bytes that have arrived in open ports of this node since the last call, port by port, each byte once.
    /// The bytes themselves are in place. Where this node has to take them off `networks` itself, it takes a packet off each; elsewhere `networks`
    /// say nothing.
    fn arrivals(&mut self, networks: Networks, report: &mut dyn FnMut(usize, usize));

    /// Sets this node's bit of the asynchronous or, which is set at the beginning.
    fn set_async_or(&mut self, value: bool);
    /// Whether any node's bit is set, as far as this node knows now: a change is seen after a while, not at once.
    fn async_or(&mut self) -> bool;

    /// Waits for news: returns soon after there is a packet on one of `networks` or bytes have arrived or what is `awaited`
    /// has come true, and may return without (with replies only, soon). Gives the core away where the wait is long. `call` says what for.
    fn pause(&mut self, call: &Call, networks: Networks, awaited: Awaited);

    /// Says that this node's program has ended; only packets, puts, arrivals, `pause` and `all_left` follow.
    fn leave(&mut self);
    /// Whether every node's program has ended. A node found waiting for one that has left ends the job.
    fn all_left(&mut self) -> bool;
    /// Ends the job on every node because this one failed.
    fn fail(&mut self, failure: Failure) -> !;
    /// What ends the job from a thread that is no node, where there is such a thing: nodes that wait unwind.
    fn ender(&self) -> Option<Ender> {
        None
    }

    /// This node's clock, where time is simulated.
    fn clock(&self) -> Option<SimulatedClock> {
        None
    }
    /// Where time is simulated: this node is busy with `work`, unless that is to be measured. The error says why it cannot be told.
    fn charge(&mut self, work: Work<'_>) -> Result<Charge, String> {
        let _ = work;
        Ok(Charge::Charged)
    }
    /// Where time is simulated: this node is busy for what took so many seconds of this host.
    fn charge_host(&mut self, seconds: f64) {
        let _ = seconds;
    }
    /// Where work comes from.
    fn computing(&self) -> Computing {
        Computing::Kernels
    }
}

/// The ports of a node; as many as Brewer's Strata has (manual, §7).
pub(crate) const PORTS: usize = 4096;

/// Those that are for programs; the others are for the run-time's own patterns.
pub(crate) const USER_PORTS: usize = PORTS - 16;

/// What a node pauses for, besides packets and arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Nothing else.
    Packet,
    /// The collective in flight is complete.
    Operation,
    /// A packet to this node may find room on this network.
    Room(Network, usize),
    /// A put to this node may find room.
    PutRoom(usize),
    /// All nodes have left.
    AllLeft,
}

/// A split-phase collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Brings and gets nothing.
    Barrier,
    /// As [`Transport::reduce`].
    Reduce(Kind, Op),
    /// As [`Transport::scan`].
    Scan(Scan),
    /// As [`Transport::broadcast`], from this node.
    Broadcast(usize),
}

/// What a scan combines, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) kind: Kind,
    pub(crate) op: Op,
    /// From the last node to the first.
    pub(crate) backward: bool,
    /// Where the scan has segments (then on every node): this node's boundary.
    pub(crate) boundary: Option<Boundary>,
}

impl Scan {
    /// What the program called.
    pub(crate) fn action(&self) -> Action {
        match (self.boundary, self.backward) {
            (None, false) => Action::Scan,
            (None, true) => Action::BackwardScan,
            (Some(_), false) => Action::SegmentedScan,
            (Some(_), true) => Action::SegmentedBackwardScan,
        }
    }
}

/// Where a node stands in a segmented scan. The scan comes to a node from the one before it in the scan's direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Boundary {
    /// Within a segment: receives what came before it in its segment, and passes it on with its own.
    #[default]
    None,
    /// The first of a segment: receives the identity, and passes on its own alone.
    Element,
    /// The segment begins *within* this node's own elements: receives what came before, as [`Boundary::None`], and
    /// passes on its own alone, as [`Boundary::Element`].
    Array,
}

/// The private payload with which a node unwinds when its job has ended: nothing is printed, nothing is reported twice.
pub(crate) struct Stop;

/// A failure and the node to which it is laid.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) rank: usize,
    pub(crate) message: String,
}

/// Which collective a node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Action {
    Barrier,
    GlobalOr,
    Reduce,
    Scan,
    BackwardScan,
    SegmentedScan,
    SegmentedBackwardScan,
    Broadcast,
    AllGather,
    AllToAllV,
    Install,
    Send,
    Reply,
    Put,
    WaitUntil,
    WaitForPort,
    Leave,
    CyclicShift,
    Hypercube,
    AllToAll,
    UnknownTargets,
    Uninstall,
    NameStates,
}

impl Action {
    const ALL: [Self; 23] = [
        Self::Barrier,
        Self::GlobalOr,
        Self::Reduce,
        Self::Scan,
        Self::BackwardScan,
        Self::SegmentedScan,
        Self::SegmentedBackwardScan,
        Self::Broadcast,
        Self::AllGather,
        Self::AllToAllV,
        Self::Install,
        Self::Send,
        Self::Reply,
        Self::Put,
        Self::WaitUntil,
        Self::WaitForPort,
        Self::Leave,
        Self::CyclicShift,
        Self::Hypercube,
        Self::AllToAll,
        Self::UnknownTargets,
        Self::Uninstall,
        Self::NameStates,
    ];

    /// The name of the `Node` method.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::GlobalOr => "global_or",
            Self::Reduce => "reduce",
            Self::Scan => "scan",
            Self::BackwardScan => "backward_scan",
            Self::SegmentedScan => "segmented_scan",
            Self::SegmentedBackwardScan => "segmented_backward_scan",
            Self::Broadcast => "broadcast",
            Self::AllGather => "all_gather",
            Self::AllToAllV => "all_to_all_v",
            Self::Install => "install",
            Self::Send => "send",
            Self::Reply => "reply",
            Self::Put => "put",
            Self::WaitUntil => "wait_until",
            Self::WaitForPort => "wait_for_port",
            Self::Leave => "leave",
            Self::CyclicShift => "cyclic_shift",
            Self::Hypercube => "hypercube",
            Self::AllToAll => "all_to_all",
            Self::UnknownTargets => "unknown_targets",
            Self::Uninstall => "uninstall",
            Self::NameStates => "name_states",
        }
    }
}

/// One call of a collective: what has to be alike on all nodes, and where the program made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Action, operation and kind, packed; equal on all nodes or the program is at fault.
    pub(crate) what: u32,
    /// Root of a broadcast, else 0.
    pub(crate) root: u32,
    /// Elements for each node, where that has to be equal; else 0.
    pub(crate) length: u64,
    /// Where in the program.
    pub(crate) place: &'static Location<'static>,
}

/// In place of an operation or a kind where there is none.
const NONE: u8 = 0xff;

impl Call {
    /// A call without elements or without a length that must agree.
    pub(crate) fn plain(action: Action, place: &'static Location<'static>) -> Self {
        Self { what: u32::from_ne_bytes([action as u8, NONE, NONE, 0]), root: 0, length: 0, place }
    }

    /// A call that combines numbers.
    pub(crate) fn combine(
        action: Action,
        kind: Kind,
        op: Op,
        length: usize,
        place: &'static Location<'static>,
    ) -> Self {
        let what = u32::from_ne_bytes([action as u8, op.index(), kind as u8, 0]);
        Self { what, root: 0, length: length as u64, place }
    }

    /// A call that moves elements of `size` bytes.
    pub(crate) fn moving(
        action: Action,
        size: usize,
        root: usize,
        length: usize,
        place: &'static Location<'static>,
    ) -> Self {
        let size = u8::try_from(size).unwrap_or(u8::MAX);
        let what = u32::from_ne_bytes([action as u8, NONE, NONE, size]);
        Self { what, root: u32::try_from(root).unwrap_or(u32::MAX), length: length as u64, place }
    }

    /// A call that concerns node `to`.
    pub(crate) fn to(action: Action, to: usize, place: &'static Location<'static>) -> Self {
        Self { root: u32::try_from(to).unwrap_or(u32::MAX), ..Self::plain(action, place) }
    }

    /// What is called.
    pub(crate) fn action(&self) -> Action {
        let [action, ..] = self.what.to_ne_bytes();
        Action::ALL[usize::from(action).min(Action::ALL.len() - 1)]
    }

    /// Whether this is the same call, at the same place, on one node.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.agrees(other.what, other.root, other.length) && std::ptr::eq(self.place, other.place)
    }

    /// Whether another node's call can be the same collective as this one.
    pub(crate) fn agrees(&self, what: u32, root: u32, length: u64) -> bool {
        self.what == what && self.root == root && self.length == length
    }

    /// Writes what a call is, without its place.
    pub(crate) fn describe(f: &mut fmt::Formatter<'_>, what: u32, root: u32, length: u64) -> fmt::Result {
        let [action, op, kind, size] = what.to_ne_bytes();
        let action = Action::ALL[usize::from(action).min(Action::ALL.len() - 1)];
        f.write_str(action.name())?;
        let combines = Op::ALL.get(usize::from(op)).zip(Kind::ALL.get(usize::from(kind)));
        match (action, combines) {
            (
                Action::Reduce
                | Action::Scan
                | Action::BackwardScan
                | Action::SegmentedScan
                | Action::SegmentedBackwardScan,
                Some((op, kind)),
            ) => {
                write!(f, " {op} of {length} {}", kind.name())
            }
            (Action::Broadcast, _) => write!(f, " from node {root} of {length} elements of {size} bytes"),
            (Action::AllGather | Action::CyclicShift | Action::Hypercube | Action::AllToAll, _) => {
                write!(f, " of {length} elements of {size} bytes")
            }
            (Action::AllToAllV | Action::UnknownTargets, _) => write!(f, " of elements of {size} bytes"),
            (Action::WaitForPort, _) => write!(f, " {root}"),
            (Action::Send | Action::Reply | Action::Put, _) => write!(f, " to node {root}"),
            _ => Ok(()),
        }
    }

    /// The failure to report where node `rank` made this call while node 0 made `first`.
    pub(crate) fn differs(&self, rank: usize, first: &Self) -> Failure {
        Failure { rank, message: format!("{self}, but node 0 called {first}") }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::describe(f, self.what, self.root, self.length)?;
        write!(f, " at {}:{}", self.place.file(), self.place.line())
    }
}

/// The text of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with a payload that is not text")
}
