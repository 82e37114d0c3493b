//! The choice between trees and the node's own collectives, by models of this machine.

use super::models::{Broadcasts, Reductions, Scans};
use super::{Flow, Trees};
use crate::node::Node;
use crate::number::{Number, Op};
use crate::select::{Options, SelectError};
use bytemuck::Pod;

/// Streams of collectives, each by the method with the least time predicted by models of this
/// machine: trees, or the node's own collectives.
///
/// ```
/// use strata_runtime::{prelude::*, trees::Streams};
///
/// let sums = Machine::threads(3)?.run(|node| {
///     let streams = Streams::choose(node, 1)?;             // of a word each
///     let mut value = [node.rank() as u64];
///     streams.inclusive_scan(node, Op::Add, &mut value);
///     node.uninstall();
///     Ok(value[0])
/// })?;
/// assert_eq!(sums, [0, 1, 3]);
/// # Ok::<(), Error>(())
/// ```
pub struct Streams {
    broadcasts: Option<Trees>,
    reductions: Option<Trees>,
    scans: Option<Trees>,
}

impl Streams {
    /// Chooses the method for streams of broadcasts, of reductions to node 0 and of scans of
    /// vectors of `words` words of 8 bytes, with the libraries `broadcasts`, `reductions` and
    /// `scans` of `specs/collectives`. The trees are valid until the node's
    /// [`uninstall`](Node::uninstall).
    ///
    /// Models are compiled in for threads, MPI and the simulated CM-5 and Paragon; they
    /// [fit themselves](Node::calibrate) to others, with `STRATA_CALIBRATE` here.
    /// `STRATA_PIN=broadcasts=trees:4` (or `transport`, or on MPI `mpi`) overrides them.
    ///
    /// # Participation
    /// Collective, with equal `words`.
    ///
    /// # Errors
    /// [`SelectError`]: a setting or a file of models is at fault.
    #[track_caller]
    pub fn choose(node: &mut Node, words: usize) -> Result<Self, SelectError> {
        if !node.is_receiving() {
            node.calibrate_streams_as_set();
        }
        let words = words.max(1);
        let options = Options::default();
        let broadcasts = match node.choose::<Broadcasts>(words, &options)?.candidate {
            Broadcasts::Transport | Broadcasts::Mpi => None,
            Broadcasts::Trees { depth } => Some(depth),
        };
        let reductions = match node.choose::<Reductions>(words, &options)?.candidate {
            Reductions::Transport | Reductions::Mpi => None,
            Reductions::Trees { depth } => Some(depth),
        };
        let scans = match node.choose::<Scans>(words, &options)?.candidate {
            Scans::Transport | Scans::Mpi => None,
            Scans::Trees { depth } => Some(depth),
        };
        let mut install = |depth: Option<usize>| Some(Trees::install(node, depth?, Flow::Dataflow));
        Ok(Self::of([install(broadcasts), install(reductions), install(scans)]))
    }

    /// Broadcasts, reductions and scans by these trees; `None` for the node's.
    pub(super) fn of([broadcasts, reductions, scans]: [Option<Trees>; 3]) -> Self {
        Self { broadcasts, reductions, scans }
    }

    /// Replaces `values` on every node by those of node `root`.
    ///
    /// # Participation
    /// Collective, with equal `root` and lengths.
    #[track_caller]
    pub fn broadcast<T: Pod>(&self, node: &mut Node, root: usize, values: &mut [T]) {
        match &self.broadcasts {
            Some(trees) => trees.broadcast(node, root, values),
            None => node.broadcast(root, values),
        }
    }

    /// Combines a vector element by element on node 0; on the other nodes `values` are then
    /// unspecified.
    ///
    /// # Participation
    /// Collective, with equal `op` and lengths. Sums of floating-point numbers may differ in their
    /// last bits between trees and the transport.
    #[track_caller]
    pub fn reduce_to_first<T: Number>(&self, node: &mut Node, op: Op, values: &mut [T]) {
        match &self.reductions {
            Some(trees) => trees.reduce_to_first(node, op, values),
            None => node.reduce(op, values),
        }
    }

    /// Combines the values of all nodes up to and including this one, in place.
    ///
    /// # Participation
    /// As [`reduce_to_first`](Self::reduce_to_first).
    #[track_caller]
    pub fn inclusive_scan<T: Number>(&self, node: &mut Node, op: Op, values: &mut [T]) {
        match &self.scans {
            Some(trees) => trees.inclusive_scan(node, op, values),
            None => node.inclusive_scan(op, values),
        }
    }

    /// True for each of broadcasts, reductions and scans that uses trees.
    #[must_use]
    pub fn by_trees(&self) -> [bool; 3] {
        [self.broadcasts.is_some(), self.reductions.is_some(), self.scans.is_some()]
    }
}
