//! Long messages between nodes that share no memory: announced, then put in one piece into a port
//! that the receiver opens (Brewer's ports; "rendezvous" in MPI libraries).
//!
//! A message that is longer than what may be under way makes its sender wait for the receiver in
//! any case, so the announcement and its answer cost nothing but their time.

use super::mail::Mail;
use super::ring::NEAR;
use std::sync::Arc;
use strata_runtime::{Block, Node};

/// The first of these ports, out of those for programs.
const FIRST: usize = 3990;

/// Ports of DMA transfers; one more is for the message that the cell itself receives.
const MANY: usize = 32;

/// True if a message of so many bytes is announced.
pub(super) fn is_long(bytes: usize, depth: usize) -> bool {
    bytes > depth.max(NEAR)
}

/// The ports of a node for long messages.
pub(super) struct Ports {
    free: Vec<usize>,
}

impl Default for Ports {
    fn default() -> Self {
        Self { free: (FIRST..=FIRST + MANY).collect() }
    }
}

impl Ports {
    /// True if a DMA transfer may open a port.
    pub(super) fn has_free(&self) -> bool {
        self.free.len() > 1
    }

    /// Opens a port for a message of so many bytes; `None` if there is none, which cannot be as
    /// long as transfers leave one.
    #[track_caller]
    pub(super) fn open(&mut self, node: &mut Node, mail: &Arc<Mail>, bytes: usize) -> Option<usize> {
        let port = self.free.pop()?;
        let memory = node.block::<u8>(bytes);
        node.open_port(port, memory);
        let mail = Arc::clone(mail);
        node.on_complete(port, move |_| {
            mail.put(|inbox| _ = inbox.whole.insert(port));
        });
        node.expect::<u8>(port, bytes);
        Some(port)
    }

    /// The message that has come into a port, if it has come whole.
    #[track_caller]
    pub(super) fn take(&mut self, node: &mut Node, mail: &Mail, port: usize) -> Option<Block<u8>> {
        if !mail.open().whole.remove(&port) {
            return None;
        }
        self.free.push(port);
        Some(node.close_port(port))
    }
}
