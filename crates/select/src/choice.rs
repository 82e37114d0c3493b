//! The result of a selection, and its explanation for people.

pub use crate::chooser::Chooser;
pub use crate::error::Fault;
pub use crate::library::{ChooseResult, MAX_INPUTS, Rows};
#[cfg(any(feature = "std", feature = "libm"))]
pub use crate::odds::odds;
pub use crate::pin::{PinError, PinFault, Pins};

use core::fmt;

use crate::wrapping::{Printed, Wrapped};
use crate::{
    Table,
    table::{Parameter, Parameters, Prediction, Seconds, Verdict},
};

/// Why a candidate was taken or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// It was taken.
    Taken,
    /// Its best expected time, with these parameters, is not less than that of the taken candidate.
    Slower(Seconds, Parameters),
    /// It is not correct for this problem.
    NotApplicable,
    /// It needs nodes that are processes, and here they are not.
    NeedsProcesses,
    /// Its parameter of this name has no value for this problem: the range is empty.
    NoValue(&'static str),
    /// The problem lies outside what its model was measured for, or a requirement of the model
    /// fails.
    OutOfRange,
    /// A pin chose another candidate.
    PinnedAway,
}

/// The second fastest candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunnerUp {
    /// Its index among the candidates.
    pub index: usize,
    /// Its name.
    pub name: &'static str,
    /// Its best parameters.
    pub parameters: Parameters,
    /// Its expected time with these parameters.
    pub seconds: Seconds,
}

/// One candidate of a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub declared: &'static [Parameter],
    /// Why it was taken or not.
    pub outcome: Outcome,
}

impl Row {
    /// No candidate.
    pub const EMPTY: Self = Self::new("", &[]);

    /// A candidate before anything was chosen.
    #[must_use]
    pub const fn new(name: &'static str, declared: &'static [Parameter]) -> Self {
        Self { name, declared, outcome: Outcome::NotApplicable }
    }
}

/// The models that ranked the candidates, if a choice has no prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The nearest inputs that were measured.
    Nearest,
    /// Models of another number of nodes; their spec.
    OtherNodes {
        /// Its path.
        spec: &'static str,
    },
    /// Models of another machine, the nearest of those that were measured.
    OtherMachine {
        /// The path of their spec.
        spec: &'static str,
        /// Its platform, as in a [`Table`]; empty if unknown.
        platform: &'static str,
        /// In what it differs from this one; empty if unknown.
        differs: &'static str,
    },
    /// A reason that only the library knows.
    Other(&'static str),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (by, spec, nodes) = match self {
            Self::Nearest => {
                return f.write_str("outside what was measured: ranked at the nearest point that was");
            }
            Self::Other(text) => return f.write_str(text),
            Self::OtherNodes { spec } => ("another number of nodes", spec, " --nodes N"),
            Self::OtherMachine { spec, .. } => ("another machine", spec, ""),
        };
        write!(f, "outside what was measured: ranked by models of {by}")?;
        let other = match self {
            Self::OtherMachine { platform, differs, .. } => machine(platform).zip(Some(differs)),
            _ => None,
        };
        if let Some(((cores, cpu), differs)) = other {
            let unit = if cores == "1" { "core" } else { "cores" };
            write!(f, ", the nearest: {cpu}, {cores} {unit} ({differs})")?;
        }
        if spec.is_empty() {
            Ok(())
        } else {
            write!(f, "; calibrate with `specc calibrate {spec}{nodes} -o DIR`")
        }
    }
}

/// The number of cores and the processor in a platform.
fn machine(platform: &str) -> Option<(&str, &str)> {
    let (_, rest) = platform.split_once(" cores=")?;
    let (cores, rest) = rest.split_once(" cpu=\"")?;
    Some((cores, rest.split_once("\" cache=")?.0))
}

/// The chosen candidate and the reasons; `Display` prints the explanation.
///
/// `R` holds the rows of the candidates, `[Row; N]` for N candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice<R> {
    /// The library.
    pub library: &'static str,
    /// The index of the chosen candidate.
    pub index: usize,
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: Parameters,
    /// Its predicted time; `None` if no model covers this problem (or not the pinned candidate).
    pub predicted: Option<Prediction>,
    /// Its expected time, by which the candidates are ranked: the predicted time, longer if the
    /// held-out error of its model is large ([`Entry::expected_ratio`](crate::table::Entry)).
    pub expected: Option<Seconds>,
    /// The verdict on the model that predicted it.
    pub verdict: Verdict,
    /// How many samples corrected the terms of that model; see [`Correction`](crate::table::Correction).
    pub corrected_by: Option<usize>,
    /// The second fastest, if two have a prediction.
    pub runner_up: Option<RunnerUp>,
    /// Whether a pin determined the choice.
    pub pinned: bool,
    /// The gain for which the library's [`Incumbent`](crate::table::Incumbent) would be left, if it stayed
    /// although another candidate is predicted to be faster.
    pub kept: Option<f64>,
    /// The models that ranked the candidates if there is neither prediction nor pin; `None`: their
    /// order.
    pub note: Option<Note>,
    /// How far the problem lies outside the measured range, 0 inside: see
    /// [`Domain::nearest`](crate::table::Domain::nearest).
    pub distance: f64,
    pub(crate) rows: R,
}

impl<R: AsRef<[Row]>> Choice<R> {
    /// The first candidate of a library, for want of any that applies.
    pub(crate) fn without_models(table: &Table, parameters: Parameters, note: Note, rows: R) -> Self {
        Self {
            library: table.library,
            index: 0,
            name: rows.as_ref().first().map_or("", |row| row.name),
            parameters,
            predicted: None,
            expected: None,
            verdict: Verdict::Unverified,
            corrected_by: None,
            runner_up: None,
            pinned: false,
            kept: None,
            note: Some(note),
            distance: 0.0,
            rows,
        }
    }

    /// For every candidate, in order, its name and why it was taken or not.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, Outcome)> {
        self.rows.as_ref().iter().map(|row| (row.name, row.outcome))
    }

    /// The models that ranked the candidates, if there is neither prediction nor pin.
    #[must_use]
    pub fn reason(&self) -> Note {
        self.note.unwrap_or(Note::Other("the first that applies: no model covers this problem"))
    }

    /// The declared parameters of a candidate.
    #[must_use]
    pub fn declared(&self, candidate: usize) -> &'static [Parameter] {
        self.rows.as_ref().get(candidate).map_or(&[], |row| row.declared)
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

impl<R: AsRef<[Row]>> Choice<R> {
    /// The chosen candidate and its time, without the other candidates; on several lines if wider
    /// than 80 columns.
    pub fn summary(&self) -> impl fmt::Display {
        Wrapped(Printed(|f: &mut fmt::Formatter<'_>| self.head(f)))
    }

    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declared = self.declared(self.index);
        write!(f, "{}: {}", self.library, Named(self.name, declared, self.parameters))?;
        match self.predicted {
            Some(predicted) => {
                write!(f, ", predicted {predicted}")?;
                if let Some(samples) = self.corrected_by {
                    write!(f, " by named terms, corrected by {samples} samples")?;
                }
                match self.verdict {
                    Verdict::Failed => f.write_str(", though its model failed verification")?,
                    Verdict::Doubtful => f.write_str(", though its model is doubtful")?,
                    Verdict::Verified | Verdict::WithinNoise | Verdict::Unverified => {}
                }
                if let Some(expected) = self.expected.filter(|expected| *expected != predicted.seconds) {
                    write!(f, ", expected {expected}")?;
                }
            }
            None if self.pinned => f.write_str(", of which no model covers this problem")?,
            None => write!(f, ", {}", self.reason())?,
        }
        if self.pinned {
            f.write_str(" (pinned)")?;
        }
        Ok(())
    }

    fn all(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        match self.kept {
            Some(gain) if gain >= 1.0 => {
                f.write_str("\n  always taken: nothing else was faster on average")?
            }
            Some(gain) => write!(f, "\n  kept, as no other is predicted to save {:.0} %", 100.0 * gain)?,
            None => {}
        }
        let width = self.outcomes().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (index, (name, outcome)) in self.outcomes().enumerate() {
            write!(f, "\n  {name:width$}  ")?;
            match outcome {
                Outcome::Taken => f.write_str("taken")?,
                Outcome::NotApplicable => f.write_str("not taken: does not apply to this problem")?,
                Outcome::NeedsProcesses => f.write_str("not taken: needs nodes that are processes")?,
                Outcome::NoValue(name) => write!(f, "not taken: `{name}` has no value for this problem")?,
                Outcome::OutOfRange => {
                    f.write_str("not taken: excluded by its model's range or a requirement")?
                }
                Outcome::PinnedAway => f.write_str("not taken: another is pinned")?,
                Outcome::Slower(seconds, parameters) => {
                    self.time(index, seconds, &parameters, f)?;
                    self.ratio(seconds, f)?;
                }
            }
        }
        Ok(())
    }

    fn time(
        &self,
        index: usize,
        seconds: Seconds,
        parameters: &Parameters,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        write!(f, "not taken: {seconds}")?;
        for (parameter, value) in self.declared(index).iter().zip(parameters.iter()) {
            write!(f, " with {} = {value}", parameter.name)?;
        }
        Ok(())
    }

    fn ratio(&self, seconds: Seconds, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expected.map(|expected| seconds.get() / expected.get()) {
            Some(1.0) => f.write_str(", as fast, but named later"),
            Some(ratio) if ratio.is_finite() => write!(f, ", {ratio:.2} times as long"),
            _ => Ok(()),
        }
    }
}

impl<R: AsRef<[Row]>> fmt::Display for Choice<R> {
    /// Several lines of at most 80 columns, without a newline after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Wrapped(Printed(|f: &mut fmt::Formatter<'_>| self.all(f))).fmt(f)
    }
}
