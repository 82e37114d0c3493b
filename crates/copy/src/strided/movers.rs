//! Strided kernels: they move many small blocks, for which a call each would cost as much as the
//! move.

#![allow(
    unsafe_code,
    reason = "moves blocks by addresses; `Blocks` and `Mover::run` check what that requires"
)]

use std::sync::OnceLock;
use std::{fmt, ptr, slice};

use super::{Steps, Strided, StridedError};
use crate::routine::{Features, has};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{AHEAD_OFF, AHEAD_ON, avx, avx512, sse2};
use crate::{Hint, copy_hinted, routine_for};

/// Strided blocks in one slice and packed blocks in another, which end with the last block: only
/// [`to_pack`](Self::to_pack) and [`to_unpack`](Self::to_unpack) make them.
pub(super) struct Blocks<'a> {
    to: &'a mut [u8],
    from: &'a [u8],
    steps: Steps,
    block: usize,
    count: usize,
}

impl<'a> Blocks<'a> {
    #[inline(always)]
    pub(super) fn to_pack(to: &'a mut [u8], from: &'a [u8], strided: Strided) -> Result<Self, StridedError> {
        let span = strided.check(to.len(), from.len())?;
        let Strided { block, stride, count } = strided;
        Ok(Self { to, from: &from[..span], steps: (block, stride), block, count })
    }

    #[inline(always)]
    pub(super) fn to_unpack(
        to: &'a mut [u8],
        from: &'a [u8],
        strided: Strided,
    ) -> Result<Self, StridedError> {
        let span = strided.check(from.len(), to.len())?;
        let Strided { block, stride, count } = strided;
        Ok(Self { to: &mut to[..span], from, steps: (stride, block), block, count })
    }

    #[inline(always)]
    pub(super) fn move_as_one(self) {
        copy_hinted(Hint::default(), self.to, self.from);
    }
}

/// Moves blocks from the second address to the first. The other arguments are the distances between
/// blocks, the bytes of a block, and the number of blocks.
///
/// # Safety
/// All blocks lie within areas that are valid and do not overlap; a block is within the mover's
/// range, and there is at least one; the processor has the mover's features.
type Moves = unsafe fn(*mut u8, *const u8, Steps, usize, usize);

/// A strided kernel.
///
/// `memcpy` is a call for each block (of a routine, if one is better for long blocks). `moves` is
/// one or two moves of a fixed size. `sse2_moves`, `avx_moves` and `avx512_moves` move vectors, of
/// which the last may overlap the one before; with `_ahead` they prefetch later blocks. All of
/// [`movers`] can run on this processor.
pub struct Mover {
    name: &'static str,
    /// The bytes of the smallest and of the largest block that it moves.
    range: (usize, usize),
    features: Features,
    moves: Moves,
}

/// The least bytes of a block for which a call of a routine is worthwhile.
pub(super) const WHOLE: usize = 2048;

/// The longest block that the compiler moves without a call.
const LONGEST_MOVES: usize = 128;

/// A call for each block: the reference for all other strided kernels.
pub(super) static CALLS: Mover =
    Mover { name: "memcpy", range: (1, usize::MAX), features: Features::None, moves: by_calls };

/// One or two moves of 1, 2, 4 to 128 bytes for each block.
pub(super) static MOVES: Mover =
    Mover { name: "moves", range: (1, LONGEST_MOVES), features: Features::None, moves: by_moves };

#[cfg(not(target_arch = "x86_64"))]
static VECTORS: [Mover; 0] = [];

#[cfg(target_arch = "x86_64")]
static VECTORS: [Mover; 6] = {
    const fn mover(name: &'static str, width: usize, features: Features, moves: Moves) -> Mover {
        Mover { name, range: (width, 16 * width), features, moves }
    }
    [
        mover("sse2_moves", sse2::WIDTH, Features::None, sse2::moves::<AHEAD_OFF>),
        mover("sse2_moves_ahead", sse2::WIDTH, Features::None, sse2::moves::<AHEAD_ON>),
        mover("avx_moves", avx::WIDTH, Features::Avx, avx::moves::<AHEAD_OFF>),
        mover("avx_moves_ahead", avx::WIDTH, Features::Avx, avx::moves::<AHEAD_ON>),
        mover("avx512_moves", avx512::WIDTH, Features::Avx512, avx512::moves::<AHEAD_OFF>),
        mover("avx512_moves_ahead", avx512::WIDTH, Features::Avx512, avx512::moves::<AHEAD_ON>),
    ]
};

/// The strided kernels that this processor can run; the first is `memcpy`, a call for each block.
#[must_use]
pub fn movers() -> &'static [&'static Mover] {
    static RUNNABLE: OnceLock<Vec<&'static Mover>> = OnceLock::new();
    RUNNABLE.get_or_init(|| {
        let all = [&CALLS, &MOVES].into_iter().chain(&VECTORS);
        all.filter(|mover| has(mover.features)).collect()
    })
}

impl Mover {
    /// Its name in models and settings, such as `avx512_moves`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The strided kernel of this name; `None` if there is none or this processor cannot run it.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        movers().iter().copied().find(|mover| mover.name == name)
    }

    /// True if it moves blocks of `block` bytes itself; other blocks take a call each.
    #[must_use]
    pub const fn moves(&self, block: usize) -> bool {
        self.range.0 <= block && block <= self.range.1
    }

    /// As [`pack`](crate::pack), with this strided kernel, regardless of models.
    ///
    /// # Errors
    /// As `pack`.
    #[inline]
    pub fn pack(&self, to: &mut [u8], from: &[u8], strided: Strided) -> Result<(), StridedError> {
        self.run(Blocks::to_pack(to, from, strided)?);
        Ok(())
    }

    /// As [`unpack`](crate::unpack), with this strided kernel, regardless of models.
    ///
    /// # Errors
    /// As `unpack`.
    #[inline]
    pub fn unpack(&self, to: &mut [u8], from: &[u8], strided: Strided) -> Result<(), StridedError> {
        self.run(Blocks::to_unpack(to, from, strided)?);
        Ok(())
    }

    /// Inlined, so that block geometry stays in registers: a value that is stored in parts and
    /// loaded whole waits for all earlier stores.
    #[inline(always)]
    pub(super) fn run(&self, blocks: Blocks<'_>) {
        let Blocks { to, from, steps, block, count } = blocks;
        if block == 0 || count == 0 {
            return;
        }
        let moves = if self.moves(block) { self.moves } else { by_calls };
        // SAFETY: all blocks lie within the slices, of which the mutable one overlaps no other; a
        // block is within the range. A `Mover` is only reached through `movers`, which leaves out
        // those whose features this processor lacks.
        unsafe { moves(to.as_mut_ptr(), from.as_ptr(), steps, block, count) }
    }
}

impl fmt::Debug for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mover({}, from {} to {} bytes)", self.name, self.range.0, self.range.1)
    }
}

impl PartialEq for Mover {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Mover {}

/// A call for each block: of `memcpy`, or of the routine that models choose for a long one.
///
/// # Safety
/// See [`Moves`].
unsafe fn by_calls(mut to: *mut u8, mut from: *const u8, steps: Steps, block: usize, count: usize) {
    if block >= WHOLE {
        // SAFETY: the caller's.
        return unsafe { by_routine(to, from, steps, block, count) };
    }
    for _ in 0..count {
        // SAFETY: the caller's.
        unsafe { ptr::copy_nonoverlapping(from, to, block) };
        (to, from) = (to.wrapping_add(steps.0), from.wrapping_add(steps.1));
    }
}

/// A call for each block, of a routine that models choose once: a choice for each block would cost
/// as much as it gains.
///
/// # Safety
/// See [`Moves`].
#[inline(never)]
unsafe fn by_routine(to: *mut u8, from: *const u8, steps: Steps, block: usize, count: usize) {
    let routine = routine_for(Hint::default(), block, false);
    for index in 0..count {
        // SAFETY: the caller's.
        let (to, from) = unsafe {
            let (to, from) = (to.add(index * steps.0), from.add(index * steps.1));
            (slice::from_raw_parts_mut(to, block), slice::from_raw_parts(from, block))
        };
        routine.copy(to, from);
    }
}

/// A block whose size is a power of two takes one move, any other block two moves that may overlap.
///
/// # Safety
/// See [`Moves`].
unsafe fn by_moves(to: *mut u8, from: *const u8, steps: Steps, block: usize, count: usize) {
    let moves: Moves = match block {
        1 => one::<1>,
        2 => one::<2>,
        3 => two::<2>,
        4 => one::<4>,
        5..=7 => two::<4>,
        8 => one::<8>,
        9..=15 => two::<8>,
        16 => one::<16>,
        17..=31 => two::<16>,
        32 => one::<32>,
        33..=63 => two::<32>,
        64 => one::<64>,
        65..=127 => two::<64>,
        LONGEST_MOVES => one::<LONGEST_MOVES>,
        _ => by_calls,
    };
    // SAFETY: the caller's, and a block has the bytes that these move.
    unsafe { moves(to, from, steps, block, count) }
}

/// Blocks of `SIZE` bytes.
///
/// # Safety
/// See [`Moves`].
unsafe fn one<const SIZE: usize>(to: *mut u8, from: *const u8, steps: Steps, _: usize, count: usize) {
    let (mut to, mut from) = (to.cast::<[u8; SIZE]>(), from.cast::<[u8; SIZE]>());
    for _ in 0..count {
        // SAFETY: the caller's; bytes are aligned anywhere.
        unsafe { *to = *from };
        (to, from) = (to.wrapping_byte_add(steps.0), from.wrapping_byte_add(steps.1));
    }
}

/// Blocks of more than `SIZE` bytes, and less than twice as many.
///
/// # Safety
/// See [`Moves`].
unsafe fn two<const SIZE: usize>(to: *mut u8, from: *const u8, steps: Steps, block: usize, count: usize) {
    let (mut to, mut from) = (to.cast::<[u8; SIZE]>(), from.cast::<[u8; SIZE]>());
    let second = block - SIZE;
    for _ in 0..count {
        // SAFETY: the caller's; bytes are aligned anywhere, and both parts lie in the block.
        unsafe {
            *to = *from;
            *to.byte_add(second) = *from.byte_add(second);
        }
        (to, from) = (to.wrapping_byte_add(steps.0), from.wrapping_byte_add(steps.1));
    }
}
