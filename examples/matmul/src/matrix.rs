//! Matrices in blocks, dealt out to all nodes.

use crate::MatmulError;
use strata_global::{Array, Global, Space};
use strata_runtime::Error;

/// A square matrix of `f64` in square blocks, which are dealt out to the nodes one by one, row by
/// row. Blocks at the lower and right edges may be filled in part.
pub struct Matrix {
    values: Array<f64>,
    n: usize,
    block: usize,
}

impl Matrix {
    /// Allocates a matrix of `n` rows and columns in blocks of `block`, all zeros.
    ///
    /// # Participation
    /// Collective, with equal arguments; otherwise the job ends.
    ///
    /// # Errors
    /// [`MatmulError::NoRows`] where `block` is 0; those of [`Space::alloc_blocks`]: see
    /// [`bytes`](Self::bytes).
    #[track_caller]
    pub fn new(space: &mut Space<'_>, n: usize, block: usize) -> Result<Self, Error> {
        if block == 0 {
            return Err(MatmulError::NoRows.into());
        }
        let across = n.div_ceil(block);
        let values = space.alloc_blocks(across.saturating_mul(across), block.saturating_mul(block))?;
        Ok(Self { values, n, block })
    }

    /// The bytes that a matrix takes of each node's heap.
    pub fn bytes(n: usize, block: usize, nodes: usize) -> usize {
        let across = n.div_ceil(block.max(1));
        let blocks = across.saturating_mul(across).div_ceil(nodes.max(1));
        let elements = blocks.saturating_mul(block).saturating_mul(block);
        elements.saturating_mul(size_of::<f64>()).saturating_add(64)
    }

    /// Rows and columns.
    pub fn rows(&self) -> usize {
        self.n
    }

    /// Rows and columns of a block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Blocks in a row.
    pub(crate) fn across(&self) -> usize {
        self.n.div_ceil(self.block)
    }

    /// The rows that a block row (or block column) has.
    pub(crate) fn filled(&self, i: usize) -> usize {
        self.block.min(self.n - i * self.block)
    }

    /// The first element of the block in block row `i` and block column `j`.
    pub(crate) fn at(&self, i: usize, j: usize) -> Global<f64> {
        self.values.at((i * self.across() + j) * self.block * self.block)
    }

    /// The blocks of this node, by block row and block column.
    pub(crate) fn mine(&self, space: &Space<'_>) -> Vec<(usize, usize)> {
        let across = self.across();
        let mine = (space.rank()..across * across).step_by(space.size());
        mine.map(|index| (index / across, index % across)).collect()
    }

    /// Sets this node's elements to `value` of row and column.
    ///
    /// # Participation
    /// Local; a barrier on all nodes makes the whole matrix complete.
    #[track_caller]
    pub fn fill(&self, space: &mut Space<'_>, value: impl Fn(usize, usize) -> f64) {
        let block = self.block;
        let mut values = vec![0.0; block * block];
        for (i, j) in self.mine(space) {
            for row in 0..self.filled(i) {
                for column in 0..self.filled(j) {
                    values[row * block + column] = value(i * block + row, j * block + column);
                }
            }
            space.write_slice(self.at(i, j), &values);
        }
    }

    /// The element in `row` and `column`.
    ///
    /// # Participation
    /// Local. The element must exist; otherwise the job ends.
    #[track_caller]
    pub fn read(&self, space: &mut Space<'_>, row: usize, column: usize) -> f64 {
        if row >= self.n || column >= self.n {
            space.fail(format_args!("element ({row}, {column}) of a matrix of {0} rows and columns", self.n));
        }
        let block = self.block;
        let inside = (row % block * block + column % block).cast_signed() as i64;
        space.read(self.at(row / block, column / block) + inside)
    }
}
