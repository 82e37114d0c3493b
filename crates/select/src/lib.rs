//! Selection: chooses the fastest of several implementations of an operation by models of their
//! time.
//!
//! For each library of a spec, `specc` writes an enum of its candidates and tables of their models
//! ([`Library`], [`Table`]); a program matches on the enum. The interface is:
//!
//! - `L::choose(input)` of an emitted library: its candidate on this node, by the models of this
//!   machine; `L::explain(input)` says why ([`Chooser`](choice::Chooser));
//! - [`choose_among`]: the same for libraries that are assembled while the program runs, by any
//!   [`Source`] of models;
//! - [`Choice::odds`]: how sure a choice is.
//!
//! `strata-runtime` makes several nodes choose alike. [`table`] has what emitted tables are made of,
//! [`choice`] what a choice says, [`models`] which models a program uses; models of another machine
//! are scaled by [`transfer`], and [`learn`] corrects choices while a program runs.
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
//! use strata_select::table::{Domain, Info, Parameter, Prediction};
//! use strata_select::{Question, Row, Source, choose_among};
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

#[cfg(feature = "std")]
pub mod calls;
pub mod choice;
mod choose;
mod chooser;
mod closest;
mod contrast;
mod correction;
mod declare;
mod error;
#[cfg(feature = "std")]
pub mod files;
#[cfg(feature = "std")]
mod gain;
#[cfg(target_has_atomic = "64")]
mod kept;
#[cfg(feature = "std")]
pub mod learn;
mod library;
#[cfg(feature = "std")]
pub mod machine;
mod math;
mod model;
#[cfg(feature = "std")]
pub mod models;
#[cfg(feature = "std")]
mod nearest;
pub mod normal;
#[cfg(any(feature = "std", feature = "libm"))]
mod odds;
pub mod optimise;
#[cfg(feature = "std")]
pub mod output;
mod parameter;
mod pin;
mod quantity;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod sources;
pub mod table;
#[cfg(feature = "std")]
pub mod transfer;
#[cfg(feature = "std")]
mod values;
mod verdict;
mod wrapping;

pub use choice::{Choice, Row};
pub use chooser::Explained;
pub use error::ChooseError;
#[cfg(target_has_atomic = "64")]
pub use kept::Kept;
pub use library::{Input, Library, Question, choose_among};
#[cfg(any(feature = "std", feature = "libm"))]
pub use odds::Odds;
pub use pin::Pin;
pub use table::{Source, Table};
