//! Matrix multiplication in a global address space: matrices lie in blocks on all nodes, and models
//! choose the blocks and the schedule.
//!
//! ```
//! use strata_global::Space;
//! use strata_matmul::{Matrix, Plan};
//! use strata_runtime::prelude::*;
//!
//! let corners = Machine::threads(2)?.run(|node| {
//!     let n = 100;
//!     let plan = Plan::choose(node, n)?;
//!     let bytes = 3 * Matrix::bytes(n, plan.block, node.size());
//!     let mut space = Space::open(node, bytes)?;
//!     let a = Matrix::new(&mut space, n, plan.block)?;
//!     let b = Matrix::new(&mut space, n, plan.block)?;
//!     let c = Matrix::new(&mut space, n, plan.block)?;
//!     a.fill(&mut space, |_, _| 1.0);
//!     b.fill(&mut space, |i, j| (i + j) as f64);
//!     space.barrier();
//!     plan.schedule.multiply(&mut space, [&a, &b, &c])?;
//!     Ok(c.read(&mut space, 0, 3))
//! })?;
//! assert_eq!(corners, [(0..100).map(|i| f64::from(i + 3)).sum::<f64>(); 2]);
//! # Ok::<(), Error>(())
//! ```
//!
//! The product of two blocks is the `gemm` crate's. Blocks of the factors come by split-phase gets
//! while the last ones are multiplied. After the matrix multiplication of Luna, "Implementing an
//! Efficient Portable Global Memory Layer on Distributed Memory Multiprocessors" (UCB/CSD 94/810,
//! 1994), §6.

mod local;
mod matrix;
mod models;
mod schedule;

pub use matrix::Matrix;
pub use schedule::Schedule;

use models::Product;
use strata_runtime::select::{Options, SelectError};
use strata_runtime::{Error, Node};
use thiserror::Error;

/// How matrices lie and are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Rows and columns of a block.
    pub block: usize,
    /// In which order blocks are multiplied.
    pub schedule: Schedule,
}

/// The rows of the smallest block that models know; smaller matrices are one.
const LEAST: usize = 32;

impl Plan {
    /// What models of this machine predict to be the fastest for matrices of `n` rows and columns.
    ///
    /// `STRATA_PIN=product=panels:256` (or `blocks:256`) has precedence, `STRATA_EXPLAIN=1` says
    /// why.
    ///
    /// # Participation
    /// Collective, with equal `n`.
    ///
    /// # Errors
    /// [`SelectError`]: a setting or a file of models is at fault.
    #[track_caller]
    pub fn choose(node: &mut Node, n: usize) -> Result<Self, SelectError> {
        let chosen = node.choose::<Product>(n.max(LEAST), &Options::default())?;
        let (schedule, block) = match chosen.candidate {
            Product::Blocks { block } => (Schedule::Blocks, block),
            Product::Panels { block } => (Schedule::Panels, block),
        };
        Ok(Self { block, schedule })
    }
}

/// Matrices that cannot be made or multiplied; the same on every node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatmulError {
    /// A block of no rows.
    #[error("a block has at least one row")]
    NoRows,
    /// Matrices of different sizes or blocks.
    #[error("matrices of {} rows in blocks of {}, and of {} rows in blocks of {}", .0.0, .0.1, .1.0, .1.1)]
    Differ((usize, usize), (usize, usize)),
}

impl From<MatmulError> for Error {
    #[track_caller]
    fn from(error: MatmulError) -> Self {
        Self::program(error)
    }
}
