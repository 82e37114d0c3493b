//! Libraries and their candidates.

use pest::iterators::Pair;
use strata_model::expr::{Expr, Span};

use super::{Reader, Rule, child, children, inputs, name, span};
use crate::lang::ast::*;
use crate::lang::diagnostic::{CheckError, ErrorCode};

impl Reader<'_> {
    pub(super) fn library(&mut self, pair: &Pair<'_, Rule>) -> Option<Library> {
        let here = span(pair);
        let (name, family) = self.head(pair)?;
        let (inputs, kinds) = inputs(pair);
        let body = child(pair, Rule::library_body)?;
        let (mut incumbent, mut limits, mut candidates) = (None, Vec::new(), Vec::new());
        let mut equal = Vec::new();
        for pair in body.clone().into_inner() {
            match pair.as_rule() {
                Rule::incumbent if incumbent.is_some() => {
                    let message = "a library has one `default`";
                    let error = CheckError::new(ErrorCode::Duplicate, message, span(&pair), "a second")
                        .help("remove one of them");
                    self.errors.push(error);
                }
                Rule::incumbent => incumbent = self.incumbent(&pair),
                Rule::limit => {
                    let part = |rule| child(&pair, rule).as_ref().map(self::name);
                    limits.extend(part(Rule::limit_name).zip(part(Rule::option_value)));
                }
                Rule::equal => {
                    let members = child(&pair, Rule::members)?;
                    let names = children(&members, Rule::member).map(|one| self::name(&one));
                    equal.push((names.collect(), span(&pair)));
                }
                Rule::candidate => candidates.extend(self.candidate(&pair)),
                Rule::stray_candidate => {
                    let rule = match pair.as_str().split_whitespace().next() {
                        Some("ways" | "slowdown") => Rule::limit,
                        Some("default") => Rule::incumbent,
                        Some("equal") => Rule::equal,
                        _ => Rule::candidate,
                    };
                    self.stray(&pair, rule, "`candidate`");
                }
                _ => {}
            }
        }
        self.closed(&body, &name);
        Some(Library {
            docs: self.docs(here.start),
            name,
            family,
            inputs,
            kinds,
            incumbent,
            limits,
            equal,
            candidates,
            complete: self.complete,
            span: here,
        })
    }

    fn incumbent(&mut self, pair: &Pair<'_, Rule>) -> Option<Incumbent> {
        let mut values = Vec::new();
        for given in children(pair, Rule::given) {
            let value = self.integer("value", &child(&given, Rule::integer)?)?;
            values.push((name(&child(&given, Rule::identifier)?), value));
        }
        Some(Incumbent { candidate: name(&child(pair, Rule::identifier)?), values, span: span(pair) })
    }

    fn candidate(&mut self, pair: &Pair<'_, Rule>) -> Option<Candidate> {
        let ((name, family), model) = (self.head(pair)?, name(&child(pair, Rule::reference)?));
        let arguments = child(pair, Rule::arguments)?;
        let count = children(&arguments, Rule::expression).count();
        let arguments: Vec<Expr> =
            children(&arguments, Rule::expression).filter_map(|pair| self.expr(&pair)).collect();
        let mut parameters = Vec::new();
        for pair in child(pair, Rule::ranges).iter().flat_map(|ranges| children(ranges, Rule::parameter)) {
            parameters.push(self.parameter(&pair)?);
        }
        let mut requires = Vec::new();
        for pair in children(pair, Rule::candidate_require) {
            requires.push(self.expr(&child(&pair, Rule::expression)?)?);
        }
        (arguments.len() == count).then(|| Candidate {
            name,
            family,
            model,
            arguments,
            parameters,
            requires,
            span: span(pair),
        })
    }

    fn parameter(&mut self, pair: &Pair<'_, Rule>) -> Option<Parameter> {
        let name = name(&child(pair, Rule::identifier)?);
        if let Some(wrong) = child(pair, Rule::no_values) {
            let message = format!("the values of the parameter `{}` cannot be read", name.text);
            let help = "a parameter is `k in 1..=16 step *2`, or `k = root(1..=16, EXPRESSION)`";
            let line = wrong.as_str().lines().next().unwrap_or_default().trim_end().len();
            let here = Span { end: span(&wrong).start + line, ..span(&wrong) };
            self.errors.push(CheckError::new(ErrorCode::Syntax, message, here, "these").help(help));
            self.complete = false;
            return None;
        }
        let Some(root) = child(pair, Rule::root) else {
            return Some(Parameter { values: self.for_loop(name, pair)?, root: None });
        };
        let of = self.expr(&children(&root, Rule::expression).nth(2)?);
        Some(Parameter { values: self.for_loop(name, &root)?, root: Some(of?) })
    }
}
