//! Ways in which transports do an operation, among which models or a tuner choose.

#[cfg(feature = "tune")]
use super::Action;
#[cfg(feature = "tune")]
use crate::copy::candidates;
use crate::copy::{Hint, Routine, copy_hinted};

/// How a transport does a put or a whole collective. The result is the same to the last bit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(feature = "tune"), allow(dead_code, reason = "most are a tuner's"))]
pub(crate) enum Way {
    /// As if there were no other.
    Usual,
    /// In place by the collectives of the [library](super::Library) below: a broadcast, or a
    /// reduction or forward scan in one segment of integers, of at least a byte. Calls that differ
    /// are detected as well.
    Library,
    /// Long copies by this routine; usually models choose it.
    Copying(&'static Routine),
    /// A put in pieces of this many bytes, one after the other.
    Pieces(usize),
    /// Each node gets whole vectors: of all nodes in a reduction, which it combines for itself; of
    /// the root in a broadcast.
    Whole,
    /// Each node gets its share of the vectors, and then the others' results.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "a way of MPI"))]
    Shares,
    /// An all-gather by messages from each node to each; an exchange with one node at a time.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "a way of MPI"))]
    InTurn,
}

#[cfg(feature = "tune")]
pub(crate) type Named = (&'static str, Way);

impl Way {
    /// None, of any action.
    #[cfg(feature = "tune")]
    pub(crate) fn none(_: Action) -> Vec<Named> {
        Vec::new()
    }

    /// The routines worth trying on this processor, except the one that is the default everywhere.
    #[cfg(feature = "tune")]
    pub(crate) fn copying() -> Vec<Named> {
        candidates().into_iter().map(|routine| (routine.name(), Self::Copying(routine))).collect()
    }

    /// Copies all of `from`, which this transport usually copies with `hint`, to `to`.
    pub(crate) fn copy(self, hint: Hint, to: &mut [u8], from: &[u8]) {
        match self {
            Self::Copying(routine) => routine.copy(to, from),
            _ => copy_hinted(hint, to, from),
        }
    }
}

/// The order in which the blocks of an all-to-all are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schedule {
    /// P − 1 permutations: step k sends to the node k further on. Barriers keep the nodes in step:
    /// one every ⌈512/B⌉ blocks of B bytes.
    Barriers,
    /// The same permutations without barriers.
    Free,
    /// Eight blocks at a time, their packets interleaved two by two.
    Interleaved,
    /// The transport's own exchange of blocks ([`Node::all_to_all_v`](crate::Node::all_to_all_v)).
    Library,
}

impl Schedule {
    /// All schedules.
    pub const ALL: [Self; 4] = [Self::Barriers, Self::Free, Self::Interleaved, Self::Library];
}
