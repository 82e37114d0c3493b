//! Words that several nodes access, valid as long as any node holds them.

use crate::block::byte_length;
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Alignment in words of a process's own words: two cache lines, because some processors fetch
/// lines in pairs.
const ALIGN: usize = 16;

/// The bytes of a word.
const WORD: usize = size_of::<u64>();

/// Atomic words of one node that others access, too: a part of this process's memory, or of memory
/// that processes of one host [share](crate::Node::share_words). Clones share the words, which
/// exist as long as any clone.
#[derive(Clone)]
pub struct SharedWords {
    /// Valid as long as `keep`: lent only for as long as `self` is borrowed.
    words: &'static [AtomicU64],
    keep: Arc<dyn Any + Send + Sync>,
}

impl SharedWords {
    /// Words of this process, all zero; the first begins a cache line.
    ///
    /// # Panics
    /// If memory cannot hold them.
    #[must_use]
    #[track_caller]
    pub fn zeroed(words: usize) -> Self {
        let with_rest = words.saturating_add(ALIGN);
        let _bytes = byte_length::<u64>(with_rest);
        let own: Arc<[AtomicU64]> = (0..with_rest).map(|_| AtomicU64::new(0)).collect();
        let first = own.as_ptr().align_offset(ALIGN * WORD).min(ALIGN);
        let part = &own[first..first + words];
        // SAFETY: the words are `own`'s, which neither moves nor frees them while `keep` below
        // holds it, and `Self` lends them for no longer than it is borrowed itself.
        let words = unsafe { std::slice::from_raw_parts(part.as_ptr(), part.len()) };
        Self { words, keep: Arc::new(own) }
    }

    /// Copies words, from word `at` on, to `into`: each is read whole (relaxed), in any order.
    ///
    /// # Panics
    /// If the length of `into` is not a multiple of 8 bytes, or there are fewer words.
    #[inline]
    pub fn read_into(&self, at: usize, into: &mut [u8]) {
        let words = &self.words[at..][..words_of(into)];
        let done = vectors::read(words, into);
        let rest = into[done * WORD..].as_chunks_mut::<WORD>().0;
        for (bytes, word) in rest.iter_mut().zip(&words[done..]) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
    }

    /// Copies `from` to the words from word `at` on: each is written whole (relaxed), in any order.
    ///
    /// # Panics
    /// As [`read_into`](Self::read_into).
    #[inline]
    pub fn write_from(&self, at: usize, from: &[u8]) {
        let words = &self.words[at..][..words_of(from)];
        let done = vectors::write(words, from);
        let rest = from[done * WORD..].as_chunks::<WORD>().0;
        for (bytes, word) in rest.iter().zip(&words[done..]) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }

    /// Words that stay valid until the last clone of `keep` is dropped.
    #[cfg(feature = "mpi")]
    pub(crate) fn while_kept(words: &'static [AtomicU64], keep: Arc<dyn Any + Send + Sync>) -> Self {
        Self { words, keep }
    }

    /// The first `at` words, and the rest.
    ///
    /// # Panics
    /// If there are fewer than `at`.
    #[must_use]
    pub fn split_at(&self, at: usize) -> (Self, Self) {
        let (first, rest) = self.words.split_at(at);
        let part = |words| Self { words, keep: Arc::clone(&self.keep) };
        (part(first), part(rest))
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        self.words
    }
}

impl fmt::Debug for SharedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared words", self.words.len())
    }
}

#[inline]
fn words_of(bytes: &[u8]) -> usize {
    assert!(bytes.len().is_multiple_of(WORD), "{} bytes are no whole words", bytes.len());
    bytes.len() / WORD
}

/// Copies by vectors. Compilers do not join atomic accesses, and plain ones that meet others'
/// writes would be data races, so these are written in assembly: relaxed accesses of whole words,
/// as far as the language is concerned.
///
/// Every place accessed here in shared memory is a multiple of 8 bytes. Processors split a vector
/// at most where a cache line, or a power of two of at least 8 bytes, ends; so each word is
/// accessed whole. `HotSpot` relies on the same for arrays of references.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::WORD;
    use std::arch::x86_64::_mm256_zeroupper;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The bytes of a vector.
    const VECTOR: usize = 32;
    /// The words that the loop copies in one step.
    const STEP: usize = 4 * VECTOR / WORD;
    /// The least number of words copied by vectors; fewer are copied one by one.
    const LEAST: usize = 2 * STEP;

    /// Copies the first words; returns their number.
    #[inline]
    pub(super) fn read(words: &[AtomicU64], into: &mut [u8]) -> usize {
        if words.len() < LEAST || !is_x86_feature_detected!("avx") {
            return 0;
        }
        let head = before(into.as_ptr().addr());
        for (bytes, word) in into.as_chunks_mut::<WORD>().0.iter_mut().zip(&words[..head]) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        let words = &words[head..];
        let steps = words.len() / STEP;
        let to = into[head * WORD..][..steps * STEP * WORD].as_mut_ptr();
        // SAFETY: AVX is there; both areas are valid for so many steps, which is at least one, and
        // `into` is this thread's alone.
        unsafe { copy(to, words.as_ptr().cast(), steps) };
        head + steps * STEP
    }

    /// As [`read`], in the other direction.
    #[inline]
    pub(super) fn write(words: &[AtomicU64], from: &[u8]) -> usize {
        if words.len() < LEAST || !is_x86_feature_detected!("avx") {
            return 0;
        }
        let head = before(words.as_ptr().addr());
        for (bytes, word) in from.as_chunks::<WORD>().0.iter().zip(&words[..head]) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        let words = &words[head..];
        let steps = words.len() / STEP;
        let from = from[head * WORD..][..steps * STEP * WORD].as_ptr();
        // SAFETY: as in `read`; the words may be written through a shared reference, as they are
        // atomic.
        unsafe { copy(words.as_ptr().cast::<u8>().cast_mut(), from, steps) };
        head + steps * STEP
    }

    /// The number of words before the first one at which a vector is aligned, or nearly so.
    #[inline]
    fn before(address: usize) -> usize {
        (VECTOR - address % VECTOR) % VECTOR / WORD
    }

    /// Copies `steps` (at least 1) times [`STEP`] words.
    ///
    /// # Safety
    /// Both areas are valid for so many words; one of them may be atomic words that other threads
    /// access, the other one is accessed by this thread alone or read by all. The processor has
    /// AVX.
    #[inline(never)]
    #[target_feature(enable = "avx")]
    unsafe fn copy(to: *mut u8, from: *const u8, steps: usize) {
        // SAFETY: the caller's obligation. The assembly stays within both areas: it moves 128 bytes
        // a step.
        unsafe {
            std::arch::asm!(
                "2:",
                "vmovdqu {a}, ymmword ptr [{from}]",
                "vmovdqu {b}, ymmword ptr [{from} + 32]",
                "vmovdqu {c}, ymmword ptr [{from} + 64]",
                "vmovdqu {d}, ymmword ptr [{from} + 96]",
                "vmovdqu ymmword ptr [{to}], {a}",
                "vmovdqu ymmword ptr [{to} + 32], {b}",
                "vmovdqu ymmword ptr [{to} + 64], {c}",
                "vmovdqu ymmword ptr [{to} + 96], {d}",
                "add {from}, 128",
                "add {to}, 128",
                "dec {steps}",
                "jnz 2b",
                to = inout(reg) to => _,
                from = inout(reg) from => _,
                steps = inout(reg) steps => _,
                a = out(ymm_reg) _,
                b = out(ymm_reg) _,
                c = out(ymm_reg) _,
                d = out(ymm_reg) _,
                options(nostack),
            );
        }
        _mm256_zeroupper();
    }
}

/// On other processors words are copied one by one.
#[cfg(not(target_arch = "x86_64"))]
mod vectors {
    use std::sync::atomic::AtomicU64;

    #[inline]
    pub(super) fn read(_words: &[AtomicU64], _into: &mut [u8]) -> usize {
        0
    }

    #[inline]
    pub(super) fn write(_words: &[AtomicU64], _from: &[u8]) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length, position and alignment around the vectors' steps.
    #[test]
    fn copies_are_of_the_words_asked_for() {
        let words = SharedWords::zeroed(200);
        assert!(words.as_ptr().addr().is_multiple_of(64));
        for len in (0..70).chain([127, 128, 129, 190]) {
            for at in 0..6 {
                for shift in [0, 1, 8, 20] {
                    let bytes: Vec<u8> = (0..shift + len * WORD).map(|i| (7 * i + at + len) as u8).collect();
                    words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
                    words.write_from(at, &bytes[shift..]);
                    let outside = words[..at].iter().chain(&words[at + len..]);
                    assert!(outside.into_iter().all(|word| word.load(Ordering::Relaxed) == u64::MAX));
                    let mut read = vec![0; shift + len * WORD];
                    words.read_into(at, &mut read[shift..]);
                    assert_eq!(read[shift..], bytes[shift..], "{len} words at {at}, shifted by {shift}");
                    assert!(read[..shift].iter().all(|byte| *byte == 0));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "no whole words")]
    fn parts_of_words_are_refused() {
        SharedWords::zeroed(2).read_into(0, &mut [0; 9]);
    }

    #[test]
    #[should_panic(expected = "range end index 3")]
    fn words_beyond_the_end_are_refused() {
        SharedWords::zeroed(4).write_from(2, &[0; 24]);
    }

    /// Words that another thread writes meanwhile are read whole.
    #[test]
    fn words_are_copied_whole() {
        let words = SharedWords::zeroed(3 * 64 + 1);
        let doubled = |value: u32| u64::from(value) << 32 | u64::from(value);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..2000 {
                    let bytes: Vec<u8> = (0..192).flat_map(|_| doubled(turn).to_ne_bytes()).collect();
                    words.write_from(1, &bytes);
                }
            });
            let mut bytes = vec![0; 192 * WORD];
            let mut last = 0;
            while last < 1999 {
                words.read_into(1, &mut bytes);
                for word in bytes.as_chunks::<WORD>().0 {
                    let word = u64::from_ne_bytes(*word);
                    assert_eq!(word >> 32, word & u64::from(u32::MAX), "a word in two parts");
                    last = last.max(word >> 32);
                }
            }
        });
    }

    #[test]
    fn parts_keep_the_words_alive() {
        let (first, rest) = SharedWords::zeroed(5).split_at(2);
        assert_eq!((first.len(), rest.len()), (2, 3));
        drop(first);
        rest[2].store(7, Ordering::Relaxed);
        let clone = rest.clone();
        drop(rest);
        assert_eq!(clone[2].load(Ordering::Relaxed), 7);
    }
}
