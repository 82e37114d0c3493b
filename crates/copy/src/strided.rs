//! Blocks at a stride: columns of a grid, fields of records.

mod choose;
mod movers;

use std::fmt;

pub(crate) use choose::pinned_mover;
pub use choose::{Direction, mover_for};
use movers::Blocks;
pub use movers::{Mover, movers};

/// The distances between the beginnings of blocks, in bytes: at the target, and at the source.
pub(crate) type Steps = (usize, usize);

/// `count` blocks of `block` bytes; each begins `stride` bytes after the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// The bytes of a block.
    pub block: usize,
    /// Distance between the starts of consecutive blocks in bytes; at least `block`.
    pub stride: usize,
    /// Number of blocks.
    pub count: usize,
}

/// Why blocks were not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StridedError {
    /// The stride is less than a block: blocks would overlap.
    Overlap(Strided),
    /// The strided side has fewer bytes than the last block needs, or their number overflows.
    Short(Strided, usize),
    /// The length of the packed side is not `block * count` bytes.
    Packed(Strided, usize),
}

impl fmt::Display for StridedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(Strided { block, stride, .. }) => {
                write!(f, "blocks of {block} bytes overlap at a stride of {stride}; make it at least {block}")
            }
            Self::Short(Strided { block, stride, count }, len) => write!(
                f,
                "{count} blocks of {block} bytes at a stride of {stride} do not lie within {len} bytes"
            ),
            Self::Packed(Strided { block, count, .. }, len) => {
                write!(f, "{count} blocks of {block} bytes packed are not {len} bytes")
            }
        }
    }
}

impl std::error::Error for StridedError {}

impl Strided {
    /// The bytes from the first block's beginning to the last one's end; `None` if they overflow.
    #[inline]
    #[must_use]
    pub fn span(&self) -> Option<usize> {
        match self.count {
            0 => Some(0),
            count => self.stride.checked_mul(count - 1)?.checked_add(self.block),
        }
    }

    /// Its [`span`](Self::span), if the slices have suitable lengths.
    #[inline]
    fn check(self, packed: usize, strided: usize) -> Result<usize, StridedError> {
        if self.stride < self.block && self.count > 1 {
            return Err(StridedError::Overlap(self));
        }
        let span = self.span().filter(|span| *span <= strided);
        let span = span.ok_or(StridedError::Short(self, strided))?;
        if self.block.checked_mul(self.count) != Some(packed) {
            return Err(StridedError::Packed(self, packed));
        }
        Ok(span)
    }

    /// True if the blocks are contiguous, or there is at most one: they are then copied as a whole.
    #[inline]
    fn is_one(&self) -> bool {
        self.stride == self.block || self.count <= 1
    }
}

/// Copies the blocks of `from` to `to`, one after the other.
///
/// Blocks of less than 2048 bytes are moved by the [strided kernel](mover_for) of the least
/// predicted time for their size and stride, longer ones by the routine that models choose for a
/// single block.
///
/// # Errors
/// If the slices do not suit `strided`; `to` is unchanged.
#[inline]
pub fn pack(to: &mut [u8], from: &[u8], strided: Strided) -> Result<(), StridedError> {
    match Blocks::to_pack(to, from, strided)? {
        blocks if strided.is_one() => blocks.move_as_one(),
        blocks => mover_for(Direction::Pack, strided).run(blocks),
    }
    Ok(())
}

/// Copies `from` to the blocks of `to`; the bytes between the blocks are unchanged.
///
/// # Errors
/// If the slices do not suit `strided`; `to` is unchanged.
#[inline]
pub fn unpack(to: &mut [u8], from: &[u8], strided: Strided) -> Result<(), StridedError> {
    match Blocks::to_unpack(to, from, strided)? {
        blocks if strided.is_one() => blocks.move_as_one(),
        blocks => mover_for(Direction::Unpack, strided).run(blocks),
    }
    Ok(())
}
