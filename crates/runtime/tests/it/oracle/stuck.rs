//! Programs that can never end, which must end with an error, and programs that only wait long.

use super::messages::Mail;
use super::mix;
use std::time::{Duration, Instant, SystemTime};
use strata_runtime::prelude::*;

type Call = fn(&mut Node);

/// Calls that need the other nodes, and what the report of a deadlock says of them.
pub(crate) const CALLS: [(&str, Call); 10] = [
    ("barrier at ", |node| node.barrier()),
    ("reduce add of 1 u64 at ", |node| {
        let _ = node.reduce_add(1u64);
    }),
    ("all_gather of 50000 elements of 8 bytes at ", |node| drop(node.all_gather(&[1u64; 50_000]))),
    ("broadcast from node 1 of 50000 elements of 8 bytes at ", |node| {
        node.broadcast(1, &mut vec![1u64; 50_000]);
    }),
    ("reduce add of 1000 u64 at ", |node| {
        let pending = node.start_reduce(Op::Add, Block::from_slice(&[1u64; 1000]));
        drop(node.complete(pending));
    }),
    ("reduce add of 50000 u64 at ", |node| node.reduce_add(&mut vec![1u64; 50_000])),
    ("scan add of 50000 u64 at ", |node| node.scan_add(&mut vec![1u64; 50_000])),
    ("all_to_all_v of elements of 8 bytes at ", |node| {
        drop(node.all_to_all_v((0..node.size()).map(|_| Block::from_slice(&[1u64; 100])).collect()));
    }),
    ("store_sync of 10 bytes, of which 0 have come at ", |node| node.wait_for_bytes(10, || 0)),
    // Its nodes need those before them: the first has its result at once.
    ("backward_scan add of 1 u64 at ", |node| node.backward_scan(Op::Add, &mut [1u64])),
];

/// Node 1 waits for a message that nobody sends, the others are in a call that needs it;
/// `receives`: with handlers, so that nodes receive while they wait.
pub(crate) fn in_call(node: &mut Node, call: Call, receives: bool) {
    if receives {
        node.install(node.handlers());
    }
    if node.rank() == 1 {
        node.wait_until(|| false);
    }
    call(node);
    node.barrier();
}

/// What the report of [`in_call`] says.
pub(crate) fn reported(says: &'static str) -> [&'static str; 3] {
    ["deadlock", says, "node 1 waits in wait_until at "]
}

/// Runs `program` for a few seeds; with `long` for two minutes, from a seed that is printed, as are
/// the number of programs and the longest time of one.
pub(crate) fn for_seeds(few: u64, long: bool, mut program: impl FnMut(u64)) {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let first = if long { since_1970.as_secs() << 20 } else { 0 };
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    let mut seed = first;
    while if long { start.elapsed() < Duration::from_secs(120) } else { seed < few } {
        let begun = Instant::now();
        program(seed);
        longest = longest.max(begun.elapsed());
        seed += 1;
    }
    println!("{} programs from seed {first}, the longest {longest:.2?}", seed - first);
}

/// A program in which, after some calls of all nodes, some do something else than the others.
pub(crate) fn program(node: &mut Node, seed: u64) {
    let (rank, size) = (node.rank(), node.size());
    let word = mix(seed, usize::MAX, 0);
    if word.is_multiple_of(2) {
        node.install(node.handlers());
    }
    let call = |at: usize| CALLS[(mix(seed, usize::MAX, at) % CALLS.len() as u64) as usize].1;
    (1..1 + (word >> 8) % 4).for_each(|at| call(at as usize)(node));
    // From 1 to size - 1 of them.
    let first = (word >> 16) as usize % size;
    let differs = (rank + size - first) % size < 1 + (word >> 24) as usize % (size - 1);
    match (word >> 32) % 4 {
        _ if !differs => call(9)(node),
        0 => node.wait_until(|| false),
        1 => {
            node.open_port(5, Block::<u64>::zeroed(10));
            node.expect::<u64>(5, 10);
            node.wait_for_port(5);
        }
        2 => return,
        _ => {
            let other = CALLS.iter().cycle().skip((word >> 40) as usize % CALLS.len());
            let other = other.map(|(_, other)| *other).find(|other| !std::ptr::fn_addr_eq(*other, call(9)));
            other.into_iter().for_each(|other| other(node));
        }
    }
    (0..3).for_each(|_| node.barrier());
    // As many collectives as the others, but others: without a check nobody can tell.
    node.fail("done");
}

/// Random programs of messages and collectives, before which nodes sleep: some for long.
pub(crate) fn healthy(node: &mut Node, mail: &Mail, seed: u64, longest: Duration) {
    for part in 0..2 {
        let word = mix(seed, node.rank(), 2000 + part);
        if !node.is_simulated() {
            let share = if word.is_multiple_of(8) { (word >> 8) as u32 % 100 } else { 0 };
            std::thread::sleep(longest * share / 100);
        }
        mail.schedule(node, seed.wrapping_mul(2).wrapping_add(part as u64));
    }
}
