//! The transfer of values along edges.

use super::shape::Place;
use super::slots::{CHUNK, Lane, WORDS};
use super::{Flow, Trees};
use crate::node::Node;
use crate::number::{NumberType, Op, fold};
use crate::transport::Call;
use bytemuck::{cast_slice, cast_slice_mut};

/// Positions of the lane and of the length in the first word of a message. The word has the call's
/// action, operation and number type in its low bits, above them the lane, and above that the
/// length in bytes; in a message that frees slots, their number takes the place of the length.
pub(super) const LANE: u32 = 32;
pub(super) const LENGTH: u32 = 40;

/// A value of up to 56 bytes in transit.
#[derive(Clone, Copy, Default)]
pub(super) struct Chunk {
    words: [u64; WORDS - 1],
    length: usize,
}

impl Chunk {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut chunk = Self { length: bytes.len(), ..Self::default() };
        chunk.bytes_mut().copy_from_slice(bytes);
        chunk
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &cast_slice(&self.words)[..self.length]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.words)[..self.length]
    }

    /// Combines it with the values of later nodes.
    pub(super) fn add(&mut self, node: &mut Node, (kind, op): (NumberType, Op), other: &Self) {
        node.charge_combining(self.length);
        fold(kind, op, self.bytes_mut(), other.bytes());
    }
}

impl Trees {
    /// Runs `operation` on `values`, in parts that fit into the slots if barriers separate them.
    pub(super) fn in_parts(
        &self,
        node: &mut Node,
        values: &mut [u8],
        mut operation: impl FnMut(&mut Node, &mut [u8]),
    ) {
        match self.flow {
            Flow::Dataflow => operation(node, values),
            Flow::Barriers => {
                for part in values.chunks_mut(self.edges.depth() * CHUNK) {
                    node.barrier();
                    operation(node, part);
                }
            }
        }
    }

    /// Sends a value over an edge, when the edge has room.
    #[track_caller]
    pub(super) fn send(&self, node: &mut Node, call: &Call, lane: Lane, to: usize, bytes: &[u8]) {
        if !node.may_go_on() {
            return;
        }
        if self.has_credits(lane) {
            node.wait_until(|| self.edges.has_credit(lane, to));
            self.edges.spend(lane, to);
        }
        let first = first(call, lane, bytes.len());
        let mut words = [0; WORDS];
        words[0] = first;
        cast_slice_mut(&mut words[1..])[..bytes.len()].copy_from_slice(bytes);
        if bytes.len() <= 8 {
            node.send(to, self.short, [first, words[1]]);
        } else {
            node.send(to, self.long, words);
        }
    }

    /// Waits for the next value of an edge, of `length` bytes, and frees its slot.
    #[track_caller]
    pub(super) fn value(
        &self,
        node: &mut Node,
        call: &Call,
        lane: Lane,
        from: usize,
        length: usize,
    ) -> Chunk {
        let mut chunk = Chunk { length, ..Chunk::default() };
        node.wait_until(|| self.edges.has(lane, from));
        // Missing only while this node unwinds.
        let Some(words) = self.edges.take(lane, from) else { return chunk };
        if words[0] != first(call, lane, length) {
            node.misuse(call, &format!("node {from} makes another call through trees"));
        }
        chunk.words.copy_from_slice(&words[1..]);
        if self.has_credits(lane)
            && let Some(count) = self.edges.free(lane, from)
        {
            node.send(from, self.freed, (lane as u64) << LANE | (count as u64) << LENGTH);
        }
        chunk
    }

    fn has_credits(&self, lane: Lane) -> bool {
        self.flow == Flow::Dataflow && matches!(lane, Lane::Broadcast | Lane::ToRoot)
    }

    /// Sums move up the tree. The total (in a `scan`, the sum of all nodes before) moves down. The
    /// number of chunks that a node sends up before one returns is the number of slots of an edge.
    /// So all slots are free at the end, and the next operation needs no credits.
    #[track_caller]
    pub(super) fn up_and_down(
        &self,
        node: &mut Node,
        call: &Call,
        of: (NumberType, Op),
        values: &mut [u8],
        scan: bool,
    ) {
        let tree = Place::of(node.rank(), node.size());
        let mut pass = Pass { trees: self, call, of, tree, scan, firsts: Vec::new() };
        pass.firsts.resize(self.edges.depth(), Chunk::default());
        self.in_parts(node, values, |node, values| pass.run(node, values));
    }
}

fn first(call: &Call, lane: Lane, length: usize) -> u64 {
    u64::from(call.what.to_le()) | (lane as u64) << LANE | (length as u64) << LENGTH
}

/// One reduction or scan of a node.
struct Pass<'a> {
    trees: &'a Trees,
    call: &'a Call,
    of: (NumberType, Op),
    tree: Place,
    scan: bool,
    /// The first child's sums, for the second child's nodes in a scan, by chunk modulo their
    /// number.
    firsts: Vec<Chunk>,
}

impl Pass<'_> {
    fn run(&mut self, node: &mut Node, values: &mut [u8]) {
        let chunks = values.len().div_ceil(CHUNK);
        let (mut up, mut down) = (0, 0);
        let next = |at: &mut usize| {
            *at += 1;
            (*at - 1) * CHUNK
        };
        while down < chunks {
            if up < chunks && up - down < self.firsts.len() {
                let start = next(&mut up);
                let sum = self.go_up(node, chunk_at(values, start), up - 1);
                if self.tree.parent.is_none() {
                    next(&mut down);
                    self.come_down(node, chunk_at(values, start), up - 1, (!self.scan).then_some(sum));
                }
            } else if let Some(parent) = self.tree.parent {
                let start = next(&mut down);
                let chunk = chunk_at(values, start);
                let value = self.trees.value(node, self.call, Lane::Down, parent, chunk.len());
                self.come_down(node, chunk, down - 1, Some(value));
            }
        }
    }

    /// Combines the children's sums with this node's own values, and sends the result up.
    fn go_up(&mut self, node: &mut Node, own: &[u8], index: usize) -> Chunk {
        let mut sum = Chunk::of(own);
        for (i, child) in self.tree.each_child().enumerate() {
            let value = self.trees.value(node, self.call, Lane::Up, child, own.len());
            if i == 0 {
                let at = index % self.firsts.len();
                self.firsts[at] = value;
            }
            sum.add(node, self.of, &value);
        }
        if let Some(parent) = self.tree.parent {
            self.trees.send(node, self.call, Lane::Up, parent, sum.bytes());
        }
        sum
    }

    /// Takes the result (in a scan, from the value of the nodes before) and sends the children
    /// theirs.
    fn come_down(&mut self, node: &mut Node, own: &mut [u8], index: usize, above: Option<Chunk>) {
        let mut value = match above {
            Some(mut before) if self.scan => {
                before.add(node, self.of, &Chunk::of(own));
                before
            }
            Some(all) => all,
            None => Chunk::of(own),
        };
        own.copy_from_slice(value.bytes());
        for (i, child) in self.tree.each_child().enumerate() {
            if i == 1 && self.scan {
                let first = self.firsts[index % self.firsts.len()];
                value.add(node, self.of, &first);
            }
            self.trees.send(node, self.call, Lane::Down, child, value.bytes());
        }
    }
}

fn chunk_at(values: &mut [u8], start: usize) -> &mut [u8] {
    let end = values.len().min(start + CHUNK);
    &mut values[start..end]
}
