//! The contract that Strata's crates share.
//!
//! A model predicts the time of an operation from its inputs; a selector evaluates the models of
//! several implementations and takes the fastest. This crate has the formats and types that models
//! and selectors share:
//!
//! - [`expr`]: the expression language of terms and factored models (parse, print, evaluate, emit
//!   as Rust);
//! - [`samples`]: the text format of measurements;
//! - [`plan`]: the text format of points to measure;
//! - [`set`]: model sets, the TOML format of fitted models, and their evaluation;
//! - [`platform`]: the measured machine;
//! - [`openmpi`], [`mpich`]: the collectives and algorithms of these libraries, by their names and
//!   numbers;
//! - [`codegen`]: shared helpers of emitters of program text.
//!
//! Times, predictions and the choice among candidates are in `strata-select`, which applications
//! link; [`LibraryModels`] is a source of models for it.
//!
//! The only input and output are the text formats, [`write_atomically`] and the folder of installed
//! models.

#![forbid(unsafe_code)]

pub mod codegen;
pub mod expr;
pub mod intel;
pub mod mpich;
pub mod openmpi;
pub mod plan;
pub mod platform;
pub mod samples;
pub mod set;

mod file;
mod hash;
mod install;
mod names;
mod number;
mod unit;

pub use expr::{Expr, ExprError, Program, Span};
pub use file::{FileModels, find_installed, in_one_line, is_for};
pub use hash::{Sha256, sha256_hex};
pub use install::{InstallError, can_install, install, installed_models};
pub use names::{count, did_you_mean};
pub use number::{Kinds, grouped, kind_text, number_text, percent, rounded};
pub use plan::{Plan, Points};
pub use platform::{Hosts, Platform};
pub use samples::{Samples, SamplesWriter, SpecId};
pub use set::{LibraryModels, ModelSet, Resolved};
pub use strata_select::{files::write_atomically, transfer::cache_folder};
pub use strata_select::{
    normal,
    table::{Prediction, Seconds, closest},
};
pub use unit::Unit;
