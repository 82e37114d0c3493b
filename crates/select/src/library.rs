//! Typed libraries: what `specc` emits for a library of a spec, and the choice among its
//! candidates.

use core::fmt;

use crate::choose::{Contenders, Decision, decide, rank};
use crate::{
    Choice, ChooseError, Pin, Row, Source, Table,
    choice::{Chooser, Fault, Note, Outcome},
    table::Parameters,
};

/// The most inputs of a library.
pub const MAX_INPUTS: usize = 24;

/// The distance of models of another machine, or of another kind of problem: each time may be wrong
/// by a factor of two.
const ELSEWHERE: f64 = 1.0;

/// The candidates of a library as an enum; `specc emit` writes the implementation.
pub trait Library: Copy + 'static {
    /// `[Row; N]` for N candidates.
    type Rows: Rows;

    /// The inputs that determine the candidates' times.
    type Input: Input;

    /// The compiled-in models, one table for each platform; at least one. All have the same inputs
    /// and candidates.
    const TABLES: &'static [&'static Table];

    /// The first table, for the properties that all tables share.
    const TABLE: &'static Table = Self::TABLES[0];

    /// The candidate with this index and these parameters; `None` if there is no such candidate, or
    /// its parameters are others.
    fn candidate(index: usize, parameters: &[i64]) -> Option<Self>;

    /// Choices for problems on `nodes` nodes, of which this process decides alone: `Sort::on(4)`.
    /// Programs with several nodes choose through the run-time system, which makes all nodes choose
    /// the same.
    #[must_use]
    fn on(nodes: usize) -> Chooser<'static, Self> {
        Chooser { nodes, pin: None, applies: &|_| true }
    }
}

/// The inputs of a library: nothing, a number, or a struct that `specc` writes, with the names of the
/// spec.
pub trait Input: Copy {
    /// The values, in the order of the library's inputs.
    fn values(self) -> impl AsRef<[f64]>;
}

impl Input for () {
    fn values(self) -> impl AsRef<[f64]> {
        []
    }
}

impl Input for usize {
    fn values(self) -> impl AsRef<[f64]> {
        [self as f64]
    }
}

impl Input for i64 {
    fn values(self) -> impl AsRef<[f64]> {
        [self as f64]
    }
}

impl Input for f64 {
    fn values(self) -> impl AsRef<[f64]> {
        [self]
    }
}

impl<const N: usize> Input for [f64; N] {
    fn values(self) -> impl AsRef<[f64]> {
        self
    }
}

/// The rows of a choice: `[Row; N]` for N candidates.
pub trait Rows: AsRef<[Row]> + AsMut<[Row]> + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The rows of a table before a choice.
    fn of(table: &Table) -> Self;
}

impl<const N: usize> Rows for [Row; N] {
    fn of(table: &Table) -> Self {
        core::array::from_fn(|index| {
            table.entries.get(index).map_or(Row::EMPTY, |entry| Row::new(entry.name, entry.parameters))
        })
    }
}

/// A typed candidate and the reasons for it, or why nothing was chosen.
pub type ChooseResult<'p, L> =
    Result<(L, Choice<<L as Library>::Rows>), ChooseError<'p, <L as Library>::Rows>>;

/// A problem as the models see it, and everything else that determines the choice. All of it must
/// be equal on every node of a team.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a, 'p> {
    /// The number of nodes, at least 1.
    pub nodes: usize,
    /// The library's inputs, in order.
    pub inputs: &'a [f64],
    /// A pin, which takes precedence over the models.
    pub pin: Option<Pin<'p>>,
    /// Why the models only rank the candidates, if they are of another machine.
    pub note: Option<Note>,
    /// Whether nodes are processes with memories of their own, as on MPI. Otherwise candidates that
    /// need processes do not compete.
    pub processes: bool,
    /// The most cores that the ranges of parameters may use if they read `cores`; never more than
    /// the measured machine has.
    pub cores: usize,
}

impl<'a> Question<'a, '_> {
    /// A problem without a pin, for models of this machine, for nodes that are threads, with as
    /// many cores as the measured machine has.
    #[must_use]
    pub fn new(nodes: usize, inputs: &'a [f64]) -> Self {
        Self { nodes, inputs, pin: None, note: None, processes: false, cores: usize::MAX }
    }
}

/// Chooses among the candidates in `rows` by models from any source; `applies` states which
/// candidates are correct for the problem.
///
/// Outside the measured range the candidates are ranked at the nearest measured point; the choice
/// then has no prediction, and its note states the reason. If no model predicts a time even there,
/// the first candidate that applies is taken. `spec` is the path of the spec, for notes.
///
/// # Errors
/// See [`Fault`].
#[inline]
pub fn choose_among<'p, R: AsRef<[Row]> + AsMut<[Row]>, S: Source + ?Sized>(
    (library, spec): (&'static str, &'static str),
    mut rows: R,
    source: &S,
    question: Question<'_, 'p>,
    applies: &dyn Fn(usize) -> bool,
) -> Result<Choice<R>, ChooseError<'p, R>> {
    let Question { pin, nodes, .. } = question;
    let mut inputs = [0.0; MAX_INPUTS];
    let (contenders, mut distance) = match located(source, question, &mut inputs, applies) {
        Ok(located) => located,
        Err(fault) => return Err(ChooseError { library, pin, fault, rows }),
    };
    let note = match question.note {
        Some(Note::Other(_)) => question.note,
        _ if contenders.nodes != nodes => Some(Note::OtherNodes { spec }),
        None if distance > 0.0 => Some(Note::Nearest),
        note => note,
    };
    if let Some(Note::OtherMachine { .. } | Note::Other(_)) = question.note {
        distance += ELSEWHERE;
    }
    let mut decision = match decide(library, rows.as_mut(), &contenders, pin) {
        Ok(decision) => decision,
        Err(fault) => return Err(ChooseError { library, pin, fault, rows }),
    };
    let ranked = note.is_some() && decision.predicted.take().is_some();
    let Decision { index, parameters, predicted, expected, runner_up, pinned, kept } = decision;
    let about = source.about(index);
    Ok(Choice {
        library,
        index,
        name: rows.as_ref()[index].name,
        parameters,
        predicted,
        expected,
        verdict: about.verdict,
        corrected_by: about.corrected_by,
        runner_up,
        pinned,
        kept,
        note: note.filter(|_| ranked),
        distance: if ranked { distance } else { 0.0 },
        rows,
    })
}

/// A problem at the nearest point that was measured, which is in `inputs`, and how far away it is.
fn located<'a, 'p, S: ?Sized + Source>(
    source: &'a S,
    question: Question<'_, 'p>,
    inputs: &'a mut [f64; MAX_INPUTS],
    applies: &'a dyn Fn(usize) -> bool,
) -> Result<(Contenders<'a, S>, f64), Fault<'p>> {
    let domain = source.info().domain;
    let (takes, given) = (domain.inputs.len(), question.inputs.len());
    let Some(inputs) = inputs.get_mut(..given).filter(|_| takes == given) else {
        return Err(Fault::Inputs(takes, given));
    };
    inputs.copy_from_slice(question.inputs);
    let (nodes, distance) = domain.nearest(question.nodes, inputs);
    Ok((Contenders { source, nodes, cores: question.cores, inputs, applies }, distance))
}

/// The candidate of [`choose_from`], without the reasons: neither its interval nor a table of the
/// others is made. `None` where that fails.
#[inline]
pub(crate) fn fastest_from<L: Library, S: Source + ?Sized>(
    source: &S,
    question: Question<'_, '_>,
    applies: &dyn Fn(L) -> bool,
) -> Option<L> {
    let mut rows = rows::<L>(question.processes);
    let typed = |_, candidate| applies(candidate);
    let applies = applied(&typed);
    let mut inputs = [0.0; MAX_INPUTS];
    let (contenders, _) = located(source, question, &mut inputs, &applies).ok()?;
    let ranked = rank(rows.as_mut(), L::TABLE.library, &contenders, question.pin).ok()?;
    L::candidate(ranked.index, &ranked.parameters)
}

/// As [`choose_among`], with typed candidates: `applies` is asked with the index of a candidate, and
/// the candidate with its least parameters.
///
/// # Errors
/// Those of [`choose_among`].
#[inline]
pub(crate) fn choose_from<'p, L: Library, S: Source + ?Sized>(
    source: &S,
    question: Question<'_, 'p>,
    applies: &dyn Fn(usize, L) -> bool,
) -> ChooseResult<'p, L> {
    let Table { library, spec, .. } = *L::TABLE;
    let (rows, applies) = (rows::<L>(question.processes), applied(applies));
    let choice = choose_among((library, spec), rows, source, question, &applies)?;
    match L::candidate(choice.index, &choice.parameters) {
        Some(candidate) => Ok((candidate, choice)),
        // Emitted libraries have every candidate; a handwritten one may lack some.
        None => Err(ChooseError {
            library,
            pin: question.pin,
            fault: Fault::NoCandidates,
            rows: L::Rows::of(L::TABLE),
        }),
    }
}

/// The rows of a library before a choice.
fn rows<L: Library>(processes: bool) -> L::Rows {
    let mut rows = L::Rows::of(L::TABLE);
    for (row, entry) in rows.as_mut().iter_mut().zip(L::TABLE.entries) {
        if entry.needs_processes && !processes {
            row.outcome = Outcome::NeedsProcesses;
        }
    }
    rows
}

/// Whether the candidate with an index applies: it is asked with its least parameters.
fn applied<L: Library>(applies: &dyn Fn(usize, L) -> bool) -> impl Fn(usize) -> bool {
    move |index| {
        let parameters = L::TABLE.entries.get(index).map_or(&[][..], |entry| entry.parameters);
        let least = L::candidate(index, &Parameters::least(parameters));
        least.is_some_and(|candidate| applies(index, candidate))
    }
}
