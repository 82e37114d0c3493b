//! What holds on every transport: each law once, as a row of a table, which its program checks
//! itself on every node.

use super::messages::{Mail, in_turn};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use strata_runtime::prelude::*;

/// A law: what is to hold, and the program that ends well if it does.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Node) -> Result<(), Error>,
}

const fn law(name: &'static str, run: fn(&mut Node) -> Result<(), Error>) -> Program {
    Program { name, run }
}

pub(crate) const OPERATIONS: &str = "every operation agrees with the oracle";
pub(crate) const RANDOM: &str = "random programs end, and lose no message";

pub(crate) const PROGRAMS: &[Program] = &[
    law(OPERATIONS, operations),
    law("elements of any size move", |node| {
        // Simulated machines whose packets have few words take long for these.
        if !node.is_simulated() || node.size() <= 3 {
            super::elements(node, 3);
        }
        Ok(())
    }),
    law(RANDOM, random),
    law("inclusive scans are what the nodes up to each one have", inclusive),
    law("segments are those of the manual", segments),
    law("the asynchronous or is true until all have set it false", asynchronous_or),
    law("messages reach a node whose program has ended", after_the_end),
    law("nodes that wait in turn are not stuck", |node| {
        let simulated = node.is_simulated();
        in_turn(node, 100, |round| {
            if round % 50 == 0 && !simulated {
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Ok(())
    }),
    law("nodes may end at different times", |node| {
        let blocks = (0..node.size()).map(|_| Block::from_slice(&[1u8])).collect();
        assert_eq!(node.all_to_all_v(blocks).len(), node.size());
        // A broadcast leaves its root before the others have it.
        node.broadcast(0, &mut vec![1u8; 10_000]);
        pause(node, 300 * (node.rank() as u64 % 7));
        Ok(())
    }),
    law("what is local to a node is its own, and begins with the default", local),
    law("long puts arrive whole", long_puts),
];

/// Microseconds, on machines that have a time of their own.
fn pause(node: &Node, micros: u64) {
    if !node.is_simulated() {
        std::thread::sleep(Duration::from_micros(micros));
    }
}

/// At and beside the lengths at which a vector no longer fits on a page, or has another slice; fewer
/// where a length takes long.
pub(crate) fn operations(node: &mut Node) -> Result<(), Error> {
    let lengths: &[usize] = match (&*node.platform().transport, node.size()) {
        ("mpi", _) => &[0, 1, 2, 22, 23, 24, 45, 46, 513],
        ("threads", 0..=20) => &[0, 1, 2, 27, 28, 29, 54, 55, 513, 3000],
        (_, 0..=20) => &[0, 1, 28, 55],
        _ => &[0, 1, 28],
    };
    for (seed, length) in lengths.iter().enumerate() {
        super::everything(node, seed as u64, *length);
    }
    Ok(())
}

/// Without handlers nodes that wait do not receive; then with them again.
pub(crate) fn random(node: &mut Node) -> Result<(), Error> {
    let mail = Mail::new(node);
    let many = match (node.is_simulated(), node.size()) {
        (true, _) => 2,
        (false, 0..=8) => 60,
        _ => 6,
    };
    for seed in 0..many {
        mail.schedule(node, seed + 1000 * node.size() as u64);
    }
    node.uninstall();
    assert_eq!(node.reduce_add(1), node.size() as i32);
    Mail::new(node).schedule(node, 60);
    Ok(())
}

fn inclusive(node: &mut Node) -> Result<(), Error> {
    let value =
        |rank: usize, at: usize| (rank as u64 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32);
    let me = node.rank();
    for op in super::OPS {
        let up_to_me = |at| {
            let values = (0..=me).map(|rank| value(rank, at));
            values.reduce(|a, b| <u64 as super::Known>::joined(op, a, b)).unwrap_or_default()
        };
        for length in [0, 1, 3, 100] {
            let mut values: Vec<u64> = (0..length).map(|at| value(me, at)).collect();
            node.inclusive_scan(op, &mut values);
            assert_eq!(values, (0..length).map(up_to_me).collect::<Vec<_>>(), "{op} on node {me}");
        }
        assert_eq!(node.inclusive_scan(op, value(me, 7)), up_to_me(7));
    }
    // The first node's own value comes back to the bit; a NaN stays one.
    let zero = node.inclusive_scan(Op::Add, -0.0f64);
    assert!(zero == 0.0 && (me > 0 || zero.is_sign_negative()));
    assert!(node.inclusive_scan(Op::Max, if me == 0 { f64::NAN } else { 1.0 }).is_nan());
    Ok(())
}

/// Brewer's manual, §4.3.1: 16 nodes, segments of four; as many of them as there are.
fn segments(node: &mut Node) -> Result<(), Error> {
    let rank = node.rank();
    for (first, wanted) in [
        (Boundary::Element, [0, 1, 2, 3, 0, 2, 4, 6, 0, 3, 6, 9, 0, 4, 8, 12]),
        (Boundary::Array, [0, 1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12]),
    ] {
        let boundary = if rank.is_multiple_of(4) { first } else { Boundary::None };
        let sum = node.segmented_scan(Op::Add, boundary, 1 + rank as i32 / 4);
        assert!(wanted.get(rank).is_none_or(|wanted| *wanted == sum), "{sum} on node {rank}");
    }
    Ok(())
}

fn asynchronous_or(node: &mut Node) -> Result<(), Error> {
    assert!(node.async_or());
    node.barrier();
    if node.rank() != 0 {
        node.set_async_or(false);
    }
    node.barrier();
    assert!(node.async_or());
    node.barrier();
    node.set_async_or(false);
    node.set_async_or(false);
    while node.async_or() {
        super::give_way(node);
    }
    node.barrier();
    node.set_async_or(node.rank() == 0);
    node.barrier();
    assert!(node.async_or());
    Ok(())
}

fn after_the_end(node: &mut Node) -> Result<(), Error> {
    let answers = Rc::new(Cell::new(0));
    let mut handlers = node.handlers();
    let answer = handlers.reply({
        let answers = Rc::clone(&answers);
        move |_, one: u32| answers.set(answers.get() + one)
    });
    let ask = handlers.request(move |context, ()| context.reply(answer, 1));
    node.install(handlers);
    if node.rank() == 0 {
        pause(node, 20_000);
        let others = node.size() as u32 - 1;
        (1..node.size()).for_each(|to| node.send(to, ask, ()));
        node.wait_until(|| answers.get() == others);
    }
    Ok(())
}

#[derive(Default)]
struct Count(usize);

/// Each node counts to its own number, with waits in between so that nodes take turns.
fn local(node: &mut Node) -> Result<(), Error> {
    for _ in 0..=node.rank() {
        node.local::<Count>().0 += 1;
        node.barrier();
    }
    (node.rank() + 1..node.size()).for_each(|_| node.barrier());
    let name = format!("node {}", node.rank());
    node.local::<Vec<String>>().push(name);
    assert_eq!((node.local::<Count>().0, node.local::<Vec<String>>().len()), (node.rank() + 1, 1));
    Ok(())
}

fn long_puts(node: &mut Node) -> Result<(), Error> {
    let (rank, size) = (node.rank(), node.size());
    let of = |rank: usize| (0..10_000).map(move |i| i * 3 + rank as u32);
    node.install(node.handlers());
    node.open_port(1, Block::<u32>::zeroed(10_000));
    node.expect::<u32>(1, 10_000);
    node.barrier();
    node.put((rank + 1) % size, 1, 0, &of(rank).collect::<Vec<_>>());
    node.wait_for_port(1);
    node.barrier();
    assert!(of((rank + size - 1) % size).eq(node.close_port::<u32>(1).iter().copied()));
    Ok(())
}
