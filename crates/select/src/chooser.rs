//! Choices of a typed library on one node.

use core::fmt;

use crate::library::{ChooseResult, Input, Library, Question};
use crate::{
    Choice, Pin,
    choice::{Fault, Note, Rows as _},
    table::Parameters,
};

/// How to choose from a library; [`Library::on`] makes one.
///
/// `STRATA_PIN` takes precedence over the models, and `STRATA_EXPLAIN=1` prints each choice to
/// standard error.
#[derive(Clone, Copy)]
pub struct Chooser<'a, L> {
    pub(crate) nodes: usize,
    pub(crate) pin: Option<Pin<'static>>,
    pub(crate) applies: &'a dyn Fn(L) -> bool,
}

impl<'a, L: Library> Chooser<'a, L> {
    /// Lets only the candidates compete for which `applies` is true: those that are correct for the
    /// problem. It is asked with their least parameters.
    #[must_use]
    pub fn among(self, applies: &'a dyn Fn(L) -> bool) -> Self {
        Self { applies, ..self }
    }

    /// Pins a candidate; overrides `STRATA_PIN`.
    #[must_use]
    pub fn pin(self, pin: Pin<'static>) -> Self {
        Self { pin: Some(pin), ..self }
    }

    /// The candidate that the models of this machine predict to be fastest. Local.
    ///
    /// It cannot fail: a pin at fault or a damaged file of models is reported once on standard error,
    /// and the models that are compiled in decide; if no candidate applies, it is the first.
    /// [`try_choose`](Self::try_choose) returns the fault instead.
    ///
    /// # Panics
    /// If a library that is written by hand has no first candidate.
    #[must_use]
    pub fn choose(self, input: L::Input) -> L {
        let values = input.values();
        let question = Question { pin: self.pin, ..Question::new(self.nodes, values.as_ref()) };
        fastest(question, self.applies).unwrap_or_else(|| self.explain(input).candidate)
    }

    /// As [`choose`](Self::choose), with the reasons, which [`Display`](fmt::Display) prints.
    ///
    /// # Panics
    /// As [`choose`](Self::choose).
    #[must_use]
    pub fn explain(self, input: L::Input) -> Explained<L> {
        let (candidate, choice) = match self.try_choose(input) {
            Ok(chosen) => chosen,
            Err(error) => {
                let values = input.values();
                let question = Question::new(self.nodes, values.as_ref());
                // A pinned candidate that is not correct for this problem may be for others.
                if error.fault != Fault::DoesNotApply {
                    report(&error);
                }
                unpinned(question, self.applies).unwrap_or_else(|_| first())
            }
        };
        Explained { candidate, choice, nodes: self.nodes, input }
    }

    /// As [`explain`](Self::explain), for tools that handle faults themselves.
    ///
    /// # Errors
    /// Those of [`choose_among`](crate::choose_among); also if `STRATA_PIN` cannot be parsed.
    pub fn try_choose(self, input: L::Input) -> ChooseResult<'static, L> {
        let values = input.values();
        let question = Question { pin: self.pin, ..Question::new(self.nodes, values.as_ref()) };
        by_models(question, self.applies)
    }
}

/// The first candidate of a library, if none applies.
fn first<L: Library>() -> (L, Choice<L::Rows>) {
    let parameters =
        L::TABLE.entries.first().map_or(Parameters::NONE, |one| Parameters::least(one.parameters));
    let candidate = L::candidate(0, &parameters).expect("a library has a first candidate");
    let note = Note::Other("the first, as no candidate applies to this problem");
    (candidate, Choice::without_models(L::TABLE, parameters, note, L::Rows::of(L::TABLE)))
}

// Items that need `std` are whole items: the evaluator that is appended to models leaves them out.
#[cfg(feature = "std")]
use crate::models::{choose as by_models, choose_explained as unpinned, fastest, report};

/// The choice by the compiled-in models.
#[cfg(not(feature = "std"))]
fn by_models<'p, L: Library>(question: Question<'_, 'p>, applies: &dyn Fn(L) -> bool) -> ChooseResult<'p, L> {
    let table = crate::Table::fitting(L::TABLES.iter().copied(), "threads", question.nodes);
    crate::library::choose_from(table.unwrap_or(L::TABLE), question, &|_, candidate| applies(candidate))
}

#[cfg(not(feature = "std"))]
fn fastest<L: Library>(question: Question<'_, '_>, applies: &dyn Fn(L) -> bool) -> Option<L> {
    let table = crate::Table::fitting(L::TABLES.iter().copied(), "threads", question.nodes);
    crate::library::fastest_from(table.unwrap_or(L::TABLE), question, applies)
}

#[cfg(not(feature = "std"))]
use by_models as unpinned;

#[cfg(not(feature = "std"))]
fn report<R>(_: &crate::ChooseError<'_, R>) {}

/// A candidate and why it was chosen; `Display` prints the reasons, the models, and how sure they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explained<L: Library> {
    /// The candidate to run.
    pub candidate: L,
    /// Its prediction, and for every other candidate why it was not taken.
    pub choice: Choice<L::Rows>,
    nodes: usize,
    input: L::Input,
}

#[cfg(feature = "std")]
impl<L: Library> Explained<L> {
    /// How sure the choice is; `None` without predictions of two candidates.
    #[must_use]
    pub fn odds(&self) -> Option<crate::Odds> {
        let models = crate::models::Models::of::<L>(self.nodes);
        self.choice.odds(models.source, self.nodes, self.input.values().as_ref())
    }
}

#[cfg(feature = "std")]
impl<L: Library> fmt::Display for Explained<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = crate::models::Models::of::<L>(self.nodes);
        f.write_str(&models.explain(&self.choice, self.nodes, self.input.values().as_ref()))
    }
}

#[cfg(not(feature = "std"))]
impl<L: Library> fmt::Display for Explained<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.choice.fmt(f)
    }
}
