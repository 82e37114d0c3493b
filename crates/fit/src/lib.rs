//! Fits performance models to samples, drops irrelevant terms, verifies and emits Rust.
//!
//! A sample is a measured time with the values of its terms. [`fit_model`] finds the coefficients
//! that minimise the *relative* error (a microsecond matters in ten, not in a million), keeps the
//! best set of terms, each of which is significant, and judges the model by held-out samples. The
//! result goes into a [model set](strata_model::set), from which [`emit`] makes Rust code.
//!
//! The method is Brewer's (*Portable High-Performance Supercomputing*, 1994, chapters 2 and 3.6)
//! except for two defaults, see [`FitOptions`]; the numerics are in [`solve`]. Samples that cannot
//! be fitted are a [`FitError`]; a model that should not be trusted has a verdict with its reason.
//!
//! ```
//! use strata_fit::{FitOptions, fit_samples};
//! use strata_model::{Samples, set::Verdict};
//!
//! let text = "Clear length\nClear 1.01e-6 10\nClear 2.0e-6 20\nClear 4.02e-6 40\nClear 8.0e-6 80\n@Clear 5.0e-6 50\n";
//! let samples = Samples::parse(text, "clear.txt").unwrap();
//! let fitted = fit_samples(&samples, &FitOptions::default()).remove(0).unwrap();
//! assert_eq!(fitted.model.verdict, Verdict::Verified);
//! assert!((fitted.model.terms[1].coefficient - 1e-7).abs() < 2e-9);
//! ```

pub mod bootstrap;
mod bound;
mod correction;
mod design;
mod domain;
pub mod emit;
mod error;
mod fit;
mod knee;
mod noise;
mod options;
mod order;
mod points;
mod regress;
mod relation;
mod search;
pub mod solve;
pub mod stats;
mod twins;
mod verify;

pub use error::{Fault, FitError};
pub use fit::{fit_columns, fit_model, fit_samples, structure_of};
pub use options::{Elimination, FitOptions, PartError, Robust, Search, Weights};
pub use twins::{Round, round_sensitive, round_terms};

use strata_model::Expr;
use strata_model::set::Model;

/// The parts of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// The inputs, in the order of the model's arguments; each is a column of the samples.
    pub inputs: Vec<String>,
    /// The candidate terms besides the constant. `knee(x)` in a term is `max(0, x - k)` with k to
    /// be fitted, one place for each x.
    pub terms: Vec<Expr>,
    /// Conditions on the inputs; kept with the model.
    pub requires: Vec<Expr>,
    /// The number of nodes of the run, for samples without a column `P`, `logP` or `sqrtP`; 0 if
    /// unknown.
    pub nodes: usize,
    /// The column with the variance of each sample's time, s², if known. Errors then count in
    /// standard deviations of their sample, in any mode; the mode still determines how a new
    /// measurement scatters.
    pub variance: Option<String>,
    /// The inputs that are parameters of candidates, whose values a choice sets. If the samples
    /// distinguish the values better than the terms do, a table corrects the model. Empty if other
    /// models call this one.
    pub parameters: Vec<String>,
    /// Whether terms in the number of nodes are for runs on several numbers. If one number was
    /// measured, those that are multiples of an earlier term are then not candidates, instead of
    /// dependent.
    pub several_nodes: bool,
}

/// An earlier model, as a function that a term may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Callee {
    /// Its inputs.
    pub inputs: Vec<String>,
    /// Its time in terms of the inputs, with all calls inlined.
    pub body: Expr,
}

/// Finds an earlier model by name.
pub type Lookup<'a> = dyn Fn(&str) -> Option<Callee> + 'a;

/// A fitted model with its residuals and messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The model, ready for a model set.
    pub model: Model,
    /// The prediction for every sample: fitted samples first, then verification samples.
    pub residuals: Vec<Residual>,
    /// Warnings, for example of dependent terms.
    pub warnings: Vec<String>,
    /// Notes that need no action: the places of knees.
    pub notes: Vec<String>,
}

/// A sample beside its prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// The line of the sample in its file; 0 if it was never in one.
    pub line: usize,
    /// Whether the sample was kept for verification.
    pub verify: bool,
    /// The time measured, s.
    pub observed: f64,
    /// The time predicted, s.
    pub predicted: f64,
    /// The relative standard deviation of the sample's own noise; zero if unknown.
    pub noise: f64,
    /// The values of the inputs.
    pub inputs: Vec<f64>,
}

impl Residual {
    /// (observed − predicted) / observed; infinite if the observed time is zero.
    #[must_use]
    pub fn relative_error(&self) -> f64 {
        if self.observed == self.predicted { 0.0 } else { (self.observed - self.predicted) / self.observed }
    }
}
