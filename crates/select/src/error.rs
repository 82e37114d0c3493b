//! Errors of choosing.

use core::fmt;

use crate::{
    Pin, Row,
    choice::PinError,
    table::{MAX_PARAMETERS, Parameter, closest},
};

/// Why no candidate could be chosen: there are no candidates, or the pin is at fault.
///
/// `R` holds the candidates' names, as in [`Choice`](crate::Choice).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChooseError<'p, R> {
    /// The library.
    pub library: &'static str,
    /// The library's pin, if there is one.
    pub pin: Option<Pin<'p>>,
    /// The fault.
    pub fault: Fault<'p>,
    pub(crate) rows: R,
}

/// The faults of a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault<'p> {
    /// There are no candidates.
    NoCandidates,
    /// This candidate has more than [`MAX_PARAMETERS`] parameters.
    TooManyParameters(&'static str),
    /// The problem has another number of inputs than the models: the expected and the given number.
    Inputs(usize, usize),
    /// No candidate is correct for this problem.
    NoneApplies,
    /// The text of the pins cannot be parsed.
    Pins(PinError<'p>),
    /// The pin is of a library whose name resembles this one's.
    OtherLibrary,
    /// The pin names a candidate that does not exist.
    UnknownCandidate,
    /// The pin has another number of parameters than the candidate has.
    ParameterCount(usize),
    /// The pin gives this parameter of the candidate a value that it cannot have.
    ParameterValue(Parameter, i64),
    /// The pinned candidate is not correct for this problem.
    DoesNotApply,
    /// The pinned candidate needs nodes that are processes, and here they are not.
    NeedsProcesses,
}

impl<R: AsRef<[Row]>> fmt::Display for ChooseError<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let library = self.library;
        let pin =
            self.pin.unwrap_or(Pin { library, candidate: "", parameters: crate::table::Parameters::NONE });
        let names = || self.rows.as_ref().iter().map(|row| row.name);
        let list = |f: &mut fmt::Formatter<'_>| {
            names()
                .enumerate()
                .try_for_each(|(i, name)| write!(f, "{}{name}", if i == 0 { "" } else { ", " }))
        };
        match self.fault {
            Fault::NoCandidates => write!(f, "the library `{library}` has no candidates to choose from"),
            Fault::TooManyParameters(name) => write!(
                f,
                "the candidate `{name}` of `{library}` has too many parameters; {MAX_PARAMETERS} are possible"
            ),
            Fault::Inputs(takes, given) => {
                write!(f, "the models of `{library}` take {takes} inputs, but {given} are given")
            }
            Fault::NoneApplies => {
                write!(f, "no candidate of `{library}` applies to this problem: ")?;
                list(f)
            }
            Fault::Pins(error) => error.fmt(f),
            Fault::OtherLibrary => {
                write!(f, "`{pin}` pins a library that is not there: did you mean `{library}`?")
            }
            Fault::UnknownCandidate => {
                write!(f, "`{pin}` pins a candidate that `{library}` does not have")?;
                if let Some(meant) = closest(pin.candidate, names()) {
                    write!(f, " (did you mean `{meant}`?)")?;
                }
                f.write_str("; it has ")?;
                list(f)
            }
            Fault::ParameterCount(takes) => write!(
                f,
                "`{pin}` does not suit the candidate: `{}` has {takes} parameters, {} are given",
                pin.candidate,
                pin.parameters.len()
            ),
            Fault::ParameterValue(parameter, value) => write!(
                f,
                "`{pin}` does not suit the candidate: `{}` must lie in {parameter}, but it is {value}",
                parameter.name
            ),
            Fault::DoesNotApply => write!(
                f,
                "`{pin}` pins a candidate that does not apply to this problem: unpin it, or pin another"
            ),
            Fault::NeedsProcesses => write!(
                f,
                "`{pin}` pins a candidate that needs nodes that are processes, as on MPI: unpin it, or pin another"
            ),
        }
    }
}

impl<R: AsRef<[Row]> + fmt::Debug> core::error::Error for ChooseError<'_, R> {}
