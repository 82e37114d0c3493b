//! Kernels between two nodes: echo, exchange, and the parts of a message's time.

use strata_runtime::Node;

use super::mail::Mail;
use super::measure::{Instrument, TEST, mean_of, pass, simulated, time};

/// The one-way time of a message of `bytes` between node 0 and node `peer`, in seconds: half of a
/// round trip (Ganapati 1993, §3.3.1). On one node, a message to itself.
///
/// # Participation
/// Collective. The job ends if data are wrong, or there is no such node.
pub fn echo(node: &mut Node, bytes: usize, peer: usize) -> f64 {
    let (me, peer) = (node.rank(), partner(node, "echo", peer));
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

/// The one-way time of a message of `bytes` that each node reads and sends back, in seconds: as
/// [`echo`] between neighbours, but each node sends the data that it received. In shared memory a
/// message that is not read does not move: it stays in the sender's cache.
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
    // All messages came from the test node.
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

/// Half of the time of an echo whose partner begins to receive `late` microseconds or more after
/// the message was sent, without that delay. The difference to [`echo`], whose receiver always
/// waits, is the transport's cost of keeping an unexpected message.
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

/// o_s of LogGP: the time in seconds for which sending a message of `bytes` occupies the sender, if
/// messages are far enough apart that none waits for another.
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

/// o_r of LogGP: the time in seconds for which receiving an arrived message of `bytes` occupies the
/// receiver. It includes polls of the other queues, which are empty; [`poll`] measures these.
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

/// g of LogGP: the time between messages of `bytes` in a long stream, in seconds. The start and the
/// end of the stream are excluded by taking the difference to a stream of twice the length.
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
    let mut messages = 8 * simulated(node);
    if !node.is_simulated() {
        stream(node, messages);
        let each = stream(node, messages) / messages as f64;
        messages = node.broadcast_value(TEST, clock.count(each).max(messages) as u64) as usize;
    }
    let (short, long) = (stream(node, messages), stream(node, 2 * messages));
    mail.close(node, if me == peer { &[(0, TEST)] } else { &[] });
    if me == TEST { ((long - short) / messages as f64).max(0.0) } else { 0.0 }
}

/// A poll of empty queues, in seconds (CoMet's `unblocked_probe_msg`).
///
/// # Participation
/// Collective.
pub fn poll(node: &mut Node) -> f64 {
    let mail = Mail::open(node, "poll", 1, 8);
    let test = node.rank() == TEST;
    let seconds = time(node, |node, _| {
        if test {
            node.poll_once();
            // The result of a poll remains valid until time passes.
            node.compute(1.0, || ());
        }
    });
    mail.close(node, &[]);
    seconds
}

/// The test node's partner; the test node itself if there is no other.
fn partner(node: &mut Node, kernel: &str, peer: usize) -> usize {
    if node.size() == 1 {
        return TEST;
    }
    if peer == TEST || peer >= node.size() {
        node.fail(format!("{kernel}: node {peer} is no partner of node {TEST} on {} nodes", node.size()));
    }
    peer
}

/// The second node of a kernel that needs two.
fn second(node: &mut Node, kernel: &str) -> usize {
    if node.size() < 2 {
        node.fail(format!("{kernel}: it takes two nodes, and there is one"));
    }
    partner(node, kernel, 1)
}

/// The boxes of this node that hold messages, with their senders.
fn between(me: usize, peer: usize, boxes: &[usize]) -> Vec<(usize, usize)> {
    let from = match me {
        TEST => peer,
        _ if me == peer => TEST,
        _ => return Vec::new(),
    };
    boxes.iter().map(|number| (*number, from)).collect()
}

/// The number of repetitions within one timing of an operation with this pause: pauses must not use
/// up the time budget.
fn repeats(pause: f64) -> usize {
    ((1e-3 / pause.max(1e-7)) as usize).clamp(4, 100)
}

/// A little more than the time of a message and an empty answer, equal on all nodes.
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
