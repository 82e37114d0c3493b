//! A tuner for any loop with knobs: it learns while the program runs, and adopts only
//! configurations that are significantly faster than the default.
//!
//! ```
//! use strata_tune::{Knob, Tuner};
//!
//! let mut tuner = Tuner::from_env("sum")?;              // by STRATA_TUNE; unset: the default
//! let block = Knob::new("block", 64, [16, 256, 1024]);       // the default first
//! let data = vec![1u64; 1 << 12];
//! let mut sum = 0;
//! for _ in 0..100 {
//!     let block = *tuner.pick(&block);                       // the value to use here and now
//!     sum += data.chunks(block).map(|part| part.iter().sum::<u64>()).sum::<u64>();
//! }
//! print!("{}", tuner.close()?);                              // keeps what it found; a report
//! assert_eq!(sum, 100 << 12);
//! # Ok::<(), strata_tune::TuneError>(())
//! ```
//!
//! The places where values are chosen are nodes of a flow graph. The graph's loops are divided into
//! disjoint *intervals*. Each execution of an interval is a timed experiment, after which another
//! *configuration* of its knobs is tried. The best configuration must beat the default on fresh
//! timings before it is adopted.
//!
//! After Ø. L. Borg, *Dynamic Selection of MPI Intra-copy Routines Based on Program
//! Characteristics* (NTNU, 2006), which tuned copies inside an MPI library.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod agree;
mod dominators;
mod drawing;
mod error;
mod experiment;
mod gate;
mod graph;
mod idle;
pub mod intervals;
mod knob;
pub mod loops;
pub mod policy;
mod report;
mod settings;
mod site;
mod state;
pub mod stats;
mod tuner;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/tuning.md")]
mod guide {}

pub use agree::{Agree, Alone};
pub use error::TuneError;
pub use experiment::{Gain, Phase, Tried};
pub use knob::Knob;
pub use policy::Search;
pub use report::{IntervalReport, KnobReport, OptionReport, Report, StopReport};
pub use settings::{Mode, Options, VARIABLE};
pub use site::{Sig, Site, SizeClass};
pub use tuner::Tuner;
