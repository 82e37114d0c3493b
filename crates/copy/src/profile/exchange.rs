//! Two threads that send each other blocks through slots that both map.

use std::cell::RefCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{named, read_all};
use crate::Routine;

/// A buffer that is its sender's while it is empty, and its receiver's while it is full.
struct Slot {
    full: AtomicU32,
    bytes: Mutex<Vec<u8>>,
}

/// Of the messages from the first thread, and of those from the second.
static SLOTS: [Slot; 2] = [const { Slot { full: AtomicU32::new(0), bytes: Mutex::new(Vec::new()) } }; 2];

/// After so many spins a thread gives way.
const SPINS: u64 = 10_000;

/// After so many it gives up: there is no other thread.
const TOO_LONG: u64 = 10_000_000_000;

impl Slot {
    /// Waits until the slot is full, or is not, and uses it; then it is the other one's. Returns
    /// whether that happened.
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
    static MINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The seconds of a message of so many bytes that goes to and fro between two threads: copied to a
/// slot by the routine of the first name, and from it by that of the second; with `read` its
/// receiver reads it, which counts. NaN unless there are two threads of one process.
///
/// Both call it, with their numbers, 0 and 1, and otherwise equal arguments.
pub fn exchange(
    now: impl FnMut() -> f64,
    (rank, threads): (usize, usize),
    bytes: usize,
    send: &str,
    receive: &str,
    read: bool,
) -> f64 {
    if threads != 2 || rank > 1 {
        return f64::NAN;
    }
    let (send, receive) = (named(send), named(receive));
    round_trips(now, rank, bytes, [send, receive], read)
}

fn round_trips(
    mut now: impl FnMut() -> f64,
    rank: usize,
    bytes: usize,
    [send, receive]: [&Routine; 2],
    read: bool,
) -> f64 {
    let count = (40_000 / (200 + bytes / 10)).max(2);
    MINE.with_borrow_mut(|mine| {
        mine.resize(bytes, 1);
        let mut sum = 0u64;
        let mut start = 0.0;
        for round in 0..count + 2 {
            // The first brings the slots into the caches, and the threads together.
            if round == 2 {
                start = now();
            }
            for step in [rank, 1 - rank] {
                let done = if step == 0 {
                    SLOTS[rank].pass(0, |slot| {
                        slot.resize(bytes, 0);
                        send.copy(black_box(slot), black_box(mine));
                    })
                } else {
                    let done = SLOTS[1 - rank].pass(1, |slot| receive.copy(black_box(mine), black_box(slot)));
                    if read {
                        sum = sum.wrapping_add(read_all(mine));
                    }
                    done
                };
                if !done {
                    return f64::NAN;
                }
            }
        }
        black_box(sum);
        (now() - start) / (2 * count) as f64
    })
}
