//! How to fit: what is minimised, which terms stay, and what happens when the named terms do not suffice.

use std::str::FromStr;

use strata_model::set::Mode;

use crate::FitError;

/// As many pieces as a piecewise model can have.
pub const MAX_PIECES: usize = 4;

/// How to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Which error is minimised.
    pub mode: Mode,
    /// What a relative error is relative to.
    pub weights: Weights,
    /// Whether a constant is a candidate term.
    pub constant: bool,
    /// Whether irrelevant terms are kept all the same.
    pub keep_all: bool,
    /// The confidence of intervals, 0.95 unless told.
    pub confidence: f64,
    /// The greatest mean relative error of verification that is accepted, 0.1 unless told.
    pub accept: f64,
    /// By what a term is judged irrelevant.
    pub elimination: Elimination,
    /// How outliers lose their weight; `None`: they do not.
    pub robust: Option<Robust>,
    /// Whether coefficients must not be negative, since a cost cannot be.
    pub nonnegative: bool,
    /// When terms are searched for that nobody named.
    pub search: Search,
    /// The most pieces that the search may cut the range of an input into, 1 to [`MAX_PIECES`]; 1: no breakpoints.
    pub pieces: usize,
}

/// What a relative error is relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// The measured time: Brewer (1994), eq 26. Noise of relative size s makes predictions too small by about 2 s²,
    /// since samples that happened to be fast weigh more than those that happened to be slow.
    #[default]
    Measured,
    /// The predicted time, found by fitting again until it stands still: free of that bias. Carroll and Ruppert,
    /// *Transformation and Weighting in Regression* (1988), §2.3.
    Predicted,
}

/// By what a term is judged irrelevant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elimination {
    /// Its confidence interval includes zero: Brewer (1994), §3.6.2.
    #[default]
    Confidence,
    /// The corrected information criterion of Akaike falls without it: Hurvich and Tsai (1989).
    Aicc,
    /// The error of each sample predicted from all others falls without it: Allen (1974), PRESS.
    LeaveOneOut,
}

/// How outliers lose their weight: M-estimation by iterated weights, scaled by the median absolute residual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Robust {
    /// Beyond 1.345 standard deviations the weight falls as one over the residual: Huber (1964).
    Huber,
    /// The weight falls smoothly to zero at 4.685 standard deviations: Beaton and Tukey (1974).
    Bisquare,
}

/// When terms are searched for that nobody named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// Never: a model without terms is its constant.
    Never,
    /// Where no terms are named, or those that are fail verification.
    #[default]
    WhenNeeded,
    /// Always; what is found is taken if it predicts samples that were held out better than the named terms do.
    Always,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Relative,
            weights: Weights::default(),
            constant: true,
            keep_all: false,
            confidence: 0.95,
            accept: 0.1,
            elimination: Elimination::default(),
            robust: None,
            nonnegative: false,
            search: Search::default(),
            pieces: MAX_PIECES,
        }
    }
}

impl Options {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<(), FitError> {
        let bad = |option, value, expected| Err(FitError::BadOption { option, value, expected });
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return bad("the confidence", self.confidence, "above 0 and below 1 (100 %)");
        }
        if !(self.accept >= 0.0 && self.accept.is_finite()) {
            return bad("the accepted error", self.accept, "at least 0");
        }
        if !(1..=MAX_PIECES).contains(&self.pieces) {
            return bad("the number of pieces", self.pieces as f64, "from 1 to 4");
        }
        Ok(())
    }
}

/// Reads one of the names of an option's values.
fn named<T: Copy>(text: &str, what: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("there is no {what} `{text}`; there are {}", names.join(", "))
    })
}

impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, "way to weight", &[("measured", Self::Measured), ("predicted", Self::Predicted)])
    }
}

impl FromStr for Elimination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all =
            [("confidence", Self::Confidence), ("aicc", Self::Aicc), ("leave-one-out", Self::LeaveOneOut)];
        named(text, "way to eliminate", &all)
    }
}

impl FromStr for Robust {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, "robust weight", &[("huber", Self::Huber), ("bisquare", Self::Bisquare)])
    }
}

impl FromStr for Search {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [("never", Self::Never), ("when-needed", Self::WhenNeeded), ("always", Self::Always)];
        named(text, "occasion to search", &all)
    }
}
