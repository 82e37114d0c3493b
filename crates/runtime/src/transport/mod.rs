//! The layer below [`Node`](crate::Node): endpoints, and the transports that implement them.
//!
//! [`Endpoint`] has all operations of a transport that a node uses. It is object safe, so that a
//! program is compiled once and runs on any transport. It transfers bytes: element types are known
//! only to `Node`, which checks lengths and operations before it calls an endpoint. If an
//! endpoint's peers have failed, it unwinds out of the current method (see [`Stop`]).
//!
//! An endpoint offers four things. *Whole collectives* return when they are complete. *Split-phase*
//! collectives are started, tested and finished; one is in flight at a time. *Packets* go from one
//! node to another on two networks. Sending is only attempted: if there is no room, `Node` decides
//! how to continue, and keeps receiving. *Puts* write into memory that another node has opened,
//! without action of that node's program.

use crate::block::{Contents, RawBlock};
use crate::clock::SimulatedClock;
use crate::number::{NumberType, Op};
use crate::work::{Charge, Computing, Work};
use std::any::Any;
use std::sync::{Arc, Mutex};
#[cfg(feature = "sim")]
use strata_sim::{Time, platform::Circuits};

mod call;
mod contributions;
#[cfg(any(test, feature = "mpi"))]
mod credit;
mod deadlock;
mod exposed;
#[cfg(feature = "mpi")]
mod header;
#[cfg(feature = "mpi")]
pub(crate) mod mpi;
mod packet;
mod piggyback;
mod ports;
mod prefix;
mod prepared;
#[cfg(feature = "sim")]
pub(crate) mod sim;
#[cfg(test)]
mod tests;
pub(crate) mod threads;
mod way;

pub(crate) use call::{Action, Call};
pub use exposed::ExposedWords;
#[cfg(feature = "mpi")]
pub(crate) use exposed::OneSided;
pub use packet::Network;
pub(crate) use packet::{Networks, PACKET, Packet, Part};
pub(crate) use piggyback::Piggyback;
pub use prepared::LONGEST_PREPARED;
pub(crate) use prepared::{NUMBERS, Repeating, RepeatingPieces};
pub use prepared::{Prepared, PreparedPieces, Repeated, RepeatedPieces};
pub use threads::{Doorbell, LendingDesk, LentVec, SharedWords};
#[cfg(feature = "tune")]
pub(crate) use way::Named;
pub use way::Schedule;
pub(crate) use way::Way;

/// One node's end of a transport.
pub(crate) trait Endpoint {
    /// This node's number, and the number of nodes.
    fn place(&self) -> (usize, usize);

    /// Runs a whole collective: returns when this node has its result. No other collective may be
    /// in flight on this node. All nodes do it in the same way, which must be [`Way::Usual`] or one
    /// that [`Extras`] offers.
    fn collective_by(&mut self, way: Way, call: Call, collective: Collective<'_>);
    /// Starts a split-phase collective on `values`, which belong to the endpoint until
    /// [`Endpoint::finish`]. No other collective may be in flight. It never waits. A whole and a
    /// split-phase collective do not match each other.
    fn start(&mut self, call: Call, operation: Operation, values: RawBlock);
    /// True if the collective in flight is complete; first advances it as far as possible, without
    /// waiting.
    fn test(&mut self) -> bool;
    /// The result of the collective in flight, in the memory passed to `start`; [`Endpoint::test`]
    /// must have returned true.
    fn finish(&mut self) -> RawBlock;

    /// Sends a packet to node `to` (which may be this one); false if there is no room now. Packets
    /// from one node to another on one network arrive in the order sent.
    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool;
    /// Receives the next packet of a network; false if there is none.
    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool;

    /// Opens `port` of this node (below [`PORTS`], not open): until it is closed any node may write
    /// into `memory`.
    fn open(&mut self, port: usize, memory: RawBlock);
    /// Closes a port of this node and returns its memory, after any put in progress. `None` if the
    /// port was not open.
    fn close(&mut self, port: usize) -> Option<RawBlock>;
    /// Writes `contents`, of at most [`Extras::put_limit`] bytes, at `offset` into a port of node
    /// `to`, now or later; false if there is no room now. The bytes may be reused at once. A port
    /// that is not open, or too short, ends the job, with both nodes named. Phantoms exist on
    /// simulated machines only.
    fn try_put(&mut self, call: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>)
    -> bool;
    /// As [`Endpoint::try_put`] for any length; returns when the bytes may be reused. While waiting
    /// it serves other nodes' puts, but receives no packets. The way is [`Way::Usual`] or one that
    /// [`Extras`] offers.
    fn put_by(
        &mut self,
        way: Way,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    );
    /// Reports bytes that have arrived in open ports of this node since the last call, port by
    /// port, each byte once. The bytes are already in place. If this node must receive them from
    /// `networks` itself, it takes one packet from each; otherwise `networks` is ignored.
    fn arrivals(&mut self, networks: Networks, report: &mut dyn FnMut(usize, usize));

    /// Sets this node's bit of the asynchronous or, which is initially set.
    fn set_async_or(&mut self, value: bool);
    /// True if any node's bit is set, as far as this node knows now: a change is seen with a delay.
    fn async_or(&mut self) -> bool;

    /// Waits for an event: returns soon after a packet has arrived on one of `networks`, bytes have
    /// arrived in a port, or `awaited` has become true. May return early (spurious wake-up);
    /// callers loop. Yields the core in long waits. `call` is the waiting call, for messages.
    fn pause(&mut self, call: &Call, networks: Networks, awaited: Awaited);

    /// This node's program has ended; only packets, puts, arrivals, `pause` and `all_left` follow.
    fn leave(&mut self);
    /// True if every node's program has ended. A node that is found waiting for an ended program
    /// ends the job.
    fn all_left(&mut self) -> bool;
    /// Ends the job on every node because of `failure`.
    fn fail(&mut self, failure: Failure) -> !;

    /// What this transport has besides. A layer around an endpoint passes it on.
    fn extras(&mut self) -> Extras<'_>;
    /// The layer that tunes this node's calls, if they are tuned.
    #[cfg(feature = "tune")]
    fn tuned(&mut self) -> Option<&mut dyn Tuned>;
}

/// What not every transport has. There is no default, so that each states what it lacks.
pub(crate) struct Extras<'a> {
    /// The most bytes that [`Endpoint::try_put`] accepts: constant.
    pub(crate) put_limit: usize,
    /// If all nodes are threads of one process: what they share.
    pub(crate) process: Option<&'a dyn Process>,
    /// Words of other processes' nodes.
    pub(crate) words: Option<&'static dyn Words>,
    /// Messages that are prepared once and repeated.
    pub(crate) messages: Option<&'static dyn Preparing>,
    /// The library below, if it has collectives of its own.
    pub(crate) library: Option<Library<'a>>,
    /// The simulated machine to which this node belongs.
    pub(crate) simulated: Option<&'a mut dyn Simulated>,
    /// Other ways to do the operation of an action: the same ones for all nodes.
    #[cfg(feature = "tune")]
    pub(crate) ways: fn(Action) -> Vec<Named>,
}

/// What nodes of one process share.
pub(crate) trait Process {
    /// The abort handle: a thread that is not a node can end the job with it, and waiting nodes
    /// unwind.
    fn abort_handle(&self) -> AbortHandle;
    /// The doorbell of this node, which is rung when it may have something to receive, if there is
    /// one.
    fn doorbell(&self) -> Option<Doorbell>;
    /// The place at which nodes exchange values.
    fn shelf(&self) -> &Shelf;
}

/// Words that nodes of several processes access.
pub(crate) trait Words {
    /// Zero words for each node, by rank, that the nodes access directly, if all can; otherwise
    /// `None`, on every node. Collective, with equal `words`.
    fn shared_words(&self, words: usize) -> Option<Vec<SharedWords>>;
    /// Zero words of this node that others access by one-sided transfers, if all nodes have such
    /// memory; otherwise `None`, on every node. Frees the words of earlier calls that no node holds
    /// any more. Collective, with equal `words`.
    fn exposed_words(&'static self, words: usize) -> Option<ExposedWords>;
}

/// Messages that are prepared once and repeated.
pub(crate) trait Preparing {
    /// With lengths in bytes.
    fn prepared(&'static self, sends: &[Repeated], receives: &[Repeated]) -> Box<dyn Repeating>;
    /// From and to pieces of a program's memory, in bytes; received pieces must overlap no others.
    fn prepared_pieces(
        &'static self,
        sends: &[RepeatedPieces],
        receives: &[RepeatedPieces],
    ) -> Box<dyn RepeatingPieces>;
}

/// A library with collectives of its own, for [`Way::Library`].
pub(crate) struct Library<'a> {
    /// The most bytes of values for which the library is never asked.
    pub(crate) above: usize,
    /// The most bytes of values that the transport itself combines or moves no slower.
    pub(crate) own: usize,
    /// What travels with the calls of the next collective.
    pub(crate) piggyback: &'a mut Piggyback,
}

/// The additional interface of the layer that tunes a node's calls.
#[cfg(feature = "tune")]
pub(crate) trait Tuned {
    /// The schedule of an all-to-all of blocks of `bytes` bytes that the program wants done by
    /// `wanted`; equal on all nodes. Until [`Tuned::ends`] no calls are tuned, because they belong
    /// to it. No other node may need this one to receive.
    fn begins(&mut self, call: &Call, bytes: usize, wanted: Schedule) -> Schedule;
    fn ends(&mut self);
    /// Keeps what was found, and reports it. The node's program has ended.
    fn keep(&mut self);
}

/// Operations that a layer around an endpoint passes on as they are.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            self.inner.$name($($argument),*)
        }
    )*};
}
pub(crate) use pass_on;

impl dyn Endpoint + '_ {
    pub(crate) fn rank(&self) -> usize {
        self.place().0
    }

    pub(crate) fn size(&self) -> usize {
        self.place().1
    }

    /// The simulated machine to which this node belongs.
    pub(crate) fn simulated(&mut self) -> Option<&mut dyn Simulated> {
        self.extras().simulated
    }

    /// A whole collective in the usual way.
    #[inline]
    pub(crate) fn collective(&mut self, call: Call, collective: Collective<'_>) {
        self.collective_by(Way::Usual, call, collective);
    }

    /// A put in the usual way.
    #[inline]
    pub(crate) fn put(&mut self, call: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>) {
        self.put_by(Way::Usual, call, to, port, offset, contents);
    }

    pub(crate) fn barrier(&mut self, call: Call) {
        self.collective(call, Collective::InPlace(Operation::Barrier, &mut []));
    }

    /// A whole broadcast of node `root`'s `values`.
    pub(crate) fn broadcast(&mut self, call: Call, root: usize, values: &mut [u8]) {
        self.collective(call, Collective::InPlace(Operation::Broadcast(root), values));
    }
}

/// The additional interface of a simulated machine: a clock for each node, and charges for work.
pub(crate) trait Simulated {
    fn clock(&self) -> SimulatedClock;
    /// Charges this node for `work`, unless its time is to be measured. The error states why its
    /// time is unknown.
    fn charge(&mut self, work: Work<'_>) -> Result<Charge, String>;
    /// Charges this node for work that took this many seconds of the host.
    fn charge_host(&mut self, seconds: f64);
    /// Charges this node for a call that combines values with messages.
    fn charge_combine_call(&mut self);
    /// Charges this node for combining values of `bytes` bytes with others.
    fn charge_combining(&mut self, bytes: usize);
    /// The source of the time of work.
    fn computing(&self) -> Computing;
    /// The machine's reserved circuits, if it has any.
    #[cfg(feature = "sim")]
    fn circuits(&self) -> Option<Circuits>;
    /// Advances this node's clock to at least `time`.
    #[cfg(feature = "sim")]
    fn pass_until(&mut self, time: Time);
    /// Lets everything happen first that is earlier than this node's clock.
    fn catch_up(&mut self);
    /// Wakes node `to`, if it waits for memory, at `time` at the latest.
    #[cfg(feature = "sim")]
    fn wake(&mut self, to: usize, time: Time);
    /// Stores this node's value of its next round; the last node of a round wakes the others.
    /// Returns the round's number.
    fn place(&mut self, value: Value) -> u64;
    /// True if all nodes have stored their values of a round.
    fn is_placed(&mut self, round: u64) -> bool;
    /// The values of a round, by rank; advances this node's clock to at least the time at which the
    /// last value was stored.
    fn take(&mut self, round: u64) -> Vec<Value>;
    /// True if packets have arrived for this node.
    fn has_packets(&mut self) -> bool;
    /// True if all parts of its messages have left. A message longer than the machine's packets has
    /// parts that may wait for room; they leave whenever the node sends or waits for packets.
    fn all_parts_left(&self) -> bool;
}

/// The number of ports of a node; as many as in Brewer's Strata (manual, §7).
pub(crate) const PORTS: usize = 4096;

/// The number of ports for programs; the others are for the run-time's own patterns.
///
/// Libraries of this project take the highest of them, in ranges that do not overlap: the solver of
/// `strata-stencil` 4064 to 4071, long messages of `strata-tcs` 3990 to 4022, sorts from 3840 on (at
/// most 78, one for each step), halos 2816 to 3839.
pub(crate) const USER_PORTS: usize = PORTS - 16;

/// Polls of shared memory before a pause.
pub(crate) const LOOKS: u32 = 16;

/// The event, besides packets and arrivals, that ends a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// No other event.
    Packet,
    /// A change of memory shared with other nodes, which do not wake this node.
    Memory {
        /// Number of pauses since the last change or the start of the wait.
        pauses: u32,
    },
    /// The collective in flight is complete.
    Operation,
    /// There may be room for a packet to this node on this network.
    Room(Network, usize),
    /// There may be room for a put to this node.
    PutRoom(usize),
    /// All nodes have left.
    AllLeft,
}

impl Awaited {
    /// True if a pause for this event continues the wait of a pause for `before`.
    pub(crate) fn goes_on_from(self, before: Self) -> bool {
        match (self, before) {
            (Self::Memory { pauses }, Self::Memory { .. }) => pauses > 0,
            _ => self == before,
        }
    }
}

/// A collective that works in place, on the same number of bytes on each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Complete when every node has called it; no bytes.
    Barrier,
    /// Combines every node's values in rank order; all nodes receive the result.
    Reduce(NumberType, Op),
    /// Combines the values of the nodes before this one in the scan.
    Scan(Scan),
    /// Replaces every node's values by those of this node.
    Broadcast(usize),
}

/// A whole collective with its data.
pub(crate) enum Collective<'a> {
    /// An operation on values of equal length.
    InPlace(Operation, &'a mut [u8]),
    /// Places every node's `mine` in `all`, in rank order; `all` has `size` times the length of
    /// `mine`.
    AllGather { mine: &'a [u8], all: &'a mut [u8] },
    /// Sends `blocks[i]` to node i and replaces it by the block from node i; there are `size`
    /// blocks.
    Exchange(&'a mut Vec<RawBlock>),
}

/// Parameters of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) kind: NumberType,
    pub(crate) op: Op,
    /// True for a scan from the last node to the first.
    pub(crate) backward: bool,
    /// In a segmented scan (then on every node): this node's boundary.
    pub(crate) boundary: Option<Boundary>,
}

impl Scan {
    /// The program's call.
    pub(crate) fn action(&self) -> Action {
        match (self.boundary, self.backward) {
            (None, false) => Action::Scan,
            (None, true) => Action::BackwardScan,
            (Some(_), false) => Action::SegmentedScan,
            (Some(_), true) => Action::SegmentedBackwardScan,
        }
    }
}

/// A node's position in a segmented scan. The previous node in the scan's direction passes a value
/// to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Boundary {
    /// Inside a segment: receives the combined values before it in its segment, and passes them on
    /// combined with its own.
    #[default]
    None,
    /// The first of a segment: receives the identity, and passes on its own alone.
    Element,
    /// The segment begins *within* this node's own elements: receives the values before it, as
    /// [`Boundary::None`], and passes on only its own, as [`Boundary::Element`].
    Array,
}

/// The private payload with which a node unwinds when its job has ended, so that no failure is
/// printed or reported twice.
pub(crate) struct Stop;

/// A failure and the node that caused it.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) rank: usize,
    pub(crate) message: String,
}

/// The abort handle: ends the job from a thread that is not a node; waiting nodes unwind.
pub(crate) type AbortHandle = Box<dyn Fn(Failure) + Send + Sync>;

/// A value that nodes share.
pub(crate) type Value = Arc<dyn Any + Send + Sync>;

/// A place for one value of each node, by rank.
pub(crate) type Shelf = Mutex<Vec<Option<Value>>>;

pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with a payload that is not text")
}
