//! What local work is, for a simulated machine to charge for.

/// A piece of local work, said to [`Node::compute`](crate::Node::compute).
///
/// On real machines it says nothing: what runs takes the time it takes. A simulated machine adds
/// the time it stands for to the node's clock.
///
/// The kernels that are built in, with their inputs; times are of one thread and of elements of 8
/// bytes:
///
/// | kernel | what it does |
/// |---|---|
/// | `Histogram(keys, bins)` | counts how often each of `bins` numerals occurs |
/// | `Scatter(keys, bins)` | copies keys into `bins` runs by a digit |
/// | `LocalSort(keys, width)` | sorts random keys of `width` bits |
/// | `BinarySearch(keys, splitters)` | finds for each key how many splitters are at or below it |
/// | `StencilSweep(width, height)` | relaxes one colour of a red-black grid |
/// | `Copy(bytes)`, `Clear(bytes)` | copies memory, sets it to zero |
/// | `Pack(count, stride)` | gathers every `stride`-th word |
///
/// `specs/kernels` is what they were measured with, `models/epyc-2core-threads1/kernels` what came
/// of it; a simulated machine takes that times the `kernel_factor` of its file. Another set, of
/// other kernels or another processor, is given by
/// [`Simulation::kernels`](crate::Simulation::kernels) or `STRATA_KERNELS=FILE`.
///
/// A size that was not measured is no error: the model is extrapolated; where it gives no more than
/// zero, the nearest sizes that were measured are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'a> {
    /// So many cycles of the node's processor.
    Cycles(f64),
    /// A kernel by its name, with its inputs in the order of its model.
    Kernel(&'a str, &'a [f64]),
}

impl From<f64> for Work<'_> {
    /// Cycles.
    fn from(cycles: f64) -> Self {
        Self::Cycles(cycles)
    }
}

/// Where a simulated machine takes the time of local work from, and whether that work is done.
/// [`Work::Cycles`] always count as they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Computing {
    /// Kernels cost what their models say, and run.
    #[default]
    Kernels,
    /// Kernels cost what this host's thread takes for them, times the machine's `kernel_factor`,
    /// whether there are models of them or not.
    ///
    /// **Not deterministic**: no two runs have the same times, so none have the same hash.
    Measured,
    /// Kernels cost what their models say and [`compute`](crate::Node::compute) leaves them out;
    /// blocks made by [`Node::block`](crate::Node::block) have a size and no memory.
    ///
    /// Times are those of [`Kernels`](Self::Kernels) for programs that communicate the same
    /// whatever their data are.
    Skeleton,
}

/// What a transport did about work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// It is charged for.
    Charged,
    /// It is to be measured.
    Measure,
}
