//! A node's memory: words that any node may read and write at any time.
//!
//! Every access is atomic for each word, so none is a data race. Elements of up to 8 bytes that do
//! not cross a word are therefore read and written whole; larger ones may be seen in part by a
//! program that does not order its accesses.
//!
//! A one-way store writes its bytes, then raises its sender's own count at the receiver, with
//! release. A receiver that sees the count (acquire) sees the bytes. As each sender has its own
//! count, raising it is a plain store, and nothing is sent.

use crate::sync::{AtomicU64, Ordering, fence};
use bytemuck::Pod;
use std::ops::Range;
#[cfg(not(all(test, loom)))]
use strata_runtime::memory::SharedWords;

pub(crate) const WORD: usize = size_of::<u64>();

/// Counts of bytes that a node has stored, one a counter. Those of a node have a cache line of their
/// own (two lines, because some processors fetch lines in pairs).
pub(crate) const STORE_COUNTERS: usize = 16;

/// Words of memory that other nodes access, too, of this process or of a window: both are an
/// address and a length, so that access needs no branch.
#[cfg(not(all(test, loom)))]
type Words = SharedWords;
#[cfg(all(test, loom))]
type Words = std::sync::Arc<[AtomicU64]>;

#[cfg(not(all(test, loom)))]
fn zeros(words: usize) -> Words {
    SharedWords::zeroed(words)
}

#[cfg(all(test, loom))]
fn zeros(words: usize) -> Words {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

/// Copies words, from word `at` on, to whole words of `bytes`.
#[cfg(not(all(test, loom)))]
#[inline]
fn read_words(words: &Words, at: usize, bytes: &mut [u8]) {
    words.read_into(at, bytes);
}

#[cfg(all(test, loom))]
fn read_words(words: &Words, at: usize, bytes: &mut [u8]) {
    for (bytes, word) in bytes.as_chunks_mut::<WORD>().0.iter_mut().zip(&words[at..]) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
}

/// Copies whole words of `bytes` to words from word `at` on.
#[cfg(not(all(test, loom)))]
#[inline]
fn write_words(words: &Words, at: usize, bytes: &[u8]) {
    words.write_from(at, bytes);
}

#[cfg(all(test, loom))]
fn write_words(words: &Words, at: usize, bytes: &[u8]) {
    for (bytes, word) in bytes.as_chunks::<WORD>().0.iter().zip(&words[at..]) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
}

/// The heap of one node, and the counts of bytes that each node has stored there. Clones share the
/// memory.
#[derive(Clone)]
pub(crate) struct Segment {
    words: Words,
    /// Bytes stored here directly, by node and counter; empty if the memory is not shared.
    stored: Words,
}

impl Segment {
    /// Memory of `bytes` zero bytes, rounded up to words, into which `nodes` nodes store directly.
    pub(crate) fn new(bytes: usize, nodes: usize) -> Self {
        Self { words: zeros(bytes.div_ceil(WORD)), stored: zeros(nodes * STORE_COUNTERS) }
    }

    /// The length in words of a window for a segment of `bytes` bytes and `nodes` nodes.
    #[cfg(not(all(test, loom)))]
    pub(crate) fn window_words(bytes: usize, nodes: usize) -> usize {
        bytes.div_ceil(WORD) + nodes * STORE_COUNTERS
    }

    /// As [`Segment::new`], in a window of [`window_words`](Self::window_words) zero words.
    #[cfg(not(all(test, loom)))]
    pub(crate) fn in_window(window: &SharedWords, bytes: usize) -> Self {
        let (words, stored) = window.split_at(bytes.div_ceil(WORD));
        Self { words, stored }
    }

    /// Zeroes `bytes` bytes from `at` on; both are multiples of 8, or the rest of the last word is
    /// unused.
    pub(crate) fn clear(&self, at: usize, bytes: usize) {
        let words = at / WORD..(at + bytes).div_ceil(WORD);
        self.words[words].iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The bytes that other nodes have stored directly on a counter; those bytes are in place.
    pub(crate) fn stored(&self, counter: usize) -> u64 {
        let counts = self.stored.iter().skip(counter).step_by(STORE_COUNTERS);
        counts.fold(0, |sum, count| sum.wrapping_add(count.load(Ordering::Acquire)))
    }

    /// Publishes that node `from`, the caller, has stored `total` bytes here in all on a counter.
    #[inline]
    pub(crate) fn has_stored(&self, from: usize, counter: usize, total: u64) {
        if let Some(count) = self.stored.get(from * STORE_COUNTERS + counter) {
            count.store(total, Ordering::Release);
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    /// The word at byte `at`.
    ///
    /// # Panics
    /// If `at` is beyond the memory.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.words[at / WORD]
    }

    /// Reads an element at byte `at`; ordered before later accesses.
    #[inline]
    pub(crate) fn read<T: Pod>(&self, at: usize) -> T {
        let mut value = T::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        if bytes.len() == WORD && at.is_multiple_of(WORD) {
            bytes.copy_from_slice(&self.word(at).load(Ordering::SeqCst).to_ne_bytes());
        } else {
            self.read_bytes(at, bytes);
        }
        value
    }

    /// Writes an element at byte `at`, in `order`; earlier accesses come before it.
    #[inline]
    pub(crate) fn write<T: Pod>(&self, at: usize, value: &T, order: Ordering) {
        let bytes = bytemuck::bytes_of(value);
        if bytes.len() == WORD && at.is_multiple_of(WORD) {
            self.word(at).store(word_of(bytes), order);
        } else {
            self.write_bytes(at, bytes);
            if order == Ordering::SeqCst {
                fence(Ordering::SeqCst);
            }
        }
    }

    pub(crate) fn read_bytes(&self, at: usize, bytes: &mut [u8]) {
        let (head, whole, tail) = parts(at, bytes.len());
        let (first, rest) = bytes.split_at_mut(head.len());
        let (middle, last) = rest.split_at_mut(whole.len() * WORD);
        if !first.is_empty() {
            let word = self.word(at).load(Ordering::Relaxed).to_ne_bytes();
            first.copy_from_slice(&word[head]);
        }
        read_words(&self.words, whole.start, middle);
        if !last.is_empty() {
            let word = self.words[whole.end].load(Ordering::Relaxed).to_ne_bytes();
            last.copy_from_slice(&word[tail]);
        }
        fence(Ordering::Acquire);
    }

    /// Writes bytes from `at` on; other bytes of the words at both ends are preserved.
    pub(crate) fn write_bytes(&self, at: usize, bytes: &[u8]) {
        fence(Ordering::Release);
        let (head, whole, tail) = parts(at, bytes.len());
        let (first, rest) = bytes.split_at(head.len());
        let (middle, last) = rest.split_at(whole.len() * WORD);
        self.write_part(at / WORD, head, first);
        write_words(&self.words, whole.start, middle);
        self.write_part(whole.end, tail, last);
    }

    /// Writes these bytes of a word: atomically, because other nodes may write the others.
    #[inline]
    fn write_part(&self, word: usize, part: Range<usize>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (mut mask, mut value) = ([0; WORD], [0; WORD]);
        mask[part.clone()].fill(0xff);
        value[part].copy_from_slice(bytes);
        let (mask, value) = (u64::from_ne_bytes(mask), u64::from_ne_bytes(value));
        let word = &self.words[word];
        let mut old = word.load(Ordering::Relaxed);
        while let Err(now) =
            word.compare_exchange_weak(old, old & !mask | value, Ordering::Relaxed, Ordering::Relaxed)
        {
            old = now;
        }
    }
}

#[inline]
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    bytemuck::pod_read_unaligned(bytes)
}

/// Splits `len` bytes from `at` on: bytes within the first word, whole words, bytes within the
/// last.
#[inline]
fn parts(at: usize, len: usize) -> (Range<usize>, Range<usize>, Range<usize>) {
    let within = at % WORD;
    let head = if within == 0 { 0 } else { len.min(WORD - within) };
    let first = at.div_ceil(WORD);
    let words = (len - head) / WORD;
    (within..within + head, first..first + words, 0..len - head - words * WORD)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Every position and length within a few words, against plain bytes.
    #[test]
    fn bytes_are_read_and_written_where_they_belong() {
        let segment = Segment::new(48, 0);
        let mut bytes = [0u8; 48];
        let mut next = 0u8;
        for at in 0..20 {
            for len in 0..28 {
                let written: Vec<u8> = (0..len).map(|_| (next = next.wrapping_add(37), next).1).collect();
                segment.write_bytes(at, &written);
                bytes[at..at + len].copy_from_slice(&written);
                let mut read = vec![0; len];
                segment.read_bytes(at, &mut read);
                assert_eq!(read, written, "{len} bytes at {at}");
                let mut all = [0; 48];
                segment.read_bytes(0, &mut all);
                assert_eq!(all, bytes, "after {len} bytes at {at}");
            }
        }
        segment.write(3, &[1u8, 2, 3], Ordering::SeqCst);
        assert_eq!(segment.read::<[u8; 3]>(3), [1, 2, 3]);
        segment.write(16, &-5i64, Ordering::Release);
        assert_eq!(segment.read::<i64>(16), -5);
    }

    #[test]
    fn neighbours_in_a_word_do_not_overwrite_each_other() {
        let segment = Segment::new(24, 0);
        std::thread::scope(|scope| {
            for me in 0..6usize {
                let segment = &segment;
                scope.spawn(move || {
                    for turn in 0..5000u16 {
                        segment.write(3 * me, &[me as u8, turn as u8, 7], Ordering::Relaxed);
                        assert_eq!(segment.read::<[u8; 3]>(3 * me), [me as u8, turn as u8, 7]);
                    }
                });
            }
        });
    }
}

#[cfg(all(test, loom))]
mod under_loom {
    use super::*;
    use loom::sync::Arc;
    use loom::thread::{JoinHandle, spawn};
    use std::sync::atomic::AtomicUsize;

    /// Explores a model that counts how often it saw the other thread's writes before it joined
    /// that thread. A model that never does tests no ordering, and fails.
    fn explore(model: impl Fn(&AtomicUsize) + Send + Sync + 'static) {
        let seen = std::sync::Arc::new(AtomicUsize::new(0));
        let counted = std::sync::Arc::clone(&seen);
        loom::model(move || model(&counted));
        let seen = seen.load(Ordering::Relaxed);
        strata_select::say!("loom: {seen} concurrent reads that saw what was written");
        assert!(seen > 0, "no execution saw what another thread wrote");
    }

    /// Another node, which does this to the segment.
    fn beside(segment: &Arc<Segment>, program: fn(&Segment)) -> JoinHandle<()> {
        let segment = Arc::clone(segment);
        spawn(move || program(&segment))
    }

    /// A node that sees the count of a store sees its bytes, in whole words and in parts.
    #[test]
    fn what_is_counted_has_come() {
        explore(|seen| {
            let segment = Arc::new(Segment::new(16, 2));
            let sender = beside(&segment, |segment| {
                segment.write(0, &7u64, Ordering::Relaxed);
                segment.has_stored(1, 0, 8);
                segment.write(9, &[1u8, 2], Ordering::Relaxed);
                segment.has_stored(1, 0, 10);
            });
            let stored = segment.stored(0);
            if stored >= 8 {
                seen.fetch_add(1, Ordering::Relaxed);
                assert_eq!(segment.read::<u64>(0), 7);
            }
            if stored == 10 {
                assert_eq!(segment.read::<[u8; 2]>(9), [1, 2]);
            }
            sender.join().unwrap();
        });
    }

    /// Each counter publishes its own stores, in whatever order they are waited for.
    #[test]
    fn what_is_counted_apart_has_come() {
        explore(|seen| {
            let segment = Arc::new(Segment::new(16, 2));
            let sender = beside(&segment, |segment| {
                segment.write(0, &7u64, Ordering::Relaxed);
                segment.has_stored(1, 3, 8);
                segment.write(8, &8u64, Ordering::Relaxed);
                segment.has_stored(1, 0, 8);
            });
            if segment.stored(0) == 8 {
                seen.fetch_add(1, Ordering::Relaxed);
                assert_eq!((segment.stored(3), segment.read::<u64>(8)), (8, 8));
            } else if segment.stored(3) == 8 {
                assert_eq!(segment.read::<u64>(0), 7);
            }
            sender.join().unwrap();
        });
    }

    /// Bytes of one word that two nodes write at once are all preserved.
    #[test]
    fn parts_of_a_word_are_all_kept() {
        loom::model(|| {
            let segment = Arc::new(Segment::new(8, 2));
            let other = beside(&segment, |segment| segment.write(0, &[1u8; 3], Ordering::Relaxed));
            segment.write(3, &[2u8; 3], Ordering::Relaxed);
            other.join().unwrap();
            assert_eq!(segment.read::<[u8; 6]>(0), [1, 1, 1, 2, 2, 2]);
        });
    }

    /// A word written last, with release, publishes all earlier writes.
    #[test]
    fn a_flag_publishes_what_was_written_before() {
        explore(|seen| {
            let segment = Arc::new(Segment::new(24, 2));
            let sender = beside(&segment, |segment| {
                segment.write(0, &[1u64, 2], Ordering::Relaxed);
                segment.write(16, &1u64, Ordering::Release);
            });
            if segment.read::<u64>(16) == 1 {
                seen.fetch_add(1, Ordering::Relaxed);
                assert_eq!(segment.read::<[u64; 2]>(0), [1, 2]);
            }
            sender.join().unwrap();
        });
    }
}
