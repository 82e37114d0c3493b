//! What sorts take of memory, counted: no more than is stated.

// A program of its own, as its allocator is that of the whole program.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use strata_runtime::prelude::*;
use strata_sort::{Options, Pin, SortError, profile, sort_within};

/// The system's allocator, counting the bytes that all threads hold, and the most that they held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(HELD.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(HELD.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test at a time may count.
static TURN: Mutex<()> = Mutex::new(());

/// What the run-time itself may take meanwhile on each node, in bytes.
const RUN_TIME: usize = 300 << 10;

fn pinned(pin: &str) -> Options {
    Options::default().pin(Pin::parse(pin).unwrap())
}

/// Whether `pin` sorts `keys` a node within so many bytes, and what it took on all nodes beside the
/// elements.
fn taken(nodes: usize, keys: usize, width: u32, pin: &str, bytes: usize) -> Option<usize> {
    let run = Machine::threads(nodes).unwrap().run(|node| {
        let mut items = profile::keys(node, keys, width, 7);
        node.barrier();
        if node.rank() == 0 {
            MOST.store(HELD.load(Relaxed), Relaxed);
        }
        let before = HELD.load(Relaxed);
        node.barrier();
        let sorted = match sort_within(node, &mut items, &pinned(pin), bytes) {
            Ok(_) => true,
            Err(SortError::Memory { .. } | SortError::Select(_)) => false,
            Err(error) => return Err(Error::program(error)),
        };
        node.barrier();
        Ok(sorted.then(|| MOST.load(Relaxed).saturating_sub(before)))
    });
    run.unwrap()[0]
}

/// What README says: the most times the keys of a node. Quicksort may in the worst case come to hold
/// all of them; random keys take what one share takes.
const STATED: [(&str, f64); 4] = [("radix", 6.0), ("sample", 12.0), ("gather", 12.0), ("histogram", 8.0)];

#[test]
fn no_candidate_takes_more_than_is_stated() {
    let _turn = TURN.lock();
    for (name, _) in profile::candidates(&[8, 64]) {
        let pin = format!("sort={name}");
        for (nodes, width) in [(1, 20), (3, 64), (4, 20), (4, 64)] {
            // Some sort few keys only.
            let most = |keys| Some((keys, taken(nodes, keys, width, &pin, 1 << 24)?));
            let (keys, mut bytes) = [60_000, 10_000, 4000].into_iter().find_map(most).unwrap();
            // The least limit within which it sorts is what it states.
            let (mut low, mut high) = (0, 1 << 24);
            while high - low > 1 << 17 {
                let middle = (low + high) / 2;
                match taken(nodes, keys, width, &pin, middle) {
                    Some(taken) => (high, bytes) = (middle, taken),
                    None => low = middle,
                }
            }
            assert!(
                bytes <= nodes * (high + RUN_TIME),
                "{pin} on {nodes}, {width} bits: {bytes} bytes, stated {high} on a node"
            );
            let most = STATED.iter().find(|(of, _)| name.starts_with(of)).map_or(30.0, |(_, most)| *most);
            let stated = high as f64 / (8 * keys) as f64;
            assert!(stated <= 1.3 * most, "{pin} on {nodes} states {stated:.1} times the keys of a node");
        }
    }
}

/// Batcher's blocks are those of all steps.
#[test]
fn merge_exchange_takes_its_blocks() {
    let _turn = TURN.lock();
    let taken = taken(8, 10_000, 64, "sort=batcher", usize::MAX).unwrap();
    assert!(taken <= 8 * ((2 + 6 + 2) * 8 * 10_000 * 5 / 4 + RUN_TIME), "{taken}");
}

/// Quicksort's limit is that of the worst case; random keys take what one share takes.
#[test]
fn quicksort_takes_little_more_than_shares() {
    let _turn = TURN.lock();
    let taken = taken(8, 4000, 64, "sort=quick", usize::MAX).unwrap();
    assert!(taken <= 8 * (6 * 8 * 4000 * 5 / 4 + RUN_TIME), "{taken}");
}
