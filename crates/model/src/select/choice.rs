//! The answer of a selection, and its explanation for people.

use std::fmt;

use super::{MAX_CANDIDATES, Parameter, Parameters};
use crate::set::Verdict;
use crate::{Prediction, Seconds};

/// Why a candidate was taken or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// It was taken.
    Taken,
    /// Its best time, with these parameters, is longer than, or as long as, that of the one that was taken.
    Slower(Seconds, Parameters),
    /// Its model failed verification, so that its best time, with these parameters, counts for nothing beside the one that
    /// was taken.
    Failed(Seconds, Parameters),
    /// It is not correct for this problem.
    NotApplicable,
    /// The problem lies outside what its model was measured for, or a requirement of the model fails.
    OutOfRange,
    /// A pin fixed another.
    PinnedAway,
}

/// The second fastest candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunnerUp {
    /// Its place among the candidates.
    pub index: usize,
    /// Its name.
    pub name: &'static str,
    /// Its best parameters.
    pub parameters: Parameters,
    /// Its time with these.
    pub seconds: Seconds,
}

/// What was chosen, and why. Printed it explains itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The library.
    pub library: &'static str,
    /// The place of the chosen candidate among the candidates.
    pub index: usize,
    /// Its name.
    pub name: &'static str,
    /// Its parameters, to be handed to [`run`](super::Candidate::run).
    pub parameters: Parameters,
    /// Its predicted time; `None` if no model covers this problem (or not the pinned candidate).
    pub predicted: Option<Prediction>,
    /// What is known of the model that predicted it.
    pub verdict: Verdict,
    /// The second fastest, if two have a prediction; one whose model failed is last.
    pub runner_up: Option<RunnerUp>,
    /// Whether a pin decided.
    pub pinned: bool,
    /// What decided where there is no prediction and no pin, if a library knows better than "the first that applies".
    pub note: Option<&'static str>,
    pub(super) count: usize,
    pub(super) names: [&'static str; MAX_CANDIDATES],
    pub(super) declared: [&'static [Parameter]; MAX_CANDIDATES],
    pub(super) all: [Outcome; MAX_CANDIDATES],
}

impl Choice {
    /// For every candidate, in order, its name and why it was taken or not.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, Outcome)> {
        self.names.iter().copied().zip(self.all.iter().copied()).take(self.count)
    }
}

/// A candidate's name with its parameters: `radix (bits = 11)`.
struct Named(&'static str, &'static [Parameter], Parameters);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        for (i, (parameter, value)) in self.1.iter().zip(self.2.iter()).enumerate() {
            write!(f, "{}{} = {value}", if i == 0 { " (" } else { ", " }, parameter.name)?;
        }
        if self.2.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl fmt::Display for Choice {
    /// Several lines, without a line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declared = self.declared.get(self.index).copied().unwrap_or_default();
        write!(f, "{}: {}", self.library, Named(self.name, declared, self.parameters))?;
        match self.predicted {
            Some(predicted) => {
                write!(f, ", predicted {predicted}")?;
                match self.verdict {
                    Verdict::Failed => f.write_str(", though its model failed verification")?,
                    Verdict::Doubtful => f.write_str(", though its model is doubtful")?,
                    Verdict::Verified | Verdict::WithinNoise | Verdict::Unverified => {}
                }
            }
            None if self.pinned => f.write_str(", outside what its model was measured for")?,
            None => {
                write!(
                    f,
                    ", {}",
                    self.note.unwrap_or("the first that applies: no model covers this problem")
                )?;
            }
        }
        if self.pinned {
            f.write_str(" (pinned)")?;
        }
        let width = self.outcomes().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (index, (name, outcome)) in self.outcomes().enumerate() {
            write!(f, "\n  {name:width$}  ")?;
            match outcome {
                Outcome::Taken => f.write_str("taken")?,
                Outcome::NotApplicable => f.write_str("not taken: does not apply to this problem")?,
                Outcome::OutOfRange => f.write_str("not taken: its model does not cover this problem")?,
                Outcome::PinnedAway => f.write_str("not taken: another is pinned")?,
                Outcome::Slower(seconds, parameters) => {
                    self.time(index, seconds, &parameters, f)?;
                    self.ratio(seconds, f)?;
                }
                Outcome::Failed(seconds, parameters) => {
                    self.time(index, seconds, &parameters, f)?;
                    f.write_str(", but its model failed verification")?;
                }
            }
        }
        Ok(())
    }
}

impl Choice {
    fn time(
        &self,
        index: usize,
        seconds: Seconds,
        parameters: &Parameters,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        write!(f, "not taken: {seconds}")?;
        for (parameter, value) in self.declared[index].iter().zip(parameters.iter()) {
            write!(f, " with {} = {value}", parameter.name)?;
        }
        Ok(())
    }

    fn ratio(&self, seconds: Seconds, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.predicted.map(|predicted| seconds.get() / predicted.seconds.get()) {
            Some(1.0) => f.write_str(", as fast, but named later"),
            Some(ratio) if ratio.is_finite() => write!(f, ", {ratio:.2} times as long"),
            _ => Ok(()),
        }
    }
}
