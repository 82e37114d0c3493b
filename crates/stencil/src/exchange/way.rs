//! The variants of the halo exchange.

use std::fmt;

use super::models::StencilExchange;

/// A variant of the halo exchange. The first three put data into a neighbour's port, which counts
/// the arrivals. The others use MPI; on other transports they are the same as [`Way::Packed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The points of a side are packed and put at once, one side after the other.
    #[default]
    Packed,
    /// Rows are put directly from the arrays, without a copy; columns are packed, and so are rows of
    /// less than 8 KiB of a program's own arrays, and views.
    Stored,
    /// All sides are packed, then sent as transfers whose packets alternate.
    Transferred,
    /// All sides are packed, then sent by persistent requests (MPI 3.1, §3.9).
    Persistent,
    /// All sides are sent and received in place, as derived datatypes (MPI 3.1, §4.1); never
    /// overlapped.
    Typed,
}

impl Way {
    /// The variant of a candidate, and whether it is overlapped.
    pub(crate) fn of(candidate: StencilExchange) -> (Self, bool) {
        match candidate {
            StencilExchange::Packed { overlap } => (Self::Packed, overlap == 1),
            StencilExchange::Stored { overlap } => (Self::Stored, overlap == 1),
            StencilExchange::Transferred { overlap } => (Self::Transferred, overlap == 1),
            StencilExchange::Persistent { overlap } => (Self::Persistent, overlap == 1),
            StencilExchange::Typed => (Self::Typed, false),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packed => "packed",
            Self::Stored => "stored",
            Self::Transferred => "transferred",
            Self::Persistent => "by persistent requests",
            Self::Typed => "by datatypes",
        })
    }
}
