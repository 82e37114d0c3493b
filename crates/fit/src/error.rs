//! Why a model could not be fitted; each error names the model, the place and the remedy.

use strata_model::{count, percent};
use thiserror::Error;

/// Why there is no model. A model with bad predictions is not an error: it gets a verdict.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are no samples to fit.
    #[error("model `{model}` has no samples to fit{}; measure it first", only_verification(*verification))]
    NoSamples {
        /// The model.
        model: String,
        /// How many verification samples there are.
        verification: usize,
    },
    /// The samples' `fit` line has unknown words.
    #[error("model `{model}`: its line `fit` in the samples cannot be followed: {message}")]
    BadFitLine {
        /// The model.
        model: String,
        /// The error.
        message: String,
    },
    /// There are too few samples for the independent terms.
    #[error(
        "model `{model}` has {} for {}; take at least {more} more at other inputs, or name fewer terms",
        count(*samples, "sample", "samples"),
        count(*terms, "term", "terms"),
    )]
    TooFewSamples {
        /// The model.
        model: String,
        /// How many samples there are.
        samples: usize,
        /// The number of terms.
        terms: usize,
        /// How many more samples are needed at least.
        more: usize,
    },
    /// No terms are named, and there are too few points to distinguish curves.
    #[error(
        "model `{model}` has samples at {points} points only, and no terms are named: a curve is told from 4 points or \
         more; measure at other values, or name the terms in a spec"
    )]
    TooFewPoints {
        /// The model.
        model: String,
        /// How many different points there are.
        points: usize,
    },
    /// Too few samples were held out for an upper bound.
    #[error(
        "model `{model}` has {} held out, but to lie above {} of all with {} confidence takes {needed}: hold out more \
         (`--hold-out 50%`, in a spec `verify 100`), measure more often, or ask for a smaller share",
        count(*held_out, "sample", "samples"),
        percent(*share),
        percent(*confidence),
    )]
    TooFewHeldOut {
        /// The model.
        model: String,
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
        "model `{model}`: no multiple of its terms lies above the held-out samples, as they are all zero at some of them: allow \
         a constant, or name a term"
    )]
    NoBound {
        /// The model.
        model: String,
    },
    /// A term is infinite or not a number at a sample.
    #[error(
        "model `{model}`, line {line}: term `{term}` is {value}; take the sample out, or `require` inputs at which the term is finite"
    )]
    NotFinite {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The term or input.
        term: String,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// A time is infinite or not a number.
    #[error("model `{model}`, line {line}: the time is {seconds}; take the sample out or measure it again")]
    BadTime {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The value of the time.
        seconds: f64,
    },
    /// The time is zero or less, so it has no relative error.
    #[error(
        "model `{model}`, line {line}: the time is {seconds}, and a relative fit needs times above zero; measure it again or fit with absolute errors"
    )]
    NotPositive {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The time.
        seconds: f64,
    },
    /// A variance is zero, negative or not a number.
    #[error(
        "model `{model}`, line {line}: the variance of the time is {value}, but must be above zero; take the sample out or leave the variances out"
    )]
    BadVariance {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The variance.
        value: f64,
    },
    /// A term or requirement cannot be evaluated.
    #[error("model `{model}`: `{term}` cannot be evaluated: {message}")]
    BadTerm {
        /// The model.
        model: String,
        /// The term or requirement, or the column that should be one.
        term: String,
        /// The error.
        message: String,
    },
    /// A column differs from the expression that names it.
    #[error(
        "model `{model}`, line {line}: the column `{column}` holds {value}, but the expression is {computed} there; correct the values or the name of the column"
    )]
    ColumnDiffers {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The column.
        column: String,
        /// Its value.
        value: f64,
        /// The value of its expression.
        computed: f64,
    },
    /// `P`, `logP` or `sqrtP` does not belong to a whole number of nodes.
    #[error("model `{model}`, line {line}: {column} = {value} is of no whole number of nodes; correct it")]
    NotNodes {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The column.
        column: String,
        /// Its value.
        value: f64,
    },
    /// A term reads the number of nodes, which is unknown.
    #[error(
        "model `{model}`: the term `{term}` reads the number of nodes, which neither a column `P` nor a line `platform` tells; add one"
    )]
    NoNodes {
        /// The model.
        model: String,
        /// The term.
        term: String,
    },
    /// The samples have no column for an input.
    #[error("model `{model}`: the samples have no column for the input `{input}`; profile it again")]
    NoColumn {
        /// The model.
        model: String,
        /// The input.
        input: String,
    },
    /// A time or input whose square leaves the range of doubles.
    #[error(
        "model `{model}`, line {line}: `{column}` is {value:e}, and a fit needs its square: use another unit, so \
         that it lies from 1e-120 to 1e120, or take the sample out"
    )]
    OutOfRange {
        /// The model.
        model: String,
        /// Line of the sample in its file.
        line: usize,
        /// The input, or `time`.
        column: String,
        /// Its value.
        value: f64,
    },
    /// A number left the range of doubles.
    #[error(
        "model `{model}`: times or terms are so large or small that the fit leaves the range of numbers; use other units"
    )]
    Overflow {
        /// The model.
        model: String,
    },
    /// No accurate solution was found.
    #[error(
        "model `{model}`: no accurate least-squares solution was found (residual ratio {ratio:.1e}, 30 is allowed); name fewer terms"
    )]
    Inaccurate {
        /// The model.
        model: String,
        /// The residual ratio that was reached.
        ratio: f64,
    },
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
