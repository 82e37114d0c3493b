//! What travels with the calls of collectives.

use std::time::Instant;

/// A word of each node that travels with the calls of one collective, where all nodes exchange
/// theirs anyway, and so costs no message.
#[derive(Debug, Default)]
pub(crate) struct Piggyback {
    /// This node's word for the next collective, before which the nodes then compare their calls.
    /// All nodes give one for the same collective, which takes it.
    pub(crate) word: Option<u64>,
    /// All nodes' words, by rank.
    pub(crate) words: Vec<u64>,
    /// When this node had them all: from then on none waits for another to begin.
    pub(crate) met: Option<Instant>,
}
