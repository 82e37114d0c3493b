//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod bad_input;
mod bound;
mod emitted;
mod goldens;
mod method;
mod parameters;
mod search;
mod strd;
mod structure;
mod trust;

use strata_fit::{Elimination, FitOptions, Robust, Search, Weights};
use strata_model::set::Mode;

/// The thesis's method by absolute errors: no search, every sample counts.
fn absolute() -> FitOptions {
    FitOptions {
        mode: Mode::Absolute,
        weights: Weights::Measured,
        elimination: Elimination::Confidence,
        robust: Robust::None,
        search: Search::Never,
        ..FitOptions::default()
    }
}
