//! Memory that other nodes write and read by one-sided transfers.

use super::SharedWords;
use std::fmt;

/// One-sided transfers of a transport. Bounds are checked by the caller.
pub(crate) trait OneSided {
    /// Writes `bytes` at byte `at` of node `to`'s memory; returns when they have arrived.
    fn put(&self, to: usize, at: usize, bytes: &[u8]);
    /// Reads the bytes from byte `at` of node `from`'s memory on.
    fn get(&self, from: usize, at: usize, into: &mut [u8]);
}

/// Words of this node that others access by one-sided transfers, and the access to theirs
/// ([`Node::expose_words`](crate::Node::expose_words)).
pub struct ExposedWords {
    own: SharedWords,
    nodes: usize,
    transfers: Box<dyn OneSided>,
}

impl ExposedWords {
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only MPI has one-sided transfers"))]
    pub(crate) fn new(own: SharedWords, nodes: usize, transfers: Box<dyn OneSided>) -> Self {
        Self { own, nodes, transfers }
    }

    /// This node's own words. Other nodes' transfers write bytes in any order.
    #[must_use]
    pub fn own(&self) -> &SharedWords {
        &self.own
    }

    /// Writes `bytes` from byte `at` on into node `to`'s words; returns when they have arrived. The
    /// target node takes no part, although some libraries need it to make MPI calls, as a waiting
    /// node does.
    ///
    /// # Panics
    /// If there is no node `to`, or it has no such bytes.
    pub fn put(&self, to: usize, at: usize, bytes: &[u8]) {
        self.check("put", to, at, bytes.len());
        self.transfers.put(to, at, bytes);
    }

    /// Reads bytes from byte `at` of node `from`'s words on; otherwise as [`put`](Self::put).
    ///
    /// # Panics
    /// As `put`.
    pub fn get(&self, from: usize, at: usize, into: &mut [u8]) {
        self.check("get", from, at, into.len());
        self.transfers.get(from, at, into);
    }

    fn check(&self, what: &str, node: usize, at: usize, bytes: usize) {
        let has = size_of_val(&*self.own);
        let end = at.checked_add(bytes);
        assert!(
            node < self.nodes && end.is_some_and(|end| end <= has),
            "{what} of {bytes} bytes at {at} of node {node}: nodes 0 to {} have {has} bytes each",
            self.nodes - 1
        );
    }
}

impl fmt::Debug for ExposedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} exposed words", self.own.len())
    }
}
