//! Two threads that exchange blocks through shared slots.

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{named, read_all};
use crate::Routine;
use crate::choose::sides;

/// A buffer that belongs to its sender while it is empty, and to its receiver while it is full.
struct Slot {
    full: AtomicU32,
    bytes: Mutex<Vec<u8>>,
}

/// Slots for the messages of the first thread, and of the second: two each, so that one is filled
/// while the other is emptied.
static SLOTS: [[Slot; 2]; 2] = [const { [const { Slot::new() }; 2] }; 2];

/// Number of spins after which a thread yields.
const SPINS: u64 = 10_000;

/// Number of spins after which it gives up, because there is no other thread.
const TOO_LONG: u64 = 10_000_000_000;

impl Slot {
    const fn new() -> Self {
        Self { full: AtomicU32::new(0), bytes: Mutex::new(Vec::new()) }
    }

    /// Waits until the slot is full (or empty), uses it, and hands it to the other thread. Returns
    /// false if it gave up.
    fn pass(&self, full: u32, use_it: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut spins = 0u64;
        while self.full.load(Ordering::Acquire) != full {
            spins += 1;
            if spins.is_multiple_of(SPINS) {
                std::thread::yield_now();
            }
            if spins > TOO_LONG {
                return false;
            }
            spin_loop();
        }
        use_it(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner));
        self.full.store(1 - full, Ordering::Release);
        true
    }
}

thread_local! {
    static MINE: RefCell<Mine> = const { RefCell::new(Mine { bytes: Vec::new(), turns: [0; 2], sum: 0 }) };
}

/// A thread's state: its block, and the number of messages so far in each direction.
struct Mine {
    bytes: Vec<u8>,
    turns: [usize; 2],
    sum: u64,
}

impl Mine {
    fn slot(&mut self, direction: usize) -> &'static Slot {
        self.turns[direction] += 1;
        &SLOTS[direction][self.turns[direction] % 2]
    }

    /// Sends the block to the other thread; if `used`, writes it first.
    fn send(&mut self, direction: usize, routine: &Routine, used: bool) -> bool {
        let slot = self.slot(direction);
        if used {
            black_box(&mut self.bytes).fill(self.turns[direction] as u8);
        }
        slot.pass(0, |slot| {
            slot.resize(self.bytes.len(), 0);
            routine.copy(black_box(slot), black_box(&self.bytes));
        })
    }

    /// Receives a block; if `used`, reads it afterwards.
    fn receive(&mut self, direction: usize, routine: &Routine, used: bool) -> bool {
        let slot = self.slot(direction);
        let done = slot.pass(1, |slot| routine.copy(black_box(&mut self.bytes), black_box(slot)));
        if used {
            self.sum = self.sum.wrapping_add(read_all(&self.bytes));
        }
        done
    }
}

/// The seconds of a message of `bytes` bytes between two threads, copied into a slot and out of it
/// by the routine of this name: the mean of the time in a ping-pong and the time in a stream. If
/// `used`, the sender writes the block before, and the receiver reads it after, and this is timed,
/// too. NaN unless there are two threads of one process.
///
/// Both threads call it, with their numbers, 0 and 1, and otherwise equal arguments. A name such as
/// `memcpy_to_rep_movsb` gives a routine for each side, the sender's first.
pub fn exchange(
    now: impl FnMut() -> f64,
    (rank, threads): (usize, usize),
    bytes: usize,
    pair: &str,
    used: bool,
) -> f64 {
    if threads != 2 || rank > 1 {
        return f64::NAN;
    }
    let [send, receive] = sides(pair).map(named);
    messages(now, rank, bytes, [send, receive], used).unwrap_or(f64::NAN)
}

fn messages(
    mut now: impl FnMut() -> f64,
    rank: usize,
    bytes: usize,
    [send, receive]: [&'static Routine; 2],
    used: bool,
) -> Option<f64> {
    let count = (20_000 / (200 + bytes / 10)).max(2);
    MINE.with_borrow_mut(|mine| {
        mine.bytes.resize(bytes, 1);
        let mut seconds = 0.0;
        for to_and_fro in [true, false] {
            let mut start = 0.0;
            for round in 0..count + 2 {
                // The first messages load the slots into the caches and synchronize the threads.
                if round == 2 {
                    start = now();
                }
                let first = if rank == 0 { mine.send(0, send, used) } else { mine.receive(0, receive, used) };
                let second = !to_and_fro
                    || if rank == 0 { mine.receive(1, receive, used) } else { mine.send(1, send, used) };
                if !(first && second) {
                    return None;
                }
            }
            let messages = if to_and_fro { 2 * count } else { count };
            seconds += (now() - start) / messages as f64;
        }
        black_box(mine.sum);
        Some(seconds / 2.0)
    })
}
