//! Selection: several implementations of one operation, and the choice of the fastest.
//!
//! A library lists its implementations as [`Candidate`]s. [`choose`] first finds the best parameters of each, then takes the one
//! with the least predicted time; the first named wins a tie. A candidate whose model failed verification cannot win against one
//! that is trusted. It allocates nothing, so that a choice costs less than a
//! microsecond, and its answer, a [`Choice`], says for every candidate why it was taken or not. A [`Pin`] overrides the models.
//!
//! Whatever a candidate looks at must be equal on every node of the team: nodes that chose differently would wait for ever.

mod choice;
mod choose;
mod odds;
mod pin;

pub use choice::{Choice, Outcome, RunnerUp};
pub use choose::{ChooseError, choose};
pub use odds::{Odds, odds};
pub use pin::{Pin, PinError, Pins};

use crate::Prediction;
use crate::set::Verdict;

/// As many parameters as a candidate can have.
pub const MAX_PARAMETERS: usize = 4;

/// As many candidates as a library can have.
pub const MAX_CANDIDATES: usize = 16;

/// Something about a candidate that may be chosen: a whole number from a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The least value.
    pub min: i64,
    /// The greatest value, at least `min`.
    pub max: i64,
}

/// The values of a candidate's parameters, in order; derefs to a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    values: [i64; MAX_PARAMETERS],
    count: u8,
}

impl Parameters {
    /// No parameters.
    pub const NONE: Self = Self { values: [0; MAX_PARAMETERS], count: 0 };

    /// The given values; `None` if there are more than [`MAX_PARAMETERS`].
    #[must_use]
    pub fn new(values: &[i64]) -> Option<Self> {
        let mut all = [0; MAX_PARAMETERS];
        all.get_mut(..values.len())?.copy_from_slice(values);
        Some(Self { values: all, count: values.len() as u8 })
    }

    /// The values.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[i64] {
        &self.values[..usize::from(self.count).min(MAX_PARAMETERS)]
    }

    #[inline]
    fn as_mut_slice(&mut self) -> &mut [i64] {
        &mut self.values[..usize::from(self.count).min(MAX_PARAMETERS)]
    }
}

impl std::ops::Deref for Parameters {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        self.as_slice()
    }
}

/// One implementation of an operation. `P` describes the problem, `C` is what the implementation works on.
pub trait Candidate<P: ?Sized, C> {
    /// Stable name, by which logs and pins know the candidate.
    fn name(&self) -> &'static str;

    /// Whether the candidate is correct for this problem; speed plays no part.
    fn applies(&self, _problem: &P) -> bool {
        true
    }

    /// What may be chosen about the candidate; at most [`MAX_PARAMETERS`].
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// The predicted time in seconds with these parameters; `None` outside what was measured or required. Must be quick and
    /// must not allocate: it is called for every value of the parameters.
    fn seconds(&self, problem: &P, parameters: &[i64]) -> Option<f64>;

    /// The prediction with its interval, asked for once, for the explanation. By default the time alone.
    fn predict(&self, problem: &P, parameters: &[i64]) -> Option<Prediction> {
        Prediction::new(self.seconds(problem, parameters)?, 0.0)
    }

    /// Whether its predictions may be trusted: one whose model failed wins only where no other has a prediction.
    fn verdict(&self, _problem: &P) -> Verdict {
        Verdict::Unverified
    }

    /// Runs the implementation.
    fn run(&self, context: C, parameters: &[i64]);
}
