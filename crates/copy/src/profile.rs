//! Single copies under known conditions, for calibration, benchmarks and tests.
//!
//! The profiling programs generated from `specs/copy`, `specs/copy/exchange` and
//! `specs/copy/strided` call these functions.

mod blocks;
mod exchange;

use std::cell::RefCell;
use std::hint::black_box;

use crate::{DEFAULT, Hint, Routine, routine_for};
pub use blocks::{BlockCell, Moving, pack, seconds_of_blocks, unpack};
pub use exchange::exchange;

/// Bytes of memory for cold sources, more than any cache holds.
const ARENA: usize = 160 << 20;

/// Distance within their pages between a source and its target: at equal page offsets, loads wait
/// for stores that only seem to be to the same address.
const APART: usize = 2048;

const PAGE: usize = 4096;

/// The conditions of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of bytes copied.
    pub bytes: usize,
    /// The source's distance from an aligned address, below 64 bytes; the target is aligned.
    pub shift: usize,
    /// True if the source was not used for a long time, and is in no cache.
    pub cold: bool,
    /// True if the same thread reads the target right after the copy; the read is timed, too.
    pub read: bool,
}

/// The memory of copies, kept between measurements.
struct Memory {
    sources: Vec<u8>,
    target: Vec<u8>,
    /// Number of cold sources copied so far, so that none is reused soon.
    turn: usize,
}

thread_local! {
    static MEMORY: RefCell<Memory> = const { RefCell::new(Memory { sources: Vec::new(), target: Vec::new(), turn: 0 }) };
}

/// The seconds of one copy by `routine`: the mean of a batch of about 40 µs; `now` returns seconds
/// since an arbitrary moment.
pub fn seconds(now: impl FnMut() -> f64, routine: &Routine, cell: Cell) -> f64 {
    seconds_of(now, cell, &|to, from| routine.copy(to, from))
}

/// As [`seconds`] with the cost of the choice, for the routine of this name. If this processor
/// cannot run it, `memcpy` is timed, so that it never seems to be better. The cost of the choice is
/// charged to `memcpy`, too: a copy pays for reading the table whatever it finds there.
pub fn sample(
    now: impl FnMut() -> f64,
    routine: &str,
    bytes: usize,
    shift: usize,
    cold: bool,
    read: bool,
) -> f64 {
    let routine = named(routine);
    seconds_of(now, Cell { bytes, shift, cold, read }, &|to, from| {
        black_box(routine_for(Hint::default(), from.len(), shift == 0));
        routine.copy(to, from);
    })
}

fn named(routine: &str) -> &'static Routine {
    Routine::named(routine).unwrap_or(&DEFAULT)
}

/// As [`seconds`], for any function that copies. All functions are called in the same way, so that
/// the compiler's placement of the surrounding loop has no effect.
pub fn seconds_of(mut now: impl FnMut() -> f64, cell: Cell, copy: &dyn Fn(&mut [u8], &[u8])) -> f64 {
    in_cell(&mut now, cell, copy)
}

#[inline(never)]
fn in_cell(now: &mut dyn FnMut() -> f64, cell: Cell, copy: &dyn Fn(&mut [u8], &[u8])) -> f64 {
    let Cell { bytes, shift, cold, read } = cell;
    let shift = shift % 64;
    // The greatest expected time of one copy in ns; it determines the number of copies timed at
    // once.
    let expected = if cold { 60 + bytes / 6 } else { 4 + bytes / 20 };
    let count = (40_000 / expected).max(1);
    MEMORY.with_borrow_mut(|Memory { sources, target, turn }| {
        let step = (bytes + shift).next_multiple_of(64);
        // A power of two, to which any odd stride is coprime: every slot is used before one is used
        // again.
        let slots = if cold { ((ARENA / step).max(2) + 1).next_power_of_two() / 2 } else { 1 };
        let needed = slots * step + APART + 2 * PAGE;
        if sources.len() < needed {
            *sources = vec![1; needed];
        }
        if target.len() < bytes + 2 * PAGE {
            *target = vec![1; bytes + 2 * PAGE];
        }
        let first = sources.as_ptr().align_offset(PAGE) + APART + shift;
        // Consecutive slots are not neighbours in memory, or prefetchers would fetch them.
        let stride = (slots as f64 * 0.618) as usize | 1;
        let start = target.as_ptr().align_offset(PAGE);
        let target = &mut target[start..start + bytes];
        let mut run = |count: usize, sources: &[u8]| {
            let mut sum = 0;
            for _ in 0..count {
                let at = first + (turn.wrapping_mul(stride) & (slots - 1)) * step;
                copy(black_box(&mut *target), black_box(&sources[at..at + bytes]));
                if read {
                    sum = u64::wrapping_add(sum, read_all(target));
                }
                *turn = turn.wrapping_add(1);
            }
            black_box(sum);
        };
        // The first copies load the code, the target and a hot source into the caches.
        run(if cold { 2 } else { count.clamp(1, 100) }, sources);
        let start = now();
        run(count, sources);
        (now() - start) / count as f64
    })
}

/// Reads every word.
fn read_all(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}
