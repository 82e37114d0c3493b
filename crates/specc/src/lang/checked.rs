//! A checked spec: every name resolved, every expression reduced. What stands here can always be
//! generated.
//!
//! Reduced means: terms and requirements read nothing but the model's inputs and the reserved names
//! `P`, `logP` and `sqrtP`, so that a prediction needs nothing else; loop bounds and values read
//! iteration variables. The words of the machine ([`strata_model::platform::MACHINE`]) stay words:
//! a checked spec is the same on every machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use strata_model::Kinds;
use strata_model::expr::{Expr, Span};
use strata_model::samples::Column;

use super::ast::{Code, Name, Step, StepOperator, UseLine};

/// Everything that was loaded together, checked.
#[derive(Clone, Debug)]
pub struct CheckedSpec {
    /// The files, in the order in which they were given.
    pub files: Vec<SpecFile>,
    /// The models of all files, in order.
    pub models: Vec<Model>,
    /// The libraries of all files, in order.
    pub libraries: Vec<Library>,
    /// The inputs that are one of a few names, the same wherever one of them is an input.
    pub kinds: Kinds,
    /// The indices of `models`, each after the models that it calls: the order in which to fit.
    pub order: Vec<usize>,
}

/// One file of a spec.
#[derive(Clone, Debug)]
pub struct SpecFile {
    /// The name it was given, usually its path.
    pub name: String,
    /// Its text; the spans of its models count bytes of it.
    pub text: Arc<str>,
    /// The `//!` lines at its top, without their marks.
    pub docs: Vec<String>,
    /// Its `use` lines, in scope of all Rust code in the file.
    pub uses: Vec<UseLine>,
    /// The features of crates that its code needs.
    pub features: Vec<Name>,
    /// On what its models are measured, as it says; empty where it does not.
    pub on: Vec<MachineKind>,
}

/// A kind of machine that runs profiling programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineKind {
    /// Threads of one process.
    Threads,
    /// Processes under MPI.
    Mpi,
    /// A simulated machine.
    Sim,
}

impl MachineKind {
    /// All kinds; the first is the default.
    pub const ALL: [Self; 3] = [Self::Threads, Self::Mpi, Self::Sim];

    /// Its word in a spec and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Mpi => "mpi",
            Self::Sim => "sim",
        }
    }
}

impl CheckedSpec {
    /// The kinds of machines that the spec is measured on, in the order in which its files name
    /// them: those that every file takes.
    #[must_use]
    pub fn on(&self) -> Vec<MachineKind> {
        let named = self.files.iter().map(|file| &file.on[..]).find(|on| !on.is_empty());
        let takes = |file: &SpecFile, kind| file.on.is_empty() || file.on.contains(&kind);
        let all = named.unwrap_or(&MachineKind::ALL).iter().copied();
        all.filter(|kind| self.files.iter().all(|file| takes(file, *kind))).collect()
    }
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name, different from all others.
    pub name: String,
    /// The `///` lines before it, without their marks.
    pub docs: Vec<String>,
    /// Which of [`CheckedSpec::files`] it stands in.
    pub file: usize,
    /// From its first to its last character.
    pub span: Span,
    /// Where its name stands.
    pub name_span: Span,
    /// What it depends on, in the order in which it is called.
    pub inputs: Vec<Input>,
    /// What it is.
    pub kind: ModelKind,
    /// Over the inputs and the machine: where one does not hold, nothing is measured or predicted.
    pub requires: Vec<Expr>,
    /// What the spec calls parts of requirements and terms, over the inputs and the machine.
    pub names: Vec<(String, Expr)>,
    /// The candidate terms over the inputs, the constant aside; none for a factored model.
    pub terms: Vec<Term>,
    /// How it is measured and fitted.
    pub options: ModelOptions,
}

impl Model {
    /// Whether it has an input of this name.
    pub(crate) fn has_input(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.name == name)
    }
}

/// An input of a model.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Whether it takes whole values only, as far as is known.
    pub integral: bool,
    /// Whether it is itself a candidate term.
    pub candidate: bool,
    /// The least and the greatest value that its loops can give, on any machine; infinite where
    /// that is not known.
    pub bounds: (f64, f64),
    /// Where the header names it.
    pub span: Span,
}

/// What a model is.
#[derive(Clone, Debug)]
pub enum ModelKind {
    /// Measured by generated code, then fitted.
    Measured(Measured),
    /// Fitted to samples that come from elsewhere: nothing is generated for it.
    Unmeasured,
    /// An expression over the inputs and other models; never fitted.
    Factored(Expr),
}

/// How a model is measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The loop nest, outermost first; without loops there is one point.
    pub loops: Vec<LoopPlan>,
    /// The values computed at each point, in order: inputs, and names that only later values and
    /// the Rust code read.
    pub bindings: Vec<Binding>,
    /// Runs before each timing.
    pub setup: Option<Code>,
    /// What is measured.
    pub work: Timed,
    /// Runs after each timing.
    pub cleanup: Option<Code>,
}

impl Measured {
    /// Its pieces of Rust.
    pub(crate) fn codes(&self) -> impl Iterator<Item = &Code> {
        let work = match &self.work {
            Timed::Task { code, .. } | Timed::Sample { code, .. } => code,
        };
        self.setup.iter().chain([work]).chain(&self.cleanup)
    }

    /// The inputs that its code gives with the seconds: no plan knows them.
    #[must_use]
    pub fn gives(&self) -> &[String] {
        match &self.work {
            Timed::Sample { gives, .. } => gives,
            Timed::Task { .. } => &[],
        }
    }

    /// The names of its loops and values, which its Rust code sees.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let loops = self.loops.iter().map(|plan| plan.name.as_str());
        loops.chain(self.bindings.iter().map(|binding| binding.name.as_str()))
    }
}

/// What is measured.
#[derive(Clone, Debug)]
pub enum Timed {
    /// Timed by the harness.
    Task {
        /// Whether and how it is repeated inside one timing.
        repeated: Repeated,
        /// Timed right after another call, not after other work.
        hot: bool,
        /// The code: statements, perhaps with a value at the end.
        code: Code,
    },
    /// Measures by itself: a block whose value is the seconds, an `f64`, and with inputs that it
    /// gives `(seconds, [inputs])`.
    Sample {
        /// The inputs that only the code knows, in the order of its value.
        gives: Vec<String>,
        /// The code.
        code: Code,
    },
}

/// How a task is repeated inside one timing, where it is too short for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// `task once`: it consumes what the setup made.
    Never,
    /// Each repetition on what a `setup` of its own made.
    OnFreshSetups,
    /// All on what was made before the timing: `setup once`, or no setup at all.
    OnOneSetup,
}

/// One loop of the nest.
#[derive(Clone, Debug)]
pub struct LoopPlan {
    /// The iteration variable.
    pub name: String,
    /// Its first value, whole; over `P`, `logP`, `sqrtP`, the machine and the iteration variables of
    /// outer loops.
    pub first: Expr,
    /// Its last value at most, whole; verification draws from `first..=last`. May be less than
    /// `first`: then there is no point.
    pub last: Expr,
    /// How it advances.
    pub step: Step,
    /// The type of the variable in Rust code: `Usize` or `I64`.
    pub number: NumberKind,
    /// Whether points may lie between its whole values: nothing but rounded values reads it.
    pub between: bool,
    /// Where it stands.
    pub span: Span,
}

/// A value computed at each point.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its name in expressions and in Rust code.
    pub name: String,
    /// As written: over iteration variables, earlier bindings, the machine, `P`, `logP` and `sqrtP`.
    pub value: Expr,
    /// The same over iteration variables, the machine, `P`, `logP` and `sqrtP` alone.
    pub reduced: Expr,
    /// Its type in Rust code.
    pub number: NumberKind,
    /// Where its name stands.
    pub span: Span,
}

/// The Rust type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Whole and never negative.
    Usize,
    /// Whole, perhaps negative.
    I64,
    /// Anything else.
    F64,
}

impl NumberKind {
    /// The name of the type.
    #[must_use]
    pub fn rust_type(self) -> &'static str {
        match self {
            Self::Usize => "usize",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }
}

/// A candidate term.
#[derive(Clone, Debug)]
pub struct Term {
    /// The basis function over the inputs, `P`, `logP`, `sqrtP`, the machine, knees and other
    /// models; its text names the column.
    pub value: Expr,
    /// Whether only the fit can evaluate it: it calls other models, has a knee, or reads the
    /// machine or what a `sample` gives.
    pub fit_only: bool,
    /// Where it stands; the input's name for an input that is a term by default.
    pub span: Span,
}

/// What a model may set, with what holds if it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelOptions {
    /// `fit relative, robust huber, …`, `accept 10%` and `confidence 95%`: how its samples are
    /// fitted.
    pub fit: strata_fit::FitOptions,
    /// Whether `fit` says when to search for terms.
    pub says_search: bool,
    /// `verify 20`: how many samples verify the fit.
    pub verify: u32,
    /// `round 30%`: the share of round values among held-out samples and decisions; with 0 none are
    /// measured.
    pub round: f64,
    /// `repeat 3`: how often a point is timed at least.
    pub repeat: u32,
}

impl ModelOptions {
    /// What holds of a model by which a library chooses: its terms are those that the choice is made
    /// of, so each one that predicts better stays, and none is searched in its place.
    pub(crate) fn competing() -> Self {
        let usual = Self::default();
        let fit = strata_fit::FitOptions {
            elimination: strata_fit::Elimination::Aicc,
            search: strata_fit::Search::Never,
            ..usual.fit
        };
        Self { fit, ..usual }
    }
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            fit: strata_fit::FitOptions::default(),
            says_search: false,
            verify: 20,
            round: 1.0 / 3.0,
            repeat: 3,
        }
    }
}

/// A library of competing implementations.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its name, different from all others.
    pub name: String,
    /// The `///` lines before it, without their marks.
    pub docs: Vec<String>,
    /// Which of [`CheckedSpec::files`] it stands in.
    pub file: usize,
    /// From its first to its last character.
    pub span: Span,
    /// The inputs on which a choice depends.
    pub inputs: Vec<String>,
    /// The implementations, in order.
    pub candidates: Vec<Candidate>,
    /// Which of them a program took before it chose, with the values of its parameters.
    pub incumbent: Option<(usize, Vec<i64>)>,
    /// How few ways there are to be.
    pub limits: Limits,
    /// Groups of candidates whose results are the same to the bit.
    pub equal: Vec<Vec<String>>,
}

/// How few ways there are to be: candidates with values of their parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The most ways.
    pub ways: Option<usize>,
    /// The most that an input may lose, as a share of the time.
    pub slowdown: Option<f64>,
}

impl Limits {
    /// Whether anything is limited.
    pub fn are_set(self) -> bool {
        self.ways.is_some() || self.slowdown.is_some()
    }
}

/// One implementation of a library.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Which of [`CheckedSpec::models`] predicts it.
    pub model: usize,
    /// That model's inputs, over the library's inputs, the parameters, `P`, `logP` and `sqrtP`.
    pub arguments: Vec<Expr>,
    /// What may be tuned.
    pub parameters: Vec<Parameter>,
    /// Requirements for the candidate to apply: over the library's inputs, the parameters, `P`,
    /// `logP`, `sqrtP` and the machine.
    pub requires: Vec<Expr>,
    /// The words of the machine that stand for it here: no input or parameter has their names.
    pub machine: Vec<&'static str>,
    /// Whether [`PROCESSES`](strata_model::platform::PROCESSES) is one of these, and no input's or
    /// parameter's name.
    pub needs_processes: bool,
    /// Where it stands.
    pub span: Span,
}

/// A parameter of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The least value anywhere.
    pub min: i64,
    /// The greatest value anywhere.
    pub max: i64,
    /// The first value, where it is not always `min`: over the library's inputs, `P`, `logP`,
    /// `sqrtP` and the machine.
    pub first: Option<Expr>,
    /// The last value at most, where it is not always `max`: over the same.
    pub last: Option<Expr>,
    /// From one value to the next.
    pub step: strata_select::table::Step,
    /// The expression whose root it is, if it is not searched for the least time.
    pub root: Option<Expr>,
}

impl CheckedSpec {
    /// The model of this name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The library of this name.
    #[must_use]
    pub fn library(&self, name: &str) -> Option<&Library> {
        self.libraries.iter().find(|library| library.name == name)
    }

    /// The models that a choice of this candidate asks: of its time, and of its parameters' roots.
    #[must_use]
    pub fn models_of(&self, candidate: &Candidate) -> Vec<usize> {
        let roots = candidate.parameters.iter().filter_map(|parameter| parameter.root.as_ref());
        let called = roots.flat_map(Expr::calls);
        let places = called.filter_map(|name| self.models.iter().position(|other| other.name == name));
        [candidate.model].into_iter().chain(places).collect()
    }

    /// These models and all that they call, directly or not, by their index.
    #[must_use]
    pub fn with_callees(&self, mut open: Vec<usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        while let Some(index) = open.pop() {
            if !found.insert(index) {
                continue;
            }
            let model = &self.models[index];
            let formula = match &model.kind {
                ModelKind::Factored(expression) => Some(expression),
                ModelKind::Measured(_) | ModelKind::Unmeasured => None,
            };
            let terms = model.terms.iter().map(|term| &term.value);
            let calls = formula.into_iter().chain(terms).chain(&model.requires).flat_map(Expr::calls);
            open.extend(calls.filter_map(|name| self.models.iter().position(|other| other.name == name)));
        }
        found
    }
}

impl SpecFile {
    /// The line and column, both from 1, of a byte of the text; columns count characters.
    #[must_use]
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let mut end = byte.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl Model {
    /// The columns of the model's samples: every input, then the other terms that can be evaluated
    /// before the fit.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let input = |input: &Input| Column { text: input.name.clone(), candidate: input.candidate };
        let terms = self.column_terms().map(|term| Column::term(term.value.to_string()));
        self.inputs.iter().map(input).chain(terms).collect()
    }

    /// The terms that are columns of their own: neither an input nor calling other models.
    pub fn column_terms(&self) -> impl Iterator<Item = &Term> {
        let own = |term: &&Term| {
            !term.fit_only
                && !term
                    .value
                    .as_name()
                    .is_some_and(|name| self.inputs.iter().any(|input| input.name == name))
        };
        self.terms.iter().filter(own)
    }
}

impl Step {
    /// The value after `value`; `None` beyond the range of `i64`.
    #[must_use]
    pub fn next(self, value: i64) -> Option<i64> {
        match self.operator {
            StepOperator::Add => value.checked_add(self.by),
            StepOperator::Multiply => value.checked_mul(self.by),
            StepOperator::ShiftLeft => u32::try_from(self.by)
                .ok()
                .and_then(|by| 2_i64.checked_pow(by))
                .and_then(|by| value.checked_mul(by)),
        }
    }
}
