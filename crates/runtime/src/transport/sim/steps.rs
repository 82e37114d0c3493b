//! The messages of collectives: the steps of each node.
//!
//! Values are combined up a binomial tree and the result goes down it, as in the combining tree of
//! Brewer's Strata on machines without a control network (§6.2); vectors are not pipelined. An
//! exchange sends every block directly to its node, in cyclic shifts.

use super::rows::Lengths;
use crate::transport::Operation;
use crate::transport::contributions::CollectiveKind;

/// One step of a node in a collective. Each node sends at most one message to each other node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageStep {
    /// Sends this many bytes.
    Send { to: usize, bytes: usize },
    /// Waits for the message of this node.
    Receive { from: usize },
    /// Combines this many bytes with its own.
    Combine { bytes: usize },
}

/// The steps of a node in a collective.
pub(super) enum Steps {
    /// In a tree, few of them.
    Listed(Vec<MessageStep>),
    /// Of an exchange among `size` nodes: they follow from these values, because all nodes' lists
    /// would need memory for the square of their number.
    Exchange { rank: usize, size: usize, lengths: Lengths },
}

impl Steps {
    /// The steps of node `rank` of `size` for values of `bytes`; none for an exchange.
    pub(super) fn of(kind: CollectiveKind, rank: usize, size: usize, bytes: usize) -> Self {
        Self::Listed(match kind {
            CollectiveKind::Operation(Operation::Broadcast(root)) => broadcast(rank, size, root, bytes),
            CollectiveKind::Operation(operation) => {
                let scans = matches!(operation, Operation::Scan(_));
                tree(rank, size, (bytes, if scans { bytes } else { 0 }), |_| bytes, bytes)
            }
            CollectiveKind::Gather => tree(rank, size, (0, 0), |nodes| nodes * bytes, size * bytes),
            CollectiveKind::Exchange => Vec::new(),
        })
    }

    /// Step number `at`, `None` after the last. A node of an exchange sends to the nodes after it
    /// and then receives from those before it, the nearest first.
    pub(super) fn get(&self, at: usize) -> Option<MessageStep> {
        match self {
            Self::Listed(steps) => steps.get(at).copied(),
            Self::Exchange { rank, size, lengths } => {
                let others = size - 1;
                let shift = at % others.max(1) + 1;
                if at < others {
                    let to = (rank + shift) % size;
                    Some(MessageStep::Send { to, bytes: lengths.of(to) })
                } else {
                    (at < 2 * others).then(|| MessageStep::Receive { from: (rank + size - shift) % size })
                }
            }
        }
    }
}

/// A node's position in the binomial tree rooted at node 0: its parent is its number without the
/// lowest set bit, so a node and its descendants are consecutive.
struct TreePosition {
    parent: Option<usize>,
    /// The lowest set bit: greater than the number of descendants.
    reach: usize,
}

fn position(rank: usize, size: usize) -> TreePosition {
    if rank == 0 {
        return TreePosition { parent: None, reach: size.next_power_of_two() };
    }
    let lowest = rank & rank.wrapping_neg();
    TreePosition { parent: Some(rank - lowest), reach: lowest }
}

/// The children of a node, the nearest first, each with the size of its subtree.
fn children(rank: usize, size: usize, reach: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (0..reach.ilog2())
        .map(move |k| (rank + (1 << k), 1 << k))
        .filter(move |(child, _)| *child < size)
        .map(move |(child, nodes)| (child, nodes.min(size - child)))
}

/// Up and down: each node combines `combined.0` bytes for each child and sends `up` bytes for its
/// subtree; `down` bytes come back. In a scan these are the values before the node. To pass them
/// on, it combines `combined.1` bytes for each child with the values between itself and the child,
/// which it knows from the way up.
///
/// A node's own values are inserted and its result is extracted at the cost of a combination each,
/// as if there were one more level. Brewer's models of `CombineVector` without a control network
/// have 76, 78 and 69 cycles a word that depend on neither the network nor its height, twice the
/// cost of a level's combination (figure 6-6).
fn tree(
    rank: usize,
    size: usize,
    combined: (usize, usize),
    up: impl Fn(usize) -> usize,
    down: usize,
) -> Vec<MessageStep> {
    let TreePosition { parent, reach } = position(rank, size);
    let combine = |bytes: usize| (bytes > 0).then_some(MessageStep::Combine { bytes });
    let mut steps = Vec::from_iter(combine(combined.0));
    for (child, _) in children(rank, size, reach) {
        steps.push(MessageStep::Receive { from: child });
        steps.extend(combine(combined.0));
    }
    if let Some(parent) = parent {
        let below = reach.min(size - rank);
        steps.extend([
            MessageStep::Send { to: parent, bytes: up(below) },
            MessageStep::Receive { from: parent },
        ]);
    }
    for (to, _) in children(rank, size, reach).rev() {
        steps.extend(combine(combined.1));
        steps.push(MessageStep::Send { to, bytes: down });
    }
    steps.extend(combine(combined.0));
    steps
}

/// Down only, from `root`: ranks are relative to the root.
fn broadcast(rank: usize, size: usize, root: usize, bytes: usize) -> Vec<MessageStep> {
    let relative = (rank + size - root) % size;
    let absolute = |node: usize| (node + root) % size;
    let TreePosition { parent, reach } = position(relative, size);
    let receive = parent.map(|parent| MessageStep::Receive { from: absolute(parent) });
    let sends = children(relative, size, reach).rev();
    receive.into_iter().chain(sends.map(|(to, _)| MessageStep::Send { to: absolute(to), bytes })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{NumberType, Op};
    use crate::transport::Scan;
    use std::collections::BTreeSet;

    fn all(steps: &Steps) -> Vec<MessageStep> {
        (0..).map_while(|at| steps.get(at)).collect()
    }

    /// Simulates all nodes' steps; returns the nodes whose values each node has at the end.
    fn play(steps: &[Vec<MessageStep>]) -> Vec<BTreeSet<usize>> {
        let size = steps.len();
        let mut heard: Vec<BTreeSet<usize>> = (0..size).map(|node| BTreeSet::from([node])).collect();
        let mut at = vec![0; size];
        let mut sent = std::collections::BTreeMap::new();
        loop {
            let mut moved = false;
            for node in 0..size {
                let Some(step) = steps[node].get(at[node]) else { continue };
                match *step {
                    MessageStep::Send { to, .. } => {
                        assert!(
                            sent.insert((node, to), heard[node].clone()).is_none(),
                            "{node} to {to} twice"
                        );
                    }
                    MessageStep::Receive { from } => match sent.remove(&(from, node)) {
                        Some(of) => heard[node].extend(of),
                        None => continue,
                    },
                    MessageStep::Combine { .. } => {}
                }
                at[node] += 1;
                moved = true;
            }
            if !moved {
                break;
            }
        }
        assert!(sent.is_empty(), "never received: {sent:?}");
        for node in 0..size {
            assert_eq!(at[node], steps[node].len(), "node {node} of {size} waits for ever");
        }
        heard
    }

    #[test]
    fn all_hear_of_all_in_a_tree() {
        for size in 1..=33 {
            for kind in [CollectiveKind::Operation(Operation::Barrier), CollectiveKind::Gather] {
                let steps: Vec<_> = (0..size).map(|rank| all(&Steps::of(kind, rank, size, 8))).collect();
                assert!(play(&steps).iter().all(|heard| heard.len() == size));
            }
        }
    }

    #[test]
    fn all_hear_of_the_root_in_a_broadcast() {
        for size in 1..=17 {
            for root in 0..size {
                let kind = CollectiveKind::Operation(Operation::Broadcast(root));
                let steps: Vec<_> = (0..size).map(|rank| all(&Steps::of(kind, rank, size, 8))).collect();
                assert!(play(&steps).iter().all(|heard| heard.contains(&root)));
            }
        }
    }

    #[test]
    fn an_exchange_sends_each_block_to_its_node() {
        for size in 1..=9 {
            let steps = |rank| {
                let lengths = Lengths::new(0..size);
                all(&Steps::Exchange { rank, size, lengths })
            };
            let steps: Vec<_> = (0..size).map(steps).collect();
            assert!(play(&steps).iter().all(|heard| heard.len() == size));
            for step in steps.iter().flatten() {
                assert!(!matches!(step, MessageStep::Send { to, bytes } if bytes != to));
            }
        }
    }

    #[test]
    fn a_scan_combines_both_ways_and_a_reduction_up() {
        let scan = Scan { kind: NumberType::I64, op: Op::Add, backward: false, boundary: None };
        for (operation, counts) in [
            (Operation::Reduce(NumberType::I64, Op::Add), [4, 2, 3, 2]),
            (Operation::Scan(scan), [6, 2, 4, 2]),
        ] {
            // Node 0 of 4 has two children, node 2 one; each also inserts its own values and
            // extracts its result.
            let count = |rank| {
                let steps = all(&Steps::of(CollectiveKind::Operation(operation), rank, 4, 8));
                steps.into_iter().filter(|step| matches!(step, MessageStep::Combine { bytes: 8 })).count()
            };
            assert_eq!([count(0), count(1), count(2), count(3)], counts);
        }
    }

    #[test]
    fn a_gather_sends_what_lies_below() {
        // The descendants of node 4 of 7 are 5 and 6.
        let of = |rank| all(&Steps::of(CollectiveKind::Gather, rank, 7, 10));
        let steps = of(4);
        assert!(steps.contains(&MessageStep::Send { to: 0, bytes: 30 }), "{steps:?}");
        assert!(of(0).contains(&MessageStep::Send { to: 4, bytes: 70 }));
    }
}
