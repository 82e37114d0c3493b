//! The further samples that would lower the expected loss most.
//!
//! The loss of a selection from uncertain models is the expected time by which the candidate that
//! looks fastest exceeds the one that is. It follows from the predictions and the covariance of
//! their coefficients. One more sample lowers that covariance by a known amount, whatever its time,
//! so the samples with the greatest gain for their cost can be named before they are taken
//! ([`advise`]). For models outside all libraries the loss is the relative half width of their
//! predictions.
//!
//! The uncertainty here is that of the coefficients. The noise of a single measurement, which the
//! intervals and odds of `specc choose` include, is left out, because no
//! sample lowers it. The covariance cannot show a cost that no term describes; verification can.
//!
//! Sources: Raiffa and Schlaifer, *Applied Statistical Decision Theory* (1961), §5.3 (expected loss
//! of choosing under uncertainty, the unit normal loss); Frazier, Powell and Dayanik, *A
//! knowledge-gradient policy for sequential information collection* (2008) (one step ahead,
//! greedily); Sherman and Morrison (1950) (one more row).

mod belief;
mod greedy;
mod queries;

pub use greedy::{Advice, Advised, Limits, TargetLoss, advise};
pub(crate) use queries::places;

/// A loss to lower.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The choice among a library's candidates: its loss is the expected relative loss of time, on
    /// average over the inputs.
    Library(String),
    /// The predictions of one model: its loss is their relative half width, on average over the
    /// inputs.
    Model(String),
}

impl Target {
    /// The name of the library or model.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Library(name) | Self::Model(name) => name,
        }
    }
}
