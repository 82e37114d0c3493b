//! The result of a solver.

use std::fmt;
use std::ops::Range;

use strata_runtime::{Block, Node};

use crate::solver::Outcome;
use crate::{
    Choice, Value,
    layout::{ExchangeChoice, Layout},
};

/// A solution; each node has its own block of points.
#[derive(Clone, Debug)]
pub struct Solution<T> {
    /// Number of iterations done.
    pub iterations: u64,
    /// The largest update of the last iteration.
    pub residual: f64,
    /// True if the largest update fell below the threshold; false if the limit of iterations was
    /// reached.
    pub converged: bool,
    /// The layout used.
    pub layout: Layout,
    /// The reasons for the layout; `None` if it was given.
    pub choice: Option<Choice>,
    /// The reasons for the variant of the halo exchange; `None` without models of this machine.
    pub exchange: Option<ExchangeChoice>,
    size: [usize; 3],
    /// Columns and rows of the cells that are divided among nodes.
    cells: [usize; 2],
    block: [Range<usize>; 2],
    values: Vec<T>,
}

impl<T: Value> Solution<T> {
    pub(crate) fn new(
        size: [usize; 3],
        cells: [usize; 2],
        layout: Layout,
        block: [Range<usize>; 2],
        values: Vec<T>,
        outcome: Outcome,
    ) -> Self {
        let Outcome { iterations, residual, converged } = outcome;
        Self {
            iterations,
            residual,
            converged,
            layout,
            choice: None,
            exchange: None,
            size,
            cells,
            block,
            values,
        }
    }

    /// Width and height of the grid.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        [self.size[0], self.size[1]]
    }

    /// Planes of the volume; 1 of a grid.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.size[2]
    }

    /// The columns and rows of this node's points, for a volume the rows and planes; empty ranges
    /// on a node without points.
    #[must_use]
    pub fn block(&self) -> [Range<usize>; 2] {
        self.block.clone()
    }

    /// This node's points, row by row, for a volume plane by plane; empty in a simulation that
    /// skips computing.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All points on node 0, row by row, for a volume plane by plane; `None` on the other nodes.
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
        let points: usize = self.size.iter().product();
        // Number of points of a cell: one, or a line.
        let line = points / (self.cells[0] * self.cells[1]).max(1);
        let mut all = vec![T::default(); if node.is_skeleton() { 0 } else { points }];
        for (rank, block) in blocks.iter().enumerate() {
            let [columns, rows] = self.layout.block(self.cells, rank);
            for (y, row) in rows.zip(block.chunks_exact((columns.len() * line).max(1))) {
                all[(y * self.cells[0] + columns.start) * line..][..row.len()].copy_from_slice(row);
            }
        }
        Some(all)
    }
}

impl<T> fmt::Display for Solution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [width, height, depth] = self.size;
        let Self { iterations, residual, layout, .. } = self;
        match self.cells == [width, height] {
            true => write!(f, "{width} by {height} points, {layout}: ")?,
            false => write!(f, "{width} by {height} by {depth} points, {layout}: ")?,
        }
        if self.converged {
            write!(f, "converged after {iterations} iterations, largest update {residual:.3e}")
        } else {
            write!(f, "not converged: largest update {residual:.3e} after {iterations} iterations")
        }
    }
}
