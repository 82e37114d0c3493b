//! Models that a bench fits itself, as entries of tables.

use strata_fit::{FitOptions, Search};
use strata_model::samples::Sample;
use strata_select::table::{Compute, Entry, Fitted, Model, Variance, Verdict};

use crate::cost::{expressions, fit, samples};

/// A model of rows over these inputs, with coefficients that are not negative. `compute` gives the
/// constant and then `terms`; `noise` is the relative variance of a timing. Terms that a `search`
/// finds are left out, as `compute` does not give them. The entry lives as long as the program.
///
/// # Errors
/// A term cannot be read, or nothing fits.
pub fn entry(
    name: &'static str,
    inputs: &[&str],
    terms: &[&str],
    rows: Vec<Sample>,
    (compute, noise): (Compute, f64),
    search: Search,
) -> Result<Entry, String> {
    let samples = samples(name, inputs, rows);
    let terms = expressions(terms)?;
    let options = FitOptions { nonnegative: true, search, ..FitOptions::default() };
    let fitted = fit(&samples, terms.clone(), &options, &|_| None)?;
    let of =
        |text: &str| fitted.terms.iter().find(|term| term.term == text).map_or(0.0, |term| term.coefficient);
    let coefficients: Vec<f64> =
        std::iter::once(of("1")).chain(terms.iter().map(|term| of(&term.to_string()))).collect();
    let model = Model::Fitted(Fitted {
        terms: compute,
        coefficients: coefficients.leak(),
        quantile: 1.96,
        noise: Variance::Relative(noise),
        own: Variance::Relative(fitted.own_error * fitted.own_error),
        factor: &[],
    });
    Ok(Entry::new(name, Verdict::Verified, 1.0, Box::leak(Box::new(model))))
}
