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

use strata_fit::{Elimination, FitOptions, Robust, Search, Structure, Weights};
use strata_model::expr::parse;
use strata_model::samples::{Column, ModelSamples, Sample};
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

/// What a spec would name of a model.
fn structure(inputs: &[&str], terms: &[&str]) -> Structure {
    Structure {
        inputs: inputs.iter().map(|input| (*input).to_owned()).collect(),
        terms: terms.iter().map(|term| parse(term).unwrap()).collect(),
        ..Structure::default()
    }
}

/// The samples of a model of these inputs.
fn samples(inputs: &[&str], rows: impl IntoIterator<Item = Sample>) -> ModelSamples {
    let columns = inputs.iter().map(|input| Column::input(*input)).collect();
    ModelSamples {
        name: "M".to_owned(),
        columns,
        rows: rows.into_iter().collect(),
        ..ModelSamples::default()
    }
}
