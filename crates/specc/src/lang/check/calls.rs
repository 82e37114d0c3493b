//! Calls between models: that they exist, take what they are given, and never go round in a circle.

use std::collections::{BTreeMap, BTreeSet};

use strata_model::closest;
use strata_model::expr::{Expr, Function, KNEE, Span};

use super::names::{model_calls, unknown};
use super::size::Size;
use crate::lang::ast::{Body, Library, Listed, Model, StatementKind};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// What is known of a model before it is checked.
pub(super) struct Signature<'a> {
    pub(super) model: &'a Model,
    pub(super) file: usize,
}

/// Every model by its name.
pub(super) struct Models<'a> {
    pub(super) by_name: BTreeMap<&'a str, usize>,
    pub(super) all: Vec<Signature<'a>>,
    /// Whether all files could be read completely: if not, a model that is missing here may exist.
    pub(super) complete: bool,
    /// A name of two models, the second of which may be the one that is missing.
    pub(super) twice: Option<&'a str>,
}

impl<'a> Models<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&Signature<'a>> {
        self.by_name.get(name).and_then(|&index| self.all.get(index))
    }

    /// Errors of the calls in an expression.
    pub(super) fn check_calls(&self, expr: &Expr) -> Vec<CheckError> {
        let mut errors = Vec::new();
        for (name, arguments, span) in model_calls(expr) {
            let name_span = Span { start: span.start, end: span.start + name.len() };
            errors.extend(self.check_call(name, arguments.len(), span, name_span));
        }
        errors
    }

    /// Errors of the calls in a term, where knees may stand too.
    pub(super) fn check_term(&self, expr: &Expr) -> Vec<CheckError> {
        let mut errors = Vec::new();
        for (name, arguments, span) in model_calls(expr) {
            let name_span = Span { start: span.start, end: span.start + name.len() };
            errors.extend(match (name, arguments) {
                (KNEE, [_]) => None,
                (KNEE, _) => Some(
                    CheckError::new(
                        ErrorCode::Arity,
                        format!("`{KNEE}` takes 1 argument, but {} stand here", arguments.len()),
                        span,
                        "called here",
                    )
                    .help("`knee(x)` is `max(0, x - k)`, where the fit finds k"),
                ),
                _ => self.check_call(name, arguments.len(), span, name_span),
            });
        }
        errors
    }

    /// Errors of one call: `name_span` is where the model is named.
    pub(super) fn check_call(
        &self,
        name: &str,
        count: usize,
        span: Span,
        name_span: Span,
    ) -> Option<CheckError> {
        let Some(called) = self.get(name) else {
            if name == KNEE {
                let message = format!("`{KNEE}` stands in the terms of a measured model only");
                let error =
                    CheckError::new(ErrorCode::Reserved, message, span, "its place could not be fitted");
                return Some(error.help("call a model that has it among its terms"));
            }
            let error = || {
                let error = unknown("the model", name, name_span, self.by_name.keys().copied());
                let functions = Function::ALL.iter().map(|function| function.name());
                let meant = closest(name, self.by_name.keys().copied()).or_else(|| closest(name, functions));
                match (self.twice, meant) {
                    (Some(twice), _) => {
                        error.help(format!("is it the second `{twice}`, which is defined twice?"))
                    }
                    (None, Some(meant)) => error.help(format!("did you mean `{meant}`?")),
                    (None, None) => error,
                }
            };
            return self.complete.then(error);
        };
        let inputs = &called.model.inputs;
        if inputs.len() == count {
            return None;
        }
        let takes = match inputs.len() {
            1 => "1 argument".to_owned(),
            n => format!("{n} arguments"),
        };
        let message = format!("`{name}` takes {takes}, but {count} stand here");
        let listed: Vec<&str> = inputs.iter().map(|input| input.text.as_str()).collect();
        let error = CheckError::new(ErrorCode::Arity, message, span, "called here");
        Some(error.help(format!("it is `{name}({})`", listed.join(", "))))
    }
}

/// The expressions of a model that may call other models.
pub(super) fn calling(model: &Model) -> Vec<&Expr> {
    let statements = match &model.body {
        Body::Factored(expr) => return vec![expr],
        Body::Hybrid { terms, .. } => return values(terms).collect(),
        Body::Measured(statements) => statements,
    };
    let terms = statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Terms(terms) => Some(terms),
        _ => None,
    });
    terms.flat_map(|terms| values(terms)).collect()
}

fn values(terms: &[Listed]) -> impl Iterator<Item = &Expr> {
    terms.iter().filter_map(|listed| Some(&listed.term()?.value))
}

/// An order in which every model stands after those that it calls.
///
/// Each circle is one error, at the model of it that is named first.
pub(super) fn order(models: &Models<'_>) -> (Vec<usize>, Vec<(usize, CheckError)>) {
    let calls: Vec<Vec<usize>> =
        models.all.iter().map(|signature| callees(models, signature.model)).collect();
    // 0: not seen, 1: on the path, 2: done.
    let mut state = vec![0_u8; calls.len()];
    let (mut order, mut errors) = (Vec::with_capacity(calls.len()), Vec::new());
    for root in 0..calls.len() {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0_usize)];
        while let Some((model, next)) = path.last_mut() {
            let Some(&callee) = calls[*model].get(*next) else {
                state[*model] = 2;
                order.push(*model);
                path.pop();
                continue;
            };
            *next += 1;
            match state[callee] {
                0 => {
                    state[callee] = 1;
                    path.push((callee, 0));
                }
                1 => {
                    let start = path.iter().position(|&(model, _)| model == callee).unwrap_or(0);
                    let circle: Vec<usize> = path[start..].iter().map(|&(model, _)| model).collect();
                    errors.push(cycle(models, &circle));
                }
                _ => {}
            }
        }
    }
    (order, errors)
}

/// The models among which libraries choose: those of candidates, those that roots ask, and all that
/// these call.
pub(super) fn competing<'a>(
    models: &Models<'_>,
    libraries: impl Iterator<Item = &'a Library>,
) -> BTreeSet<usize> {
    let mut open: Vec<usize> = Vec::new();
    for candidate in libraries.flat_map(|library| &library.candidates) {
        let roots = candidate.parameters.iter().filter_map(|parameter| parameter.root.as_ref());
        let asked = roots.flat_map(model_calls).map(|(name, ..)| name);
        let named = asked.chain([candidate.model.text.as_str()]);
        open.extend(named.filter_map(|name| models.by_name.get(name)));
    }
    let mut found = BTreeSet::new();
    while let Some(index) = open.pop() {
        if found.insert(index) {
            open.extend(models.all.get(index).into_iter().flat_map(|called| callees(models, called.model)));
        }
    }
    found
}

fn callees(models: &Models<'_>, model: &Model) -> Vec<usize> {
    let names = calling(model).into_iter().flat_map(model_calls).map(|(name, ..)| name);
    names.filter_map(|name| models.by_name.get(name).copied()).collect()
}

fn cycle(models: &Models<'_>, circle: &[usize]) -> (usize, CheckError) {
    let first = circle.iter().enumerate().min_by_key(|&(_, &model)| model).map_or(0, |(at, _)| at);
    let circle: Vec<&Signature<'_>> =
        circle[first..].iter().chain(&circle[..first]).filter_map(|&model| models.all.get(model)).collect();
    let mut names: Vec<&str> = circle.iter().map(|signature| signature.model.name.text.as_str()).collect();
    let head = circle[0];
    names.push(names[0]);
    let path = match names.len() {
        0..=10 => names.join(" -> "),
        many => format!(
            "{} -> … {} more … -> {}",
            names[..5].join(" -> "),
            many - 7,
            names[many - 2..].join(" -> ")
        ),
    };
    let message = format!("models call each other in a circle: {path}");
    let mut error = CheckError::new(ErrorCode::Cycle, message, head.model.name.span, "needs itself");
    for pair in circle.windows(2).take(5).filter(|pair| pair[1].file == head.file) {
        error = error.label(pair[1].model.name.span, format!("needed by `{}`", pair[0].model.name.text));
    }
    (head.file, error.help("measure one of them, or write it without the others"))
}

/// Factored models that become too large when those that they call are inlined.
pub(super) fn too_large(models: &Models<'_>, order: &[usize]) -> Vec<(usize, CheckError)> {
    let mut sizes: BTreeMap<&str, (Vec<String>, Size)> = BTreeMap::new();
    let mut errors = Vec::new();
    for signature in order.iter().filter_map(|&index| models.all.get(index)) {
        let model = signature.model;
        let large = calling(model).into_iter().find_map(|expr| {
            let size = Size::of(expr, &BTreeMap::new(), &sizes);
            if !size.is_fine() {
                return Some(expr.span);
            }
            if matches!(model.body, Body::Factored(_)) {
                let inputs = model.inputs.iter().map(|input| input.text.clone()).collect();
                sizes.insert(model.name.text.as_str(), (inputs, size));
            }
            None
        });
        if let Some(span) = large {
            let message =
                format!("`{}` becomes too large when the models that it calls are put in", model.name.text);
            let error = CheckError::new(
                ErrorCode::TooLarge,
                message,
                span,
                "more than 10000 operators, or 256 one after the other",
            );
            errors.push((signature.file, error.help("measure one of the models that it calls")));
        }
    }
    errors
}
