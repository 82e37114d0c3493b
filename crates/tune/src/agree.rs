//! Agreement of the nodes of a team.

/// How the nodes of a team agree: all of them choose by the same numbers, at the same step.
///
/// `strata-runtime` implements it for its nodes; a program with a communication of its own needs
/// one reduction.
pub trait Agree {
    /// Replaces each value by its maximum over all nodes. Every node calls it with as many values.
    fn max(&mut self, values: &mut [f64]);
}

/// A program of one process: it agrees with itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Agree for Alone {
    fn max(&mut self, _: &mut [f64]) {}
}
