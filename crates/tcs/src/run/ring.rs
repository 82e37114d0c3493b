//! A connection in memory that two threads share: a ring of cache lines.
//!
//! A line's first word holds its number and how many bytes follow, so that a message of up to 56
//! bytes moves one cache line and the receiver looks at nothing else (Giacomoni, Moseley and
//! Vachharajani, "FastForward for efficient pipeline parallelism", 2008). The receiver tells now
//! and then how far it has come; the sender waits where the ring is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of data in a line.
pub(super) const LINE: usize = 56;

const LAST: u64 = 1 << 7;

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

/// A number that one thread raises and another one reads, alone in its cache lines.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn raise(&self, to: u64) {
        self.0.store(to, Ordering::Release);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Lines under way.
pub(super) struct Ring {
    lines: Box<[Line]>,
    /// How many lines the receiver has taken.
    taken: Counter,
}

impl Ring {
    pub(super) fn new(depth: usize) -> Arc<Self> {
        let lines = depth.div_ceil(LINE).max(2).next_power_of_two();
        Arc::new(Self { lines: (0..lines).map(|_| Line::default()).collect(), taken: Counter::default() })
    }

    fn line(&self, number: u64) -> &Line {
        // The number of lines is a power of two.
        &self.lines[number as usize & (self.lines.len() - 1)]
    }
}

/// The end of a ring that sends.
pub(super) struct Sender {
    ring: Arc<Ring>,
    next: u64,
    taken: u64,
}

impl Sender {
    pub(super) fn new(ring: Arc<Ring>) -> Self {
        Self { ring, next: 0, taken: 0 }
    }

    /// Whether there is room for a line.
    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        let lines = self.ring.lines.len() as u64;
        if self.next - self.taken == lines {
            self.taken = self.ring.taken.get();
        }
        self.next - self.taken < lines
    }

    /// Sends a line of up to 56 bytes. There must be room.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8], last: bool) {
        let line = self.ring.line(self.next);
        for (word, bytes) in line.0[1..].iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        self.next += 1;
        let last = if last { LAST } else { 0 };
        line.0[0].store(self.next << 8 | last | bytes.len() as u64, Ordering::Release);
    }
}

/// The end of a ring that receives.
pub(super) struct Receiver {
    ring: Arc<Ring>,
    next: u64,
    told: u64,
}

impl Receiver {
    pub(super) fn new(ring: Arc<Ring>) -> Self {
        Self { ring, next: 0, told: 0 }
    }

    /// Whether a line is there.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.ring.line(self.next).0[0].load(Ordering::Acquire) >> 8 == self.next + 1
    }

    /// Takes the next line, which must be there: its bytes, and whether it is the last of its
    /// message.
    #[inline]
    pub(super) fn take(&mut self, sink: &mut impl FnMut(&[u8])) -> bool {
        let line = self.ring.line(self.next);
        let head = line.0[0].load(Ordering::Acquire);
        let length = (head & (LAST - 1)) as usize;
        let mut bytes = [0; LINE];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(&line.0[1..]).take(length.div_ceil(8)) {
            chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        sink(&bytes[..length.min(LINE)]);
        self.next += 1;
        // Of a quarter at a time: the sender's view of it is one more cache line to move.
        if self.next - self.told >= (self.ring.lines.len() as u64 / 4).max(1) {
            self.told = self.next;
            self.ring.taken.raise(self.next);
        }
        head & LAST != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_in_order_and_room_is_kept() {
        for depth in [0, 1, 56, 57, 1000] {
            let ring = Ring::new(depth);
            let lines = ring.lines.len() as u64;
            assert!(lines >= 2 && lines * LINE as u64 >= depth as u64);
            let (mut sender, mut receiver) = (Sender::new(Arc::clone(&ring)), Receiver::new(ring));
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
        let ring = Ring::new(200);
        let (mut sender, mut receiver) = (Sender::new(Arc::clone(&ring)), Receiver::new(ring));
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
