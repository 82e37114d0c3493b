//! Libraries: candidates whose models exist and get what they take.

use std::collections::BTreeMap;

use strata_model::expr::{Expr, RESERVED};
use strata_model::platform::PROCESSES;
use strata_select::{MAX_PARAMETERS, Step};

use super::calls::Models;
use super::loops::endless;
use super::names::{duplicate, duplicates, forbid_calls, item_name, name_uses, unknown, value_name};
use super::range::{Range, Ranges, range, reserved};
use crate::lang::ast::{self, StepOperator};
use crate::lang::diagnostic::{CheckError, ErrorCode};
use crate::lang::plan::{Candidate, Library, Parameter};

/// A parameter's values are searched at run time.
const MAX_VALUES: i64 = 1_000_000;

/// Checks one library. The plan is right only if there are no errors.
pub(super) fn check(library: &ast::Library, file: usize, models: &Models<'_>) -> (Library, Vec<CheckError>) {
    let mut errors = duplicates("input", &library.inputs);
    errors.extend(item_name(&library.name));
    errors.extend(library.inputs.iter().filter_map(value_name));
    if library.candidates.is_empty() && library.complete {
        let message = format!("the library `{}` has no candidate", library.name.text);
        let error = CheckError::new(ErrorCode::Missing, message, library.name.span, "nothing competes");
        errors.push(error.help("add `candidate name = Model(…)`"));
    }
    let names: Vec<ast::Name> = library.candidates.iter().map(|candidate| candidate.name.clone()).collect();
    errors.extend(duplicates("candidate", &names));
    let candidates: Vec<Candidate> =
        library.candidates.iter().map(|one| candidate(one, library, models, &mut errors)).collect();
    let incumbent = library.incumbent.as_ref().and_then(|one| incumbent(one, &candidates, &mut errors));
    let plan = Library {
        name: library.name.text.clone(),
        docs: library.docs.clone(),
        file,
        span: library.span,
        inputs: library.inputs.iter().map(|input| input.text.clone()).collect(),
        candidates,
        incumbent,
    };
    (plan, errors)
}

/// Finds the candidate that a program took before, and the value of each of its parameters.
fn incumbent(
    one: &ast::Incumbent,
    candidates: &[Candidate],
    errors: &mut Vec<CheckError>,
) -> Option<(usize, Vec<i64>)> {
    let before = errors.len();
    let Some(index) = candidates.iter().position(|candidate| candidate.name == one.candidate.text) else {
        let known = candidates.iter().map(|candidate| candidate.name.as_str());
        errors.push(unknown("the candidate", &one.candidate.text, one.candidate.span, known));
        return None;
    };
    let names: Vec<ast::Name> = one.values.iter().map(|(name, _)| name.clone()).collect();
    errors.extend(duplicates("value", &names));
    let parameters = &candidates[index].parameters;
    for (name, value) in &one.values {
        let Some(known) = parameters.iter().find(|parameter| parameter.name == name.text) else {
            let known = parameters.iter().map(|parameter| parameter.name.as_str());
            errors.push(unknown("the parameter", &name.text, name.span, known));
            continue;
        };
        if !known.values().any(|one| one == *value) {
            let message = format!("`{}` does not take the value {value}", name.text);
            let error = CheckError::new(ErrorCode::Range, message, name.span, "not one of its values");
            errors.push(
                error.help(format!("its range is {}..={}, `step {}`", known.min, known.max, known.step)),
            );
        }
    }
    let of = |parameter: &Parameter| {
        one.values.iter().find(|(name, _)| name.text == parameter.name).map(|(_, value)| *value)
    };
    for parameter in parameters.iter().filter(|parameter| of(parameter).is_none()) {
        let message = format!("`default` gives no value of the parameter `{}`", parameter.name);
        let error = CheckError::new(ErrorCode::Missing, message, one.candidate.span, "takes parameters");
        errors.push(
            error.help(format!("write `{}({} = {})`", one.candidate.text, parameter.name, parameter.min)),
        );
    }
    (errors.len() == before).then(|| (index, parameters.iter().filter_map(of).collect()))
}

fn candidate(
    one: &ast::Candidate,
    library: &ast::Library,
    models: &Models<'_>,
    errors: &mut Vec<CheckError>,
) -> Candidate {
    errors.extend(item_name(&one.name));
    errors.extend(models.check_call(&one.model.text, one.arguments.len(), one.span, one.model.span));
    let mut ranges = reserved();
    ranges.extend(library.inputs.iter().map(|input| (input.text.clone(), Range::ANY)));
    if let Some(extra) = one.parameters.get(MAX_PARAMETERS) {
        let message = format!("a candidate has at most {MAX_PARAMETERS} parameters");
        errors.push(CheckError::new(ErrorCode::Range, message, extra.values.name.span, "one too many"));
    }
    let mut defined: BTreeMap<&str, _> =
        library.inputs.iter().map(|input| (input.text.as_str(), input.span)).collect();
    let mut parameters = Vec::new();
    for ast::Parameter { values: parameter, root } in &one.parameters {
        errors.extend(value_name(&parameter.name));
        if let Some(&first) = defined.get(parameter.name.text.as_str()) {
            errors.push(duplicate("parameter", &parameter.name, Some(first)));
        }
        defined.insert(&parameter.name.text, parameter.name.span);
        let reads = |expr: &Expr| expr.names().contains(&parameter.name.text);
        if !one.arguments.iter().any(reads) {
            let message = format!("no argument of the model reads the parameter `{}`", parameter.name.text);
            let error =
                CheckError::new(ErrorCode::NotAFunction, message, parameter.name.span, "has no effect");
            errors.push(error.help("pass it to the model, or remove it"));
        }
        if let Some(root) = root.as_ref().filter(|root| !reads(root)) {
            let message = format!("the root does not read the parameter `{}`", parameter.name.text);
            let error =
                CheckError::new(ErrorCode::NotAFunction, message, root.span, "never changes its sign");
            errors.push(error.help("write what is positive while more of the parameter is worth it"));
        }
        let values = self::range_of(parameter, errors);
        ranges.insert(parameter.name.text.clone(), values);
        let (min, max) = (values.low as i64, values.high as i64);
        let (name, root) = (parameter.name.text.clone(), root.clone());
        parameters.push(Parameter { name, min, max, step: step_of(parameter, values, errors), root });
    }
    let roots: Vec<&Expr> = one.parameters.iter().filter_map(|parameter| parameter.root.as_ref()).collect();
    if let Some(second) = roots.get(1) {
        let message = "only one parameter of a candidate can be a root";
        let error = CheckError::new(ErrorCode::Range, message, second.span, "the second");
        errors.push(error.help("search it for the least time: `in` and its range"));
    }
    for expr in &roots {
        errors.extend(models.check_calls(expr));
    }
    for expr in one.arguments.iter().chain(&one.requires) {
        errors.extend(forbid_calls(expr, "an argument or requirement of a candidate"));
    }
    let says_processes = |expr: &Expr| expr.as_name() == Some(PROCESSES) && !ranges.contains_key(PROCESSES);
    let needs_processes = one.requires.iter().any(says_processes);
    let requires = one.requires.iter().filter(|expr| !says_processes(expr));
    for expr in one.arguments.iter().chain(requires).chain(roots) {
        for (name, span) in name_uses(expr).into_iter().filter(|(name, _)| !ranges.contains_key(*name)) {
            if name == PROCESSES {
                let message =
                    format!("`{PROCESSES}` is a requirement of a candidate by itself, not a number");
                let error = CheckError::new(ErrorCode::UnknownName, message, span, "read as a number");
                errors
                    .push(error.help(format!("write `require {PROCESSES}`: nodes are processes, as on MPI")));
                continue;
            }
            let known = defined.keys().copied().chain(RESERVED).chain([PROCESSES]);
            errors.push(unknown("the name", name, span, known));
        }
    }
    excluded(&one.requires, &ranges, errors);
    Candidate {
        name: one.name.text.clone(),
        model: models.by_name.get(one.model.text.as_str()).copied().unwrap_or(0),
        arguments: one.arguments.clone(),
        parameters,
        requires: one.requires.clone(),
        needs_processes,
        span: one.span,
    }
}

/// From one value of a parameter to the next.
fn step_of(parameter: &ast::Loop, values: Range, errors: &mut Vec<CheckError>) -> Step {
    let Some(step) = parameter.step else { return Step::ONE };
    errors.extend(endless(parameter, step, values));
    match step.operator {
        StepOperator::Add => Step::Add(step.by),
        StepOperator::Multiply => Step::Multiply(step.by),
        StepOperator::ShiftLeft => Step::Multiply(1_i64.checked_shl(step.by as u32).unwrap_or(i64::MAX)),
    }
}

/// The values of a parameter: constant whole bounds, the smaller first.
fn range_of(parameter: &ast::Loop, errors: &mut Vec<CheckError>) -> Range {
    let mut bound = |expr: &Expr| {
        let value = expr
            .eval(&|_| None)
            .ok()
            .filter(|value| expr.is_constant() && value.fract() == 0.0 && value.abs() < 1e15);
        if value.is_none() {
            let message =
                format!("the bounds of the parameter `{}` are whole constants", parameter.name.text);
            let error = CheckError::new(ErrorCode::Range, message, expr.span, "not a whole constant");
            errors.push(error.help("restrict it further by `require`"));
        }
        value
    };
    let (start, stop) = (bound(&parameter.start), bound(&parameter.stop));
    let (Some(low), Some(stop)) = (start, stop) else { return Range { integral: true, ..Range::ANY } };
    let high = if parameter.inclusive { stop } else { stop - 1.0 };
    if low > high || high - low >= MAX_VALUES as f64 {
        let message = match low > high {
            true => format!("the parameter `{}` has no value", parameter.name.text),
            false => format!("the parameter `{}` has more than {MAX_VALUES} values", parameter.name.text),
        };
        let span =
            strata_model::expr::Span { start: parameter.start.span.start, end: parameter.stop.span.end };
        errors.push(CheckError::new(ErrorCode::Range, message, span, format!("from {low} to {high}")));
    }
    Range::new(low, high, true)
}

fn excluded(requires: &[Expr], ranges: &Ranges, errors: &mut Vec<CheckError>) {
    for expr in requires.iter().filter(|expr| range(expr, ranges).never_holds()) {
        let message = "this requirement excludes the candidate everywhere".to_owned();
        let error = CheckError::new(ErrorCode::Excluded, message, expr.span, "never holds");
        errors.push(error.help("widen it, or remove the candidate"));
    }
}
