//! A bounded queue of packets with many producers and one consumer, without locks.
//!
//! Each slot has a sequence number that determines the thread that may use the slot: the producer
//! of element i if the number is i, the consumer if it is i + 1. A freed slot has i plus the
//! capacity (D. Vyukov's bounded queue). Producers claim a slot by advancing `tail`. A producer
//! that is preempted in between delays the elements behind it, but blocks no poll: to the consumer
//! the queue looks empty. A single consumer needs no read-modify-write.
//!
//! Sequence number, header and the first data are on one cache line, the only one that moves
//! between two cores for a short packet.

#![allow(unsafe_code, reason = "slots are shared memory whose ownership the sequence numbers hand over")]

use super::sync::{AtomicUsize, Counter, Ordering, UnsafeCell, spin_loop};
use crate::transport::Packet;
use bytemuck::Zeroable;
use std::array;

/// The words of a packet: the header's and the data's.
const WORDS: usize = size_of::<Packet>() / 8;
/// Number of words on the cache line of 64 bytes with the sequence number.
const NEAR: usize = 7;
/// Number of data bytes on that line.
const NEAR_DATA: u8 = 8 * NEAR as u8 - 16;

/// One packet; two lines, because some processors fetch lines in pairs.
#[repr(C, align(128))]
struct Slot {
    sequence: AtomicUsize,
    packet: UnsafeCell<Packet>,
}

/// A queue of at most `N` packets; `N` is a power of two.
pub(super) struct Ring<const N: usize> {
    /// Number of packets claimed by producers so far, wrapping.
    tail: Counter,
    /// Number of packets taken so far, wrapping; written only by the consumer.
    head: Counter,
    slots: [Slot; N],
}

// SAFETY: a packet is accessed only by the thread to which the slot's sequence number assigns it:
// the one producer that claimed the element, or the consumer. The number changes by a release
// store, and is acquired before the packet is accessed.
unsafe impl<const N: usize> Sync for Ring<N> {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl<const N: usize> Send for Ring<N> {}

impl<const N: usize> Ring<N> {
    const POWER: () = assert!(N.is_power_of_two() && N > 1, "wrapping counters need a power of two");

    pub(super) fn new() -> Self {
        let () = Self::POWER;
        let slot = |i| Slot { sequence: AtomicUsize::new(i), packet: UnsafeCell::new(Packet::zeroed()) };
        Self { tail: Counter::default(), head: Counter::default(), slots: array::from_fn(slot) }
    }

    /// Appends a packet of node `from`; false if the queue is full.
    #[inline]
    pub(super) fn push(&self, from: u32, packet: &Packet) -> bool {
        let mut tail = self.tail.0.load(Ordering::Relaxed);
        let slot = loop {
            let slot = &self.slots[tail % N];
            let lead = slot.sequence.load(Ordering::Acquire).wrapping_sub(tail) as isize;
            if lead < 0 {
                return false;
            }
            if lead > 0 {
                spin_loop();
                tail = self.tail.0.load(Ordering::Relaxed);
                continue;
            }
            let next = tail.wrapping_add(1);
            match self.tail.0.compare_exchange_weak(tail, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break slot,
                Err(now) => tail = now,
            }
        };
        // SAFETY: the sequence number assigns the slot to the producer of element `tail`, and only
        // this thread has advanced the tail past it. The words copied are inside both packets.
        slot.packet.with_mut(|to| unsafe {
            copy(std::ptr::from_ref(packet), to, packet.length);
            (*to).from = from;
        });
        slot.sequence.store(tail.wrapping_add(1), Ordering::Release);
        true
    }

    /// Takes the first packet, if there is one. Only the data in use are written.
    ///
    /// # Safety
    /// No other thread may be in `pop` of this queue.
    #[inline]
    pub(super) unsafe fn pop(&self, packet: &mut Packet) -> bool {
        let head = self.head.0.load(Ordering::Relaxed);
        let slot = &self.slots[head % N];
        if slot.sequence.load(Ordering::Acquire) != head.wrapping_add(1) {
            return false;
        }
        // SAFETY: the sequence number assigns the slot to the consumer, which is this thread.
        slot.packet.with(|from| unsafe { copy(from, std::ptr::from_mut(packet), (*from).length) });
        slot.sequence.store(head.wrapping_add(N), Ordering::Release);
        self.head.0.store(head.wrapping_add(1), Ordering::Relaxed);
        true
    }

    /// True if there is a packet to take; for the consumer.
    #[inline]
    pub(super) fn has_packet(&self) -> bool {
        let head = self.head.0.load(Ordering::Relaxed);
        self.slots[head % N].sequence.load(Ordering::Acquire) == head.wrapping_add(1)
    }

    pub(super) fn has_room(&self) -> bool {
        let tail = self.tail.0.load(Ordering::Relaxed);
        self.slots[tail % N].sequence.load(Ordering::Acquire).wrapping_sub(tail) as isize >= 0
    }
}

/// Copies the used part of a packet with `length` bytes of data: only the header's line, or
/// everything.
///
/// # Safety
/// `from` may be read and `to` written.
#[inline]
unsafe fn copy(from: *const Packet, to: *mut Packet, length: u8) {
    let (from, to) = (from.cast::<[u64; WORDS]>(), to.cast::<[u64; WORDS]>());
    // SAFETY: the caller's obligation covers it; a packet is that many words, valid with any bits.
    // Lengths known to the compiler become a few moves.
    unsafe {
        if length <= NEAR_DATA {
            *to.cast::<[u64; NEAR]>() = *from.cast::<[u64; NEAR]>();
        } else {
            *to = *from;
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::Ring;
    use crate::transport::threads::explore::{explore, tests};
    use crate::transport::{Packet, Part};
    use bytemuck::Zeroable;
    use loom::{sync::Arc, thread};

    /// The packet with number `i`: short and long ones.
    fn packet(i: usize) -> Packet {
        Packet::new(0, Part::Whole, i, &[i as u8 + 1; 64][..64 * (i % 2)])
    }

    /// `producers` threads try to put `each` packets into two slots, while the consumer tries
    /// `looks` times to take one. Exactly the accepted packets arrive, once and in order. There is
    /// no spinning, so that the number of interleavings is small.
    ///
    /// The consumer yields before each attempt. Without that it always runs first: loom remembers
    /// only the last access of a variable, and the producer's own load of a sequence number hides
    /// the consumer's.
    fn many_to_one(producers: usize, each: usize, looks: usize, preemptions: Option<usize>) {
        explore(preemptions, "concurrent takes", move |seen| {
            let ring = Arc::new(Ring::<2>::new());
            let threads: Vec<_> = (0..producers)
                .map(|from| {
                    let ring = Arc::clone(&ring);
                    seen.spawn(move || (0..each).take_while(|i| ring.push(from as u32, &packet(*i))).count())
                })
                .collect();
            let mut next = vec![0; producers];
            let mut take = || {
                let mut found = Packet::zeroed();
                // SAFETY: only this thread pops.
                if !unsafe { ring.pop(&mut found) } {
                    return false;
                }
                let i = &mut next[found.from as usize];
                assert_eq!(found.whole, *i as u64);
                assert_eq!(found.bytes(), packet(*i).bytes());
                *i += 1;
                true
            };
            for _ in 0..looks {
                thread::yield_now();
                if take() {
                    seen.event();
                }
            }
            let sent: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            while take() {}
            assert!(ring.has_room());
            assert_eq!(next, sent);
        });
    }

    tests! {
        loom_one_producer_through_a_full_ring: many_to_one(1, 4, 3, None);
        loom_two_producers_and_one_consumer: many_to_one(2, 2, 2, Some(3));
        loom_three_producers_and_one_consumer: many_to_one(3, 1, 1, Some(2));
    }
}
