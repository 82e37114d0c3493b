//! Options of the command line that override those of a spec or of its samples.

use strata_fit::{Elimination, FitOptions, Robust, Search, Weights};
use strata_model::set::Mode;

/// Options that override the spec, and the fit options stored in the samples.
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
    /// The rule by which a term is irrelevant.
    pub elimination: Option<Elimination>,
    /// The weights of relative errors.
    pub weights: Option<Weights>,
    /// How outliers are weighted down; `Some(None)` turns this off, whatever the spec has.
    pub robust: Option<Robust>,
    /// When to search for terms.
    pub search: Option<Search>,
    /// The accepted error of verification, a fraction.
    pub accept: Option<f64>,
    /// The share of samples that models must lie above.
    pub upper: Option<f64>,
    /// The name of the column of variances.
    pub variance: Option<String>,
    /// Whether samples are few: see [`Overrides::of_few`].
    pub few: bool,
}

impl Overrides {
    /// All named terms, irrelevant ones too, and no others: the terms for advice on samples.
    #[must_use]
    pub fn everything() -> Self {
        Self { keep_all: true, search: Some(Search::Never), ..Self::default() }
    }

    /// Unless an option is given, terms are eliminated by their intervals, as in the thesis. With
    /// few samples the best subset drops terms for lack of evidence, and a choice loses more by a
    /// missing term than by a superfluous one.
    #[must_use]
    pub fn of_few() -> Self {
        Self { few: true, ..Self::default() }
    }

    /// The fit options of a model, given those of the spec as `own`.
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
