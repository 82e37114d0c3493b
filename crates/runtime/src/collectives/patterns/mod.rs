//! Communication patterns of blocks among all nodes, built on ports.
//!
//! | pattern | what moves |
//! |---|---|
//! | [`cyclic_shift`] | every node's block to the node a distance further on |
//! | [`hypercube`] | blocks between neighbours along each dimension, combined |
//! | [`all_to_all`] | a block from each node to each (the transpose of a matrix of blocks) |
//! | [`unknown_targets`] | blocks to nodes that do not know what they will receive |
//!
//! [`Node::choose`] chooses a [`Schedule`] for an all-to-all of blocks of a given size by models of
//! this machine.
//!
//! If the file that `STRATA_MODELS` names has models of sending and of receiving a packet, from
//! `specc calibrate specs/matching`, they pace the patterns: bandwidth matching (§6.1.3), for
//! transfers of more than ten packets. A program that also chooses needs the models of its library
//! in the same file: `specc calibrate specs/sort specs/matching`.
//!
//! All are collective, and a node that waits in one receives messages. They use ports of the
//! run-time's own, which programs cannot access.
//!
//! Source: Brewer (1994), chapter 7. A transpose is a sequence of permutations, separated by
//! barriers so that no node falls behind and becomes the target of several (§7.2); if targets are
//! not known, the packets of several transfers are interleaved (§7.3).

mod hypercube;
mod schedule;
mod shift;
mod transpose;
mod unknown;

pub use crate::transport::Schedule;
pub use hypercube::hypercube;
pub use shift::cyclic_shift;
pub use transpose::all_to_all;
pub use unknown::{Received, unknown_targets};

use crate::block::Block;
use crate::node::Node;
use crate::transport::{Call, USER_PORTS};
use bytemuck::Pod;

/// The port of every pattern except the hypercube, which uses this and the following ones.
const PORT: usize = USER_PORTS;

/// Number of interleaved transfers (§7.3: at least four, eight in its measurements).
const TOGETHER: usize = 8;

/// Opens the pattern's port for `bytes` bytes on every node, and waits until all have opened it:
/// collective. Ends the job unless all nodes call it with the same `value`.
fn begin<T: Pod>(node: &mut Node, call: &Call, memory: Block<T>, bytes: usize, value: u64) {
    node.open_own(PORT, memory, bytes);
    if !node.agree_on(*call, value) {
        node.misuse(call, "the nodes disagree on its arguments");
    }
}
