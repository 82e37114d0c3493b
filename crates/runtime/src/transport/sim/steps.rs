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
    Send {
        to: usize,
        bytes: usize,
    },
    Receive {
        from: usize,
    },
    /// Combines this many bytes with its own.
    Combine {
        bytes: usize,
    },
}

/// The steps of a node in a collective. They follow from a few values: a list would be memory that
/// every collective of every node allocates and touches, for an exchange the square of the nodes.
pub(super) enum Steps {
    Tree(Tree),
    /// Of an exchange among `size` nodes.
    Exchange {
        rank: usize,
        size: usize,
        lengths: Lengths,
    },
}

impl Steps {
    /// The steps of node `rank` of `size` for values of `bytes`, in any collective but an exchange.
    pub(super) fn of(kind: CollectiveKind, rank: usize, size: usize, bytes: usize) -> Self {
        Self::Tree(match kind {
            CollectiveKind::Operation(Operation::Broadcast(root)) => {
                let relative = (rank + size - root) % size;
                Tree { root, ..Tree::new(relative, size, (0, 0), bytes) }
            }
            CollectiveKind::Operation(operation) => {
                let scans = matches!(operation, Operation::Scan(_));
                let tree = Tree::new(rank, size, (bytes, if scans { bytes } else { 0 }), bytes);
                Tree { up: Some(bytes), ..tree }
            }
            CollectiveKind::Gather | CollectiveKind::Exchange => {
                let tree = Tree::new(rank, size, (0, 0), size * bytes);
                Tree { up: Some(reach(rank, size).min(size - rank) * bytes), ..tree }
            }
        })
    }

    /// Step number `at`, `None` after the last. A node of an exchange sends to the nodes after it
    /// and then receives from those before it, the nearest first.
    pub(super) fn get(&self, at: usize) -> Option<MessageStep> {
        match self {
            Self::Tree(tree) => tree.get(at),
            Self::Exchange { rank, size, lengths } => {
                let others = size - 1;
                // No remainder: dividing costs as much as a packet's other steps.
                if at < others {
                    let to = rank + at + 1;
                    let to = if to < *size { to } else { to - size };
                    return Some(MessageStep::Send { to, bytes: lengths.of(to) });
                }
                let shift = at - others + 1;
                let from = if shift <= *rank { rank - shift } else { rank + size - shift };
                (at < 2 * others).then_some(MessageStep::Receive { from })
            }
        }
    }
}

/// A node's part in a collective along a binomial tree, up and down or down only. The tree's root is
/// node 0; a node's parent is its number without the lowest set bit, so a node and its descendants
/// are consecutive.
///
/// Up and down: each node combines `combined.0` bytes for each child and sends `up` bytes for its
/// subtree; `down` bytes come back. In a scan these are the values before the node. To pass them
/// on, it combines `combined.1` bytes for each child with the values between itself and the child,
/// which it knows from the way up.
///
/// A node's own values are inserted and its result is extracted at the cost of a combination each,
/// as if there were one more level. Brewer's models of `CombineVector` without a control network
/// have 76, 78 and 69 cycles a word that depend on neither the network nor its height, twice the
/// cost of a level's combination (figure 6-6).
pub(super) struct Tree {
    /// The node's number after `root`, which is node 0 of the tree.
    rank: usize,
    root: usize,
    size: usize,
    children: usize,
    combined: (usize, usize),
    /// `None`: down only.
    up: Option<usize>,
    down: usize,
}

/// The lowest set bit of a node's number: greater than the number of its descendants.
fn reach(rank: usize, size: usize) -> usize {
    if rank == 0 { size.next_power_of_two() } else { rank & rank.wrapping_neg() }
}

impl Tree {
    fn new(rank: usize, size: usize, combined: (usize, usize), down: usize) -> Self {
        let children = (0..reach(rank, size).ilog2()).take_while(|k| rank + (1 << k) < size).count();
        Self { rank, root: 0, size, children, combined, up: None, down }
    }

    fn get(&self, mut at: usize) -> Option<MessageStep> {
        let Self { rank, root, size, children, combined, down, .. } = *self;
        let place = |node: usize| if node + root < size { node + root } else { node + root - size };
        // The nearest child first.
        let child = |number: usize| place(rank + (1 << number));
        let parent = place(rank & rank.wrapping_sub(1));
        // Whether it combines, as 0 or 1 step beside each child's message.
        let (inserts, passes) = (usize::from(combined.0 > 0), usize::from(combined.1 > 0));
        let combine = |bytes| Some(MessageStep::Combine { bytes });
        if let Some(up) = self.up {
            if at < inserts {
                return combine(combined.0);
            }
            at -= inserts;
            if at < children << inserts {
                let receives = at & inserts == 0;
                let receive = MessageStep::Receive { from: child(at >> inserts) };
                return if receives { Some(receive) } else { combine(combined.0) };
            }
            at -= children << inserts;
            if rank > 0 && at == 0 {
                return Some(MessageStep::Send { to: parent, bytes: up });
            }
            at -= usize::from(rank > 0);
        }
        if rank > 0 && at == 0 {
            return Some(MessageStep::Receive { from: parent });
        }
        at -= usize::from(rank > 0);
        if at < children << passes {
            let sends = at & passes == passes;
            let send = MessageStep::Send { to: child(children - 1 - (at >> passes)), bytes: down };
            return if sends { Some(send) } else { combine(combined.1) };
        }
        at -= children << passes;
        if at < inserts { combine(combined.0) } else { None }
    }
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
