//! Calls: a node's operation in which others take part, and its place in the program.

use super::Failure;
use crate::number::{NumberType, Op};
use std::fmt;
use std::panic::Location;

/// Declares [`Action`] with the name of the `Node` method of each.
macro_rules! actions {
    ($($variant:ident $name:literal,)*) => {
        /// The operation of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Action {
            $($variant,)*
        }

        impl Action {
            const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name of the `Node` method.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

actions! {
    Barrier "barrier",
    GlobalOr "global_or",
    Reduce "reduce",
    Scan "scan",
    BackwardScan "backward_scan",
    SegmentedScan "segmented_scan",
    SegmentedBackwardScan "segmented_backward_scan",
    Broadcast "broadcast",
    AllGather "all_gather",
    AllToAllV "all_to_all_v",
    Install "install",
    Send "send",
    Reply "reply",
    Put "put",
    WaitUntil "wait_until",
    WaitForPort "wait_for_port",
    Leave "leave",
    CyclicShift "cyclic_shift",
    Hypercube "hypercube",
    AllToAll "all_to_all",
    UnknownTargets "unknown_targets",
    Uninstall "uninstall",
    NameStates "name_states",
    StoreSync "store_sync",
    Share "share",
    CompletePrepared "complete_prepared",
    ExchangePieces "exchange_pieces",
}

/// One call of a collective: what must be equal on all nodes, and its place in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Action, operation and number type, packed; equal on all nodes, otherwise the program is at
    /// fault.
    pub(crate) what: u32,
    /// Root of a broadcast, otherwise 0.
    pub(crate) root: u32,
    /// Elements for each node, if that must be equal; otherwise 0.
    pub(crate) length: u64,
    /// The place in the program.
    pub(crate) place: &'static Location<'static>,
}

/// Value for no operation or number type.
const NONE: u8 = 0xff;

impl Call {
    /// A call without elements, or without a length that must agree.
    pub(crate) fn plain(action: Action, place: &'static Location<'static>) -> Self {
        Self { what: u32::from_ne_bytes([action as u8, NONE, NONE, 0]), root: 0, length: 0, place }
    }

    /// A call that combines numbers.
    pub(crate) fn combine(
        action: Action,
        kind: NumberType,
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

    /// The operation.
    pub(crate) fn action(&self) -> Action {
        let [action, ..] = self.what.to_ne_bytes();
        decode(action)
    }

    /// Whether this is the same call at the same place, on one node.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.agrees(other.what, other.root, other.length) && std::ptr::eq(self.place, other.place)
    }

    /// Whether another node's call can belong to the same collective as this one.
    pub(crate) fn agrees(&self, what: u32, root: u32, length: u64) -> bool {
        self.what == what && self.root == root && self.length == length
    }

    /// Writes the call without its place.
    pub(crate) fn describe(f: &mut fmt::Formatter<'_>, what: u32, root: u32, length: u64) -> fmt::Result {
        let [action, op, kind, size] = what.to_ne_bytes();
        let action = decode(action);
        f.write_str(action.name())?;
        let combines = Op::ALL.get(usize::from(op)).zip(NumberType::ALL.get(usize::from(kind)));
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
            (Action::StoreSync, _) => write!(f, " of {length} bytes, of which {root} have come"),
            (Action::WaitForPort, _) => write!(f, " {root}"),
            (Action::Send | Action::Reply | Action::Put, _) => write!(f, " to node {root}"),
            _ => Ok(()),
        }
    }

    /// The failure to report if node `rank` made this call while node 0 made `first`.
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

fn decode(action: u8) -> Action {
    Action::ALL[usize::from(action).min(Action::ALL.len() - 1)]
}
