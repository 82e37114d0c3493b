//! Why a model could not be fitted; each error names the model, the place and the remedy.

use strata_model::samples::ModelSamples;
use strata_model::{count, percent};
use thiserror::Error;

/// Why there is no model. A model with bad predictions is not an error: it gets a verdict.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}{fault}", self.place())]
pub struct FitError {
    /// The model; empty if an option is at fault.
    pub model: String,
    /// The line of the sample in its file; 0 if no single sample is at fault.
    pub line: usize,
    /// What is at fault.
    pub fault: Fault,
}

impl FitError {
    /// A fault of these samples as a whole.
    pub(crate) fn of(samples: &ModelSamples, fault: Fault) -> Self {
        Self { model: samples.name.clone(), line: 0, fault }
    }

    /// A fault of the sample in this line.
    pub(crate) fn at(samples: &ModelSamples, line: usize, fault: Fault) -> Self {
        Self { line, ..Self::of(samples, fault) }
    }

    fn place(&self) -> String {
        match (&*self.model, self.line) {
            ("", _) => String::new(),
            (model, 0) => format!("model `{model}`"),
            (model, line) => format!("model `{model}`, line {line}"),
        }
    }
}

/// What is at fault; its text follows the name of the model and the line.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// There are no samples to fit, only so many to verify.
    #[error(" has no samples to fit{}; measure it first", only_verification(*.0))]
    NoSamples(usize),
    /// The samples' `fit` line has unknown words: the error.
    #[error(": its line `fit` in the samples cannot be followed: {0}")]
    BadFitLine(String),
    /// There are too few samples for the independent terms.
    #[error(
        " has {} for {}; take at least {more} more at other inputs, or name fewer terms",
        count(*samples, "sample", "samples"),
        count(*terms, "term", "terms"),
    )]
    TooFewSamples {
        /// How many samples there are.
        samples: usize,
        /// The number of terms.
        terms: usize,
        /// How many more samples are needed at least.
        more: usize,
    },
    /// No terms are named, and so many points are too few to distinguish curves.
    #[error(
        " has samples at {0} points only, and no terms are named: a curve is told from 4 points or more; measure at \
         other values, or name the terms in a spec"
    )]
    TooFewPoints(usize),
    /// Too few samples were held out for an upper bound.
    #[error(
        " has {} held out, but to lie above {} of all with {} confidence takes {needed}: hold out more \
         (`--hold-out 50%`, in a spec `verify 100`), measure more often, or ask for a smaller share",
        count(*held_out, "sample", "samples"),
        percent(*share),
        percent(*confidence),
    )]
    TooFewHeldOut {
        /// How many samples are held out.
        held_out: usize,
        /// How many are needed at least.
        needed: usize,
        /// The share that the bound is to cover.
        share: f64,
        /// With which confidence.
        confidence: f64,
    },
    /// No multiple of the terms is above the samples.
    #[error(
        ": no multiple of its terms lies above the held-out samples, as they are all zero at some of them: allow a \
         constant, or name a term"
    )]
    NoBound,
    /// A term or input is infinite or not a number at a sample: its text and its value.
    #[error(": term `{0}` is {1}; take the sample out, or `require` inputs at which the term is finite")]
    NotFinite(String, f64),
    /// A time is infinite or not a number.
    #[error(": the time is {0}; take the sample out or measure it again")]
    BadTime(f64),
    /// The time is zero or less, so it has no relative error.
    #[error(
        ": the time is {0}, and a relative fit needs times above zero; measure it again or fit with absolute errors"
    )]
    NotPositive(f64),
    /// A variance is zero, negative or not a number.
    #[error(
        ": the variance of the time is {0}, but must be above zero; take the sample out or leave the variances out"
    )]
    BadVariance(f64),
    /// A term or requirement, or the column that should be one, cannot be evaluated: its text and the
    /// error.
    #[error(": `{0}` cannot be evaluated: {1}")]
    BadTerm(String, String),
    /// A column differs from the expression that names it.
    #[error(
        ": the column `{column}` holds {value}, but the expression is {computed} there; correct the values or the name \
         of the column"
    )]
    ColumnDiffers {
        /// The column.
        column: String,
        /// Its value.
        value: f64,
        /// The value of its expression.
        computed: f64,
    },
    /// `P`, `logP` or `sqrtP` does not belong to a whole number of nodes: the column and its value.
    #[error(": {0} = {1} is of no whole number of nodes; correct it")]
    NotNodes(&'static str, f64),
    /// A term reads the number of nodes, which is unknown.
    #[error(
        ": the term `{0}` reads the number of nodes, which neither a column `P` nor a line `platform` tells; add one"
    )]
    NoNodes(String),
    /// The samples have no column for an input.
    #[error(": the samples have no column for the input `{0}`; profile it again")]
    NoColumn(String),
    /// The square of an input, or of the `time`, leaves the range of doubles: its name and its value.
    #[error(
        ": `{0}` is {1:e}, and a fit needs its square: use another unit, so that it lies from 1e-120 to 1e120, or \
         take the sample out"
    )]
    OutOfRange(String, f64),
    /// A number left the range of doubles.
    #[error(
        ": times or terms are so large or small that the fit leaves the range of numbers; use other units"
    )]
    Overflow,
    /// No accurate solution was found: the residual ratio that was reached.
    #[error(
        ": no accurate least-squares solution was found (residual ratio {0:.1e}, 30 is allowed); name fewer terms"
    )]
    Inaccurate(f64),
    /// An option is out of range.
    #[error("{option} is {value}, but must be {expected}")]
    BadOption {
        /// The option.
        option: &'static str,
        /// Its value.
        value: f64,
        /// Its allowed values.
        expected: &'static str,
    },
}

fn only_verification(count: usize) -> String {
    if count == 0 { String::new() } else { format!(", only {count} to verify it") }
}
