//! Collectives by static data-flow: trees of active messages in which a node fires when its inputs
//! have arrived and its outputs have room.
//!
//! Without a control network that combines values, a stream of collectives need not wait for all
//! nodes in each collective: values follow each other through the tree as in a pipeline. The slots
//! of an edge hold as many values as the *depth* of the trees, and their sender has a *credit* for
//! each free slot.
//!
//! ```
//! use strata_runtime::prelude::*;
//! use strata_runtime::trees::{Flow, Trees};
//!
//! let last = Machine::threads(3)?.run(|node| {
//!     let trees = Trees::install(node, 4, Flow::Dataflow);
//!     let mut value = [0u64];
//!     for i in 0..100 {
//!         value = [i];
//!         trees.broadcast(node, 0, &mut value);        // node 0 is at most 4 ahead of node 2
//!     }
//!     node.uninstall();
//!     Ok(value[0])
//! })?;
//! assert_eq!(last, [99; 3]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | operation | a node waits for | credits |
//! |---|---|---|
//! | [`broadcast`](Trees::broadcast) | its parent's value | its children's |
//! | [`reduce_to_first`](Trees::reduce_to_first) | its children's values | its parent's |
//! | [`reduce`](Trees::reduce), [`inclusive_scan`](Trees::inclusive_scan) | both ways | none: what comes back frees the slot |
//!
//! [`Streams`] chooses between trees and the [`Node`]'s own collectives, by models of this machine:
//! the libraries [`Broadcasts`], [`Reductions`] and [`Scans`]. By the same models a node of an MPI
//! job takes the collectives of the MPI library where they are faster than the run-time's. They fit
//! themselves to the machine: `node.calibrate::<Reductions>(budget)`, or `STRATA_CALIBRATE=1s`.
//!
//! After Luna, "Implementing an Efficient Portable Global Memory Layer on Distributed Memory
//! Multiprocessors" (UCB/CSD 94/810, 1994), §4.3.

mod forwarding;
mod models;
mod shape;
mod slots;
mod streams;
#[cfg(test)]
mod tests;
mod timed;

pub use models::{Broadcasts, Reductions, Scans};
pub use streams::Streams;

use crate::message::Request;
use crate::node::Node;
use crate::number::{Arithmetic, Number, NumberType, Op};
use crate::transport::{Action, Call};
use bytemuck::{Pod, cast_slice_mut};
use forwarding::{Chunk, LANE, LENGTH};
use shape::Place;
use slots::{CHUNK, Edges, Lane, WORDS, Words};
use std::panic::Location;
use std::rc::Rc;

/// The mechanism that keeps a value from overwriting one that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Credits: static data-flow.
    Dataflow,
    /// A barrier before each operation: faster only if the machine has a fast barrier.
    Barriers,
}

/// Installed trees of all nodes. The value is needed to call them, because several may be
/// installed.
pub struct Trees {
    edges: Rc<Edges>,
    flow: Flow,
    short: Request<[u64; 2]>,
    long: Request<Words>,
    freed: Request<u64>,
}

impl Trees {
    /// Installs trees whose edges have `depth` slots for values of up to 56 bytes; 0 counts as 1.
    /// They are valid until the node's [`uninstall`](Node::uninstall).
    ///
    /// # Participation
    /// Collective, with equal arguments.
    #[track_caller]
    pub fn install(node: &mut Node, depth: usize, flow: Flow) -> Self {
        let edges = Rc::new(Edges::new(depth.max(1)));
        let mut handlers = node.handlers();
        let come = {
            let edges = Rc::clone(&edges);
            move |from, words: Words| match Lane::of(words[0] >> LANE & 0xff) {
                Some(lane) => edges.come(lane, from, words),
                None => unreachable!("only trees send to their handlers"),
            }
        };
        let short = handlers.request({
            let come = come.clone();
            move |context, [first, value]: [u64; 2]| {
                let mut words = [0; WORDS];
                (words[0], words[1]) = (first, value);
                come(context.from(), words);
            }
        });
        let long = handlers.request(move |context, words: Words| come(context.from(), words));
        let freed = handlers.request({
            let edges = Rc::clone(&edges);
            move |context, word: u64| {
                if let Some(lane) = Lane::of(word >> LANE & 0xff) {
                    edges.earn(lane, context.from(), (word >> LENGTH) as usize);
                }
            }
        });
        node.install(handlers);
        Self { edges, flow, short, long, freed }
    }

    /// Replaces `values` on every node by those of node `root`, which continues as soon as its
    /// children have room.
    ///
    /// # Participation
    /// Collective, with equal `root` and lengths; otherwise the job ends or waits forever.
    #[track_caller]
    pub fn broadcast<T: Pod>(&self, node: &mut Node, root: usize, values: &mut [T]) {
        let place = Location::caller();
        let call = Call::moving(Action::Broadcast, size_of::<T>(), root, values.len(), place);
        node.check_root(&call, root);
        let tree = Place::rooted(root, node.rank(), node.size());
        self.in_parts(node, cast_slice_mut(values), |node, values| {
            for chunk in values.chunks_mut(CHUNK) {
                if let Some(parent) = tree.parent {
                    let value = self.value(node, &call, Lane::Broadcast, parent, chunk.len());
                    chunk.copy_from_slice(value.bytes());
                }
                for child in tree.each_child() {
                    self.send(node, &call, Lane::Broadcast, child, chunk);
                }
            }
        });
    }

    /// Combines a vector element by element on node 0; on the others `values` are unchanged. A node
    /// continues as soon as its parent has room.
    ///
    /// # Participation
    /// Collective, with equal `op` and lengths; otherwise the job ends or waits forever. Values are
    /// combined in rank order, in groups given by the tree: sums of floating-point numbers may
    /// differ in their last bits from those of [`Node::reduce`], but not between runs.
    #[track_caller]
    pub fn reduce_to_first<T: Number>(&self, node: &mut Node, op: Op, values: &mut [T]) {
        let (kind, call) = combining(node, Action::Reduce, op, values, Location::caller());
        let tree = Place::of(node.rank(), node.size());
        self.in_parts(node, cast_slice_mut(values), |node, values| {
            for chunk in values.chunks_mut(CHUNK) {
                let mut sum = Chunk::of(chunk);
                for child in tree.each_child() {
                    let other = self.value(node, &call, Lane::ToRoot, child, chunk.len());
                    sum.add(node, (kind, op), &other);
                }
                match tree.parent {
                    Some(parent) => self.send(node, &call, Lane::ToRoot, parent, sum.bytes()),
                    None => chunk.copy_from_slice(sum.bytes()),
                }
            }
        });
    }

    /// Combines a vector element by element over all nodes, in place on each.
    ///
    /// # Participation
    /// As [`reduce_to_first`](Self::reduce_to_first).
    #[track_caller]
    pub fn reduce<T: Number>(&self, node: &mut Node, op: Op, values: &mut [T]) {
        let (kind, call) = combining(node, Action::Reduce, op, values, Location::caller());
        self.up_and_down(node, &call, (kind, op), cast_slice_mut(values), false);
    }

    /// Combines the values of all nodes up to and including this one, in place.
    ///
    /// # Participation
    /// As [`reduce_to_first`](Self::reduce_to_first).
    #[track_caller]
    pub fn inclusive_scan<T: Number>(&self, node: &mut Node, op: Op, values: &mut [T]) {
        let (kind, call) = combining(node, Action::Scan, op, values, Location::caller());
        self.up_and_down(node, &call, (kind, op), cast_slice_mut(values), true);
    }
}

fn combining<T: Number>(
    node: &mut Node,
    action: Action,
    op: Op,
    values: &[T],
    place: &'static Location<'static>,
) -> (NumberType, Call) {
    let kind = <T as Arithmetic>::KIND;
    let call = Call::combine(action, kind, op, values.len(), place);
    node.check_op(&call, kind, op);
    node.charge_combine_call();
    (kind, call)
}
