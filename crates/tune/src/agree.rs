//! Agreement of the nodes of a team.

/// Agreement of a team's nodes: all choose by the same numbers, at the same step.
///
/// `strata-runtime` implements it for its nodes; a program with its own communication layer needs
/// one reduction.
pub trait Agree {
    /// Replaces each value by its maximum over all nodes. Every node calls it with the same number
    /// of values.
    fn max(&mut self, values: &mut [f64]);
}

/// The team of a program with one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Agree for Alone {
    fn max(&mut self, _: &mut [f64]) {}
}
