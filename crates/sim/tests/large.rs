//! Machines of thousands of nodes, and what they allocate while they run.

// A program of its own, as its allocator is that of the whole program.
#![allow(
    unsafe_code,
    reason = "counting allocations takes a global allocator, and that trait is unsafe to implement"
)]

#[allow(dead_code, reason = "of the other tests")]
#[path = "it/common/mod.rs"]
mod common;

use common::{GB, Message, dragonfly, fat_tree, machine, run, squarest, with_queues};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use strata_sim::Time;
use strata_sim::network::{Channel, Network, NetworkEvent};
use strata_sim::platform::Topology;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // Nothing to count in a thread that is ending.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    let _ = BYTES.try_with(|sum| sum.set(sum.get() + bytes));
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches cells of this
// thread and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the pointer came from `System` with this layout, and the caller keeps the
        // contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn networks_of_4096_nodes() {
    let nodes = 4096;
    for topology in [
        Topology::Crossbar,
        Topology::Switch { backplane: 64.0 * GB },
        Topology::Bus,
        fat_tree(4, &[2, 2, 4]),
        fat_tree(16, &[16]),
        squarest(2, false),
        squarest(3, true),
        Topology::Hypercube,
        dragonfly(8, 16, 8),
    ] {
        let before = BYTES.get();
        let mut network = Network::new(&machine(topology.clone()), nodes, 1).unwrap();
        // Bytes that were ever asked for, the graph's while it was built among them.
        let each = (BYTES.get() - before) / nodes;
        assert!(each < 8_192, "{topology:?}: {each} bytes a node");
        let plan: Vec<_> = (0..nodes)
            .map(|node| vec![Message { to: (node * 1531 + 7) % nodes, channel: Channel(0), bytes: 32 }; 2])
            .collect();
        assert_eq!(run(&mut network, &plan, Time::ZERO).len(), 2 * nodes);
    }
}

/// Everyone sends to everyone, again and again; only the queue of events may still grow.
#[test]
fn packets_under_way_allocate_nothing() {
    let nodes = 64;
    let platform = with_queues(squarest(2, true), 2, 2, 2);
    let mut network = Network::new(&platform, nodes, 1).unwrap();
    let mut sent = vec![0; nodes];
    let mut send = |network: &mut Network<u64>, node: usize| {
        while network.has_room(node, Channel(1)) {
            sent[node] += 1;
            let to = (node * 7 + sent[node]) % nodes;
            network.try_send(network.now(), node, to, Channel(1), 16, 0).unwrap();
        }
    };
    (0..nodes).for_each(|node| send(&mut network, node));
    let mut allocations = [0; 2];
    for part in &mut allocations {
        let before = COUNT.get();
        for _ in 0..200_000 {
            match network.step() {
                Some(NetworkEvent::Room { node, .. }) => send(&mut network, node),
                Some(NetworkEvent::Arrived { node, channel }) => {
                    network.receive(network.now(), node, channel);
                }
                Some(_) => {}
                None => panic!("deadlock"),
            }
        }
        *part = COUNT.get() - before;
    }
    let [warm_up, then] = allocations;
    assert!(then <= 16, "{then} allocations after {warm_up} to warm up");
}
