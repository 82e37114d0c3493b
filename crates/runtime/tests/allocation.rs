//! What is done in every step of a program allocates nothing: barriers, and reduces and scans of numbers and of
//! vectors in place.

#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use strata_runtime::prelude::*;

/// The system's allocator, counting the requests of each thread.
struct Counting;

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_is_allocated_in_barrier_reduce_and_scan() {
    for nodes in [1, 2, 5] {
        let requests = Machine::threads(nodes)
            .and_then(|machine| {
                machine.run(|node| {
                    let mut short = [1.5f64; 8];
                    let mut long = vec![1i32; 5000];
                    let before = REQUESTS.get();
                    for _ in 0..10 {
                        node.barrier();
                        node.global_or(false);
                        node.reduce_add(1.0);
                        node.scan_add(1u64);
                        node.reduce_max(&mut short);
                        node.scan_add(&mut long);
                        node.reduce_add(&mut long);
                        node.broadcast(0, &mut long);
                    }
                    Ok(REQUESTS.get() - before)
                })
            })
            .unwrap();
        assert_eq!(requests, vec![0; nodes]);
    }
}
