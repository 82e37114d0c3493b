//! Selection: chooses the fastest of several implementations of an operation by models of their
//! time.
//!
//! For each library of a spec, `specc emit` writes an enum with a variant for each candidate and a
//! function `choose` ([`Library`], [`Table`]); a program matches on the enum. The underlying
//! [`choose`] takes any [`Candidate`]s, for libraries that are assembled at run time. Both first
//! find the best parameters of each candidate, then take the candidate with the least expected
//! time; the first named wins a tie. A model's verification error widens its predictions and is
//! reported; it excludes no candidate. A [`Pin`] overrides the models. The result, a [`Choice`],
//! states for every candidate why it was taken or not, and how sure the choice is
//! ([`Choice::odds`]).
//!
//! No choice allocates, and the crate has no dependencies; without the feature `std` it is `no_std`. Emitted models then need the feature `libm` for their mathematical functions.
//!
//! Everything that a choice depends on must be equal on every node of a team: nodes that chose
//! differently would deadlock.
//!
//! ```
//! use strata_select::{Candidate, Parameter, choose};
//!
//! /// Sums blocks of `width` numbers: many blocks cost calls, wide ones cache misses.
//! struct Blocked;
//!
//! impl Candidate<f64, &[f64]> for Blocked {
//!     fn name(&self) -> &'static str {
//!         "blocked"
//!     }
//!     fn parameters(&self) -> &'static [Parameter] {
//!         const { &[Parameter::new("width", 8, 1024).times(2)] }
//!     }
//!     fn seconds(&self, n: &f64, parameters: &[i64]) -> Option<f64> {
//!         let width = parameters[0] as f64;
//!         Some(1e-9 * n + 2e-8 * n / width + 1e-12 * n * width)
//!     }
//!     fn run(&self, numbers: &[f64], parameters: &[i64]) {
//!         for block in numbers.chunks(parameters[0] as usize) {
//!             std::hint::black_box(block.iter().sum::<f64>());
//!         }
//!     }
//! }
//!
//! let candidates: [&dyn Candidate<f64, &[f64]>; 1] = [&Blocked];
//! let choice = choose("sum", &candidates, &1e6, None)?;
//! assert_eq!(choice.to_string(), "sum: blocked (width = 128), predicted 1.28 ms\n  blocked  taken");
//! candidates[choice.index].run(&[1.0; 1000], &choice.parameters);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]

mod choice;
mod choose;
mod closest;
mod error;
mod library;
mod math;
mod model;
#[cfg(any(feature = "std", feature = "libm"))]
mod odds;
pub mod optimise;
mod parameter;
mod pin;
mod quantity;
#[cfg(feature = "std")]
mod say;
mod table;
mod verdict;

pub use choice::{Choice, Note, Outcome, Row, RunnerUp};
pub use choose::{Candidate, choose, choose_with_rows};
pub use closest::closest;
pub use error::{ChooseError, Fault};
#[cfg(feature = "std")]
pub use library::odds_of;
pub use library::{
    ChooseResult, Library, MAX_INPUTS, Question, Rows, choose_among, choose_compiled, choose_from,
};
pub use math::Math;
pub use model::{Compute, Fitted, MAX_TERMS, Model, Variance, fill, require, spread, within};
#[cfg(any(feature = "std", feature = "libm"))]
pub use odds::{Odds, odds};
pub use parameter::{MAX_PARAMETERS, Parameter, Parameters, Root, Step, StepError};
pub use pin::{Pin, PinError, PinFault, Pins};
pub use quantity::{NotATime, Prediction, Seconds};
#[cfg(feature = "std")]
pub use say::say;
pub use table::{Domain, Entry, Source, Table};
pub use verdict::Verdict;

/// Whether a value counts as true: neither zero nor NaN. A `require` that cannot be computed does
/// not hold.
#[must_use]
#[inline]
pub fn holds(value: f64) -> bool {
    value.abs() > 0.0
}
