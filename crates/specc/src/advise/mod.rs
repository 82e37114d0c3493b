//! Which further samples would help most.
//!
//! What a selection loses because its models are uncertain is the expected time by which the
//! candidate that looks fastest exceeds the one that is. It follows from the predictions and the
//! covariance of the coefficients behind them. One more sample narrows that covariance by a known
//! amount, whatever time it will show, so the samples that lower the expected loss most for the
//! time that they cost can be named before they are taken ([`advise`]). For models that compete
//! nowhere the loss is the half width of their predictions over the time.
//!
//! The uncertainty here is that of the coefficients. The noise of a single measurement, which the
//! intervals of `specc predict` and the odds of `specc choose` count too, is left out: no sampling
//! lowers it. What the covariance does not know of, a cost that no term describes, is beyond it;
//! verification is there to tell.
//!
//! Sources: Raiffa and Schlaifer, *Applied Statistical Decision Theory* (1961), §5.3 (expected loss
//! of choosing under uncertainty, the unit normal loss); Frazier, Powell and Dayanik, *A
//! knowledge-gradient policy for sequential information collection* (2008) (one step ahead,
//! greedily); Sherman and Morrison (1950) (one more row).

mod belief;
mod greedy;
mod loss;
mod queries;

pub use greedy::{Advice, Advised, Limits, TargetLoss, advise};
pub(crate) use queries::places;

/// What is to be improved.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The choice among a library's candidates: its loss is the expected loss of time over the
    /// time, on average over the inputs.
    Library(String),
    /// The predictions of one model: its loss is their half width over the time, on average over
    /// the inputs.
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
