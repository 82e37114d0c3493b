//! Descriptions of local work, which a simulated machine charges.

/// A piece of local work, passed to [`Node::compute`](crate::Node::compute).
///
/// On real machines it has no effect. A simulated machine adds its time to the node's clock.
///
/// ```
/// use strata_runtime::{prelude::*, simulation::SimulatedMachine};
///
/// let cm5 = SimulatedMachine::find("cm5")?;
/// let run = Machine::sim(&cm5, 2)?.run(|node| {
///     let counts = node.compute(Work::Kernel("Histogram", &[1000.0, 256.0]), || vec![0u32; 256]);
///     node.compute(33.0, || ());                        // cycles
///     Ok(counts.len())
/// })?;
/// assert_eq!(run.results, [256, 256]);
/// # Ok::<(), Error>(())
/// ```
///
/// The built-in kernels with their inputs; times are of one thread and elements of 8 bytes:
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
/// They were measured with `specs/kernels`; the models are in `models/epyc-2core-threads1/kernels`.
/// A simulated machine multiplies their times by the `kernel_factor` of its file. A name may say
/// whose kernel it is, as in `stencil.Copy`: its model is that of `Copy`, and a machine's file may
/// give it a time of its own.
/// [`Simulation::kernels`](crate::simulation::Simulation::kernels) or `STRATA_ON=sim:…,kernels=FILE` selects
/// another set, of other kernels or another processor.
///
/// A size outside the measured range is not an error: the model is extrapolated. If the prediction
/// is then not above zero, the nearest measured sizes are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'a> {
    /// This many cycles of the node's processor.
    Cycles(f64),
    /// A kernel by its name, with its inputs in the order of its model.
    Kernel(&'a str, &'a [f64]),
}

impl From<f64> for Work<'_> {
    fn from(cycles: f64) -> Self {
        Self::Cycles(cycles)
    }
}

/// The source of the time of local work on a simulated machine, and whether the work is executed.
/// [`Work::Cycles`] always take their stated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Computing {
    /// Kernels take the time predicted by their models, and run.
    #[default]
    Kernels,
    /// Kernels take the time of this host's thread, times the machine's `kernel_factor`, with or
    /// without models.
    ///
    /// **Not deterministic**: times and hash differ from run to run.
    Measured,
    /// Kernels take the time predicted by their models and [`compute`](crate::Node::compute) skips
    /// them; blocks made by [`Node::block`](crate::Node::block) have a size and no memory.
    ///
    /// Times are those of [`Kernels`](Self::Kernels) for programs whose communication does not
    /// depend on their data.
    Skeleton,
}

/// The transport's answer to a charge for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// The work was charged.
    Charged,
    /// Its time must be measured.
    Measure,
}
