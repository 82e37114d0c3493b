//! Options of a fit: the minimised error, the criterion for terms, and the search for further
//! terms.

use std::str::FromStr;

use strata_model::did_you_mean;
use strata_model::set::Mode;

use crate::{Fault, FitError};

/// How to fit.
///
/// The thesis's own method is `weights: Weights::Measured` with `elimination:
/// Elimination::Confidence`. The defaults differ in these two, because they are nearer to a known
/// truth (`benches/figures/fit.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Which error is minimised.
    pub mode: Mode,
    /// The times that relative errors refer to.
    pub weights: Weights,
    /// Whether a constant is a candidate term.
    pub constant: bool,
    /// Whether irrelevant terms are kept.
    pub keep_all: bool,
    /// The confidence of intervals, 0.95 by default.
    pub confidence: f64,
    /// The greatest accepted mean relative error of verification, 0.1 by default.
    pub accept: f64,
    /// The criterion by which a term is irrelevant.
    pub elimination: Elimination,
    /// Whether outliers are left out. With [`Weights::Measured`] none is, as in the thesis's fit.
    pub robust: Robust,
    /// Whether coefficients must not be negative, since a cost cannot be.
    pub nonnegative: bool,
    /// When terms are searched for besides the named ones.
    pub search: Search,
    /// The share of samples that the model is to lie above, 0.99 for 99 %; `None`: it predicts the
    /// expected time. Held-out samples must be enough to tell with
    /// [`confidence`](Self::confidence).
    pub upper: Option<f64>,
}

/// The times that relative errors refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// The measured time: Brewer (1994), eq 26. Noise of relative size s makes predictions too
    /// small by about 2 s², since samples that happened to be fast weigh more than slow ones.
    Measured,
    /// The predicted time, found by repeated fitting until it converges: free of that bias. Carroll
    /// and Ruppert, *Transformation and Weighting in Regression* (1988), §2.3.
    #[default]
    Predicted,
}

/// The criterion by which a term is irrelevant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elimination {
    /// The term is not in the best of all sets of terms. Each term of a set costs the gain of a
    /// term whose interval just reaches zero, at a confidence that holds for all terms together:
    /// Miller (2002), Bonferroni.
    #[default]
    BestSubset,
    /// Its confidence interval includes zero; one term after the other is dropped: Brewer (1994),
    /// §3.6.2. Each irrelevant term stays with a probability of at least 1 − confidence, and more
    /// if terms are similar.
    Confidence,
    /// The corrected information criterion of Akaike falls without the term: Hurvich and Tsai
    /// (1989).
    Aicc,
}

/// What happens to outliers, samples that the fit of the others excludes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Robust {
    /// They are left out, and the rest is fitted as without: where nothing is excluded it is the
    /// same fit. Intervals still cover those left out. Where many are far off, or the model misses,
    /// all samples stay with Huber's weights. Yohai (1987); Hadi and Simonoff (1993).
    #[default]
    Reject,
    /// They count fully.
    None,
}

/// When terms are searched for besides the named ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// Never: a model without terms is its constant.
    Never,
    /// If no terms are named, or the named ones fail verification or may miss by more than is
    /// accepted. As with `Always`, found terms replace them only if they predict the held-out
    /// samples better beyond noise.
    #[default]
    WhenNeeded,
    /// Always.
    Always,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Relative,
            weights: Weights::default(),
            constant: true,
            keep_all: false,
            confidence: 0.95,
            accept: 0.1,
            elimination: Elimination::default(),
            robust: Robust::default(),
            nonnegative: false,
            search: Search::default(),
            upper: None,
        }
    }
}

impl FitOptions {
    /// Refuses options out of range.
    pub(crate) fn check(&self) -> Result<(), FitError> {
        let bad = |option, value, expected| {
            let fault = Fault::BadOption { option, value, expected };
            Err(FitError { model: String::new(), line: 0, fault })
        };
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return bad("the confidence", self.confidence, "above 0 and below 1 (100 %)");
        }
        if !(self.accept >= 0.0 && self.accept.is_finite()) {
            return bad("the accepted error", self.accept, "at least 0");
        }
        if let Some(share) = self.upper.filter(|share| !(*share > 0.0 && *share < 1.0)) {
            return bad("the share below an upper bound", share, "above 0 and below 1 (100 %)");
        }
        Ok(())
    }
}

/// An error in a part of a `fit` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError {
    /// The index of the wrong word.
    pub word: usize,
    /// The error.
    pub message: String,
    /// The words that are allowed there.
    pub expected: Vec<&'static str>,
}

const ROBUST: [(&str, Robust); 2] = [("reject", Robust::Reject), ("none", Robust::None)];
const WEIGHTS: [(&str, Weights); 2] = [("measured", Weights::Measured), ("predicted", Weights::Predicted)];
const ELIMINATION: [(&str, Elimination); 3] = [
    ("best-subset", Elimination::BestSubset),
    ("interval", Elimination::Confidence),
    ("aicc", Elimination::Aicc),
];
const SEARCH: [(&str, Search); 3] =
    [("never", Search::Never), ("when-needed", Search::WhenNeeded), ("always", Search::Always)];

/// Words that meant something once, and those to say instead.
const GONE: [(&str, &str, &str); 3] = [
    ("robust", "huber", "`reject` leaves outliers out, and weighs samples so where it cannot tell which are"),
    ("robust", "bisquare", "`reject` leaves outliers out"),
    ("eliminate", "leave-one-out", "`aicc` keeps the same terms"),
];

/// The words that a part of a `fit` statement can begin with.
const PARTS: [&str; 7] = ["relative", "absolute", "robust", "nonnegative", "weights", "eliminate", "search"];

impl FitOptions {
    /// Applies one part of a `fit` statement: `relative`, `absolute`, `nonnegative`, `robust
    /// reject|none`, `weights measured|predicted`, `eliminate
    /// best-subset|interval|aicc`, `search [never|when-needed|always]` (`search` alone means
    /// always). Returns the option that was set, so that a caller can refuse a second part for it.
    ///
    /// # Errors
    /// A word that is unknown, missing, or superfluous.
    pub fn set(&mut self, words: &[&str]) -> Result<&'static str, PartError> {
        let fail = |word, message: String, expected: &[&'static str]| {
            Err(PartError { word, message, expected: expected.to_vec() })
        };
        let Some(first) = words.first() else { return fail(0, "there is nothing".into(), &PARTS) };
        let second = words.get(1).copied();
        let takes = match *first {
            "robust" | "weights" | "eliminate" | "search" => 2,
            _ => 1,
        };
        if let Some(more) = words.get(takes) {
            return fail(
                takes,
                format!("`{more}` is one word too many: parts of `fit` are divided by commas"),
                &[],
            );
        }
        let about = match *first {
            "relative" => {
                self.mode = Mode::Relative;
                "the error"
            }
            "absolute" => {
                self.mode = Mode::Absolute;
                "the error"
            }
            "nonnegative" => {
                self.nonnegative = true;
                "the sign of coefficients"
            }
            "robust" => {
                self.robust = argument(first, second, &ROBUST)?;
                "outliers"
            }
            "weights" => {
                self.weights = argument(first, second, &WEIGHTS)?;
                "weights"
            }
            "eliminate" => {
                self.elimination = argument(first, second, &ELIMINATION)?;
                "elimination"
            }
            "search" if second.is_none() => {
                self.search = Search::Always;
                "the search"
            }
            "search" => {
                self.search = argument(first, second, &SEARCH)?;
                "the search"
            }
            other => {
                return fail(
                    0,
                    format!(
                        "a model is fitted by `relative` or `absolute` error, and how else; `{other}` is none of it"
                    ),
                    &PARTS,
                );
            }
        };
        Ok(about)
    }

    /// The options in a spec's words, those of [`set`](Self::set), with `accept`, `upper` and
    /// `confidence` as fractions; empty for the defaults. [`read`](Self::read) reads it back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let usual = Self::default();
        let mut parts = Vec::new();
        if self.mode != usual.mode {
            parts.push(self.mode.to_string());
        }
        if self.robust != usual.robust {
            parts.push(format!("robust {}", name_of(self.robust, &ROBUST)));
        }
        if self.nonnegative {
            parts.push("nonnegative".into());
        }
        if self.weights != usual.weights {
            parts.push(format!("weights {}", name_of(self.weights, &WEIGHTS)));
        }
        if self.elimination != usual.elimination {
            parts.push(format!("eliminate {}", name_of(self.elimination, &ELIMINATION)));
        }
        if self.search != usual.search {
            parts.push(format!("search {}", name_of(self.search, &SEARCH)));
        }
        if self.accept != usual.accept {
            parts.push(format!("accept {}", self.accept));
        }
        if let Some(share) = self.upper {
            parts.push(format!("upper {share}"));
        }
        if self.confidence != usual.confidence {
            parts.push(format!("confidence {}", self.confidence));
        }
        parts.join(", ")
    }

    /// Reads the output of [`to_text`](Self::to_text).
    ///
    /// # Errors
    /// A message about the error in the text.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words.as_slice() {
                ["accept", number] => {
                    options.accept = number.parse().map_err(|_| format!("`{part}` is no number"))?
                }
                ["upper", number] => {
                    options.upper = Some(number.parse().map_err(|_| format!("`{part}` is no number"))?);
                }
                ["confidence", number] => {
                    options.confidence = number.parse().map_err(|_| format!("`{part}` is no number"))?;
                }
                _ => {
                    options.set(&words).map_err(|error| error.message)?;
                }
            }
        }
        options.check().map_err(|error| error.to_string())?;
        Ok(options)
    }
}

/// The word after `first`.
fn argument<T: Copy>(first: &str, second: Option<&str>, all: &[(&'static str, T)]) -> Result<T, PartError> {
    let expected: Vec<&'static str> = all.iter().map(|(name, _)| *name).collect();
    let Some(second) = second else {
        let message = format!("`{first}` needs a word after it: {}", expected.join(", "));
        return Err(PartError { word: 0, message, expected: Vec::new() });
    };
    match all.iter().find(|(name, _)| *name == second) {
        Some((_, value)) => Ok(*value),
        None => {
            let message =
                gone(first, second).unwrap_or_else(|| format!("`{first}` is not followed by `{second}`"));
            Err(PartError { word: 1, message, expected })
        }
    }
}

/// What to say instead of a word that meant something once.
fn gone(first: &str, second: &str) -> Option<String> {
    let (.., instead) = GONE.iter().find(|(of, word, _)| (*of, *word) == (first, second))?;
    Some(format!("`{first} {second}` is no more: {instead}"))
}

fn name_of<T: PartialEq>(value: T, all: &[(&'static str, T)]) -> &'static str {
    all.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// Reads one of the names of an option's values.
fn named<T: Copy>(text: &str, option: &str, what: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        if let Some(message) = gone(option, text) {
            return message;
        }
        let names: Vec<String> = all.iter().map(|(name, _)| format!("`{name}`")).collect();
        let meant = did_you_mean(text, all.iter().map(|(name, _)| *name));
        format!("there is no {what} `{text}`{meant}; there are {}", names.join(", "))
    })
}

impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, "weights", "way to weight", &WEIGHTS)
    }
}

impl FromStr for Elimination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The command line's word; a spec uses it for the width of intervals.
        if text == "confidence" {
            Ok(Self::Confidence)
        } else {
            named(text, "eliminate", "way to eliminate", &ELIMINATION)
        }
    }
}

impl FromStr for Robust {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, "robust", "way with outliers", &ROBUST)
    }
}

impl FromStr for Search {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, "search", "occasion to search", &SEARCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            absolute in any::<bool>(),
            robust in prop::sample::select(ROBUST.map(|(_, value)| value).to_vec()),
            nonnegative in any::<bool>(),
            weights in prop::sample::select(WEIGHTS.map(|(_, value)| value).to_vec()),
            elimination in prop::sample::select(ELIMINATION.map(|(_, value)| value).to_vec()),
            search in prop::sample::select(SEARCH.map(|(_, value)| value).to_vec()),
            accept in 0.001f64..1.0,
            confidence in 0.5f64..0.9999,
            upper in prop::option::of(0.5f64..0.9999),
        ) {
            let mode = if absolute { Mode::Absolute } else { Mode::Relative };
            let options = FitOptions {
                mode, robust, nonnegative, weights, elimination, search, accept, confidence,
                upper, ..FitOptions::default()
            };
            prop_assert_eq!(FitOptions::read(&options.to_text()), Ok(options));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = FitOptions::read(&text);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(FitOptions::default().to_text(), "");
        assert_eq!(FitOptions::read("search").map(|o| o.search), Ok(Search::Always));
        for (text, say) in [
            ("robust", "needs a word after it: reject, none"),
            ("robust huber", "no more: `reject`"),
            ("eliminate leave-one-out", "no more: `aicc`"),
            ("robust tukey", "not followed by `tukey`"),
            ("relative huber", "one word too many"),
            ("eliminate aicc now", "one word too many"),
            ("quickly", "none of it"),
            ("accept much", "no number"),
            ("confidence 2", "confidence"),
        ] {
            let error = FitOptions::read(text).unwrap_err();
            assert!(error.contains(say), "{text}: {error}");
        }
    }
}
