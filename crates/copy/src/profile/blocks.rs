//! Strided blocks, packed and unpacked under known conditions.

use std::cell::RefCell;
use std::hint::black_box;

use super::{APART, ARENA, PAGE};
use crate::{Direction, Mover, Strided, movers};

/// The conditions of a move of blocks. The packed side is hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCell {
    /// Packed or unpacked.
    pub direction: Direction,
    /// The bytes of a block, at least 1.
    pub block: usize,
    /// Distance between the starts of consecutive blocks in bytes; at least `block`.
    pub stride: usize,
    /// True if the strided side was not used for a long time, and is in no cache.
    pub cold: bool,
}

/// Moves the blocks from the second slice to the first; returns true if it could.
pub type Moving<'a> = &'a dyn Fn(&mut [u8], &[u8], Strided) -> bool;

/// Number of cache lines of hot blocks: they fit in the first-level cache together with the packed
/// side.
const HOT_LINES: usize = 128;
/// Number of cold blocks moved at once.
const COLD_BLOCKS: usize = 64;
const LINE: usize = 64;

struct Memory {
    spread: Vec<u8>,
    packed: Vec<u8>,
    /// Number of moves so far, so that no cold blocks are reused soon.
    turn: usize,
}

thread_local! {
    static MEMORY: RefCell<Memory> = const { RefCell::new(Memory { spread: Vec::new(), packed: Vec::new(), turn: 0 }) };
}

/// The seconds a block for packing with the strided kernel of this name: see [`BlockCell`].
pub fn pack(now: impl FnMut() -> f64, mover: &str, block: usize, stride: usize, cold: bool) -> f64 {
    by_mover(now, mover, BlockCell { direction: Direction::Pack, block, stride, cold })
}

/// As [`pack`], for unpacking.
pub fn unpack(now: impl FnMut() -> f64, mover: &str, block: usize, stride: usize, cold: bool) -> f64 {
    by_mover(now, mover, BlockCell { direction: Direction::Unpack, block, stride, cold })
}

/// If this processor cannot run the kernel, a call for each block is timed, so that it never seems
/// to be better.
fn by_mover(now: impl FnMut() -> f64, mover: &str, cell: BlockCell) -> f64 {
    let mover = Mover::named(mover).unwrap_or(movers()[0]);
    let moved = |to: &mut [u8], from: &[u8], strided| match cell.direction {
        Direction::Pack => mover.pack(to, from, strided).is_ok(),
        Direction::Unpack => mover.unpack(to, from, strided).is_ok(),
    };
    seconds_of_blocks(now, cell, &moved)
}

/// The seconds a block for any function that moves blocks: the mean of a batch of about 40 µs; NaN
/// if the function fails. `now` returns seconds since an arbitrary moment.
pub fn seconds_of_blocks(mut now: impl FnMut() -> f64, cell: BlockCell, moved: Moving<'_>) -> f64 {
    in_cell(&mut now, cell, moved)
}

#[inline(never)]
fn in_cell(now: &mut dyn FnMut() -> f64, cell: BlockCell, moved: Moving<'_>) -> f64 {
    let BlockCell { direction, block, stride, cold } = cell;
    let count = if cold { COLD_BLOCKS } else { (HOT_LINES * LINE / block.max(LINE)).max(16) };
    let strided = Strided { block, stride, count };
    let Some(span) = strided.span() else { return f64::NAN };
    // The greatest expected time of a block in ns.
    let expected = if cold { 10 + block / 4 } else { 2 + block / 20 };
    let rounds = (40_000 / (expected * count)).max(1);
    // A power of two, to which any odd step is coprime: every slot is used before one is used
    // again.
    let slots = if cold { (ARENA / span.max(1)).max(1).next_power_of_two() / 2 } else { 1 }.max(1);
    // Blocks far apart leave most lines between them unused; later rounds use these.
    let lines_between = ((stride - block) / LINE).max(1);
    MEMORY.with_borrow_mut(|Memory { spread, packed, turn }| {
        let step = (stride * count).next_multiple_of(LINE);
        let needed = slots * step + stride + 2 * PAGE;
        if spread.len() < needed {
            *spread = vec![1; needed];
        }
        if packed.len() < block * count + APART + 2 * PAGE {
            *packed = vec![1; block * count + APART + 2 * PAGE];
        }
        let first = spread.as_ptr().align_offset(PAGE);
        let start = packed.as_ptr().align_offset(PAGE) + APART;
        let packed = &mut packed[start..start + block * count];
        let far = (slots as f64 * 0.618) as usize | 1;
        let mut run = |rounds: usize, spread: &mut [u8]| {
            let mut done = true;
            for _ in 0..rounds {
                let slot = turn.wrapping_mul(far) & (slots - 1);
                let line = if cold { (*turn / slots).wrapping_mul(7) % lines_between } else { 0 };
                let spread = &mut spread[first + slot * step + line * LINE..][..span];
                done &= match direction {
                    Direction::Pack => moved(black_box(&mut *packed), black_box(spread), strided),
                    Direction::Unpack => moved(black_box(spread), black_box(packed), strided),
                };
                *turn = turn.wrapping_add(1);
            }
            done
        };
        // The first rounds load the code, the packed side and hot blocks into the caches.
        let ready = run(if cold { 1 } else { rounds.clamp(1, 10) }, spread);
        let start = now();
        let done = run(rounds, spread);
        let seconds = (now() - start) / (rounds * count) as f64;
        if ready && done { seconds } else { f64::NAN }
    })
}
