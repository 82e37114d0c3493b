//! Names: which may be given, and which are known.

use std::collections::{BTreeMap, BTreeSet};

use strata_model::closest;
use strata_model::expr::{Expr, ExprKind, Function, KNEE, RESERVED, Span, is_name};

use crate::lang::ast::Name;
use crate::lang::diagnostic::{CheckError, ErrorCode};
use crate::lang::words;

/// Why `name` may not be given to a value (an iteration variable, an input, a parameter); `None` if
/// it may.
pub(in crate::lang) fn value_name(name: &Name) -> Option<CheckError> {
    let text = name.text.as_str();
    let reserved =
        |message: String, label: &str| Some(CheckError::new(ErrorCode::Reserved, message, name.span, label));
    let help = "choose another name";
    if RESERVED.contains(&text) {
        let message = format!("`{text}` is reserved: it stands for the nodes of the run");
        return reserved(message, "cannot be defined").map(|error| error.help(help));
    }
    if text == "node" {
        let message = "`node` is reserved: Rust code reaches the run-time by it".to_owned();
        return reserved(message, "cannot be defined").map(|error| error.help(help));
    }
    if words::all().any(|word| word == text) {
        return reserved(format!("`{text}` is a word of the spec language"), "cannot be a name")
            .map(|error| error.help(help));
    }
    item_name(name)
}

/// Why `name` may not be given to a model, a library or a candidate; `None` if it may.
pub(super) fn item_name(name: &Name) -> Option<CheckError> {
    let text = name.text.as_str();
    let why = if RESERVED.contains(&text) {
        "is reserved: it stands for the nodes of the run"
    } else if Function::from_name(text).is_some() || text == KNEE {
        "is a built-in function"
    } else if !is_name(text) || syn::parse_str::<syn::Ident>(text).is_err() {
        "is a keyword of Rust, and generated code uses the name"
    } else {
        return None;
    };
    let error =
        CheckError::new(ErrorCode::Reserved, format!("`{text}` {why}"), name.span, "cannot be a name");
    Some(error.help("choose another name"))
}

/// The error for a name given twice.
pub(in crate::lang) fn duplicate(what: &str, name: &Name, first: Option<Span>) -> CheckError {
    let message = format!("{what} `{}` is defined twice", name.text);
    let error = CheckError::new(ErrorCode::Duplicate, message, name.span, "defined again");
    match first {
        Some(first) => error.label(first, "first defined here").help("rename or remove one of them"),
        None => error.help("rename or remove one of them"),
    }
}

/// The names of all `names` that occur twice, as errors.
pub(super) fn duplicates(what: &str, names: &[Name]) -> Vec<CheckError> {
    let mut seen = BTreeMap::new();
    let mut errors = Vec::new();
    for name in names {
        match seen.get(name.text.as_str()) {
            Some(&first) => errors.push(duplicate(what, name, Some(first))),
            None => {
                seen.insert(name.text.as_str(), name.span);
            }
        }
    }
    errors
}

/// The error for a name that nothing defines.
pub(super) fn unknown<'a>(
    what: &str,
    name: &str,
    span: Span,
    known: impl IntoIterator<Item = &'a str>,
) -> CheckError {
    let known: Vec<&str> = known.into_iter().collect();
    let error = CheckError::new(
        ErrorCode::UnknownName,
        format!("{what} `{name}` is not known here"),
        span,
        "not known",
    );
    match closest(name, known.iter().copied()) {
        Some(meant) => error.help(format!("did you mean `{meant}`?")),
        None if known.is_empty() => error,
        None if known.len() <= 12 => error.help(format!("known are {}", known.join(", "))),
        None => error,
    }
}

/// Every name that `expr` reads, with the first of its places.
pub(in crate::lang) fn name_uses(expr: &Expr) -> Vec<(&str, Span)> {
    let (mut uses, mut seen) = (Vec::new(), BTreeSet::new());
    expr.visit(&mut |e| {
        uses.extend(e.as_name().filter(|name| seen.insert(*name)).map(|name| (name, e.span)))
    });
    uses
}

/// Every call of a model in `expr`: name, arguments, place.
pub(super) fn model_calls(expr: &Expr) -> Vec<(&str, &[Expr], Span)> {
    let mut calls = Vec::new();
    expr.visit(&mut |e| {
        if let ExprKind::Call { name, arguments } = &e.kind
            && Function::from_name(name).is_none()
        {
            calls.push((name.as_str(), arguments.as_slice(), e.span));
        }
    });
    calls
}

/// Errors for calls of models where none can be called.
pub(super) fn forbid_calls(expr: &Expr, place: &str) -> Vec<CheckError> {
    let one = |(name, _, span): (&str, &[Expr], Span)| {
        let message = format!("{place} cannot call another model, and `{name}` is not a built-in function");
        let functions: Vec<&str> = Function::ALL.iter().map(|function| function.name()).collect();
        CheckError::new(ErrorCode::UnknownName, message, span, "called here").help(
            match closest(name, functions.clone()) {
                _ if name == KNEE => "a knee stands in terms only: the fit finds its place".to_owned(),
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("built in are {}", functions.join(", ")),
            },
        )
    };
    model_calls(expr).into_iter().map(one).collect()
}
