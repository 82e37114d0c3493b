//! Kernels between two nodes: echo, exchange, and the parts of a message's time.

use strata_runtime::Node;

use super::mail::Mail;
use super::measure::{Instrument, TEST, mean_of, pass, time};
use super::mesh::hop_node;

/// One way of a message of `bytes` between two nodes `hops` links of a hypercube apart, in seconds:
/// half of the way there and back (Ganapati 1993, §3.3.1). On one node, a message to itself.
///
/// # Participation
/// Collective. The job ends where data arrive wrong, or where there is no node so far away.
pub fn echo(node: &mut Node, bytes: usize, hops: usize) -> f64 {
    let (me, peer) = (node.rank(), partner(node, "echo", hops));
    let mut mail = Mail::open(node, "echo", 1, bytes);
    let seconds = time(node, |node, _| {
        if me == TEST {
            mail.send(node, peer, 0);
            mail.receive(node, 0);
        } else if me == peer {
            mail.receive(node, 0);
            mail.send(node, TEST, 0);
        }
    });
    mail.close(node, &between(me, peer, &[0]));
    // A message to itself goes one way only.
    if peer == TEST { seconds } else { seconds / 2.0 }
}

/// One way of a message of `bytes` that each node reads and sends back, in seconds: as [`echo`]
/// between neighbours, but each answers with the data that it got. On shared memory a message that
/// nobody reads has not moved: it stays in the cache of its sender.
///
/// # Participation
/// As [`echo`].
pub fn echo_data(node: &mut Node, bytes: usize) -> f64 {
    let (me, peer) = (node.rank(), second(node, "echo_data"));
    let mut mail = Mail::open(node, "echo_data", 1, bytes);
    let (mut message, mut spare) = (mail.message(), mail.room());
    let seconds = time(node, |node, _| {
        if me == TEST {
            node.put_block(peer, 0, 0, &message);
        }
        if me == TEST || me == peer {
            mail.receive(node, 0);
            let received = mail.take(node, 0, std::mem::take(&mut spare));
            spare = std::mem::replace(&mut message, received);
        }
        if me == peer {
            node.put_block(TEST, 0, 0, &message);
        }
    });
    let _ = mail.take(node, 0, message);
    // Everything that was sent came from the test node.
    mail.close(node, if me == TEST || me == peer { &[(0, TEST)] } else { &[] });
    seconds / 2.0
}

/// An exchange in which two nodes send before they receive, in seconds (§3.3.2).
///
/// # Participation
/// As [`echo`].
pub fn exchange(node: &mut Node, bytes: usize) -> f64 {
    let (me, peer) = (node.rank(), partner(node, "exchange", 1));
    let mut mail = Mail::open(node, "exchange", 2, bytes);
    let other = if me == TEST { peer } else { TEST };
    let seconds = time(node, |node, number| {
        if me == TEST || me == peer {
            // A partner may be one exchange ahead.
            mail.send(node, other, number % 2);
            mail.receive(node, number % 2);
        }
    });
    mail.close(node, &between(me, peer, &[0, 1]));
    seconds
}

/// An echo whose partner comes to its receive `late` microseconds after the message was sent or
/// more, without that delay, halved. What a transport has to keep a message that nobody waits for
/// shows in the difference to [`echo`], whose receiver always waits.
///
/// # Participation
/// As [`echo`].
pub fn echo_late(node: &mut Node, bytes: usize, late: usize) -> f64 {
    let (me, peer) = (node.rank(), second(node, "echo_late"));
    let mut mail = Mail::open(node, "echo_late", 1, bytes);
    let late = late as f64 * 1e-6;
    let seconds = mean_of(node, repeats(late), |node, clock, _| {
        if me == TEST {
            let start = clock.now(node);
            mail.send(node, peer, 0);
            mail.receive(node, 0);
            return clock.since(node, start) - late;
        }
        if me == peer {
            pass(node, late);
            mail.receive(node, 0);
            mail.send(node, TEST, 0);
        }
        0.0
    });
    mail.close(node, &between(me, peer, &[0]));
    seconds / 2.0
}

/// o_s of LogGP: what sending a message of `bytes` keeps the sender busy, where messages come far
/// enough apart that none waits for another, in seconds.
///
/// # Participation
/// As [`echo`].
pub fn send_overhead(node: &mut Node, bytes: usize) -> f64 {
    let (me, peer) = (node.rank(), second(node, "send_overhead"));
    let mut mail = Mail::open(node, "send_overhead", 1, bytes);
    let apart = round_trip(node, &mut mail, me, peer);
    let seconds = mean_of(node, repeats(apart), |node, clock, _| {
        let mut seconds = 0.0;
        if me == TEST {
            let start = clock.now(node);
            mail.send(node, peer, 0);
            seconds = clock.since(node, start);
            pass(node, apart);
            mail.receive_empty(node);
        } else if me == peer {
            mail.receive(node, 0);
            mail.send_empty(node, TEST);
        }
        seconds
    });
    mail.close(node, if me == peer { &[(0, TEST)] } else { &[] });
    seconds
}

/// o_r of LogGP: what receiving a message of `bytes` that has arrived keeps the receiver busy, in
/// seconds. What looking in vain at the other queues takes is part of it; [`poll`] tells it.
///
/// # Participation
/// As [`echo`].
pub fn receive_overhead(node: &mut Node, bytes: usize) -> f64 {
    let (me, peer) = (node.rank(), second(node, "receive_overhead"));
    let mut mail = Mail::open(node, "receive_overhead", 1, bytes);
    let apart = round_trip(node, &mut mail, me, peer);
    let seconds = mean_of(node, repeats(apart), |node, clock, _| {
        let mut seconds = 0.0;
        if me == TEST {
            mail.send_empty(node, peer);
            pass(node, apart);
            let start = clock.now(node);
            mail.receive(node, 0);
            seconds = clock.since(node, start);
        } else if me == peer {
            mail.receive_empty(node);
            mail.send(node, TEST, 0);
        }
        seconds
    });
    let held = [(0, peer)];
    mail.close(node, if me == TEST { &held } else { &[] });
    seconds
}

/// g of LogGP: the time from one message of `bytes` to the next in a long stream of them, in
/// seconds. The start and the end of the stream are taken off: it is what a stream twice as long
/// takes more.
///
/// # Participation
/// As [`echo`].
pub fn gap(node: &mut Node, bytes: usize) -> f64 {
    let (me, peer) = (node.rank(), second(node, "gap"));
    let mut mail = Mail::open(node, "gap", 1, bytes);
    let clock = Instrument::new(node);
    let mut stream = |node: &mut Node, messages: usize| {
        node.barrier();
        let start = clock.now(node);
        if me == TEST {
            (0..messages).for_each(|_| mail.send(node, peer, 0));
            mail.receive_empty(node);
        } else if me == peer {
            mail.receive_many(node, 0, messages);
            mail.send_empty(node, TEST);
        }
        clock.since(node, start)
    };
    let mut messages = 64;
    if !node.is_simulated() {
        stream(node, messages);
        let each = stream(node, messages) / messages as f64;
        messages = node.broadcast_value(TEST, clock.count(each).max(messages) as u64) as usize;
    }
    let (short, long) = (stream(node, messages), stream(node, 2 * messages));
    mail.close(node, if me == peer { &[(0, TEST)] } else { &[] });
    if me == TEST { ((long - short) / messages as f64).max(0.0) } else { 0.0 }
}

/// A look at empty queues, in seconds (CoMet's `unblocked_probe_msg`).
///
/// # Participation
/// Collective.
pub fn poll(node: &mut Node) -> f64 {
    let mail = Mail::open(node, "poll", 1, 8);
    let test = node.rank() == TEST;
    let seconds = time(node, |node, _| {
        if test {
            node.poll_once();
            // What a poll has told is known until time passes.
            node.compute(1.0, || ());
        }
    });
    mail.close(node, &[]);
    seconds
}

/// The node that is `hops` links away from the test node; the test node itself where it is alone.
fn partner(node: &mut Node, kernel: &str, hops: usize) -> usize {
    let peer = if node.size() == 1 { TEST } else { hop_node(TEST, hops) };
    if peer >= node.size() {
        node.fail(format!("{kernel}: no node is {hops} hops from node {TEST} on {} nodes", node.size()));
    }
    peer
}

/// The other node of a kernel that cannot be alone.
fn second(node: &mut Node, kernel: &str) -> usize {
    if node.size() < 2 {
        node.fail(format!("{kernel}: it takes two nodes, and there is one"));
    }
    partner(node, kernel, 1)
}

/// Which boxes hold whose message on this node.
fn between(me: usize, peer: usize, boxes: &[usize]) -> Vec<(usize, usize)> {
    let from = match me {
        TEST => peer,
        _ if me == peer => TEST,
        _ => return Vec::new(),
    };
    boxes.iter().map(|number| (*number, from)).collect()
}

/// How often an operation with such a pause is repeated in one timing: pauses must not fill the
/// budget.
fn repeats(pause: f64) -> usize {
    ((1e-3 / pause.max(1e-7)) as usize).clamp(4, 100)
}

/// Somewhat more than the time of a message there and an empty one back, the same on all nodes.
fn round_trip(node: &mut Node, mail: &mut Mail, me: usize, peer: usize) -> f64 {
    let mut once = |node: &mut Node| {
        node.barrier();
        let start = node.now().get();
        if me == TEST {
            mail.send(node, peer, 0);
            mail.receive_empty(node);
        } else if me == peer {
            mail.receive(node, 0);
            mail.send_empty(node, TEST);
        }
        node.now().get() - start
    };
    let least = (0..5).map(|_| once(node)).fold(f64::INFINITY, f64::min);
    1.5 * node.broadcast_value(TEST, least) + 1e-6
}
