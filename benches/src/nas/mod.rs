//! Two of the NAS parallel benchmarks on nodes: CG and MG (Bailey et al., "The NAS Parallel
//! Benchmarks", RNR-94-007, 1994), written from their definition.
//!
//! They are programs like any other: nothing in them knows of a tuner. CG has its matrix in strips
//! of rows and gathers the whole vector at each step, a long collective; the original's grid of
//! nodes is another one. MG has its grids in slices of planes, and puts the planes at their ends
//! into its neighbours' ports.

mod cg;
mod mg;
mod random;

use std::time::Duration;

use strata_runtime::{Error, Node};

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kernel {
    /// The largest eigenvalue of a sparse matrix by inverse iteration, with conjugate gradients.
    Cg,
    /// Poisson's equation on a cube that is periodic, by V-cycles.
    Mg,
}

/// The size of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Class {
    /// A sample, for tests.
    S,
    /// A workstation.
    W,
    /// Of the smallest official size.
    A,
}

/// What a run of a kernel has ended with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The time of the part that the definition times: the slowest node's.
    pub time: Duration,
    /// The value that the definition checks, and the one that it must be.
    pub value: f64,
    /// The published value.
    pub published: f64,
    /// The relative error that the definition allows.
    pub allowed: f64,
}

impl Outcome {
    /// Whether the value is the published one.
    pub fn is_verified(&self) -> bool {
        ((self.value - self.published) / self.published).abs() <= self.allowed
    }
}

impl Kernel {
    /// Runs it.
    ///
    /// # Participation
    /// Collective. MG takes as many nodes as divide the edge of its grid.
    ///
    /// # Errors
    /// There are too many nodes for the problem.
    pub fn run(self, node: &mut Node, class: Class) -> Result<Outcome, Error> {
        match self {
            Self::Cg => cg::run(node, class),
            Self::Mg => mg::run(node, class),
        }
    }
}

/// The time that `part` takes: the slowest node's, from a common beginning.
fn timed<T>(node: &mut Node, part: impl FnOnce(&mut Node) -> T) -> (T, Duration) {
    node.barrier();
    let start = node.now().get();
    let result = part(node);
    let time = node.reduce_max(node.now().get() - start);
    (result, Duration::from_secs_f64(time))
}
