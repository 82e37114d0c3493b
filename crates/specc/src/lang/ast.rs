//! The unchecked syntax tree of a spec file: one tree for both spellings.
//!
//! The one-line form of Brewer (1994), Fig 3-3, becomes the same statements as a block;
//! [`Spelling`] remembers which one was written, for the printer and for the rule that in the
//! one-line form inputs are terms too.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};
use strata_model::expr::{Expr, Span};

/// One spec file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The `//!` lines at the top, without their marks.
    pub docs: Vec<String>,
    /// The `use` lines, in order.
    pub uses: Vec<UseLine>,
    /// Models, libraries and what they share, in order.
    pub items: Vec<Item>,
    /// Every comment outside Rust code, in order; docs are among them.
    pub comments: Vec<Comment>,
}

/// A comment, from its `//` to the end of its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// The text with its marks, without blanks at its end.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A `use` line of Rust.
#[derive(Clone, Debug, PartialEq)]
pub struct UseLine {
    /// The whole line, from `use` to `;`.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

impl UseLine {
    /// Whether it brings something of this name.
    pub(crate) fn imports(&self, name: &str) -> bool {
        let last =
            |path: &str| path.trim().rsplit(|c: char| !c.is_alphanumeric() && c != '_').next() == Some(name);
        self.text.split([',', '{', '}', ';']).any(last)
    }
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// What stands at the top level of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A model, in either spelling.
    Model(Model),
    /// A library of competing implementations.
    Library(Library),
    /// `on threads, mpi`: on what the file's models are measured.
    On(MeasuredOn),
    /// `features simd, index/fast`: the features of crates that its code needs.
    Features(FeaturesLine),
    /// `let share = max(1, P/cores)`: a name for an expression in all that follows in the file.
    Let(SharedValue),
    /// `terms sizes = bytes, max(0, bytes-cache1)`: the same for a list of terms.
    Terms(SharedTerms),
}

/// On what the models of a file are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOn {
    /// The words for machines: `threads`, `mpi` or `sim`.
    pub machines: Vec<Name>,
    /// From its first to its last character.
    pub span: Span,
}

/// The features of crates that the code of a file needs.
#[derive(Clone, Debug, PartialEq)]
pub struct FeaturesLine {
    /// As on cargo's command line: a feature, or `crate/feature`.
    pub features: Vec<Name>,
    /// From its first to its last character.
    pub span: Span,
}

/// A name that a file gives to an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedValue {
    /// The name.
    pub name: Name,
    /// What stands wherever the name is read.
    pub value: Expr,
    /// From its first to its last character.
    pub span: Span,
}

/// A name that a file gives to a list of terms.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedTerms {
    /// The name.
    pub name: Name,
    /// What stands in its place among the terms of a model.
    pub terms: Vec<Listed>,
    /// From its first to its last character.
    pub span: Span,
}

/// A name that stands for several: `copy_{hot, cold} as state`.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name's parts, in order.
    pub parts: Vec<Part>,
    /// The aliases of the member's words, one for each list.
    pub aliases: Vec<Name>,
}

/// A part of a family's name.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// The same in all members.
    Text(String),
    /// A word for each member.
    Words(Vec<Name>),
}

/// How a model was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `model Name(inputs) { … }`, `= …` or `~ …`.
    Block,
    /// `{{ loops @ setup @ task @ cleanup @ inputs @ terms }}`.
    Line,
}

/// A model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The `///` lines before it, without their marks.
    pub docs: Vec<String>,
    /// How it was written.
    pub spelling: Spelling,
    /// Its name; in the one-line form the text of the task before the parenthesis.
    pub name: Name,
    /// The members, if the name stands for several models; `None` once they are written out.
    pub family: Option<Family>,
    /// The header's inputs; in the one-line form the names of the inputs field.
    pub inputs: Vec<Name>,
    /// Those that are one of a few names.
    pub kinds: Vec<Kind>,
    /// What it is.
    pub body: Body,
    /// Whether everything in it could be read; if not, a syntax error says why.
    pub complete: bool,
    /// From its first to its last character.
    pub span: Span,
}

/// An input that is one of a few names: `kind in {random, sorted}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// The input.
    pub input: Name,
    /// The names, whose places are its values.
    pub names: Vec<Name>,
}

/// What a model is.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// `{ … }`: measured and fitted.
    Measured(Vec<Statement>),
    /// `= expr`: an expression over models, never fitted.
    Factored(Expr),
    /// `~ term, … { … }`: fitted to terms that may be models; without a block the samples come from
    /// elsewhere.
    Hybrid {
        /// The candidate terms.
        terms: Vec<Listed>,
        /// How it is measured.
        statements: Option<Vec<Statement>>,
    },
}

/// A line or block of a measured model.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `for i in 1..=8 step *2`
    For(Loop),
    /// `let length = 1 << i`
    Let {
        /// The name it gives.
        name: Name,
        /// The value function.
        value: Expr,
    },
    /// `require length >= 1`
    Require(Expr),
    /// `setup { … }`: what a repetition of the task begins with.
    Setup {
        /// `setup once`: all repetitions of one timing are run on what it made once.
        once: bool,
        /// The code.
        code: Code,
    },
    /// `task { … }`: what is timed.
    Task {
        /// `task once`: never repeated inside one timing, because it consumes what the setup made.
        once: bool,
        /// `task hot`: timed right after another call, without other work in between.
        hot: bool,
        /// The code.
        code: Code,
    },
    /// `cleanup { … }`: runs after the timing.
    Cleanup(Code),
    /// `sample rounds, path { … }`: measures by itself and ends with the seconds, and with the
    /// inputs that it gives.
    Sample {
        /// The inputs that it gives.
        gives: Vec<Name>,
        /// The code.
        code: Code,
    },
    /// `terms length, length*logP`
    Terms(Vec<Listed>),
    /// `fit relative, robust huber`: parts of one or more words.
    Fit(Vec<Vec<Name>>),
    /// `verify 20` and its like.
    Option {
        /// Which option.
        name: Name,
        /// What it is set to, as written.
        value: Name,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Words(words) => {
                let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                write!(f, "{{{}}}", words.join(", "))
            }
        }
    }
}

/// What stands in a list of terms.
#[derive(Clone, Debug, PartialEq)]
pub enum Listed {
    /// One term.
    Term(Term),
    /// `(1, keys, max(0, keys-64)) by bits`: the products of one factor of each list, the first
    /// list's slowest. None are left once a file is written out.
    Products {
        /// The lists of factors, two at least.
        lists: Vec<Vec<Expr>>,
        /// From its first to its last character.
        span: Span,
    },
}

impl Listed {
    /// The term, if it is one.
    pub fn term(&self) -> Option<&Term> {
        match self {
            Self::Term(term) => Some(term),
            Self::Products { .. } => None,
        }
    }
}

/// A candidate term.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Its `ID:` in the one-line form.
    pub label: Option<Name>,
    /// The basis function.
    pub value: Expr,
}

/// One loop of the nest: an iteration variable and its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The iteration variable.
    pub name: Name,
    /// The first value.
    pub start: Expr,
    /// The last value, or the one after it.
    pub stop: Expr,
    /// `..=` rather than `..`.
    pub inclusive: bool,
    /// How it advances; by one if not said.
    pub step: Option<Step>,
}

/// How an iteration variable advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// With what.
    pub operator: StepOperator,
    /// By how much.
    pub by: i64,
    /// Where it stands.
    pub span: Span,
}

/// The operators by which an iteration variable may advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOperator {
    /// `step +3`, `+=3`, `++`
    Add,
    /// `step *2`, `*=2`
    Multiply,
    /// `step <<1`, `<<=1`
    ShiftLeft,
}

/// Rust code, untouched.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The text between the braces, or between two `@` of the one-line form.
    pub text: String,
    /// Where that text stands.
    pub span: Span,
    /// In a member of a family: the parts of `text` in whose place its words stand, in order.
    pub words: Vec<(Range<usize>, String)>,
}

impl Code {
    /// The text with the member's words.
    pub(crate) fn written_out(&self) -> Cow<'_, str> {
        if self.words.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        Cow::Owned(self.pieces().map(|(piece, _)| piece).collect())
    }

    /// The same in pieces: those of `text` with their place in it, the words with the place of what
    /// they replace.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let ends = self.words.iter().map(|(at, _)| at.start).chain([self.text.len()]);
        let starts = [0].into_iter().chain(self.words.iter().map(|(at, _)| at.end));
        let words = self.words.iter().map(|(at, word)| Some((word.as_str(), at.clone()))).chain([None]);
        let pieces = starts.zip(ends).zip(words);
        pieces.flat_map(|((start, end), word)| [Some((&self.text[start..end], start..end)), word]).flatten()
    }

    /// Whether it mentions a name, also inside macros and in the text of their strings.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        let shown = [format!("{{{name}}}"), format!("{{{name}:")];
        self.written_out().parse().is_ok_and(|tokens| mention(tokens, name, &shown))
    }
}

fn mention(tokens: TokenStream, name: &str, shown: &[String; 2]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mention(group.stream(), name, shown),
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            shown.iter().any(|shown| text.contains(shown))
        }
        TokenTree::Punct(_) => false,
    })
}

/// A library: one interface, several implementations, the model of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    /// The `///` lines before it, without their marks.
    pub docs: Vec<String>,
    /// Its name.
    pub name: Name,
    /// The members, if the name stands for several libraries; `None` once they are written out.
    pub family: Option<Family>,
    /// The inputs on which a choice depends.
    pub inputs: Vec<Name>,
    /// Those that are one of a few names.
    pub kinds: Vec<Kind>,
    /// `default quick(cutoff = 16)`: what the program took before.
    pub incumbent: Option<Incumbent>,
    /// `ways 3`, `slowdown 10%`: names and values.
    pub limits: Vec<(Name, Name)>,
    /// `equal {serial, blocked}`: candidates with the same results.
    pub equal: Vec<(Vec<Name>, Span)>,
    /// The implementations, in order.
    pub candidates: Vec<Candidate>,
    /// Whether everything in it could be read; if not, a syntax error says why.
    pub complete: bool,
    /// From its first to its last character.
    pub span: Span,
}

/// The way that a program took before it chose.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// The candidate.
    pub candidate: Name,
    /// Its parameters.
    pub values: Vec<(Name, i64)>,
    /// Where it stands.
    pub span: Span,
}

/// One implementation of a library.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: Name,
    /// The members, if the name stands for several candidates; `None` once they are written out.
    pub family: Option<Family>,
    /// The model that predicts it; may read the words of families, as `{Routine}Hot` does.
    pub model: Name,
    /// The model's inputs, over the library's inputs and the parameters.
    pub arguments: Vec<Expr>,
    /// What may be tuned, each with its values.
    pub parameters: Vec<Parameter>,
    /// Requirements: the candidate applies only where all hold.
    pub requires: Vec<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// A parameter of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name and its values.
    pub values: Loop,
    /// The expression whose root gives its value, if it is defined as a root.
    pub root: Option<Expr>,
}

impl Item {
    /// From its first to its last character.
    pub fn span(&self) -> Span {
        match self {
            Self::Model(model) => model.span,
            Self::Library(library) => library.span,
            Self::On(on) => on.span,
            Self::Features(line) => line.span,
            Self::Let(value) => value.span,
            Self::Terms(terms) => terms.span,
        }
    }
}
