//! One model: from what is written to what is measured and fitted.

use std::collections::{BTreeMap, BTreeSet};

use strata_model::expr::{BinaryOp, CompileError, Expr, Program, RESERVED, Span};
use strata_model::platform::{HOSTS, MACHINE};

use super::calls::Models;
use super::loops;
use super::names::{
    duplicate, duplicates, forbid_calls, item_name, model_calls, name_uses, unknown, value_name,
};
use super::options;
use super::parts::{Parts, parts};
use super::range::{self, Range, Ranges, range, reserved};
use super::rust::{self, Shape};
use super::sampling::{self, Effort};
use super::size::Size;
use crate::lang::ast::{self, Body, Name, Spelling};
use crate::lang::checked::{
    Binding, Input, LoopPlan, Measured, Model, ModelKind, ModelOptions, Repeated, Term, Timed,
};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// What messages call a term.
const A_TERM: &str = "a term";

/// Checks one model; `competes` says whether a library chooses by it. The plan is right only if
/// there are no errors.
pub(super) fn check(
    model: &ast::Model,
    file: usize,
    models: &Models<'_>,
    competes: bool,
    effort: &mut Effort,
) -> (Option<Model>, Vec<CheckError>) {
    let mut checker = Checker::new(model);
    if competes {
        checker.options = ModelOptions::competing();
    }
    checker.errors.extend(item_name(&model.name));
    let kind = match &model.body {
        Body::Factored(expr) => checker.factored(expr, models),
        Body::Hybrid { terms, statements: None } => {
            checker.header();
            checker.ranges.extend(model.inputs.iter().map(|input| (input.text.clone(), Range::ANY)));
            checker.terms(terms, models);
            Some(ModelKind::Unmeasured)
        }
        Body::Hybrid { terms, statements: Some(statements) } => {
            let parts = parts(statements, model.spelling, &mut checker.errors);
            if let Some((_, span)) = parts.terms {
                let message = format!("`{}` has its terms after `~` already", model.name.text);
                let error = CheckError::new(ErrorCode::Duplicate, message, span, "given again");
                checker.errors.push(error.help("move these terms to the header"));
            }
            checker.measured(&parts, Some(terms), models, effort)
        }
        Body::Measured(statements) => {
            let parts = parts(statements, model.spelling, &mut checker.errors);
            checker.measured(&parts, parts.terms.map(|(terms, _)| terms), models, effort)
        }
    };
    checker.finish(kind, file)
}

struct Checker<'a> {
    model: &'a ast::Model,
    errors: Vec<CheckError>,
    /// The ranges of the names in scope of values: `P` and its like, iteration variables, bindings.
    ranges: Ranges,
    /// Where those names are defined; names whose definition has an error are here but not in
    /// `ranges`.
    spans: BTreeMap<String, Span>,
    bindings: Vec<Binding>,
    /// The bindings that are not inputs, over the inputs where they can be.
    intermediate: BTreeMap<String, Expr>,
    /// Those that call other models or have a knee: terms alone can read them.
    of_models: BTreeSet<String>,
    /// The inputs that a `sample` gives: terms alone can read them, too.
    given: BTreeSet<String>,
    requires: Vec<Expr>,
    terms: Vec<Term>,
    options: ModelOptions,
}

impl<'a> Checker<'a> {
    fn new(model: &'a ast::Model) -> Self {
        Self {
            model,
            errors: Vec::new(),
            ranges: reserved(),
            spans: BTreeMap::new(),
            bindings: Vec::new(),
            intermediate: BTreeMap::new(),
            of_models: BTreeSet::new(),
            given: BTreeSet::new(),
            requires: Vec::new(),
            terms: Vec::new(),
            options: ModelOptions::default(),
        }
    }

    fn finish(mut self, kind: Option<ModelKind>, file: usize) -> (Option<Model>, Vec<CheckError>) {
        if !self.model.complete {
            // What could not be read may be just what is missing.
            let because =
                [ErrorCode::UnknownName, ErrorCode::Missing, ErrorCode::NotAFunction, ErrorCode::Excluded];
            self.errors.retain(|error| !because.contains(&error.code));
        }
        let model = self.model;
        let candidates: BTreeSet<&str> = self.terms.iter().filter_map(|term| term.value.as_name()).collect();
        let input = |input: &Name| Input {
            name: input.text.clone(),
            integral: self.ranges.get(&input.text).is_some_and(|range| range.integral),
            candidate: candidates.contains(input.text.as_str()),
            bounds: self
                .ranges
                .get(&input.text)
                .map_or((f64::NEG_INFINITY, f64::INFINITY), |r| (r.low, r.high)),
            span: input.span,
        };
        let mut names: Vec<(String, Expr)> = self
            .intermediate
            .iter()
            .filter(|(_, value)| value.names().iter().all(|name| self.is_of_inputs(name)))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        names.sort_by_key(|(name, _)| self.spans.get(name).map(|span| span.start));
        names.extend(model.kinds.iter().flat_map(|kind| {
            let is = |(place, name): (usize, &Name)| {
                let (input, place) = (Expr::name(&*kind.input.text), Expr::number(place as f64));
                (name.text.clone(), Expr::binary(BinaryOp::Equal, input, place))
            };
            kind.names.iter().enumerate().map(is)
        }));
        let plan = kind.map(|kind| Model {
            names,
            name: model.name.text.clone(),
            docs: model.docs.clone(),
            file,
            span: model.span,
            name_span: model.name.span,
            inputs: model.inputs.iter().map(input).collect(),
            kind,
            requires: self.requires.clone(),
            terms: self.terms.clone(),
            options: self.options,
        });
        (plan, self.errors)
    }

    /// The header's names; in the one-line form they are checked as bindings.
    fn header(&mut self) {
        if self.model.spelling == Spelling::Block {
            self.errors.extend(duplicates("input", &self.model.inputs));
            self.errors.extend(self.model.inputs.iter().filter_map(value_name));
        }
    }

    fn factored(&mut self, expr: &Expr, models: &Models<'_>) -> Option<ModelKind> {
        self.header();
        for (name, span) in name_uses(expr) {
            if !RESERVED.contains(&name) && !self.model.inputs.iter().any(|input| input.text == name) {
                let known = self.model.inputs.iter().map(|input| input.text.as_str()).chain(RESERVED);
                self.errors.push(unknown("the input", name, span, known));
            }
        }
        self.errors.extend(models.check_calls(expr));
        Some(ModelKind::Factored(expr.clone()))
    }

    fn measured(
        &mut self,
        parts: &Parts<'_>,
        terms: Option<&[ast::Listed]>,
        models: &Models<'_>,
        effort: &mut Effort,
    ) -> Option<ModelKind> {
        self.header();
        let listed = || terms.unwrap_or_default().iter().filter_map(ast::Listed::term);
        let labels = || listed().filter_map(|term| Some((term.label.as_ref()?, &term.value)));
        let defined: BTreeSet<&str> = (parts.loops.iter().map(|plan| &plan.name))
            .chain(parts.lets.iter().map(|(name, _)| *name))
            .chain(labels().map(|(name, _)| name))
            .chain(&self.model.inputs)
            .map(|name| name.text.as_str())
            .collect();
        let machine = MACHINE.into_iter().filter(|word| !defined.contains(word));
        self.ranges.extend(machine.map(|word| (word.to_owned(), range::machine(word))));
        self.hosts(parts, &labels().map(|(name, _)| name).collect::<Vec<_>>());
        let nested: Vec<ast::Loop> = parts.loops.iter().map(|plan| self.bounded(plan, &parts.lets)).collect();
        let nest = loops::check(&nested.iter().collect::<Vec<_>>(), &mut self.ranges);
        let told: BTreeSet<usize> = self.errors.iter().map(CheckError::start).collect();
        self.errors.extend(nest.errors.into_iter().filter(|error| !told.contains(&error.start())));
        self.spans.extend(nest.spans);
        parts.sample.iter().flat_map(|(gives, _)| *gives).for_each(|given| self.given(given));
        let is_input = |name: &str| self.model.inputs.iter().any(|input| input.text == name);
        let values: Vec<(&Name, &Expr)> = parts.lets.iter().copied().chain(labels()).collect();
        for &(name, value) in &values {
            // `x:x` in the one-line form says that the iteration variable is the input.
            let same = self.model.spelling == Spelling::Line && value.as_name() == Some(name.text.as_str());
            if !(same && nest.plans.iter().any(|plan| plan.name == name.text)) {
                self.binding(name, value, is_input(&name.text), &values, models);
            }
        }
        for input in &self.model.inputs {
            if !self.spans.contains_key(&input.text) && value_name(input).is_none() {
                let message =
                    format!("the input `{}` is neither an iteration variable nor given by `let`", input.text);
                let error = CheckError::new(ErrorCode::UnknownName, message, input.span, "has no value");
                self.errors.push(
                    error.help(format!("add `let {} = …` or `for {} in 1..=…`", input.text, input.text)),
                );
            }
        }
        for expr in &parts.requires {
            self.errors.extend(forbid_calls(expr, "a requirement"));
            let reduced = self.over_inputs(expr, "a requirement");
            if let Some(reduced) = reduced.as_ref().filter(|_| self.reads_models(expr)) {
                self.errors.extend(forbid_calls(reduced, "a requirement"));
            }
            if let Some(read) = reduced.as_ref().and_then(|reduced| self.reads_given(reduced)) {
                let help = "a requirement holds before anything is measured";
                self.errors.push(only_measured("a requirement", &read, expr.span).help(help));
                continue;
            }
            self.requires.extend(reduced);
        }
        match terms {
            Some(terms) => self.terms(terms, models),
            None => self.default_terms(),
        }
        // What options say does not change what can be sampled.
        let before = self.errors.len();
        for error in options::fit(&mut self.options, parts.fit.unwrap_or_default()) {
            self.errors.push(error);
        }
        for (name, value) in &parts.options {
            if let Err(error) = options::set(&mut self.options, name, value) {
                self.errors.push(error);
            }
        }
        let of_options = self.errors.len() - before;
        let work = self.code(parts)?;
        if self.errors.len() == of_options && self.model.complete {
            self.sampling(&nest.plans, parts, effort);
        }
        let setup = parts.setup.map(|(_, code)| code.clone());
        let cleanup = parts.cleanup.cloned();
        let mut measured = Measured { loops: nest.plans, bindings: Vec::new(), setup, work, cleanup };
        measured.bindings = self.measured_bindings(&measured);
        for binding in &measured.bindings {
            if let Some(read) = self.reads_given(&binding.reduced) {
                let what = format!("the value of `{}`", binding.name);
                let help = "terms alone can read what is measured with the seconds";
                self.errors.push(only_measured(&what, &read, binding.span).help(help));
            }
        }
        for at in 0..measured.loops.len() {
            measured.loops[at].between = self.may_lie_between(&measured, at);
        }
        Some(ModelKind::Measured(measured))
    }

    /// The input `hosts` is the number of hosts where nothing else gives it.
    fn hosts(&mut self, parts: &Parts<'_>, labels: &[&Name]) {
        let Some(input) = self.model.inputs.iter().find(|input| input.text == HOSTS) else { return };
        let given = (parts.loops.iter().map(|plan| &plan.name))
            .chain(parts.lets.iter().map(|(name, _)| *name))
            .chain(parts.sample.iter().flat_map(|(gives, _)| *gives))
            .chain(labels.iter().copied());
        if given.into_iter().any(|name| name.text == HOSTS) {
            return;
        }
        let value = Expr { span: input.span, ..Expr::name(HOSTS) };
        let range = range::machine(HOSTS);
        self.spans.insert(HOSTS.to_owned(), input.span);
        self.ranges.insert(HOSTS.to_owned(), range);
        self.bindings.push(Binding {
            name: HOSTS.to_owned(),
            reduced: value.clone(),
            value,
            number: range.number(),
            span: input.span,
        });
    }

    /// An input that the `sample` gives.
    fn given(&mut self, name: &Name) {
        self.errors.extend(value_name(name));
        if let Some(&first) = self.spans.get(&name.text) {
            self.errors.push(duplicate("value", name, Some(first)));
            return;
        }
        if self.model.inputs.iter().all(|input| input.text != name.text) {
            let message = format!("`sample` gives `{}`, which is not an input", name.text);
            let error = CheckError::new(ErrorCode::NotAFunction, message, name.span, "not an input");
            let way_out = format!("make it an input: {}", self.header_with(&name.text));
            self.errors.push(error.help(way_out));
            return;
        }
        self.spans.insert(name.text.clone(), name.span);
        self.ranges.insert(name.text.clone(), Range::ANY);
        self.given.insert(name.text.clone());
    }

    /// The first name in an expression that a `sample` gives.
    fn reads_given(&self, expr: &Expr) -> Option<String> {
        expr.names().into_iter().find(|name| self.given.contains(name))
    }

    /// A loop whose ends read no `let`: what those stand for that are given before it is put in.
    fn bounded(&mut self, plan: &ast::Loop, lets: &[(&Name, &Expr)]) -> ast::Loop {
        let mut given: BTreeMap<&str, Expr> = BTreeMap::new();
        for (name, value) in lets.iter().filter(|(name, _)| name.span.start < plan.name.span.start) {
            given.extend(replace(value, &|read| given.get(read)).map(|value| (name.text.as_str(), value)));
        }
        let mut end = |end: &Expr| {
            for (read, span) in name_uses(end).into_iter().filter(|(read, _)| !given.contains_key(read)) {
                if let Some((later, _)) = lets.iter().find(|(name, _)| name.text == read) {
                    self.errors.push(further_down(read, span, later, &plan.name));
                }
            }
            replace(end, &|read| given.get(read)).unwrap_or_else(|| end.clone())
        };
        ast::Loop { start: end(&plan.start), stop: end(&plan.stop), ..plan.clone() }
    }

    /// The bindings that a measurement needs: inputs, what Rust code reads, and what these read. The
    /// others are names in terms and requirements.
    fn measured_bindings(&mut self, measured: &Measured) -> Vec<Binding> {
        let mut needed: BTreeSet<String> = self.model.inputs.iter().map(|input| input.text.clone()).collect();
        let mut kept: Vec<Binding> = Vec::new();
        for binding in std::mem::take(&mut self.bindings).into_iter().rev() {
            let name = &binding.name;
            if needed.contains(name) || measured.codes().any(|code| code.mentions(name)) {
                needed.extend(binding.value.names());
                kept.push(binding);
            }
        }
        kept.reverse();
        kept
    }

    /// Whether an expression reads a name that stands for calls of models.
    fn reads_models(&self, expr: &Expr) -> bool {
        expr.names().iter().any(|name| self.of_models.contains(name))
    }

    /// Whether points may lie between the whole values of an iteration variable: only values read
    /// it, and those that are whole stay so. `floor(pow(2, e/2))` does, `1 << e` does not.
    fn may_lie_between(&self, measured: &Measured, at: usize) -> bool {
        let name = measured.loops[at].name.as_str();
        let bounds = measured.loops.iter().flat_map(|plan| [&plan.first, &plan.last]);
        if self.model.inputs.iter().any(|input| input.text == name)
            || bounds.into_iter().any(|bound| bound.names().contains(name))
            || measured.codes().any(|code| code.mentions(name))
        {
            return false;
        }
        let mut ranges = self.ranges.clone();
        if let Some(values) = ranges.get_mut(name) {
            values.integral = false;
        }
        measured.bindings.iter().all(|binding| {
            let values = range(&binding.value, &ranges);
            ranges.insert(binding.name.clone(), values);
            values.number() == binding.number
        })
    }

    fn binding(
        &mut self,
        name: &Name,
        value: &Expr,
        is_input: bool,
        all: &[(&Name, &Expr)],
        models: &Models<'_>,
    ) {
        let before = self.errors.len();
        self.errors.extend(value_name(name));
        if let Some(&first) = self.spans.get(&name.text) {
            self.errors.push(duplicate("value", name, Some(first)));
            return;
        }
        self.spans.insert(name.text.clone(), name.span);
        let mut poisoned = false;
        for (used, span) in name_uses(value).into_iter().filter(|(used, _)| !self.ranges.contains_key(*used))
        {
            let later =
                all.iter().find(|(other, _)| other.text == used && other.span.start > name.span.start);
            if used == name.text {
                let message = format!("the value of `{used}` reads itself");
                self.errors.push(CheckError::new(ErrorCode::UnknownName, message, span, "has no value yet"));
            } else if self.of_models.contains(used) {
                if is_input {
                    let message = format!("`{used}` calls a model or has a knee, and an input is measured");
                    let error = CheckError::new(ErrorCode::NotAFunction, message, span, "not a value");
                    self.errors.push(error.help(format!("read `{used}` in terms alone")));
                }
            } else if self.spans.contains_key(used) {
                poisoned = true;
            } else if let Some((later, _)) = later {
                self.errors.push(further_down(used, span, later, name));
            } else {
                let known = self.ranges.keys().map(String::as_str);
                self.errors.push(unknown("the name", used, span, known));
            }
        }
        let of_models = !is_input && (self.reads_models(value) || !model_calls(value).is_empty());
        if of_models {
            self.errors.extend(models.check_term(value));
        } else {
            self.errors.extend(forbid_calls(value, "a value"));
        }
        if poisoned || self.errors.len() > before {
            return;
        }
        let reduced = if of_models { None } else { self.bindings_in(value) };
        let over_inputs = if is_input { None } else { self.intermediates_in(value) };
        if let Some(over_inputs) = over_inputs.as_ref().filter(|_| of_models) {
            self.of_models.insert(name.text.clone());
            self.intermediate.insert(name.text.clone(), over_inputs.clone());
            return;
        }
        let Some(reduced) = reduced else {
            let message =
                format!("`{}` becomes too large when the values that it reads are put in", name.text);
            let error = CheckError::new(ErrorCode::TooLarge, message, value.span, "too large");
            self.errors.push(error.help("compute it in Rust code, or make it simpler"));
            return;
        };
        let values = range(value, &self.ranges);
        self.ranges.insert(name.text.clone(), values);
        self.intermediate.extend(over_inputs.map(|expr| (name.text.clone(), expr)));
        let (name, span) = (name.text.clone(), name.span);
        self.bindings.push(Binding { name, value: value.clone(), reduced, number: values.number(), span });
    }

    /// `value` with all bindings replaced; `None` if that is too large.
    fn bindings_in(&self, value: &Expr) -> Option<Expr> {
        let by_name = |name: &str| {
            self.bindings.iter().find(|binding| binding.name == name).map(|binding| &binding.reduced)
        };
        replace(value, &by_name)
    }

    fn intermediates_in(&self, value: &Expr) -> Option<Expr> {
        replace(value, &|name| self.intermediate.get(name))
    }

    /// Whether a name stands for the machine here: it does unless the model defines it.
    fn is_machine(&self, name: &str) -> bool {
        MACHINE.contains(&name)
            && name != HOSTS
            && !self.spans.contains_key(name)
            && self.model.inputs.iter().all(|input| input.text != name)
    }

    /// Whether terms may read a name by itself.
    fn is_of_inputs(&self, name: &str) -> bool {
        RESERVED.contains(&name)
            || self.model.inputs.iter().any(|input| input.text == name)
            || self.is_machine(name)
    }

    /// `expr` over the inputs; errors for what else it reads.
    fn over_inputs(&mut self, expr: &Expr, what: &str) -> Option<Expr> {
        let before = self.errors.len();
        let mut strangers = name_uses(expr);
        strangers.retain(|(name, _)| !self.is_of_inputs(name));
        let mut poisoned = false;
        for (name, span) in strangers {
            let reads = match self.intermediate.get(name) {
                Some(value) => value.names().into_iter().find(|name| !self.is_of_inputs(name)),
                None => Some(name.to_owned()),
            };
            let Some(reads) = reads else { continue };
            if !self.ranges.contains_key(name) && !self.of_models.contains(name) {
                if self.spans.contains_key(name) {
                    poisoned = true;
                } else {
                    let known = self.model.inputs.iter().map(|input| input.text.as_str()).chain(RESERVED);
                    let error = unknown(
                        "the input",
                        name,
                        span,
                        known.chain(self.intermediate.keys().map(String::as_str)),
                    );
                    self.errors.push(error);
                }
                continue;
            }
            let label = if reads == name { "not an input".to_owned() } else { format!("reads `{reads}`") };
            let message = format!("{what} is a function of the inputs, and `{reads}` is not an input");
            let error = CheckError::new(ErrorCode::NotAFunction, message, span, label);
            self.errors.push(error.help(format!(
                "write it over the inputs, or make `{reads}` an input: {}",
                self.header_with(&reads)
            )));
        }
        if poisoned || self.errors.len() > before {
            return None;
        }
        let reduced = self.intermediates_in(expr);
        if reduced.is_none() {
            let message = format!("{what} becomes too large when the values that it reads are put in");
            self.errors.push(CheckError::new(ErrorCode::TooLarge, message, expr.span, "too large"));
        }
        reduced
    }

    fn header_with(&self, input: &str) -> String {
        let mut names: Vec<&str> = self.model.inputs.iter().map(|input| input.text.as_str()).collect();
        names.push(input);
        match self.model.spelling {
            Spelling::Block => format!("`model {}({})`", self.model.name.text, names.join(", ")),
            Spelling::Line => format!("`{input}:{input}`"),
        }
    }

    fn default_terms(&mut self) {
        let one = |input: &Name| Term {
            value: Expr { span: input.span, ..Expr::name(input.text.clone()) },
            fit_only: false,
            span: input.span,
        };
        self.terms = self.model.inputs.iter().map(one).collect();
    }

    fn terms(&mut self, terms: &[ast::Listed], models: &Models<'_>) {
        if self.model.spelling == Spelling::Line {
            self.default_terms();
        }
        let mut seen: BTreeMap<String, Span> =
            self.terms.iter().map(|term| (term.value.to_string(), term.span)).collect();
        for term in terms.iter().filter_map(ast::Listed::term) {
            self.errors.extend(models.check_term(&term.value));
            let span = term.value.span;
            let Some(value) = self.over_inputs(&term.value, A_TERM) else { continue };
            let read = value.names();
            let late = |name: &String| self.is_machine(name) || self.given.contains(name);
            let fit_only = !value.calls().is_empty() || read.iter().any(late);
            let text = value.to_string();
            if let Some(&first) = seen.get(&text) {
                let message = format!("the term `{text}` is given twice");
                let error = CheckError::new(ErrorCode::Duplicate, message, span, "given again");
                self.errors.push(error.label(first, "first given here").help("remove one of them"));
                continue;
            }
            if value.is_constant() || read.iter().all(|name| self.is_machine(name)) {
                let message =
                    format!("the term `{text}` depends on nothing: the constant `1` is always a candidate");
                let error = CheckError::new(ErrorCode::Reserved, message, span, "a constant");
                self.errors.push(error.help("remove it, or write a function of the inputs"));
                continue;
            }
            seen.insert(text, span);
            self.terms.push(Term { value, fit_only, span });
        }
    }

    /// What is measured, and the Rust code around it.
    fn code(&mut self, parts: &Parts<'_>) -> Option<Timed> {
        let setup = parts.setup.and_then(|(_, code)| rust::check("setup", code, Shape::Statements));
        let cleanup = parts.cleanup.and_then(|code| rust::check("cleanup", code, Shape::Statements));
        self.errors.extend(setup.into_iter().chain(cleanup));
        match (parts.task, parts.sample) {
            (Some(([once, hot], code)), None) => {
                self.errors.extend(rust::check("task", code, Shape::Statements));
                let repeated = match parts.setup {
                    _ if once => Repeated::Never,
                    Some((false, _)) => Repeated::OnFreshSetups,
                    Some((true, _)) | None => Repeated::OnOneSetup,
                };
                Some(Timed::Task { repeated, hot, code: code.clone() })
            }
            (None, Some((gives, code))) => {
                self.errors.extend(rust::check("sample", code, Shape::Value));
                let gives = gives.iter().map(|given| given.text.clone()).collect();
                Some(Timed::Sample { gives, code: code.clone() })
            }
            (Some((_, task)), Some((_, sample))) => {
                let message = format!(
                    "`{}` has a task to be timed and a `sample` that measures by itself",
                    self.model.name.text
                );
                let error = CheckError::new(ErrorCode::Duplicate, message, sample.span, "measures by itself");
                self.errors.push(error.label(task.span, "to be timed").help("keep one of them"));
                None
            }
            (None, None) => {
                let message = format!("`{}` has no task", self.model.name.text);
                let error =
                    CheckError::new(ErrorCode::Missing, message, self.model.name.span, "nothing to measure");
                self.errors.push(error.help("add `task { … }` with the Rust code to time"));
                None
            }
        }
    }

    /// The number of points, and whether any of them meets the requirements.
    fn sampling(&mut self, loops: &[LoopPlan], parts: &Parts<'_>, effort: &mut Effort) {
        let mut requires = Vec::new();
        for (expr, reduced) in parts.requires.iter().zip(&self.requires) {
            let truth = range(reduced, &self.ranges);
            if truth.never_holds() {
                let message = "this requirement excludes every sample".to_owned();
                self.errors.push(sampling::excluded(message, expr.span));
                return;
            }
            if !truth.always_holds() {
                match self.bindings_in(reduced) {
                    Some(over_points) => requires.push((over_points, expr.span)),
                    None => {
                        let message =
                            "a requirement becomes too large when the values that it reads are put in";
                        self.errors.push(CheckError::new(
                            ErrorCode::TooLarge,
                            message,
                            expr.span,
                            "too large",
                        ));
                        return;
                    }
                }
            }
        }
        let nest = parts.loops.first().zip(parts.loops.last()).map(|(first, last)| Span {
            start: first.name.span.start.min(last.name.span.start),
            end: first.stop.span.end.max(last.stop.span.end),
        });
        self.errors.extend(sampling::check(loops, nest.unwrap_or(self.model.name.span), &requires, effort));
    }
}

/// The error for a name that is read before it has a value.
fn further_down(used: &str, span: Span, later: &Name, reader: &Name) -> CheckError {
    let message = format!("`{used}` is given only further down");
    CheckError::new(ErrorCode::UnknownName, message, span, "has no value yet")
        .label(later.span, "given here")
        .help(format!("move `{used}` before `{}`", reader.text))
}

/// The error for what reads an input that only a `sample` gives.
fn only_measured(what: &str, read: &str, span: Span) -> CheckError {
    let message = format!("{what} reads `{read}`, which `sample` gives");
    CheckError::new(ErrorCode::NotAFunction, message, span, format!("`{read}` is not known before"))
}

/// Replaces names; `None` if the result is too large to work with.
fn replace<'e>(expr: &Expr, by_name: &dyn Fn(&str) -> Option<&'e Expr>) -> Option<Expr> {
    let sizes = expr
        .names()
        .into_iter()
        .filter_map(|name| {
            by_name(&name).map(|value| (name, Size::of(value, &BTreeMap::new(), &BTreeMap::new())))
        })
        .collect();
    if !Size::of(expr, &sizes, &BTreeMap::new()).is_fine() {
        return None;
    }
    let replaced = expr.substitute(&|name| by_name(name).cloned());
    let names = replaced.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let too_large = matches!(Program::compile(&replaced, &names), Err(CompileError::TooLarge { .. }));
    (!too_large).then_some(replaced)
}
