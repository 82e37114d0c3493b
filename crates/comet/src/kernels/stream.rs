//! Messages in windows: by pairs of nodes at once, one way and both ways.

use chacha20::ChaCha8Rng;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use strata_runtime::Node;

use super::mail::Mail;
use super::measure::{time_of, time_of_slowest};
use crate::suite::WINDOW;

/// The seconds of a message of `bytes`, as a part of the time in which each of `pairs` pairs sends
/// 64 messages one way and an answer back: `bytes` over it is the bandwidth of all pairs together.
/// Node k of the first `pairs` nodes sends to node k + `pairs`. The time is that of the slowest
/// pair.
///
/// # Participation
/// Collective. The job ends if data are wrong, or there are too few nodes.
pub fn stream(node: &mut Node, bytes: usize, pairs: usize) -> f64 {
    windows(node, "stream", bytes, &halves(node.size(), pairs), false)
}

/// As [`stream`] in both directions at once, without answers.
///
/// # Participation
/// As [`stream`].
pub fn stream_both(node: &mut Node, bytes: usize, pairs: usize) -> f64 {
    windows(node, "stream_both", bytes, &halves(node.size(), pairs), true)
}

/// As [`stream_both`] with all nodes in pairs: of `matching` 0 half against half, of others at
/// random. The median over random ones is the effective bisection bandwidth (Hoefler, Schneider and
/// Lumsdaine 2008). One of an odd number of nodes is idle.
///
/// # Participation
/// As [`stream`].
pub fn bisection(node: &mut Node, bytes: usize, matching: usize) -> f64 {
    let size = node.size();
    let mut pairs = halves(size, size / 2);
    if matching > 0 {
        let mut order: Vec<usize> = (0..size).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(matching as u64));
        pairs = order.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    }
    windows(node, "bisection", bytes, &pairs, true)
}

/// The one-way time of a message of `bytes` between two nodes in seconds, half of a round trip, as
/// node `from` sees it.
///
/// # Participation
/// Collective. The job ends if data are wrong, or these are not two nodes.
pub fn pair(node: &mut Node, bytes: usize, from: usize, to: usize) -> f64 {
    let (me, size) = (node.rank(), node.size());
    if from >= size || to >= size || from == to {
        node.fail(format!("pair: {from} and {to} are not two of {size} nodes"));
    }
    let mut mail = Mail::open(node, "pair", 1, bytes);
    let seconds = time_of(node, from, |node, _| {
        if me == from {
            mail.send(node, to, 0);
            mail.receive(node, 0);
        } else if me == to {
            mail.receive(node, 0);
            mail.send(node, from, 0);
        }
    });
    let held = [(0, if me == from { to } else { from })];
    mail.close(node, if me == from || me == to { &held } else { &[] });
    seconds / 2.0
}

/// The first `pairs` nodes, each with one of as many nodes after them.
fn halves(size: usize, pairs: usize) -> Vec<(usize, usize)> {
    // Too many are refused with their number.
    (0..pairs.min(size)).map(|node| (node, node + pairs)).collect()
}

/// A message's part of the time of windows, one way from the first node of each pair to the second,
/// or both ways.
fn windows(node: &mut Node, kernel: &'static str, bytes: usize, pairs: &[(usize, usize)], both: bool) -> f64 {
    let (me, size) = (node.rank(), node.size());
    if pairs.is_empty() || pairs.iter().any(|(from, to)| from.max(to) >= &size) {
        let pairs = pairs.len();
        node.fail(format!("{kernel}: {size} nodes are not {pairs} pairs, one at least"));
    }
    let part = pairs.iter().find_map(|&(from, to)| match me {
        _ if me == from => Some((to, true)),
        _ if me == to => Some((from, both)),
        _ => None,
    });
    // A partner may be one window ahead of a node that answers by its own window only.
    let mut mail = Mail::open(node, kernel, 2, bytes);
    let seconds = time_of_slowest(node, |node, number| {
        let Some((other, sends)) = part else { return };
        let number = number % 2;
        if sends {
            (0..WINDOW).for_each(|_| mail.send(node, other, number));
        }
        if both || !sends {
            mail.receive_many(node, number, WINDOW);
        }
        match sends {
            _ if both => {}
            true => mail.receive_empty(node),
            false => mail.send_empty(node, other),
        }
    });
    let held = part.filter(|(_, sends)| both || !sends).map(|(other, _)| [(0, other), (1, other)]);
    mail.close(node, held.as_ref().map_or(&[], |held| &held[..]));
    let ways = if both { 2 } else { 1 };
    seconds / (WINDOW * ways * pairs.len()) as f64
}
