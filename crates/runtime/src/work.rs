//! What local work is, for a simulated machine to charge for.

/// A piece of local work.
///
/// On real machines it says nothing: what runs takes the time it takes. A simulated machine adds the time it stands for to the node's
/// clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'a> {
    /// So many cycles of the node's processor.
    Cycles(f64),
    /// A kernel by its name, of the size that its inputs say: what it costs was measured, see `specs/kernels`.
    Kernel(&'a str, &'a [f64]),
}

impl From<f64> for Work<'_> {
    /// Cycles.
    fn from(cycles: f64) -> Self {
        Self::Cycles(cycles)
    }
}
