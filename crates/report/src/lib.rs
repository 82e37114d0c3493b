//! What people and programs read of a fit: one page, the [summary as JSON](fit_json), the
//! [residuals](write_residuals).
//!
//! The page ([`Report::html`]) tells what was fitted, how well, and who wins where. It is a single HTML file with its plots inside: it can be mailed, printed and read on a phone or by a screen reader, and asks no
//! network and no script: its security policy forbids both. Everything that comes from a spec or a samples file is escaped. The same input gives the same
//! bytes: the page names no date.

#![forbid(unsafe_code)]

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

pub use json::fit_json;
pub use map::{Axis, Cell, Map, SURE};
pub use residuals::{residuals_to, write_residuals};
use strata_fit::Fitted;

/// What a page tells of. Everything but the set may be empty.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The models.
    pub set: &'a ModelSet,
    /// Where the numbers come from.
    pub samples: &'a Samples,
    /// Residuals and warnings of the fitted models, in any order; found by the model's name.
    pub fitted: &'a [Fitted],
    /// What is to be said of models that could not be fitted, one message each.
    pub failures: &'a [String],
    /// Who wins where; drawn in order.
    pub maps: &'a [Map],
}

impl Report<'_> {
    /// The page as one self-contained HTML document.
    ///
    /// Of very many samples each plot draws some, those with the greatest errors among them, and says so; the tables count all.
    #[must_use]
    pub fn html(&self) -> String {
        page::page(self)
    }
}
