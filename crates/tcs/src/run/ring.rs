//! A connection in memory that two cells share: a ring of cache lines.
//!
//! A line's first word holds its number and the count of its bytes, so that a message of up to 56
//! bytes moves one cache line and the receiver polls only that word (Giacomoni, Moseley and
//! Vachharajani, "FastForward for efficient pipeline parallelism", 2008). The receiver reports its
//! position now and then; the sender waits while the ring is full.

use super::memory::{APART, Memory};
use super::sync::{AtomicU64, Ordering};
use std::sync::Arc;

/// Words of a line.
const WORDS: usize = 8;
/// Bytes of data in a line.
pub(super) const LINE: usize = (WORDS - 1) * size_of::<u64>();

const LAST: u64 = 1 << 7;

/// A ring in the memory of its receiver: the count of lines taken, alone in its cache lines, then
/// the lines.
pub(super) struct Ring {
    memory: Arc<Memory>,
    /// Index of the count's word.
    first: usize,
    /// Number of lines: a power of two.
    lines: u64,
}

impl Ring {
    fn lines(depth: usize) -> usize {
        depth.div_ceil(LINE).max(2).next_power_of_two()
    }

    /// The words of memory that a ring of at least `depth` bytes takes.
    pub(super) fn words(depth: usize) -> usize {
        APART + Self::lines(depth) * WORDS
    }

    /// One end of the ring at `place` in its receiver's memory, which must have been zero at first.
    pub(super) fn new(memory: &Arc<Memory>, place: usize, depth: usize) -> Self {
        let (first, lines) = (memory.index(place), Self::lines(depth) as u64);
        Self { memory: Arc::clone(memory), first, lines }
    }

    fn taken(&self) -> &AtomicU64 {
        &self.memory.words()[self.first]
    }

    #[inline]
    fn line(&self, number: u64) -> &[AtomicU64] {
        let at = self.first + APART + (number & (self.lines - 1)) as usize * WORDS;
        &self.memory.words()[at..at + WORDS]
    }
}

/// The sending end of a ring.
pub(super) struct Sender {
    ring: Ring,
    next: u64,
    taken: u64,
}

impl Sender {
    pub(super) fn new(ring: Ring) -> Self {
        Self { ring, next: 0, taken: 0 }
    }

    /// True if there is room for a line.
    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        if self.next - self.taken == self.ring.lines {
            self.taken = self.ring.taken().load(Ordering::Acquire);
        }
        self.next - self.taken < self.ring.lines
    }

    /// Sends a line of up to 56 bytes. There must be room.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8], last: bool) {
        let line = self.ring.line(self.next);
        for (word, bytes) in line[1..].iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        self.next += 1;
        let last = if last { LAST } else { 0 };
        line[0].store(self.next << 8 | last | bytes.len() as u64, Ordering::Release);
    }
}

/// The receiving end of a ring.
pub(super) struct Receiver {
    ring: Ring,
    next: u64,
    told: u64,
}

impl Receiver {
    pub(super) fn new(ring: Ring) -> Self {
        Self { ring, next: 0, told: 0 }
    }

    /// True if a line has arrived.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.ring.line(self.next)[0].load(Ordering::Acquire) >> 8 == self.next + 1
    }

    /// Takes the next line, which must have arrived: passes its bytes to `sink`, and returns true
    /// if it is the last of its message.
    #[inline]
    pub(super) fn take(&mut self, sink: &mut impl FnMut(&[u8])) -> bool {
        let line = self.ring.line(self.next);
        let head = line[0].load(Ordering::Acquire);
        let length = (head & (LAST - 1)) as usize;
        let mut bytes = [0; LINE];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(&line[1..]).take(length.div_ceil(8)) {
            chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        sink(&bytes[..length.min(LINE)]);
        self.next += 1;
        // Report a quarter of the ring at a time: each read by the sender moves one more cache
        // line.
        if self.next - self.told >= (self.ring.lines / 4).max(1) {
            self.told = self.next;
            self.ring.taken().store(self.next, Ordering::Release);
        }
        head & LAST != 0
    }
}

#[cfg(test)]
fn ends(depth: usize) -> (Sender, Receiver) {
    let memory = Arc::new(Memory::own(Ring::words(depth)));
    let ring = || Ring::new(&memory, 0, depth);
    (Sender::new(ring()), Receiver::new(ring()))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_in_order_and_room_is_kept() {
        for depth in [0, 1, 56, 57, 1000] {
            let (mut sender, mut receiver) = ends(depth);
            let lines = sender.ring.lines;
            assert!(lines >= 2 && lines * LINE as u64 >= depth as u64);
            assert_eq!(sender.ring.line(lines - 1).as_ptr() as usize % 64, 0, "a line is one cache line");
            let (mut sent, mut taken) = (0u64, 0u64);
            for round in 0..1000 {
                while sent - taken < lines && sender.has_room() {
                    sender.send(&sent.to_ne_bytes()[..(sent % 9) as usize], sent.is_multiple_of(3));
                    sent += 1;
                }
                assert!(sent > taken, "depth {depth} round {round}");
                for _ in 0..=round % lines {
                    if !receiver.is_ready() {
                        assert_eq!(sent, taken);
                        break;
                    }
                    let last = receiver.take(&mut |bytes| {
                        assert_eq!(bytes, &taken.to_ne_bytes()[..(taken % 9) as usize]);
                    });
                    assert_eq!(last, taken.is_multiple_of(3));
                    taken += 1;
                }
            }
            assert!(taken > 900);
        }
    }

    #[test]
    fn two_threads_agree() {
        let (mut sender, mut receiver) = ends(200);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for at in 0..100_000u64 {
                    while !sender.has_room() {
                        std::thread::yield_now();
                    }
                    sender.send(&at.to_ne_bytes(), true);
                }
            });
            for at in 0..100_000u64 {
                while !receiver.is_ready() {
                    std::thread::yield_now();
                }
                receiver.take(&mut |bytes| assert_eq!(bytes, at.to_ne_bytes()));
            }
        });
    }
}

#[cfg(all(test, loom))]
mod under_loom {
    use super::*;
    use loom::thread;

    /// Sends more lines than the ring has, so that lines are reused: every line arrives whole and
    /// in order.
    #[test]
    fn loom_lines_used_again_are_whole_and_in_order() {
        loom::model(|| {
            const LINES: u64 = 4;
            let (mut sender, mut receiver) = ends(0);
            let sends = thread::spawn(move || {
                for number in 1..=LINES {
                    while !sender.has_room() {
                        thread::yield_now();
                    }
                    let words = [number, 10 * number];
                    sender.send(bytemuck::cast_slice(&words), number == LINES);
                }
            });
            for number in 1..=LINES {
                while !receiver.is_ready() {
                    thread::yield_now();
                }
                let last = receiver.take(&mut |bytes| {
                    assert_eq!(bytes, bytemuck::cast_slice::<u64, u8>(&[number, 10 * number]));
                });
                assert_eq!(last, number == LINES);
            }
            sends.join().unwrap();
        });
    }

    /// A counter that is raised after a line was sent publishes the line: data sent before a
    /// barrier has arrived after it.
    #[test]
    fn loom_what_was_sent_before_a_step_is_there_after_it() {
        loom::model(|| {
            let memory = Arc::new(Memory::own(Ring::words(0) + APART));
            let ring = || Ring::new(&memory, 0, 0);
            let (mut sender, receiver) = (Sender::new(ring()), Receiver::new(ring()));
            let (raised, seen) = (memory.count(Ring::words(0)), memory.count(Ring::words(0)));
            let sends = thread::spawn(move || {
                sender.send(&[7], true);
                raised.raise(1);
            });
            while seen.get() < 1 {
                thread::yield_now();
            }
            assert!(receiver.is_ready());
            sends.join().unwrap();
        });
    }
}
