//! Blocks that lie a stride apart: columns of a grid, fields of records.

use std::fmt;

use crate::{DEFAULT, Hint, copy_hinted, routine_for};

/// `count` blocks of `block` bytes, of which each begins `stride` bytes after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// The bytes of a block.
    pub block: usize,
    /// From the beginning of a block to that of the next, in bytes; at least `block`.
    pub stride: usize,
    /// How many there are.
    pub count: usize,
}

/// Why blocks were not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StridedError {
    /// The stride is less than a block: blocks would overlap.
    Overlap(Strided),
    /// The strided side has fewer bytes than the last block needs, or their number overflows.
    Short(Strided, usize),
    /// The packed side has other than `block * count` bytes.
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
    #[must_use]
    pub fn span(&self) -> Option<usize> {
        match self.count {
            0 => Some(0),
            count => self.stride.checked_mul(count - 1)?.checked_add(self.block),
        }
    }

    fn check(self, packed: usize, strided: usize) -> Result<(), StridedError> {
        if self.stride < self.block && self.count > 1 {
            return Err(StridedError::Overlap(self));
        }
        if self.span().is_none_or(|span| span > strided) {
            return Err(StridedError::Short(self, strided));
        }
        if self.block.checked_mul(self.count) != Some(packed) {
            return Err(StridedError::Packed(self, packed));
        }
        Ok(())
    }

    /// Whether the blocks touch, or there is at most one: then they are packed as they are.
    fn is_one(&self) -> bool {
        self.stride == self.block || self.count <= 1
    }
}

/// Copies the blocks of `from` to `to`, one after the other.
///
/// Blocks of 1 to 64 bytes that are powers of two, and those of three words, go by moves of that
/// size, without a call for each; of longer ones all go by the routine that models choose for one.
///
/// # Errors
/// The slices do not suit `strided`; `to` is unchanged.
pub fn pack(to: &mut [u8], from: &[u8], strided: Strided) -> Result<(), StridedError> {
    strided.check(to.len(), from.len())?;
    if strided.is_one() {
        copy_hinted(Hint::default(), to, &from[..strided.span().unwrap_or(0)]);
        return Ok(());
    }
    match strided.block {
        0 => {}
        1 => gather::<1>(to, from, strided.stride),
        2 => gather::<2>(to, from, strided.stride),
        4 => gather::<4>(to, from, strided.stride),
        8 => gather::<8>(to, from, strided.stride),
        12 => gather::<12>(to, from, strided.stride),
        16 => gather::<16>(to, from, strided.stride),
        24 => gather::<24>(to, from, strided.stride),
        32 => gather::<32>(to, from, strided.stride),
        64 => gather::<64>(to, from, strided.stride),
        block => {
            let blocks = to.chunks_exact_mut(block).zip(from.chunks(strided.stride));
            copy_blocks(block, blocks.map(|(to, from)| (to, &from[..block])));
        }
    }
    Ok(())
}

/// Copies `from` to the blocks of `to`; what lies between them is unchanged.
///
/// # Errors
/// The slices do not suit `strided`; `to` is unchanged.
pub fn unpack(to: &mut [u8], from: &[u8], strided: Strided) -> Result<(), StridedError> {
    strided.check(from.len(), to.len())?;
    if strided.is_one() {
        copy_hinted(Hint::default(), &mut to[..strided.span().unwrap_or(0)], from);
        return Ok(());
    }
    match strided.block {
        0 => {}
        1 => scatter::<1>(to, from, strided.stride),
        2 => scatter::<2>(to, from, strided.stride),
        4 => scatter::<4>(to, from, strided.stride),
        8 => scatter::<8>(to, from, strided.stride),
        12 => scatter::<12>(to, from, strided.stride),
        16 => scatter::<16>(to, from, strided.stride),
        24 => scatter::<24>(to, from, strided.stride),
        32 => scatter::<32>(to, from, strided.stride),
        64 => scatter::<64>(to, from, strided.stride),
        block => {
            let blocks = to.chunks_mut(strided.stride).zip(from.chunks_exact(block));
            copy_blocks(block, blocks.map(|(to, from)| (&mut to[..block], from)));
        }
    }
    Ok(())
}

/// From so many bytes on a block is worth a routine of its own.
const WHOLE: usize = 2048;

/// Blocks of which models choose for one what all take: a choice for each would cost as much as it
/// gains.
fn copy_blocks<'a>(block: usize, blocks: impl Iterator<Item = (&'a mut [u8], &'a [u8])>) {
    let routine = if block < WHOLE { &DEFAULT } else { routine_for(Hint::default(), block, false) };
    if routine.is_default() {
        blocks.for_each(|(to, from)| to.copy_from_slice(from));
    } else {
        blocks.for_each(|(to, from)| routine.copy(to, from));
    }
}

/// Blocks whose size the compiler knows: a load and a store each.
fn gather<const BLOCK: usize>(to: &mut [u8], from: &[u8], stride: usize) {
    let (to, _) = to.as_chunks_mut::<BLOCK>();
    for (to, from) in to.iter_mut().zip(from.chunks(stride)) {
        if let Some(block) = from.first_chunk() {
            *to = *block;
        }
    }
}

fn scatter<const BLOCK: usize>(to: &mut [u8], from: &[u8], stride: usize) {
    let (from, _) = from.as_chunks::<BLOCK>();
    for (to, from) in to.chunks_mut(stride).zip(from) {
        if let Some(block) = to.first_chunk_mut() {
            *block = *from;
        }
    }
}
