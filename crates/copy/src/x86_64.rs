//! The kernels of x86_64: one macro writes them for each width of vector, and constants select the
//! rest.
//!
//! The dimensions of variation, with their reasons (Borg 2006, §3.2):
//! - **Width**: SSE2, AVX and AVX-512 move 16, 32 and 64 bytes at once.
//! - **Direction**: from the end backwards, the hardware's prefetchers start later and run over
//!   less.
//! - **Streaming** (non-temporal) stores bypass the caches: for targets that are not read soon.
//!   They are weakly ordered, and the ordering of atomic operations does not include them, so that
//!   each such kernel ends with a fence: after it, a flag that another thread sees implies the
//!   data.
//! - **Prefetch** into all caches, or into the nearest only (`NTA`).
//! - **Order**: loads and stores in turn, or four loads, then four stores, which lets stores
//!   combine.
//! - **Blocks**: half a page is prefetched as a whole, then streamed; priming touches the next page
//!   first, because a prefetch whose address is in no TLB may be dropped.

#![allow(unsafe_code, reason = "kernels work on addresses and with processor features; see `Routine::copy`")]

use std::arch::x86_64::{
    _MM_HINT_NTA, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_sfence, _mm_store_si128, _mm_storeu_si128,
    _mm_stream_si128, _mm256_loadu_si256, _mm256_store_si256, _mm256_storeu_si256, _mm256_stream_si256,
    _mm512_loadu_si512, _mm512_store_si512, _mm512_storeu_si512, _mm512_stream_si512,
};

use crate::strided::Steps;

/// A kernel copies `len` bytes from `from` to `to`.
///
/// # Safety
/// Both areas are valid for `len` bytes and do not overlap; `len` is at least the routine's
/// [`least`](crate::Routine::least); the processor has the routine's features.
pub(crate) type Kernel = unsafe fn(to: *mut u8, from: *const u8, len: usize);

/// Kinds of stores.
pub(crate) const CACHED: bool = false;
pub(crate) const STREAMED: bool = true;

/// Orders of loads and stores.
pub(crate) const IN_TURN: bool = false;
pub(crate) const GROUPED: bool = true;

/// Targets of a prefetch.
pub(crate) const NO_PREFETCH: u8 = 0;
pub(crate) const TO_ALL: u8 = 1;
pub(crate) const TO_NEAREST: u8 = 2;

/// Whether later blocks are prefetched.
pub(crate) const AHEAD_OFF: bool = false;
pub(crate) const AHEAD_ON: bool = true;

/// Distance of prefetches in blocks.
const BLOCKS_AHEAD: usize = 4;

/// Distance of prefetches in bytes.
const AHEAD: usize = 512;
/// The bytes of a cache line.
const LINE: usize = 64;
/// Bytes that a block kernel prefetches at once.
const BLOCK: usize = 2048;
/// The bytes of the smallest page.
const PAGE: usize = 4096;

/// Prefetches the lines of `count` bytes from `at`. An address may lie outside the source: a
/// prefetch never faults.
#[inline(always)]
fn prefetch<const HINT: u8>(at: *const u8, count: usize) {
    let mut line = 0;
    while line < count {
        let at = at.wrapping_add(line).cast();
        // SAFETY: a prefetch accesses no memory as far as the language is concerned; it is part of
        // SSE, which every x86_64 has.
        unsafe {
            match HINT {
                TO_ALL => _mm_prefetch::<_MM_HINT_T0>(at),
                TO_NEAREST => _mm_prefetch::<_MM_HINT_NTA>(at),
                _ => {}
            }
        }
        line += LINE;
    }
}

/// `rep movsb`, which processors with "enhanced" or "fast short" string operations do in
/// microcode.
///
/// # Safety
/// See [`Kernel`].
pub(crate) unsafe fn rep_movsb(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the areas are valid for `len` bytes; the direction flag is clear, as the calling
    // convention has it.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

/// The kernels of one width. All begin and end with one unaligned vector, which may overlap the
/// aligned ones between: `len` is at least two vectors, and nothing outside it is read or written.
macro_rules! width {
    ($name:ident, $features:literal, $width:literal, $load:ident, $unaligned:ident, $cached:ident, $streamed:ident) => {
        pub(crate) mod $name {
            use super::*;

            pub(crate) const WIDTH: usize = $width;

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn store<const STREAM: bool>(to: *mut u8, from: *const u8) {
                // SAFETY: the caller's addresses are valid for a vector, and `to` is aligned to it.
                unsafe {
                    if STREAM {
                        $streamed(to.cast(), $load(from.cast()));
                    } else {
                        $cached(to.cast(), $load(from.cast()));
                    }
                }
            }

            /// Copies one vector from and to any address.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn edge(to: *mut u8, from: *const u8) {
                // SAFETY: the caller's addresses are valid for a vector.
                unsafe { $unaligned(to.cast(), $load(from.cast())) }
            }

            /// Copies four vectors, the addresses rising.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn four_up<const STREAM: bool, const GROUP: bool>(to: *mut u8, from: *const u8) {
                // SAFETY: the caller's addresses are valid for four vectors, and `to` is aligned.
                unsafe {
                    if !GROUP {
                        store::<STREAM>(to, from);
                        store::<STREAM>(to.add(WIDTH), from.add(WIDTH));
                        store::<STREAM>(to.add(2 * WIDTH), from.add(2 * WIDTH));
                        store::<STREAM>(to.add(3 * WIDTH), from.add(3 * WIDTH));
                        return;
                    }
                    let a = $load(from.cast());
                    let b = $load(from.add(WIDTH).cast());
                    let c = $load(from.add(2 * WIDTH).cast());
                    let d = $load(from.add(3 * WIDTH).cast());
                    if STREAM {
                        $streamed(to.cast(), a);
                        $streamed(to.add(WIDTH).cast(), b);
                        $streamed(to.add(2 * WIDTH).cast(), c);
                        $streamed(to.add(3 * WIDTH).cast(), d);
                    } else {
                        $cached(to.cast(), a);
                        $cached(to.add(WIDTH).cast(), b);
                        $cached(to.add(2 * WIDTH).cast(), c);
                        $cached(to.add(3 * WIDTH).cast(), d);
                    }
                }
            }

            /// Copies four vectors, the addresses falling.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn four_down<const STREAM: bool, const GROUP: bool>(to: *mut u8, from: *const u8) {
                // SAFETY: the caller's addresses are valid for four vectors, and `to` is aligned.
                unsafe {
                    if !GROUP {
                        store::<STREAM>(to.add(3 * WIDTH), from.add(3 * WIDTH));
                        store::<STREAM>(to.add(2 * WIDTH), from.add(2 * WIDTH));
                        store::<STREAM>(to.add(WIDTH), from.add(WIDTH));
                        store::<STREAM>(to, from);
                        return;
                    }
                    let d = $load(from.add(3 * WIDTH).cast());
                    let c = $load(from.add(2 * WIDTH).cast());
                    let b = $load(from.add(WIDTH).cast());
                    let a = $load(from.cast());
                    if STREAM {
                        $streamed(to.add(3 * WIDTH).cast(), d);
                        $streamed(to.add(2 * WIDTH).cast(), c);
                        $streamed(to.add(WIDTH).cast(), b);
                        $streamed(to.cast(), a);
                    } else {
                        $cached(to.add(3 * WIDTH).cast(), d);
                        $cached(to.add(2 * WIDTH).cast(), c);
                        $cached(to.add(WIDTH).cast(), b);
                        $cached(to.cast(), a);
                    }
                }
            }

            /// From the first byte to the last.
            ///
            /// # Safety
            /// See [`Kernel`].
            #[target_feature(enable = $features)]
            pub(crate) unsafe fn forward<const STREAM: bool, const HINT: u8, const GROUP: bool>(
                to: *mut u8,
                from: *const u8,
                len: usize,
            ) {
                debug_assert!(len >= 2 * WIDTH);
                let mut at = WIDTH - to as usize % WIDTH;
                // SAFETY: every vector lies between 0 and `len`: `at` is at most `WIDTH` at first,
                // and what a step copies is compared with `len` before. `to.add(at)` is aligned.
                unsafe {
                    edge(to, from);
                    while at + 4 * WIDTH <= len {
                        prefetch::<HINT>(from.wrapping_add(at + AHEAD), 4 * WIDTH);
                        four_up::<STREAM, GROUP>(to.add(at), from.add(at));
                        at += 4 * WIDTH;
                    }
                    while at + WIDTH <= len {
                        store::<STREAM>(to.add(at), from.add(at));
                        at += WIDTH;
                    }
                    edge(to.add(len - WIDTH), from.add(len - WIDTH));
                }
                if STREAM {
                    _mm_sfence();
                }
            }

            /// From the last byte to the first.
            ///
            /// # Safety
            /// See [`Kernel`].
            #[target_feature(enable = $features)]
            pub(crate) unsafe fn backward<const STREAM: bool, const HINT: u8, const GROUP: bool>(
                to: *mut u8,
                from: *const u8,
                len: usize,
            ) {
                debug_assert!(len >= 2 * WIDTH);
                let mut at = len - (to as usize + len) % WIDTH;
                // SAFETY: as above; `at` is what remains, and never more than `len`.
                unsafe {
                    edge(to.add(len - WIDTH), from.add(len - WIDTH));
                    while at >= 4 * WIDTH {
                        at -= 4 * WIDTH;
                        prefetch::<HINT>(from.wrapping_add(at).wrapping_sub(AHEAD), 4 * WIDTH);
                        four_down::<STREAM, GROUP>(to.add(at), from.add(at));
                    }
                    while at >= WIDTH {
                        at -= WIDTH;
                        store::<STREAM>(to.add(at), from.add(at));
                    }
                    edge(to, from);
                }
                if STREAM {
                    _mm_sfence();
                }
            }

            /// Half a page at a time is prefetched, then streamed; with `PRIME` the next page is
            /// touched before.
            ///
            /// # Safety
            /// See [`Kernel`].
            #[target_feature(enable = $features)]
            pub(crate) unsafe fn blocks<const PRIME: bool>(to: *mut u8, from: *const u8, len: usize) {
                debug_assert!(len >= 2 * WIDTH);
                let mut at = WIDTH - to as usize % WIDTH;
                // SAFETY: as in `forward`; the byte that primes the TLB is inside the source.
                unsafe {
                    edge(to, from);
                    while at + BLOCK <= len {
                        if PRIME && at + PAGE < len {
                            from.add(at + PAGE).read_volatile();
                        }
                        prefetch::<TO_NEAREST>(from.add(at), BLOCK);
                        let end = at + BLOCK;
                        while at < end {
                            four_up::<STREAMED, GROUPED>(to.add(at), from.add(at));
                            at += 4 * WIDTH;
                        }
                    }
                    while at + WIDTH <= len {
                        store::<STREAMED>(to.add(at), from.add(at));
                        at += WIDTH;
                    }
                    edge(to.add(len - WIDTH), from.add(len - WIDTH));
                }
                _mm_sfence();
            }

            /// Moves `count` blocks of `block` bytes each, as `VECTORS` vectors, of which the last
            /// one may overlap the one before. The next block begins `to_step` and `from_step`
            /// bytes after a block's beginning.
            ///
            /// # Safety
            /// All blocks lie within areas that are valid and do not overlap. A block is longer than
            /// `VECTORS - 1` vectors and not longer than `VECTORS`, and has at least one; the
            /// processor has the features.
            #[target_feature(enable = $features)]
            unsafe fn moves_of<const VECTORS: usize, const AHEAD: bool>(
                mut to: *mut u8,
                mut from: *const u8,
                (to_step, from_step): Steps,
                block: usize,
                count: usize,
            ) {
                debug_assert!(block.div_ceil(WIDTH) == VECTORS);
                let last = block - WIDTH;
                for left in (0..count).rev() {
                    if AHEAD && left >= BLOCKS_AHEAD {
                        let later = if from_step > to_step {
                            from.wrapping_add(BLOCKS_AHEAD * from_step)
                        } else {
                            to.wrapping_add(BLOCKS_AHEAD * to_step).cast_const()
                        };
                        prefetch::<TO_ALL>(later, VECTORS * WIDTH);
                    }
                    let mut vector = 0;
                    while vector + 1 < VECTORS {
                        // SAFETY: these vectors lie within the block.
                        unsafe { edge(to.add(vector * WIDTH), from.add(vector * WIDTH)) };
                        vector += 1;
                    }
                    // SAFETY: a block has at least one vector.
                    unsafe { edge(to.add(last), from.add(last)) };
                    (to, from) = (to.wrapping_add(to_step), from.wrapping_add(from_step));
                }
            }

            /// Blocks of 1 to 16 vectors, as [`moves_of`].
            ///
            /// # Safety
            /// All blocks lie within areas that are valid and do not overlap; a block has at least
            /// one vector and at most 16; the processor has the features.
            pub(crate) unsafe fn moves<const AHEAD: bool>(
                to: *mut u8,
                from: *const u8,
                steps: Steps,
                block: usize,
                count: usize,
            ) {
                let moves = match block.div_ceil(WIDTH) {
                    1 => moves_of::<1, AHEAD>,
                    2 => moves_of::<2, AHEAD>,
                    3 => moves_of::<3, AHEAD>,
                    4 => moves_of::<4, AHEAD>,
                    5 => moves_of::<5, AHEAD>,
                    6 => moves_of::<6, AHEAD>,
                    7 => moves_of::<7, AHEAD>,
                    8 => moves_of::<8, AHEAD>,
                    9 => moves_of::<9, AHEAD>,
                    10 => moves_of::<10, AHEAD>,
                    11 => moves_of::<11, AHEAD>,
                    12 => moves_of::<12, AHEAD>,
                    13 => moves_of::<13, AHEAD>,
                    14 => moves_of::<14, AHEAD>,
                    15 => moves_of::<15, AHEAD>,
                    _ => moves_of::<16, AHEAD>,
                };
                // SAFETY: the caller's, and a block has so many vectors.
                unsafe { moves(to, from, steps, block, count) };
            }
        }
    };
}

width!(sse2, "sse2", 16, _mm_loadu_si128, _mm_storeu_si128, _mm_store_si128, _mm_stream_si128);
width!(avx, "avx", 32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_store_si256, _mm256_stream_si256);
width!(
    avx512, "avx512f", 64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_store_si512, _mm512_stream_si512
);
