//! Kernels under load: an echo during other traffic, and messages during computation.

use std::cell::Cell;
use std::rc::Rc;

use strata_runtime::{Block, Node};

use super::mail::Mail;
use super::measure::{Instrument, TEST, simulated, time};
use crate::suite::Crossing;

/// The box for messages of the load.
const LOAD: usize = 9;

/// The one-way time of a message of `bytes` between node 0 and node `crossing.peer` while node
/// `crossing.source` keeps sending messages of `load` bytes to `crossing.sink`, in seconds
/// (Ganapati 1993, §3.3.6). With a `load` of 0 no other messages are sent. Whether the two paths
/// share a link is the caller's choice of nodes.
///
/// # Participation
/// Collective. The job ends if data are wrong, or these are not four nodes.
pub fn contention(node: &mut Node, bytes: usize, load: usize, crossing: Crossing) -> f64 {
    let (me, size) = (node.rank(), node.size());
    let Crossing { peer, source, sink } = crossing;
    let mut nodes = [TEST, peer, source, sink];
    nodes.sort_unstable();
    if nodes[3] >= size || nodes.windows(2).any(|pair| pair[0] == pair[1]) {
        node.fail(format!("contention: {nodes:?} are not four of {size} nodes"));
    }
    let test = TEST;
    let mut mail = Mail::open(node, "contention", 2, bytes.max(1));
    let stop = Rc::new(Cell::new(false));
    let heard = Rc::clone(&stop);
    let mut handlers = node.handlers();
    let end = handlers.request(move |_, ()| heard.set(true));
    node.install(handlers);
    node.open_port(LOAD, Block::<u8>::zeroed(load));
    node.barrier();
    let mut sent = 0u64;
    let mut seconds = 0.0;
    if me == test {
        let clock = Instrument::new(node);
        let mut echoes = |node: &mut Node, count: usize| {
            let start = clock.now(node);
            for _ in 0..count {
                mail.send(node, peer, 0);
                mail.receive(node, 0);
            }
            clock.told(clock.since(node, start)) / (2 * count) as f64
        };
        // The load must be running before the timing starts.
        let each = echoes(node, 16);
        let count = if node.is_simulated() {
            8 * simulated(node)
        } else {
            if each.is_nan() { 1000 } else { clock.count(2.0 * each).clamp(16, 1000) }
        };
        seconds = echoes(node, count);
        node.send(peer, end, ());
        node.send(source, end, ());
    } else if me == peer {
        // A wait ends when a message or the final notice arrives.
        let came = Rc::new(Cell::new(0u64));
        let counted = Rc::clone(&came);
        node.on_complete(0, move |_| counted.set(counted.get() + 1));
        for answered in 0.. {
            node.expect::<u8>(0, bytes.max(1));
            node.wait_until(|| came.get() > answered || stop.get());
            if came.get() <= answered {
                break;
            }
            mail.send(node, test, 0);
        }
    } else if me == source && load > 0 {
        let data = vec![7u8; load];
        while !stop.get() {
            node.put(sink, LOAD, 0, &data);
            sent += load as u64;
            node.poll();
        }
    }
    // Messages under way must arrive before boxes are closed.
    let sent = node.broadcast_value(source, sent);
    if me == sink && sent > 0 {
        node.expect::<u8>(LOAD, sent as usize);
        node.wait_for_port(LOAD);
    }
    node.barrier();
    let _memory: Block<u8> = node.close_port(LOAD);
    let held: &[(usize, usize)] = if me == test { &[(0, peer)] } else { &[] };
    mail.close(node, held);
    seconds
}

/// Cycles of one element of a DAXPY on a simulated machine: two operations at a third of the i860's
/// peak (Ganapati 1993, §4.1: "less than a third" of 60 MFLOPS).
const CYCLES: f64 = 4.0;

fn daxpy(node: &mut Node, y: &mut [f64], x: &[f64]) {
    node.compute_always(CYCLES * y.len() as f64, || {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += 1e-9 * x);
        std::hint::black_box(&mut *y);
    });
}

/// The order of messages and computation in [`overlap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The exchange ends before the computation begins.
    Synchronous,
    /// The message is sent, then the computation is done, then the other node's message is awaited.
    Asynchronous,
    /// No messages.
    ComputationOnly,
}

/// An exchange of `bytes` between two nodes and a DAXPY of `length` numbers on both, in seconds
/// (§3.3.7).
///
/// # Participation
/// Collective; wrong data end the job.
pub fn overlap(node: &mut Node, bytes: usize, length: usize, order: Order) -> f64 {
    let me = node.rank();
    let peer = 1 % node.size();
    let other = if me == TEST { peer } else { TEST };
    let takes_part = me == TEST || me == peer;
    let mut mail = Mail::open(node, "overlap", 2, bytes);
    let (mut y, x) = (vec![0.0; length], vec![1.0; length]);
    let seconds = time(node, |node, number| {
        if !takes_part {
            return;
        }
        let number = number % 2;
        match order {
            Order::Synchronous => {
                mail.send(node, other, number);
                mail.receive(node, number);
                daxpy(node, &mut y, &x);
            }
            Order::Asynchronous => {
                mail.send(node, other, number);
                daxpy(node, &mut y, &x);
                mail.receive(node, number);
            }
            Order::ComputationOnly => daxpy(node, &mut y, &x),
        }
    });
    let held: &[(usize, usize)] =
        if takes_part && order != Order::ComputationOnly { &[(0, other), (1, other)] } else { &[] };
    mail.close(node, held);
    seconds
}
