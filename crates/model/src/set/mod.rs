//! Model sets: fitted models in files and for evaluation.
//!
//! A set is TOML text ([`ModelSet::read`], [`ModelSet::to_text`]). Besides the coefficients it has
//! the data to judge a prediction: the measured range, the covariance of the coefficients, the
//! error on held-out samples, and the hashes of the spec and of the samples.
//!
//! ```
//! use strata_model::ModelSet;
//!
//! let set = ModelSet::read(
//!     r#"
//! strata-models = 1
//! [[models]]
//! name = "Copy"
//! inputs = [{ name = "bytes", min = 8.0, max = 65536.0, integer = true }]
//! terms = [{ term = "bytes", coefficient = 0.5e-9, std_error = 0.0, half_width = 0.0, relevant = true }]
//! covariance = [[0.0]]
//! "#,
//! )?;
//! let models = set.resolve()?;
//! assert_eq!(models.predict("Copy", 1, &[1024.0]).map(|p| p.seconds.to_string()), Some("512 ns".to_owned()));
//! assert_eq!(models.predict("Copy", 1, &[1e6]), None, "more than was measured");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bound;
pub mod calls;
mod check;
mod compiled;
mod correction;
mod describe;
mod ends;
mod inline;
mod library;
mod nodes;
mod read;
mod regret;
mod resolve;
mod sensitivity;
mod write;

use crate::{Kinds, Platform, SpecId, Unit};
use strata_select::table::{Ends as ProblemEnds, Parameter, Root};

pub use bound::Bound;
pub use compiled::{MAX_CALLS, MAX_INPUTS, MAX_TERMS};
pub use correction::{Axis, Correction, multiple, reads_round};
pub use ends::Ends;
pub use inline::{Check, Corrected, FitSpread, Formula, MAX_CHAIN, MAX_NODES};
pub use library::{LibraryModels, expected_ratio};
pub use nodes::Nodes;
pub use regret::{Constant, Incumbent, Regret};
pub use resolve::Resolved;
pub use sensitivity::Sensitivity;
pub use strata_select::table::{Contrast, Step, Verdict};

/// The version of the format, in its first line.
pub const VERSION: u32 = 1;

/// Models that were fitted together, and their libraries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSet {
    /// Where the samples were taken.
    pub platform: Option<Platform>,
    /// The spec that the models come from.
    pub spec: Option<SpecId>,
    /// The hash of the samples file; empty if there is none.
    pub samples_sha256: String,
    /// The hash of the sources of the code that was measured; empty if it is not known. See
    /// `specc check`.
    pub code_sha256: String,
    /// How many cores other programs kept busy while the samples were taken and the nodes lacked
    /// them; 0: none. The models' own errors include the effect.
    pub busy: f64,
    /// The inputs that are one of a few names.
    pub kinds: Kinds,
    /// The models, in the order of the spec.
    pub models: Vec<Model>,
    /// The libraries, in the order of the spec.
    pub libraries: Vec<Library>,
}

/// One model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Its inputs, in the order of its arguments.
    pub inputs: Vec<Input>,
    /// Conditions, without which the model predicts nothing.
    pub requires: Vec<String>,
    /// Inputs that followed others at all samples, each with its value by them: nothing is known of
    /// an effect of their own.
    pub follows: Vec<Named>,
    /// What the spec calls parts of terms and requirements, in its order; see [`Model::short`].
    pub names: Vec<Named>,
    /// Fitted to samples, an expression over other models, or unknown. In the text the latter two
    /// are `expression = "…"` and `unmeasured = true`.
    pub kind: Kind,
    /// The unit of its predictions, and of every number below that is said to be in s.
    pub unit: Unit,
    /// What it promises as a bound from above; `None`: it predicts the expected value. The errors
    /// `mre_fit` to `coverage` of a bound are those of the least-squares fit of its terms.
    pub bound: Option<Bound>,
    /// Which error the fit minimised.
    pub mode: Mode,
    /// The terms with their coefficients; a term may call another model (a hybrid model).
    pub terms: Vec<Term>,
    /// The factor of the sum of the terms, if samples distinguished the values of a parameter
    /// better than the terms do. Only candidates of libraries can call such a model.
    pub correction: Option<Correction>,
    /// How the errors differ between values of the parameters; `None`: unknown.
    pub contrast: Option<Contrast>,
    /// The covariance of the coefficients, over all terms; zero rows and columns for terms that
    /// were dropped.
    pub covariance: Vec<Vec<f64>>,
    /// The variance V of a new measurement about its prediction, s²: of the weighted residuals, or
    /// of held-out samples if these scatter more.
    pub noise_variance: f64,
    /// The mean of the measured times ȳ, s. In relative mode a new measurement at ŷ has the
    /// standard deviation √V·ŷ/ȳ.
    pub mean_time: f64,
    /// The quantile of Student's t by which standard errors become half widths.
    pub t_quantile: f64,
    /// The share of the variation that the model explains.
    pub r2: f64,
    /// The mean relative error of the samples that were fitted; 0.05 is 5 %.
    pub mre_fit: f64,
    /// The mean relative error of the held-out samples, if there were any.
    pub mre_verify: Option<f64>,
    /// The quantiles of the relative error of those samples.
    pub verify_quantiles: Option<Quantiles>,
    /// The share of those samples that lie within their predicted intervals.
    pub coverage: Option<f64>,
    /// The greatest leverage of a fitted sample; beyond it a prediction extrapolates. Zero:
    /// unknown.
    pub leverage_limit: f64,
    /// How many samples were fitted.
    pub samples: usize,
    /// How many samples were held out.
    pub verify_samples: usize,
    /// The relative standard deviation of the noise in one held-out sample, from repeats of its
    /// point; `None`: no sample was repeated.
    pub noise: Option<f64>,
    /// The held-out error that the noise does not explain, √(max(0, error² − noise²)), as a
    /// standard deviation relative to the prediction. It is the least uncertainty of every
    /// predicted mean. Zero: unknown, or none.
    pub own_error: f64,
    /// Whether the model may be trusted.
    pub verdict: Verdict,
    /// The reason, as text.
    pub reason: String,
    /// The reasons for doubt, as text.
    pub doubts: Vec<String>,
    /// The rank of the design matrix.
    pub rank: usize,
    /// The condition of the design matrix: its largest singular value over its least.
    pub condition: f64,
    /// The measured numbers of nodes; the model holds only there.
    pub nodes: Nodes,
}

/// A name of the spec, and the expression over inputs that it stands for. Terms are computed without
/// it: it is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub value: String,
}

impl Model {
    /// Its own error, if verification could separate it from noise.
    #[must_use]
    pub fn known_own_error(&self) -> Option<f64> {
        (self.noise.is_some() || self.own_error > 0.0).then_some(self.own_error)
    }

    /// The first input that [follows](Self::follows) others at all samples, but not among these
    /// values of the inputs: nothing is known of its effect there.
    #[must_use]
    pub fn stray(&self, values: &[f64]) -> Option<&Named> {
        /// A relation holds within 1 % at the samples.
        const OFF: f64 = 0.05;
        let value = |name: &str| {
            let place = self.inputs.iter().position(|input| input.name == name)?;
            values.get(place).copied()
        };
        self.follows.iter().find(|follower| {
            let expected = crate::expr::parse(&follower.value).ok().and_then(|expr| expr.eval(&value).ok());
            expected.zip(value(&follower.name)).is_some_and(|(by, is)| (is / by - 1.0).abs() > OFF)
        })
    }
}

/// The source of a model's prediction.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kind {
    /// Coefficients fitted to samples.
    #[default]
    Fitted,
    /// An expression over other models, never fitted.
    Factored {
        /// Its text.
        expression: String,
    },
    /// Unknown: there was no measurement, or no possible fit. It predicts nothing. It has inputs
    /// because the code generated for a candidate names them.
    Unmeasured,
}

/// Which error a fit minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The error over the time: a short time counts as much as a long one.
    #[default]
    Relative,
    /// The error in seconds.
    Absolute,
}

/// Quantiles of the relative error |measured − predicted|/measured, as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// Half the samples have at most this error.
    pub p50: f64,
    /// Nine in ten have at most this error.
    pub p90: f64,
    /// 19 in 20 have at most this error.
    pub p95: f64,
    /// The greatest error.
    pub max: f64,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Relative => "relative",
            Self::Absolute => "absolute",
        })
    }
}

/// An input of a model and the range in which it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The least value measured.
    pub min: f64,
    /// The greatest value measured.
    pub max: f64,
    /// Whether its values are whole numbers only.
    pub integer: bool,
}

/// A term of a fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The canonical text of the expression; `1` is the constant term.
    pub term: String,
    /// The coefficient, in seconds per unit of the term; 0 if the term was dropped.
    pub coefficient: f64,
    /// Its standard error, the ordinary one: every sample counts as independent of the others.
    pub std_error: f64,
    /// Half the width of its confidence interval, which allows for samples of one point: they
    /// depend on each other.
    pub half_width: f64,
    /// Whether the term was kept.
    pub relevant: bool,
}

/// A choice: one interface, several implementations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    /// Its name.
    pub name: String,
    /// The inputs of a choice.
    pub inputs: Vec<String>,
    /// The implementations, in order: the first named wins a tie.
    pub candidates: Vec<LibraryCandidate>,
    /// The candidate that stays unless another is predicted to be faster by enough.
    pub incumbent: Option<Incumbent>,
    /// Groups of candidates whose results are the same to the bit.
    pub equal: Vec<Vec<String>>,
    /// The losses of choices among the candidates, if measured.
    pub regret: Option<Regret>,
}

/// One implementation of a library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LibraryCandidate {
    /// Its name, by which it is pinned.
    pub name: String,
    /// The model of its time.
    pub model: String,
    /// The model's arguments: expressions over the library's inputs and the candidate's parameters.
    pub arguments: Vec<String>,
    /// The parameters that a choice sets.
    pub parameters: Vec<ParameterRange>,
    /// Conditions, without which the candidate does not compete; [`PROCESSES`] alone is one of
    /// them.
    ///
    /// [`PROCESSES`]: crate::platform::PROCESSES
    pub requires: Vec<String>,
}

/// A parameter of a candidate: a whole number from a range.
///
/// The ends of the range for one problem may be expressions over the library's inputs, `P`, `logP`,
/// `sqrtP` and [the machine](crate::platform::MACHINE), which is the set's platform; `min` and
/// `max` then bound them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterRange {
    /// Its name.
    pub name: String,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// The step from one value to the next.
    pub step: Step,
    /// The expression over the inputs and parameters whose root is the value, if the value is not
    /// the one with the least time; see [`strata_select::table::Root`].
    pub root: Option<String>,
    /// The first value, if it is not always `min`.
    pub first: Option<String>,
    /// The greatest value, if it is not always `max`.
    pub last: Option<String>,
}

impl ParameterRange {
    /// The parameter as declared in a row of a choice. The models compute its root and its ends
    /// ([`Source`](strata_select::Source)).
    #[must_use]
    pub fn declared(&self, name: &'static str) -> Parameter {
        Parameter {
            name,
            min: self.min,
            max: self.max,
            step: self.step,
            root: self.root.as_ref().map(|_| Root(|_, _| None)),
            ends: (!self.is_constant()).then_some(ProblemEnds(|_, _, _| None)),
        }
    }

    /// Whether the range is always the same.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.first.is_none() && self.last.is_none()
    }
}

/// An error in a model set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// The text is not TOML, or not a model set.
    #[error("this is not a model set: {message}")]
    Form {
        /// The error, with line and column if known.
        message: String,
    },
    /// The set was written by another version.
    #[error(
        "this program reads version {VERSION} of model sets, but this one is of version {found}: calibrate again"
    )]
    Version {
        /// The version in the text.
        found: String,
    },
    /// An error in a model or library.
    #[error("{place}: {message}")]
    Content {
        /// The model or library, and the part of it.
        place: String,
        /// The error and its remedy.
        message: String,
    },
}

impl ModelSet {
    /// The model of this name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The model of this name, unless it is [`Unmeasured`](Kind::Unmeasured) and predicts nothing.
    #[must_use]
    pub fn known(&self, name: &str) -> Option<&Model> {
        self.model(name).filter(|model| model.kind != Kind::Unmeasured)
    }

    /// The library of this name.
    #[must_use]
    pub fn library(&self, name: &str) -> Option<&Library> {
        self.libraries.iter().find(|library| library.name == name)
    }

    /// The default number of nodes for predictions of this set: the platform's, else the greatest
    /// for which a model holds; at least 1.
    #[must_use]
    pub fn nodes(&self) -> usize {
        let measured = self.models.iter().map(|model| model.nodes.max).filter(|max| *max != usize::MAX);
        self.platform.as_ref().map_or(measured.max().unwrap_or(1), |platform| platform.nodes).max(1)
    }

    /// The hash of the canonical text: nodes of a team compare it, and generated code contains it.
    #[must_use]
    pub fn digest(&self) -> String {
        crate::sha256_hex(self.to_text().as_bytes())
    }
}
