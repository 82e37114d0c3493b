//! The contract that Strata's crates share.
//!
//! A model predicts the time of an operation from its inputs; a selector evaluates the models of several implementations
//! and takes the fastest. This crate holds what both sides of that sentence must agree on, and nothing else:
//!
//! - [`quantity`]: seconds and predictions as types that cannot hold nonsense;
//! - [`expr`]: the expression language of terms and factored models (parse, print, evaluate, emit as Rust);
//! - [`samples`]: the text format in which measurements are kept;
//! - [`points`]: the text format in which points to be measured are kept;
//! - [`set`]: model sets, the TOML format in which fitted models are kept, and their evaluation;
//! - [`platform`]: which machine something was measured on;
//! - [`select`]: candidates, the choice among them, its explanation, and pins;
//! - [`table`]: the form in which models are compiled into a library;
//! - [`optimise`]: integer roots and minima (Brewer 1994, section 5.1);
//! - [`codegen`]: what emitters of program text share.
//!
//! There is no input or output here except the three text formats and [`write_atomically`].

#![forbid(unsafe_code)]

pub mod codegen;
pub mod expr;
pub mod optimise;
pub mod platform;
pub mod points;
pub mod quantity;
pub mod samples;
pub mod select;
pub mod set;
pub mod table;

mod atomic;
mod closest;
mod hash;
mod number;

pub use atomic::write_atomically;
pub use closest::closest;
pub use expr::{Expr, ExprError, Program, Span};
pub use hash::sha256_hex;
pub use number::{number_text, percent};
pub use platform::Platform;
pub use points::Points;
pub use quantity::{Prediction, Seconds};
pub use samples::{Samples, SamplesWriter, SpecId};
pub use select::{Candidate, Choice, Parameter, Parameters, Pin, Pins, choose};
pub use set::{LibraryModels, ModelSet, Resolved};
