//! Presents a fit to people and programs: one page, the [summary as JSON](fit_json), the
//! [residuals](write_residuals).
//!
//! The page ([`Report::html`]) shows what was fitted, how well, and which candidate wins where. It
//! is a single HTML file with its plots inside: it can be mailed, printed and read on a phone or by
//! a screen reader. Its security policy forbids network access and scripts. All text from a spec or
//! a samples file is escaped. The same input gives the same bytes: the page contains no date.

#![forbid(unsafe_code)]

mod curves;
mod histogram;
mod html;
mod json;
mod map;
mod models;
mod overview;
mod page;
mod plot;
mod provenance;
mod residuals;
mod scale;
mod selection;

use strata_model::{ModelSet, Samples};

pub use curves::{Curve, Curves, Measured};
pub use json::fit_json;
pub use map::{Axis, Cell, Map, SURE};
pub use residuals::{residuals_to, write_residuals};
use strata_fit::Fitted;

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
