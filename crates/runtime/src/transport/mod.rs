//! What a transport does for a node: the one trait under [`Node`](crate::Node).
//!
//! The trait is object safe, so that a program is compiled once and runs on any transport. It speaks bytes: element types end at `Node`,
//! which has checked lengths and operations by the time a transport sees them. Every method is collective and does
//! not return until its part is done; a transport whose peers failed unwinds out of it instead (see [`Stop`]).
//! What is split-phase or sent to one node only will stand beside these methods, not replace them: each transport has
//! faster ways to do a whole collective than to start, test and complete it.

use crate::block::RawBlock;
use crate::number::{Kind, Op};
use std::any::Any;
use std::fmt;
use std::panic::Location;

#[cfg(feature = "mpi")]
pub(crate) mod mpi;
pub(crate) mod threads;

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
    /// Combines the `values` of the nodes before this one; node 0 receives the identity.
    fn scan(&mut self, call: Call, kind: Kind, op: Op, values: &mut [u8]);
    /// Replaces every node's `values` by those of node `root`.
    fn broadcast(&mut self, call: Call, root: usize, values: &mut [u8]);
    /// Places every node's `mine` in `all`, in rank order; `all` has `size` times the length of `mine`.
    fn all_gather(&mut self, call: Call, mine: &[u8], all: &mut [u8]);
    /// Sends `blocks[i]` to node i and replaces it by what node i sent here; there are `size` blocks.
    fn exchange(&mut self, call: Call, blocks: &mut [RawBlock]);
    /// Ends the job on every node because this one failed.
    fn fail(&mut self, failure: Failure) -> !;
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
    Broadcast,
    AllGather,
    AllToAllV,
}

impl Action {
    const ALL: [Self; 7] = [
        Self::Barrier,
        Self::GlobalOr,
        Self::Reduce,
        Self::Scan,
        Self::Broadcast,
        Self::AllGather,
        Self::AllToAllV,
    ];

    /// The name of the `Node` method.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::GlobalOr => "global_or",
            Self::Reduce => "reduce",
            Self::Scan => "scan",
            Self::Broadcast => "broadcast",
            Self::AllGather => "all_gather",
            Self::AllToAllV => "all_to_all_v",
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
            (Action::Reduce | Action::Scan, Some((op, kind))) => {
                write!(f, " {op} of {length} {}", kind.name())
            }
            (Action::Broadcast, _) => write!(f, " from node {root} of {length} elements of {size} bytes"),
            (Action::AllGather, _) => write!(f, " of {length} elements of {size} bytes"),
            (Action::AllToAllV, _) => write!(f, " of elements of {size} bytes"),
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
