//! Options of the command line against those of a spec or its samples.

use strata_fit::{Elimination, FitOptions, Robust, Search, Weights};
use strata_model::set::Mode;

/// What the command line says against the spec, or the samples that carry its words.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Minimise the absolute error.
    pub absolute: bool,
    /// Leave out the constant term.
    pub no_constant: bool,
    /// Keep irrelevant terms.
    pub keep_all: bool,
    /// Allow no negative coefficients.
    pub nonnegative: bool,
    /// By what a term is irrelevant.
    pub elimination: Option<Elimination>,
    /// What relative errors are relative to.
    pub weights: Option<Weights>,
    /// How outliers lose their weight; `Some(None)`: they do not, whatever the spec says.
    pub robust: Option<Robust>,
    /// When to search for terms.
    pub search: Option<Search>,
    /// The error of verification that is accepted, a fraction.
    pub accept: Option<f64>,
    /// The share of samples that models are to lie above.
    pub upper: Option<f64>,
    /// The column of the variances.
    pub variance: Option<String>,
    /// There are few samples: see [`Overrides::of_few`].
    pub few: bool,
}

impl Overrides {
    /// Every named term and no other, irrelevant ones too: what an advisor of samples wants to know
    /// about.
    #[must_use]
    pub fn everything() -> Self {
        Self { keep_all: true, search: Some(Search::Never), ..Self::default() }
    }

    /// Where nothing else is said, terms go by their intervals, as in the thesis: of few samples
    /// the best set lacks terms for want of evidence, and a choice loses more by a term that is
    /// missing than by one too many.
    #[must_use]
    pub fn of_few() -> Self {
        Self { few: true, ..Self::default() }
    }

    /// The options of a model with some of its own.
    pub(super) fn apply(&self, own: FitOptions) -> FitOptions {
        FitOptions {
            mode: if self.absolute { Mode::Absolute } else { own.mode },
            weights: self.weights.unwrap_or(own.weights),
            constant: own.constant && !self.no_constant,
            keep_all: own.keep_all || self.keep_all,
            elimination: self.elimination.unwrap_or(match own.elimination {
                Elimination::BestSubset if self.few => Elimination::Confidence,
                said => said,
            }),
            robust: self.robust.unwrap_or(own.robust),
            nonnegative: own.nonnegative || self.nonnegative,
            search: self.search.unwrap_or(own.search),
            accept: self.accept.unwrap_or(own.accept),
            upper: self.upper.or(own.upper),
            ..own
        }
    }
}
