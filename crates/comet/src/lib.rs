//! CoMet: a communication benchmark with reliable figures, from which a machine's parameters are
//! derived.
//!
//! The kernels are those of N. Ganapati, "CoMet: A Synthetic Benchmark for Message-Passing
//! Architectures" (Oregon Graduate Institute, 1993), and others that users expect today. Each is a
//! model of a spec. `comet` measures it on threads, on MPI or on a simulated machine with the
//! harness of all specs. Its body is a function of this crate (feature `kernels`), which verifies
//! its data. [`Results`] holds the evaluation of the samples: distributions, curves with their
//! breaks, the parameters of LogGP, and whether other programs disturbed the run.
//!
//! ```no_run
//! use strata_comet::Results;
//!
//! let results = Results::read("comet-here".as_ref())?;
//! if let Some(loggp) = results.loggp {
//!     println!("a message costs its sender {:.0} ns", 1e9 * loggp.o_s.value);
//! }
//! # Ok::<(), strata_comet::ResultsError>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod curve;
pub mod formats;
#[cfg(feature = "kernels")]
mod kernels;
pub mod machine_file;
mod mesh;
pub mod over_nodes;
pub mod report;
mod results;
pub mod series;
pub mod suite;

#[cfg(feature = "kernels")]
pub use kernels::*;
pub use mesh::{Mesh, Place};
pub use results::{
    Fixed, Gain, KernelResult, LogGp, Overlap, PerHop, PointResult, Results, ResultsError, Setup, VERSION,
};
