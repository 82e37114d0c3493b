//! What is done in every step of a program allocates nothing: collectives of numbers and of vectors
//! in place, in one phase or two, messages, polls and puts.

// A program of its own, as its allocator is that of the whole program.
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use strata_runtime::copy::{Hint, SHORT, routine_for};
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

/// The first copy of about a length evaluates models, which allocates; later ones look it up.
fn choose_copies() {
    for bytes in (SHORT..=20_000).step_by(256) {
        for hint in [Hint::SEND, Hint::RECEIVE, Hint::default()] {
            for aligned in [false, true] {
                let _chosen = routine_for(hint, bytes, aligned);
            }
        }
    }
}

#[test]
fn nothing_is_allocated_in_barrier_reduce_and_scan() {
    choose_copies();
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

#[test]
fn nothing_is_allocated_by_messages_puts_and_split_phase_collectives() {
    use std::rc::Rc;
    choose_copies();
    for nodes in [1, 2, 5] {
        let requests = Machine::threads(nodes)
            .and_then(|machine| {
                machine.run(|node| {
                    let (rank, size) = (node.rank(), node.size());
                    let answers = Rc::new(Cell::new(0u64));
                    let mut handlers = node.handlers();
                    let answer = handlers.reply({
                        let answers = Rc::clone(&answers);
                        move |_, _: [u64; 8]| answers.set(answers.get() + 1)
                    });
                    let ask = handlers
                        .request(move |context, words: [u64; 20]| context.reply(answer, [words[3]; 8]));
                    node.install(handlers);
                    node.open_port(1, Block::<u64>::zeroed(1000));
                    let data = vec![7u64; 1000];
                    let mut vector = Block::<f64>::zeroed(5000);
                    let mut round = |node: &mut Node, count: u64| {
                        node.send((rank + 1) % size, ask, [1; 20]);
                        node.wait_until(|| answers.get() == count);
                        node.expect::<u64>(1, 1000);
                        node.barrier();
                        node.put((rank + 1) % size, 1, 0, &data);
                        node.wait_for_port(1);
                        node.poll();
                        let pending = node.start_reduce(Op::Max, 1.0);
                        node.complete(pending);
                        let pending = node.start_reduce(Op::Add, std::mem::take(&mut vector));
                        vector = node.complete(pending);
                        let pending = node.start_barrier();
                        node.complete(pending);
                        node.reduce_add(1u64);
                    };
                    // What is kept from then on is allocated at first use.
                    (1..=3).for_each(|count| round(node, count));
                    let before = REQUESTS.get();
                    (4..=13).for_each(|count| round(node, count));
                    Ok(REQUESTS.get() - before)
                })
            })
            .unwrap();
        assert_eq!(requests, vec![0; nodes]);
    }
}
