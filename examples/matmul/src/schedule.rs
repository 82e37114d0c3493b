//! The order in which blocks are fetched and multiplied.

use crate::local::multiply_add;
use crate::{MatmulError, Matrix};
use std::collections::BTreeSet;
use std::mem::swap;
use strata_global::{Phase, Space};

/// In which order a node makes its blocks of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// One after the other: for each, the blocks of a row of the first factor and of a column of
    /// the second. Needs five blocks of memory.
    Blocks,
    /// All at once: for each block column of the first factor and block row of the second, what the
    /// node's blocks need of them. Each block comes once. Needs memory for all of the node's blocks
    /// and four such panels.
    Panels,
}

/// Blocks of one factor that are at hand, each a whole one.
struct Panel {
    /// Which block rows (or columns), ascending.
    of: Vec<usize>,
    blocks: Vec<Vec<f64>>,
}

impl Panel {
    fn new(of: BTreeSet<usize>, length: usize) -> Self {
        let blocks = vec![vec![0.0; length]; of.len()];
        Self { of: of.into_iter().collect(), blocks }
    }

    fn block(&self, index: usize) -> &[f64] {
        self.of.binary_search(&index).map_or(&[], |at| &self.blocks[at])
    }
}

impl Schedule {
    /// C = A B, of `[a, b, c]`. The factors must be complete on all nodes, as after a barrier; so
    /// is the product when this returns.
    ///
    /// # Participation
    /// Collective, with the same matrices.
    ///
    /// # Errors
    /// [`MatmulError::Differ`], on every node.
    #[track_caller]
    pub fn multiply(self, space: &mut Space<'_>, matrices: [&Matrix; 3]) -> Result<(), MatmulError> {
        let [a, b, c] = matrices;
        let shape = |matrix: &Matrix| (matrix.rows(), matrix.block());
        for other in [b, c] {
            if shape(other) != shape(a) {
                return Err(MatmulError::Differ(shape(a), shape(other)));
            }
        }
        match self {
            Self::Blocks => blocks(space, a, b, c),
            Self::Panels => panels(space, a, b, c),
        }
        space.barrier();
        Ok(())
    }
}

/// Cycles of a product on simulated machines: a multiplication and an addition in each.
fn cycles([rows, inner, columns]: [usize; 3]) -> f64 {
    (rows * inner * columns) as f64
}

/// Each block of the product by itself; the next two blocks come meanwhile.
fn blocks(space: &mut Space<'_>, a: &Matrix, b: &Matrix, c: &Matrix) {
    let (across, stride) = (c.across(), c.block());
    let empty = || vec![0.0; stride * stride];
    let (mut here, mut next) = ([empty(), empty()], [empty(), empty()]);
    let mut sum = empty();
    for (i, j) in c.mine(space) {
        sum.fill(0.0);
        // Each node begins elsewhere, so that not all read the same blocks at once.
        let turn = |k: usize| (k + i + j) % across;
        for k in 0..=across {
            let [next_a, next_b] = &mut next;
            space.phase(|phase| {
                if k < across {
                    phase.get_slice(next_a, a.at(i, turn(k)));
                    phase.get_slice(next_b, b.at(turn(k), j));
                }
                if k > 0 {
                    let parts = [c.filled(i), a.filled(turn(k - 1)), c.filled(j)];
                    phase.compute_always(cycles(parts), || {
                        multiply_add(&mut sum, &here[0], &here[1], parts, stride);
                    });
                }
            });
            swap(&mut here, &mut next);
        }
        space.write_slice(c.at(i, j), &sum);
    }
}

/// All blocks of the product together; the next panels come meanwhile.
fn panels(space: &mut Space<'_>, a: &Matrix, b: &Matrix, c: &Matrix) {
    let (across, stride) = (c.across(), c.block());
    let mine = c.mine(space);
    let first = space.rank();
    let pair = || {
        let rows = mine.iter().map(|(i, _)| *i).collect();
        let columns = mine.iter().map(|(_, j)| *j).collect();
        [Panel::new(rows, stride * stride), Panel::new(columns, stride * stride)]
    };
    let (mut here, mut next) = (pair(), pair());
    let mut sums = vec![vec![0.0; stride * stride]; mine.len()];
    for k in 0..=across {
        let turn = |k: usize| (k + first) % across;
        let [rows, columns] = &mut next;
        space.phase(|phase| {
            if k < across {
                get(phase, rows, |i| a.at(i, turn(k)));
                get(phase, columns, |j| b.at(turn(k), j));
            }
            if k > 0 {
                let inner = a.filled(turn(k - 1));
                for ((i, j), sum) in mine.iter().zip(&mut sums) {
                    let parts = [c.filled(*i), inner, c.filled(*j)];
                    phase.compute_always(cycles(parts), || {
                        multiply_add(sum, here[0].block(*i), here[1].block(*j), parts, stride);
                    });
                }
            }
        });
        swap(&mut here, &mut next);
    }
    for ((i, j), sum) in mine.iter().zip(&sums) {
        space.write_slice(c.at(*i, *j), sum);
    }
}

/// Starts to fetch the blocks of a panel.
fn get<'e>(
    phase: &mut Phase<'_, '_, 'e>,
    panel: &'e mut Panel,
    at: impl Fn(usize) -> strata_global::Global<f64>,
) {
    for (index, block) in panel.of.iter().zip(&mut panel.blocks) {
        phase.get_slice(block, at(*index));
    }
}
