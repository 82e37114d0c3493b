//! Gathers the contributions of all nodes to a collective, and computes their results.

use super::{Boundary, Operation, prefix};
use crate::number;

/// A collective without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    /// An operation in place, on equal lengths.
    Operation(Operation),
    /// Every node's values to every node.
    Gather,
    /// Every node's blocks to the nodes they are for.
    Exchange,
}

/// The values of all nodes of one collective.
#[derive(Default)]
pub(crate) struct Contributions {
    /// Bytes of one node's values.
    length: usize,
    /// All nodes' values, in rank order, then space for one more; for a broadcast, only the root's.
    values: Vec<u8>,
    boundaries: Vec<Boundary>,
    /// True if `values` have been replaced by results.
    combined: bool,
}

impl Contributions {
    /// Adds the values of node `rank` of `size`; `kind` has the node's own boundary.
    pub(crate) fn bring(&mut self, kind: CollectiveKind, (rank, size): (usize, usize), values: &[u8]) {
        match kind {
            CollectiveKind::Operation(Operation::Barrier) | CollectiveKind::Exchange => return,
            CollectiveKind::Operation(Operation::Broadcast(root)) => {
                if rank == root {
                    self.values = values.to_vec();
                }
                return;
            }
            CollectiveKind::Operation(Operation::Scan(scan)) => {
                self.set_boundary((rank, size), scan.boundary.unwrap_or_default());
            }
            CollectiveKind::Operation(Operation::Reduce(..)) | CollectiveKind::Gather => {}
        }
        self.length = values.len();
        self.values.resize(self.length * (size + 1), 0);
        self.values[rank * self.length..][..self.length].copy_from_slice(values);
    }

    /// The position of node `rank` in a segmented scan.
    pub(crate) fn set_boundary(&mut self, (rank, size): (usize, usize), boundary: Boundary) {
        self.boundaries.resize(size, Boundary::None);
        self.boundaries[rank] = boundary;
    }

    /// The bytes that each of `size` nodes receives.
    pub(crate) fn received(&self, kind: CollectiveKind, size: usize) -> usize {
        match kind {
            CollectiveKind::Operation(Operation::Barrier) | CollectiveKind::Exchange => 0,
            CollectiveKind::Operation(Operation::Broadcast(_)) => self.values.len(),
            CollectiveKind::Operation(_) => self.length,
            CollectiveKind::Gather => size * self.length,
        }
    }

    /// Writes the result of node `rank` of `size` to `to`, when all have contributed. Does nothing
    /// if `to` has another length: it is a phantom, which has no memory.
    pub(crate) fn take(&mut self, kind: CollectiveKind, (rank, size): (usize, usize), to: &mut [u8]) {
        let length = self.length;
        if to.len() != self.received(kind, size) || to.is_empty() {
            return;
        }
        let first_time = !std::mem::replace(&mut self.combined, true);
        let at = match kind {
            CollectiveKind::Operation(Operation::Reduce(number, op)) => {
                if first_time {
                    let (first, others) = self.values[..size * length].split_at_mut(length);
                    others.chunks_exact(length).for_each(|other| number::fold(number, op, first, other));
                }
                0
            }
            CollectiveKind::Operation(Operation::Scan(scan)) => {
                if first_time {
                    let boundary = |node: usize| self.boundaries.get(node).copied().unwrap_or_default();
                    prefix::of_all(scan, size, boundary, &mut self.values, length, length);
                }
                rank * length
            }
            _ => 0,
        };
        to.copy_from_slice(&self.values[at..][..to.len()]);
    }
}
