//! Libraries: candidates whose models exist and get what they take.

use std::collections::BTreeMap;

use strata_model::expr::{Expr, RESERVED, Span};
use strata_model::platform::{HOSTS, MACHINE, PROCESSES};
use strata_select::table::{MAX_PARAMETERS, Step};

use super::calls::Models;
use super::loops::{self, endless};
use super::names::{duplicate, duplicates, forbid_calls, item_name, name_uses, unknown, value_name};
use super::options;
use super::range::{self, Range, Ranges, range, reserved};
use crate::lang::ast::{self, StepOperator};
use crate::lang::checked::{Candidate, Library, Limits, Model, Parameter};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// A parameter's values are searched at run time.
const MAX_VALUES: i64 = 1_000_000;
/// Ends are below this: more than any number of the machine.
const MOST: f64 = 9e15;

/// Checks one library. The plan is right only if there are no errors.
pub(super) fn check(
    library: &ast::Library,
    file: usize,
    models: &Models<'_>,
    plans: &[Model],
) -> (Library, Vec<CheckError>) {
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
        library.candidates.iter().map(|one| candidate(one, library, (models, plans), &mut errors)).collect();
    let incumbent = library.incumbent.as_ref().and_then(|one| incumbent(one, &candidates, &mut errors));
    let names: Vec<ast::Name> = library.limits.iter().map(|(name, _)| name.clone()).collect();
    errors.extend(duplicates("limit", &names));
    let mut limits = Limits::default();
    errors.extend(library.limits.iter().filter_map(|one| options::limit(&mut limits, one).err()));
    // Among more combinations than this a choice might miss the few.
    for one in candidates.iter().filter(|one| !library.limits.is_empty() && !one.has_at_most(64)) {
        let message = format!(
            "the ways of `{}` cannot be few: its values follow from inputs or are too many",
            one.name
        );
        let error =
            CheckError::new(ErrorCode::Range, message, one.span, "up to 64 combinations of constants");
        errors.push(error.help("give its parameters constant ranges and steps, or leave the limit out"));
    }
    let grouped: Vec<ast::Name> = library.equal.iter().flat_map(|(group, _)| group.clone()).collect();
    errors.extend(duplicates("equal candidate", &grouped));
    let known = || candidates.iter().map(|one| one.name.as_str());
    for name in grouped.iter().filter(|name| known().all(|known| known != name.text)) {
        errors.push(unknown("the candidate", &name.text, name.span, known()));
    }
    let equal =
        library.equal.iter().map(|(group, _)| group.iter().map(|name| name.text.clone()).collect()).collect();
    let plan = Library {
        name: library.name.text.clone(),
        docs: library.docs.clone(),
        file,
        span: library.span,
        inputs: library.inputs.iter().map(|input| input.text.clone()).collect(),
        candidates,
        incumbent,
        limits,
        equal,
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
        if !known.may_be(*value) {
            let message = format!("`{}` does not take the value {value}", name.text);
            let error = CheckError::new(ErrorCode::Range, message, name.span, "not one of its values");
            errors.push(error.help(format!("its range is {}, `step {}`", known.range(), known.step)));
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
    (models, plans): (&Models<'_>, &[Model]),
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
    let of_model = plans.iter().find(|plan| plan.name == one.model.text);
    let is_parameter = |name: &str| one.parameters.iter().any(|other| other.values.name.text == name);
    let is_input = |name: &str| library.inputs.iter().any(|input| input.text == name);
    let words = MACHINE.into_iter().filter(|word| *word != HOSTS && !is_input(word));
    let any = (f64::NEG_INFINITY, f64::INFINITY);
    let bounds = |name: &str| {
        let at = one.arguments.iter().position(|argument| argument.as_name() == Some(name));
        at.and_then(|at| of_model?.inputs.get(at)).map_or(any, |input| input.bounds)
    };
    // An end cannot read a parameter. Of inputs it reads what the model's loops give.
    let mut of_ends = ranges.clone();
    for input in &library.inputs {
        let (low, high) = bounds(&input.text);
        let Range { low: least, high: greatest, .. } = Range::NUMBER;
        let range = Range { low: low.max(least), high: high.min(greatest), integral: false };
        of_ends.insert(input.text.clone(), range);
    }
    of_ends.extend(words.clone().map(|word| (word.to_owned(), range::machine(word))));
    of_ends.retain(|name, _| !is_parameter(name));
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
        // The range of the model's loops limits the range of the parameter.
        let most = bounds(&parameter.name.text);
        let Bounds { values, first, last } = range_of(parameter, &of_ends, most, errors);
        ranges.insert(parameter.name.text.clone(), values);
        let (min, max) = (values.low as i64, values.high as i64);
        let (name, root) = (parameter.name.text.clone(), root.clone());
        let step = step_of(parameter, values, errors);
        parameters.push(Parameter { name, min, max, first, last, step, root });
    }
    let machine: Vec<&'static str> = words.filter(|word| !is_parameter(word)).collect();
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
    for expr in one.requires.iter().filter(|expr| !says_processes(expr)) {
        let known = |name: &str| ranges.contains_key(name) || machine.contains(&name);
        unknown_names(expr, &known, &defined, &machine, errors);
    }
    for expr in one.arguments.iter().chain(roots) {
        unknown_names(expr, &|name| ranges.contains_key(name), &defined, &[], errors);
    }
    ranges.extend(machine.iter().map(|word| ((*word).to_owned(), range::machine(word))));
    excluded(&one.requires, &ranges, errors);
    Candidate {
        name: one.name.text.clone(),
        model: models.by_name.get(one.model.text.as_str()).copied().unwrap_or(0),
        arguments: one.arguments.clone(),
        parameters,
        requires: one.requires.clone(),
        machine,
        needs_processes,
        span: one.span,
    }
}

/// The error for each name that an argument, a requirement or a root reads and that is not `known`.
fn unknown_names(
    expr: &Expr,
    is_known: &dyn Fn(&str) -> bool,
    defined: &BTreeMap<&str, Span>,
    machine: &[&str],
    errors: &mut Vec<CheckError>,
) {
    for (name, span) in name_uses(expr).into_iter().filter(|(name, _)| !is_known(name)) {
        if name == PROCESSES {
            let message = format!("`{PROCESSES}` is a requirement of a candidate by itself, not a number");
            let error = CheckError::new(ErrorCode::UnknownName, message, span, "read as a number");
            errors.push(error.help(format!("write `require {PROCESSES}`: nodes are processes, as on MPI")));
            continue;
        }
        let known = defined.keys().copied().chain(RESERVED).chain([PROCESSES]).chain(machine.iter().copied());
        let error = unknown("the name", name, span, known);
        errors.push(match MACHINE.contains(&name) && !machine.contains(&name) {
            true if name == HOSTS => error.help(
                "make `hosts` an input of the library; the program gives it, by `Node::hosts`".to_owned(),
            ),
            true => error.help(format!(
                "the machine's `{name}` stands in ranges and requirements: `for k in {name}..={name}` gives a parameter it"
            )),
            false => error,
        });
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

/// The range of a parameter.
struct Bounds {
    /// What bounds it everywhere.
    values: Range,
    /// Its ends, where they are not constant.
    first: Option<Expr>,
    last: Option<Expr>,
}

/// The range of a parameter, the smaller end first: whole constants, or expressions over `known`
/// names. No value of the model's input, which lies in `most`, is left out.
fn range_of(parameter: &ast::Loop, known: &Ranges, most: (f64, f64), errors: &mut Vec<CheckError>) -> Bounds {
    let any = Bounds { values: Range { integral: true, ..Range::ANY }, first: None, last: None };
    let before = errors.len();
    let name = &parameter.name.text;
    for end in [&parameter.start, &parameter.stop] {
        errors.extend(forbid_calls(end, "the end of a parameter's range"));
        for (read, span) in name_uses(end).into_iter().filter(|(read, _)| !known.contains_key(*read)) {
            let error = unknown("the name", read, span, known.keys().map(String::as_str));
            errors.push(error.help(format!(
                "the range of `{name}` reads the library's inputs, P, logP, sqrtP and the machine; what else bounds it \
                 stands in `require`"
            )));
        }
        let constant = end.is_constant().then(|| end.eval(&|_| None).ok()).flatten();
        if end.is_constant() && !constant.is_some_and(|value| value.fract() == 0.0 && value.abs() < MOST) {
            let message = format!("a constant bound of the parameter `{name}` is a whole number");
            let error = CheckError::new(ErrorCode::Range, message, end.span, "not a whole number");
            errors.push(error.help("restrict it further by `require`"));
        }
    }
    if errors.len() > before {
        return any;
    }
    let stop = if parameter.inclusive { parameter.stop.clone() } else { loops::last(parameter, known) };
    let (start, stop_range) = (range(&parameter.start, known), range(&stop, known));
    let (constant_start, constant_stop) = (parameter.start.is_constant(), parameter.stop.is_constant());
    let low = if constant_start { start.low } else { start.low.max(most.0).ceil() };
    let high = if constant_stop { stop_range.high } else { stop_range.high.min(most.1).floor() };
    let span = Span { start: parameter.start.span.start, end: parameter.stop.span.end };
    let mut wrong = |message: String, label: String, help: Option<&str>| {
        let error = CheckError::new(ErrorCode::Range, message, span, label);
        errors.push(match help {
            Some(help) => error.help(help),
            None => error,
        });
    };
    for (end, word, bound) in [(low, "least", "max"), (high, "greatest", "min")] {
        if end.is_nan() || end.abs() > MOST {
            let message = format!("the parameter `{name}` has no {word} value");
            let help = match bound {
                "max" => {
                    "bound it: `max(1, …)`; a plain argument of the model is bounded by the model's loops"
                }
                _ => "bound it: `min(…, 64)`; a plain argument of the model is bounded by the model's loops",
            };
            wrong(message, "may be any number".to_owned(), Some(help));
            return any;
        }
    }
    if low > high {
        let label = format!("from {low} to {high}");
        wrong(format!("the parameter `{name}` has no value"), label, None);
    } else if constant_start && constant_stop && many(parameter.step, high - low) {
        let label = format!("from {low} to {high}");
        wrong(format!("the parameter `{name}` has more than {MAX_VALUES} values"), label, None);
    }
    Bounds {
        values: Range::new(low, high, true),
        first: (!constant_start).then(|| parameter.start.clone()),
        last: (!constant_stop).then_some(stop),
    }
}

/// Whether so many steps make more values than are searched.
fn many(step: Option<ast::Step>, span: f64) -> bool {
    match step.map(|step| (step.operator, step.by)) {
        None => span >= MAX_VALUES as f64,
        Some((StepOperator::Add, by)) => span / by.max(1) as f64 >= MAX_VALUES as f64,
        // By factors of two at least.
        Some((StepOperator::Multiply | StepOperator::ShiftLeft, _)) => false,
    }
}

fn excluded(requires: &[Expr], ranges: &Ranges, errors: &mut Vec<CheckError>) {
    for expr in requires.iter().filter(|expr| range(expr, ranges).never_holds()) {
        let message = "this requirement excludes the candidate everywhere".to_owned();
        let error = CheckError::new(ErrorCode::Excluded, message, expr.span, "never holds");
        errors.push(error.help("widen it, or remove the candidate"));
    }
}
