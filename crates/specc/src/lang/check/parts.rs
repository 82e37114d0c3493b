//! The statements of a model, sorted by kind; those that may stand once stand once.

use strata_model::expr::{Expr, Span};

use crate::lang::ast::{Code, Listed, Loop, Name, Spelling, Statement, StatementKind};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// The statements of a model by kind, each kind in order.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) loops: Vec<&'a Loop>,
    pub(super) lets: Vec<(&'a Name, &'a Expr)>,
    pub(super) requires: Vec<&'a Expr>,
    pub(super) setup: Option<(bool, &'a Code)>,
    /// The flags `once` and `hot`, and the code of the task.
    pub(super) task: Option<([bool; 2], &'a Code)>,
    pub(super) cleanup: Option<&'a Code>,
    /// The inputs that it gives, and its code.
    pub(super) sample: Option<(&'a [Name], &'a Code)>,
    pub(super) terms: Option<(&'a [Listed], Span)>,
    pub(super) fit: Option<&'a [Vec<Name>]>,
    pub(super) options: Vec<(&'a Name, &'a Name)>,
}

/// Sorts the statements and reports what stands twice.
pub(super) fn parts<'a>(
    statements: &'a [Statement],
    spelling: Spelling,
    errors: &mut Vec<CheckError>,
) -> Parts<'a> {
    let mut parts = Parts::default();
    let mut first: std::collections::BTreeMap<&str, Span> = std::collections::BTreeMap::new();
    let mut once = |what: &'a str, span: Span| match first.get(what) {
        Some(&earlier) if spelling == Spelling::Block => {
            let message = format!("`{what}` is given twice");
            let error = CheckError::new(ErrorCode::Duplicate, message, span, "given again");
            errors.push(error.label(earlier, "first given here").help("keep one of them"));
        }
        _ => {
            first.insert(what, span);
        }
    };
    for statement in statements {
        let word = |length: usize| Span { start: statement.span.start, end: statement.span.start + length };
        match &statement.kind {
            StatementKind::For(plan) => parts.loops.push(plan),
            StatementKind::Let { name, value } => parts.lets.push((name, value)),
            StatementKind::Require(expr) => parts.requires.push(expr),
            StatementKind::Setup { once: single, code } => {
                once("setup", word(5));
                parts.setup = Some((*single, code));
            }
            StatementKind::Task { once: single, hot, code } => {
                once("task", word(4));
                parts.task = Some(([*single, *hot], code));
            }
            StatementKind::Cleanup(code) => {
                once("cleanup", word(7));
                parts.cleanup = Some(code);
            }
            StatementKind::Sample { gives, code } => {
                once("sample", word(6));
                parts.sample = Some((gives, code));
            }
            StatementKind::Terms(terms) => {
                once("terms", word(5));
                parts.terms = Some((terms, word(5)));
            }
            StatementKind::Fit(parts_of_it) => {
                once("fit", word(3));
                parts.fit = Some(parts_of_it);
            }
            StatementKind::Option { name, value } => {
                once(name.text.as_str(), name.span);
                parts.options.push((name, value));
            }
        }
    }
    parts
}
