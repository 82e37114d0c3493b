//! CoMet: a communication benchmark whose figures can be believed, and a machine's parameters out
//! of them.
//!
//! The kernels are those of N. Ganapati, "CoMet: A Synthetic Benchmark for Message-Passing
//! Architectures" (Oregon Graduate Institute, 1993), and what users expect today. Each is a model
//! of a spec, which `specc comet` measures on threads, on MPI or on a simulated machine by the
//! harness of all specs; its body is a function of this crate (feature `kernels`), and verifies its
//! data. What the samples tell is [`Results`]: distributions, curves with their breaks, the
//! parameters of LogGP, and whether other programs disturbed the run.
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

#![forbid(unsafe_code)]

pub mod compare;
pub mod curve;
#[cfg(feature = "kernels")]
mod kernels;
pub mod machine_file;
pub mod report;
mod results;
pub mod series;
pub mod suite;

#[cfg(feature = "kernels")]
pub use kernels::*;
pub use results::{KernelResult, LogGp, PerHop, PointResult, Results, ResultsError, VERSION};
