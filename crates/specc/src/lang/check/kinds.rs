//! Inputs that are one of a few names: the same names wherever an input has this name, and read in
//! comparisons alone.

use strata_model::codegen::pascal;
use strata_model::expr::{BinaryOp, Expr, ExprKind, Function, Span};
use strata_model::{Kinds, count};

use super::calls::Models;
use super::names::{duplicates, unknown, value_name};
use crate::lang::ast::{self, Body, Kind, Listed, Name, StatementKind};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// The most names of a kind: each has terms and points of its own.
const MOST: usize = 16;

/// The header of a model or a library, and what it reads.
pub(super) struct Header<'a> {
    file: usize,
    inputs: &'a [Name],
    kinds: &'a [Kind],
    /// Whether it is a model that is fitted.
    fitted: bool,
    exprs: Vec<&'a Expr>,
    /// The arguments of candidates, each with the model.
    arguments: Vec<(&'a str, &'a [Expr])>,
}

impl<'a> Header<'a> {
    pub(super) fn of_model(model: &'a ast::Model, file: usize) -> Self {
        let (mut exprs, statements) = match &model.body {
            Body::Measured(statements) => (Vec::new(), &statements[..]),
            Body::Factored(expr) => (vec![expr], &[][..]),
            Body::Hybrid { terms, statements } => {
                let terms = terms.iter().filter_map(Listed::term).map(|term| &term.value);
                (terms.collect(), statements.as_deref().unwrap_or_default())
            }
        };
        for statement in statements {
            match &statement.kind {
                StatementKind::For(plan) => exprs.extend([&plan.start, &plan.stop]),
                StatementKind::Let { value, .. } => exprs.push(value),
                StatementKind::Require(expr) => exprs.push(expr),
                StatementKind::Terms(terms) => {
                    exprs.extend(terms.iter().filter_map(Listed::term).map(|term| &term.value));
                }
                _ => {}
            }
        }
        let fitted = !matches!(model.body, Body::Factored(_));
        Self { file, inputs: &model.inputs, kinds: &model.kinds, fitted, exprs, arguments: Vec::new() }
    }

    pub(super) fn of_library(library: &'a ast::Library, file: usize) -> Self {
        let all = library.candidates.iter();
        let ends =
            |one: &'a ast::Parameter| [&one.values.start, &one.values.stop].into_iter().chain(&one.root);
        let ends = all.clone().flat_map(move |one| one.parameters.iter().flat_map(ends));
        let exprs = ends.chain(all.clone().flat_map(|one| &one.requires)).collect();
        let arguments = all.map(|one| (&*one.model.text, &one.arguments[..])).collect();
        Self { file, inputs: &library.inputs, kinds: &library.kinds, fitted: false, exprs, arguments }
    }

    fn has(&self, input: &str) -> bool {
        self.inputs.iter().any(|one| one.text == input)
    }

    fn names(&self, input: &str) -> Option<&'a Kind> {
        self.kinds.iter().find(|kind| kind.input.text == input)
    }
}

/// Checks all kinds, and collects them. Errors come with their file.
pub(super) fn check<'a>(
    headers: impl Iterator<Item = Header<'a>>,
    models: &Models<'a>,
    found: &mut Kinds,
) -> Vec<(usize, CheckError)> {
    let headers: Vec<Header<'_>> = headers.collect();
    for kind in headers.iter().flat_map(|header| header.kinds) {
        let names = || kind.names.iter().map(|name| name.text.clone()).collect();
        found.entry(kind.input.text.clone()).or_insert_with(names);
    }
    let mut errors: Vec<(usize, CheckError)> = Vec::new();
    for header in &headers {
        let mut of_header: Vec<CheckError> =
            header.kinds.iter().flat_map(|kind| names(kind, header)).collect();
        of_header.extend(alone(header));
        of_header.extend(header.inputs.iter().filter_map(|input| unlike(input, header, found)));
        header.exprs.iter().for_each(|expr| read(expr, header, models, &mut of_header));
        for (model, arguments) in &header.arguments {
            passed(model, arguments, header, models, &mut of_header);
        }
        // Members of a family have their errors at the same places.
        for error in of_header {
            let same = |(file, other): &(usize, CheckError)| {
                *file == header.file && (other.code, other.start()) == (error.code, error.start())
            };
            if !errors.iter().any(same) {
                errors.push((header.file, error));
            }
        }
    }
    errors
}

/// The error for a model of kinds alone: as many coefficients as points can be fitted to anything.
fn alone(header: &Header<'_>) -> Option<CheckError> {
    let first =
        header.kinds.first().filter(|_| header.fitted && header.kinds.len() == header.inputs.len())?;
    let message = "a model of kinds alone has as many coefficients as points".to_owned();
    let error = CheckError::new(ErrorCode::Missing, message, first.input.span, "no number beside it");
    Some(error.help("add an input that is a number, or write a model for each name"))
}

/// What is wrong with the names of a kind.
fn names(kind: &Kind, header: &Header<'_>) -> Vec<CheckError> {
    let all: Vec<Name> = header.inputs.iter().chain(&kind.names).cloned().collect();
    let mut errors = duplicates("the name", &all);
    errors.extend(kind.names.iter().filter_map(value_name));
    if !(2..=MOST).contains(&kind.names.len()) {
        let message = format!("`{}` has {}", kind.input.text, count(kind.names.len(), "name", "names"));
        let error = CheckError::new(ErrorCode::Range, message, kind.input.span, "2 to 16 are possible");
        errors.push(error.help(match kind.names.len() {
            0 | 1 => "an input of one name tells nothing: leave it out",
            _ => "use a number for more",
        }));
    }
    for (place, name) in kind.names.iter().enumerate() {
        let same = |other: &&Name| other.text != name.text && pascal(&other.text) == pascal(&name.text);
        if let Some(first) = kind.names[..place].iter().find(same) {
            let message = format!("`{}` and `{}` are one name in Rust", first.text, name.text);
            errors.push(CheckError::new(ErrorCode::Duplicate, message, name.span, "the same enum variant"));
        }
    }
    errors
}

/// The error for an input that elsewhere has other names, or is a number.
fn unlike(input: &Name, header: &Header<'_>, found: &Kinds) -> Option<CheckError> {
    let all = found.get(&input.text)?;
    let own = header.names(&input.text);
    let same = own.is_some_and(|kind| kind.names.iter().map(|name| &name.text).eq(all));
    (!same).then(|| {
        let message = format!("`{}` is one of {} elsewhere", input.text, all.join(", "));
        let error = CheckError::new(ErrorCode::Duplicate, message, input.span, "and not here");
        error.help(format!("write `{} in {{{}}}`, or choose another name", input.text, all.join(", ")))
    })
}

/// The errors of an expression that reads a kind as a number.
fn read(expr: &Expr, header: &Header<'_>, models: &Models<'_>, errors: &mut Vec<CheckError>) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Equal | BinaryOp::NotEqual, a, b)
            if let Some(kind) = a.as_name().and_then(|name| header.names(name))
                && (b.as_number().is_some() || b.as_name().is_some_and(|name| !header.has(name))) =>
        {
            let is_place =
                |number: f64| number.fract() == 0.0 && (0.0..kind.names.len() as f64).contains(&number);
            if !b.as_number().is_some_and(is_place) {
                let (text, names) = (b.to_string(), kind.names.iter().map(|name| name.text.as_str()));
                errors.push(unknown("the name", &text, b.span, names));
            }
        }
        ExprKind::Call { name, arguments } if Function::from_name(name).is_none() => {
            passed(name, arguments, header, models, errors);
        }
        ExprKind::Name(name) => errors.extend(header.names(name).map(|kind| no_number(kind, expr.span))),
        _ => expr.children().into_iter().for_each(|part| read(part, header, models, errors)),
    }
}

fn no_number(kind: &Kind, span: Span) -> CheckError {
    let (input, names) = (&kind.input.text, &kind.names);
    let message = format!("`{input}` is a name, and no number");
    let error = CheckError::new(ErrorCode::NotAFunction, message, span, "read as a number");
    let first = names.first().map_or("…", |name| &name.text);
    error.help(format!("compare it with a name: `{input} == {first}`"))
}

/// The errors of arguments: a model's kind takes a kind of equal names, and nothing else does.
fn passed(
    model: &str,
    arguments: &[Expr],
    header: &Header<'_>,
    models: &Models<'_>,
    errors: &mut Vec<CheckError>,
) {
    let called = models.get(model).map(|signature| signature.model);
    for (place, argument) in arguments.iter().enumerate() {
        let taken = called.and_then(|model| {
            let input = model.inputs.get(place)?;
            model.kinds.iter().find(|kind| kind.input.text == input.text)
        });
        let given = argument.as_name().and_then(|name| header.names(name));
        let texts = |kind: &Kind| kind.names.iter().map(|name| name.text.clone()).collect::<Vec<_>>();
        match (taken, given) {
            (None, _) => read(argument, header, models, errors),
            (Some(taken), Some(given)) if texts(taken) == texts(given) => {}
            (Some(taken), _) => {
                let (input, names) = (&taken.input.text, texts(taken).join(", "));
                let message = format!("`{input}` of `{model}` is one of {names}");
                let error =
                    CheckError::new(ErrorCode::NotAFunction, message, argument.span, "something else");
                errors.push(error.help(format!("pass an input that is declared `in {{{names}}}`")));
            }
        }
    }
}
