//! Active messages: small typed arguments for a function that runs on another node.
//!
//! A *request* goes from a program to any node, itself included; its handler runs when that node
//! polls or waits, and may *reply*. A reply's handler cannot send at all. So a node that waits for
//! room can always receive replies, and no program deadlocks because of a full buffer (von Eicken
//! et al., *Active Messages*, 1992; Brewer, manual, §6). Handlers never interrupt a program: they
//! run inside the calls that poll, to completion, one at a time.

mod handlers;
mod inbox;

pub use handlers::{Handlers, Replied, Reply, Request, Requested, WithBytes};
pub(crate) use handlers::{InOnePacket, OWN, QUIET, packets, packets_with};
pub(crate) use inbox::Inbox;

/// The most bytes of one message's arguments. Longer data should go through a port
/// ([`Node::put`](crate::Node::put)).
pub const LARGEST_MESSAGE: usize = 64 << 10;
