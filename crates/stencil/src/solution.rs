//! What came out.

use std::fmt;
use std::ops::Range;

use strata_runtime::{Block, Node};

use crate::part::Part;
use crate::solver::Outcome;
use crate::{Choice, Layout, Value};

/// A solution, each node with its own block of points.
#[derive(Clone, Debug)]
pub struct Solution<T> {
    /// Iterations done.
    pub iterations: u64,
    /// The largest update of the last iteration.
    pub residual: f64,
    /// Whether the largest update fell below the threshold; if not, the limit of iterations ended it.
    pub converged: bool,
    /// How the points are divided.
    pub layout: Layout,
    /// Why they are divided so; `None` where the layout was given.
    pub choice: Option<Choice>,
    size: [usize; 2],
    block: [Range<usize>; 2],
    values: Vec<T>,
}

impl<T: Value> Solution<T> {
    pub(crate) fn new(
        size: [usize; 2],
        layout: Layout,
        block: [Range<usize>; 2],
        part: &Part<T>,
        outcome: Outcome,
    ) -> Self {
        let Outcome { iterations, residual, converged } = outcome;
        let values = part.values();
        Self { iterations, residual, converged, layout, choice: None, size, block, values }
    }

    /// Width and height of the grid.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// The columns and rows of this node's points; empty ranges on a node without any.
    #[must_use]
    pub fn block(&self) -> [Range<usize>; 2] {
        self.block.clone()
    }

    /// This node's points, row by row; none in a simulation that skips computing.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All points on node 0, row by row; `None` on the other nodes.
    ///
    /// # Participation
    /// Collective.
    pub fn gather(&self, node: &mut Node) -> Option<Vec<T>> {
        let mut blocks = vec![Block::default(); node.size()];
        blocks[0] = Block::from_slice(&self.values);
        let blocks = node.all_to_all_v(blocks);
        if node.rank() > 0 {
            return None;
        }
        let [width, height] = self.size;
        let mut all = vec![T::default(); if node.is_skeleton() { 0 } else { width * height }];
        for (rank, block) in blocks.iter().enumerate() {
            let [columns, rows] = self.layout.block(self.size, rank);
            for (y, row) in rows.zip(block.chunks_exact(columns.len().max(1))) {
                all[y * width + columns.start..][..columns.len()].copy_from_slice(row);
            }
        }
        Some(all)
    }
}

impl<T> fmt::Display for Solution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [width, height] = self.size;
        let Self { iterations, residual, layout, .. } = self;
        write!(f, "{width} by {height} points, {layout}: ")?;
        if self.converged {
            write!(f, "converged after {iterations} iterations, largest update {residual:.3e}")
        } else {
            write!(f, "not converged: largest update {residual:.3e} after {iterations} iterations")
        }
    }
}
