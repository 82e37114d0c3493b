//! Two-sided messages on ports: `blocked_send` and `blocked_recv` of CoMet (Ganapati 1993, §3.4).
//!
//! A node has several *boxes*, each with room for one message. The number of the box stands for
//! CoMet's message type. A message may arrive before or after its receiver waits for it. A box
//! holds one message at a time, so operations whose partners may run ahead use boxes in turn.
//! Messages of no bytes are active messages, because a put needs data.

use std::cell::Cell;
use std::rc::Rc;

use strata_runtime::{Block, Node, message::Request};

use super::memory;

/// A node's boxes.
pub(super) struct Mail {
    kernel: &'static str,
    bytes: usize,
    data: Vec<u8>,
    empty: Request<()>,
    /// Numbers of empty messages that have arrived, and that have been taken.
    came: Rc<Cell<u64>>,
    taken: u64,
    boxes: usize,
}

/// Byte `index` of every message of node `from`.
pub(super) fn expected(from: usize, index: usize) -> u8 {
    (index.wrapping_mul(31) ^ (index >> 8).wrapping_mul(7)).wrapping_add(from.wrapping_mul(17) + 1) as u8
}

impl Mail {
    /// Opens `boxes` boxes for messages of `bytes` on every node.
    ///
    /// # Participation
    /// Collective. A node without enough memory ends the job with an error.
    pub(super) fn open(node: &mut Node, kernel: &'static str, boxes: usize, bytes: usize) -> Self {
        memory::ensure(node, kernel, bytes, boxes + 1);
        let came = Rc::new(Cell::new(0));
        let mut handlers = node.handlers();
        let empty = handlers.request({
            let came = Rc::clone(&came);
            move |_, ()| came.set(came.get() + 1)
        });
        node.install(handlers);
        (0..boxes).for_each(|port| node.open_port(port, Block::<u8>::zeroed(bytes)));
        let data = (0..bytes).map(|index| expected(node.rank(), index)).collect();
        node.barrier();
        Self { kernel, bytes, data, empty, came, taken: 0, boxes }
    }

    /// Sends this node's message into a box of node `to`.
    #[inline]
    pub(super) fn send(&self, node: &mut Node, to: usize, number: usize) {
        if self.bytes == 0 {
            node.send(to, self.empty, ());
        } else {
            node.put(to, number, 0, &self.data);
        }
    }

    /// Waits for the next message in a box of this node.
    #[inline]
    pub(super) fn receive(&mut self, node: &mut Node, number: usize) {
        if self.bytes == 0 {
            return self.receive_empty(node);
        }
        node.expect::<u8>(number, self.bytes);
        node.wait_for_port(number);
    }

    /// Takes the message out of a box, and gives the box the memory `spare` for its next message.
    /// No message to this box may be under way.
    pub(super) fn take(&self, node: &mut Node, number: usize, spare: Block<u8>) -> Block<u8> {
        let message = node.close_port(number);
        node.open_port(number, spare);
        message
    }

    /// A message of this node, in a block of its own.
    pub(super) fn message(&self) -> Block<u8> {
        Block::from(&self.data[..])
    }

    /// Memory for one message.
    pub(super) fn room(&self) -> Block<u8> {
        Block::zeroed(self.bytes)
    }

    /// Waits for `count` messages in one box, from any nodes.
    pub(super) fn receive_many(&mut self, node: &mut Node, number: usize, count: usize) {
        if self.bytes == 0 {
            self.taken += count as u64;
            let (came, taken) = (Rc::clone(&self.came), self.taken);
            return node.wait_until(|| came.get() >= taken);
        }
        node.expect::<u8>(number, self.bytes * count);
        node.wait_for_port(number);
    }

    /// Sends a message without bytes, as an acknowledgement.
    #[inline]
    pub(super) fn send_empty(&self, node: &mut Node, to: usize) {
        node.send(to, self.empty, ());
    }

    /// Waits for one message without bytes.
    #[inline]
    pub(super) fn receive_empty(&mut self, node: &mut Node) {
        self.taken += 1;
        let (came, taken) = (&self.came, self.taken);
        node.wait_until(|| came.get() >= taken);
    }

    /// Closes all boxes, and checks for each pair in `held` that the box with this number holds the
    /// message of this node.
    ///
    /// # Participation
    /// Collective. Wrong data end the job; the message names the kernel, the sender and the
    /// position.
    pub(super) fn close(self, node: &mut Node, held: &[(usize, usize)]) {
        node.barrier();
        let memory: Vec<Block<u8>> = (0..self.boxes).map(|port| node.close_port(port)).collect();
        node.uninstall();
        let mut spoilt = super::trial::spoils(node, self.kernel);
        for &(number, from) in held {
            let mut bytes = memory[number].to_vec();
            if std::mem::take(&mut spoilt)
                && let Some(last) = bytes.last_mut()
            {
                *last ^= 1;
            }
            let wrong = bytes.iter().enumerate().find(|(index, byte)| **byte != expected(from, *index));
            if let Some((index, byte)) = wrong {
                let right = expected(from, index);
                wrong_data(
                    node,
                    self.kernel,
                    &format!("byte {index} of {} from node {from} is {byte}, not {right}", self.bytes),
                );
            }
        }
    }
}

/// Ends the job because a kernel's data are wrong.
pub(super) fn wrong_data(node: &mut Node, kernel: &str, what: &str) -> ! {
    let rank = node.rank();
    node.fail(format!(
        "{kernel}: wrong data on node {rank}: {what}; times of a transport that loses data tell nothing"
    ))
}
