//! Selection: chooses the fastest of several implementations of an operation by models of their
//! time.
//!
//! For each library of a spec, `specc` writes an enum of its candidates and tables of their models
//! ([`Library`], [`Table`]); a program matches on the enum. The interface is:
//!
//! - `L::choose(input)` of an emitted library: its candidate on this node, by the models of this
//!   machine; `L::explain(input)` says why ([`Chooser`]);
//! - [`choose_among`]: the same for libraries that are assembled while the program runs, by any
//!   [`Source`] of models;
//! - [`Choice::odds`]: how sure a choice is.
//!
//! `strata-runtime` makes several nodes choose alike.
//!
//! A choice first finds the best parameters of each candidate, then takes the candidate with the
//! least expected time; the first named wins a tie. A model's verification error widens its
//! predictions and is reported; it excludes no candidate. A [`Pin`] overrides the models. The
//! result, a [`Choice`], states for every candidate why it was taken or not.
//!
//! No choice allocates, and the crate has no dependencies; without the feature `std` it is
//! `no_std`. Emitted models then need the feature `libm` for their mathematical functions.
//!
//! ```
//! use strata_select::{Domain, Info, Parameter, Prediction, Question, Row, Source, choose_among};
//!
//! /// Sums blocks of `width` numbers: many blocks cost calls, wide ones cache misses.
//! struct Blocked;
//!
//! impl Source for Blocked {
//!     fn info(&self) -> Info<'_> {
//!         Info::of(Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e9)] })
//!     }
//!     fn seconds(&self, _: usize, _: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
//!         let (n, width) = (inputs[0], parameters[0] as f64);
//!         Some(1e-9 * n + 2e-8 * n / width + 1e-12 * n * width)
//!     }
//! }
//!
//! const WIDTH: &[Parameter] = &[Parameter::new("width", 8, 1024).times(2)];
//! let rows = [Row::new("blocked", WIDTH)];
//! let choice = choose_among(("sum", ""), rows, &Blocked, Question::new(1, &[1e6]), &|_| true)?;
//! assert_eq!(choice.to_string(), "sum: blocked (width = 128), predicted 1.28 ms\n  blocked  taken");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]

mod choice;
mod choose;
mod chooser;
mod closest;
mod contrast;
mod correction;
mod declare;
mod error;
#[cfg(feature = "std")]
mod files;
#[cfg(feature = "std")]
mod gain;
#[cfg(target_has_atomic = "64")]
mod kept;
#[cfg(feature = "std")]
mod learn;
mod library;
#[cfg(feature = "std")]
mod local;
#[cfg(feature = "std")]
pub mod machine;
mod math;
mod model;
#[cfg(feature = "std")]
mod nearest;
pub mod normal;
#[cfg(any(feature = "std", feature = "libm"))]
mod odds;
pub mod optimise;
mod parameter;
mod pin;
mod quantity;
#[cfg(feature = "std")]
mod say;
#[cfg(feature = "std")]
mod sources;
mod table;
#[cfg(feature = "std")]
mod travel;
#[cfg(feature = "std")]
mod values;
mod verdict;
mod wrapping;

pub use choice::{Choice, Note, Outcome, Row, RunnerUp};
pub use chooser::{Chooser, Explained};
pub use closest::closest;
pub use contrast::Contrast;
pub use correction::{Axis, Correction, MAX_AXES, ROUND, interpolate, octaves, roundness};
pub use error::{ChooseError, Fault};
#[cfg(feature = "std")]
pub use files::{Lock, read_file, write_atomically};
#[cfg(feature = "std")]
pub use gain::{Confidence, Gain, Situation, better_than};
#[cfg(target_has_atomic = "64")]
pub use kept::Kept;
#[cfg(feature = "std")]
pub use learn::{Decided, Learner, Learning, Predicted, Started, learns};
pub use library::{ChooseResult, Input, Library, MAX_INPUTS, Question, Rows, choose_among};
#[cfg(feature = "std")]
pub use local::{
    AlreadyChosen, Finder, Found, Models, explains, find_models_by, is_pinned, pinned, say_once,
};
#[cfg(feature = "std")]
pub use machine::Machine;
pub use math::Math;
pub use model::{Compute, Fitted, MAX_TERMS, Model, Variance, fill, require, spread, within};
#[cfg(any(feature = "std", feature = "libm"))]
pub use odds::{Odds, odds};
pub use parameter::{Ends, MAX_PARAMETERS, Parameter, Parameters, Root, Step, StepError};
pub use pin::{Pin, PinError, PinFault, Pins};
pub use quantity::{NotATime, Prediction, Seconds};
#[cfg(feature = "std")]
pub use say::{printable, say, say_styled};
#[cfg(feature = "std")]
pub use sources::SOURCES;
pub use table::{About, Domain, Entry, Incumbent, Info, Source, Table};
#[cfg(feature = "std")]
pub use travel::{
    Calibrated, Calibration, Point, Scaled, Timed, all_kept, cache_folder, calibrate_as_set, fnv,
    keep_timings, kept_among, kept_timings, origin, scaled_by, team, timed, timings_of, timings_text,
};
pub use verdict::Verdict;

/// Whether a value counts as true: neither zero nor NaN. A `require` that cannot be computed does
/// not hold.
#[must_use]
#[inline]
pub fn holds(value: f64) -> bool {
    value.abs() > 0.0
}
