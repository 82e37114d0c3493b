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
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

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
    ShareWords "share_words",
    ExposeWords "expose_words",
}

/// One call of a collective: the values that must be equal on all nodes, and its place in the
/// program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The action, packed with the operation and number type, or with the size of an element; equal
    /// on all nodes, otherwise the program is at fault.
    pub(crate) what: u32,
    /// Root of a broadcast, otherwise 0.
    pub(crate) root: u32,
    /// The length for each node, if that must be equal, otherwise 0: numbers if values are
    /// combined, bytes if elements are moved.
    pub(crate) length: u64,
    /// The place in the program.
    pub(crate) place: &'static Location<'static>,
}

/// Value for no operation or number type.
const NONE: u8 = 0xff;

/// The largest size of an element that fits in 24 bits; larger sizes are not distinguished.
const LARGEST: u32 = 0xff_ffff;

/// The length of a call that moves elements, for its message.
struct Elements {
    bytes: u64,
    size: u32,
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            LARGEST => write!(f, "{} bytes", self.bytes),
            size => write!(f, "{} elements of {size} bytes", self.bytes / u64::from(size.max(1))),
        }
    }
}

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

    /// A call that moves `elements` of `size` bytes.
    ///
    /// The length that must agree is in bytes, because transports access as many bytes of another
    /// node's memory. The size of an element is for messages; those of 16 MiB and more count as
    /// equal.
    pub(crate) fn moving(
        action: Action,
        size: usize,
        root: usize,
        elements: usize,
        place: &'static Location<'static>,
    ) -> Self {
        let [low, middle, high, _] = u32::try_from(size).unwrap_or(u32::MAX).min(LARGEST).to_le_bytes();
        let what = u32::from_ne_bytes([action as u8, low, middle, high]);
        // Elements without bytes still have a number.
        let length = elements.saturating_mul(size.max(1)) as u64;
        Self { what, root: u32::try_from(root).unwrap_or(u32::MAX), length, place }
    }

    /// A call that concerns node `to`.
    pub(crate) fn to(action: Action, to: usize, place: &'static Location<'static>) -> Self {
        Self { root: u32::try_from(to).unwrap_or(u32::MAX), ..Self::plain(action, place) }
    }

    pub(crate) fn action(&self) -> Action {
        let [action, ..] = self.what.to_ne_bytes();
        decode(action)
    }

    /// True if this is the same call at the same place, on one node.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.agrees(other.what, other.root, other.length) && std::ptr::eq(self.place, other.place)
    }

    /// True if another node's call can belong to the same collective.
    pub(crate) fn agrees(&self, what: u32, root: u32, length: u64) -> bool {
        self.what == what && self.root == root && self.length == length
    }

    /// Writes the call without its place.
    pub(crate) fn describe(f: &mut fmt::Formatter<'_>, what: u32, root: u32, length: u64) -> fmt::Result {
        let [action, op, kind, high] = what.to_ne_bytes();
        let action = decode(action);
        let size = u32::from_le_bytes([op, kind, high, 0]);
        let moved = Elements { bytes: length, size };
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
            (Action::Broadcast, _) => write!(f, " from node {root} of {moved}"),
            (Action::AllGather | Action::CyclicShift | Action::Hypercube | Action::AllToAll, _) => {
                write!(f, " of {moved}")
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
