//! Presents a fit to people and programs: one page, the [summary as JSON](fit_json), the
//! [residuals](write_residuals).
//!
//! The page ([`Report::html`]) shows what was fitted, how well, and which candidate wins where. It
//! is a single HTML file with its plots inside: it can be mailed, printed and read on a phone or by
//! a screen reader. Its security policy forbids network access and scripts. All text from a spec or
//! a samples file is escaped. The same input gives the same bytes: the page contains no date.

#![forbid(unsafe_code)]

mod curves;
mod help;
mod histogram;
mod html;
mod json;
mod judged;
mod map;
mod marks;
mod models;
mod overview;
mod page;
mod plot;
mod provenance;
mod residuals;
mod scale;
mod selection;

use strata_model::set::{Input, Model};
use strata_model::{Kinds, ModelSet, Samples, kind_text};

pub use curves::{Crossing, Curve, Curves, Measured};
pub use help::Help;
pub use json::fit_json;
pub use judged::Judged;
pub use map::{Axis, Cell, Map, SURE};
pub use page::figures;
pub use residuals::{residuals_to, write_residuals};
use strata_fit::{Fitted, Residual};

/// The contents of a page. Everything but the set may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The models.
    pub set: &'a ModelSet,
    /// The source of the numbers.
    pub samples: &'a Samples,
    /// Residuals and warnings of the fitted models, in any order; found by the model's name.
    pub fitted: &'a [Fitted],
    /// One message for each model that could not be fitted.
    pub failures: &'a [String],
    /// Selection maps, drawn in order.
    pub maps: &'a [Map],
    /// Predicted times along the inputs of libraries, drawn in order.
    pub curves: &'a [Curves],
    /// Choices that were timed against other ways, those of a library together.
    pub judged: &'a [Judged],
    /// Which samples would help the choices of each library.
    pub help: &'a [Help],
}

impl Report<'_> {
    /// The page as one self-contained HTML document.
    ///
    /// Plots of very many samples draw only some, including those with the greatest errors, and
    /// state this; the tables count all.
    #[must_use]
    pub fn html(&self) -> String {
        page::page(self)
    }
}

/// A sample's inputs and times, in words: `n = 5, width = 8: 2.1 ms, predicted 2 ms`.
#[must_use]
pub fn told(model: &Model, kinds: &Kinds, residual: &Residual) -> String {
    let inputs = model.inputs.iter().zip(&residual.inputs);
    let text = |input: &Input, value: f64| kind_text(kinds, &input.name, value);
    let inputs: Vec<String> =
        inputs.map(|(input, value)| format!("{} = {}", input.name, text(input, *value))).collect();
    let [observed, predicted] = [residual.observed, residual.predicted].map(plot::time_text);
    format!("{}: {observed}, predicted {predicted}", inputs.join(", "))
}
