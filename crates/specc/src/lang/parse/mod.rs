//! Parses text into a syntax tree, with every syntax error of the file.

mod errors;
mod library;
mod line;

use pest::Parser;
use pest::iterators::Pair;
use strata_model::expr::{self, Expr, Span};

use self::errors::{AT_THE_HEAD, misplaced_on};
use super::ast::*;
use super::diagnostic::{CheckError, ErrorCode};
use super::scan::{Scan, scan};

#[derive(pest_derive::Parser)]
#[grammar = "lang/grammar.pest"]
struct SpecParser;

/// The items of a file that could be read, and its syntax errors.
#[derive(Debug)]
pub struct Parsed {
    /// The items that could be read.
    pub file: File,
    /// The syntax errors, by place; if there are none then `file` is all there is.
    pub errors: Vec<CheckError>,
}

/// Reads a spec file as far as it can be read.
#[must_use]
pub fn parse(text: &str) -> Parsed {
    let scan = scan(text);
    let mut reader = Reader { text, scan: &scan, errors: scan.faults.clone(), complete: true };
    let mut file =
        File { docs: Vec::new(), uses: Vec::new(), items: Vec::new(), comments: scan.comments.clone() };
    match SpecParser::parse(Rule::file, &scan.shallow) {
        Ok(pairs) => pairs.flat_map(Pair::into_inner).for_each(|pair| reader.top_level(&pair, &mut file)),
        Err(error) => reader.pest_error(&error, 0, "a spec"),
    }
    let first = file
        .items
        .iter()
        .map(|item| item.span().start)
        .chain(file.uses.iter().map(|line| line.span.start))
        .min();
    let header =
        file.comments.iter().take_while(|comment| first.is_none_or(|first| comment.span.start < first));
    file.docs = header.filter_map(|comment| doc_text(&comment.text, "//!")).collect();
    let mut errors = reader.errors;
    errors.sort_by_key(CheckError::start);
    errors.dedup_by_key(|error| error.start());
    Parsed { file, errors }
}

fn doc_text(comment: &str, mark: &str) -> Option<String> {
    comment.strip_prefix(mark).map(|rest| rest.strip_prefix(' ').unwrap_or(rest).to_owned())
}

struct Reader<'a> {
    text: &'a str,
    scan: &'a Scan,
    errors: Vec<CheckError>,
    /// Whether everything of the model at hand could be read.
    complete: bool,
}

/// Where a pair stands, without the blanks that the grammar skips before it finds that nothing
/// follows.
fn span(pair: &Pair<'_, Rule>) -> Span {
    let start = pair.as_span().start();
    Span { start, end: start + pair.as_str().trim_end().len() }
}

fn child<'p>(pair: &Pair<'p, Rule>, rule: Rule) -> Option<Pair<'p, Rule>> {
    pair.clone().into_inner().find(|inner| inner.as_rule() == rule)
}

/// Whether the word `once` follows that of a statement.
fn once(pair: &Pair<'_, Rule>) -> bool {
    child(pair, Rule::once).is_some()
}

fn children<'p>(pair: &Pair<'p, Rule>, rule: Rule) -> impl Iterator<Item = Pair<'p, Rule>> {
    pair.clone().into_inner().filter(move |inner| inner.as_rule() == rule)
}

fn name(pair: &Pair<'_, Rule>) -> Name {
    Name { text: pair.as_str().to_owned(), span: span(pair) }
}

fn names(pair: Option<Pair<'_, Rule>>) -> Vec<Name> {
    pair.iter().flat_map(|pair| children(pair, Rule::identifier)).map(|pair| name(&pair)).collect()
}

/// The inputs of a header, and those that are kinds.
fn inputs(pair: &Pair<'_, Rule>) -> (Vec<Name>, Vec<Kind>) {
    let header = child(pair, Rule::parameters);
    let all: Vec<_> = header.iter().flat_map(|header| children(header, Rule::input)).collect();
    let input = |pair: &Pair<'_, Rule>| child(pair, Rule::identifier).map(|pair| name(&pair));
    let kind = |pair: &Pair<'_, Rule>| {
        Some(Kind { input: input(pair)?, names: names(Some(child(pair, Rule::kinds)?)) })
    };
    (all.iter().filter_map(input).collect(), all.iter().filter_map(kind).collect())
}

impl Reader<'_> {
    fn top_level(&mut self, pair: &Pair<'_, Rule>, file: &mut File) {
        self.complete = true;
        match pair.as_rule() {
            Rule::use_line => {
                let span = span(pair);
                file.uses.push(UseLine { text: self.text[span.start..span.end].to_owned(), span });
            }
            Rule::model => file.items.extend(self.model(pair).map(Item::Model)),
            Rule::line_model => file.items.extend(self.line_model(pair).map(Item::Model)),
            Rule::library => file.items.extend(self.library(pair).map(Item::Library)),
            Rule::measured_on => {
                let machines = children(pair, Rule::machine).map(|word| name(&word)).collect();
                file.items.push(Item::On(MeasuredOn { machines, span: span(pair) }));
            }
            Rule::features => {
                let features = children(pair, Rule::feature).map(|feature| name(&feature)).collect();
                file.items.push(Item::Features(FeaturesLine { features, span: span(pair) }));
            }
            Rule::shared_let | Rule::shared_terms => file.items.extend(self.shared(pair)),
            Rule::stray if !self.unclosed(pair, file) => {
                self.stray(pair, Rule::top, "a model, a library, `let`, `terms`, `on`, `features` or `use`");
            }
            _ => {}
        }
    }

    fn docs(&self, start: usize) -> Vec<String> {
        let comments = &self.scan.comments;
        let end = comments.partition_point(|comment| comment.span.start < start);
        let mut next = start;
        let mut docs = Vec::new();
        for comment in comments[..end].iter().rev() {
            let between = &self.text[comment.span.end..next];
            let line = &self.text[..comment.span.start];
            let own_line = line[line.rfind('\n').map_or(0, |n| n + 1)..]
                .trim_matches([' ', '\t', '\u{FEFF}'])
                .is_empty();
            if !own_line || !between.trim().is_empty() || between.matches('\n').count() != 1 {
                break;
            }
            docs.extend(doc_text(&comment.text, "///"));
            next = comment.span.start;
        }
        docs.reverse();
        docs
    }

    /// A name that a file gives to an expression or to terms.
    fn shared(&mut self, pair: &Pair<'_, Rule>) -> Option<Item> {
        let (span, name) = (span(pair), name(&child(pair, Rule::identifier)?));
        Some(match child(pair, Rule::terms) {
            Some(terms) => Item::Terms(SharedTerms { name, terms: self.terms(&terms), span }),
            None => {
                let value = self.expr(&child(pair, Rule::expression)?)?;
                Item::Let(SharedValue { name, value, span })
            }
        })
    }

    /// The name of an item, and its members if it has several.
    fn head(&self, pair: &Pair<'_, Rule>) -> Option<(Name, Option<Family>)> {
        let head = child(pair, Rule::head)?;
        let Some(family) = child(&head, Rule::family) else {
            return Some((name(&child(&head, Rule::single)?), None));
        };
        let aliases = names(child(&head, Rule::aliases));
        let part = |part: Pair<'_, Rule>| match part.as_rule() {
            Rule::members => Part::Words(children(&part, Rule::member).map(|word| name(&word)).collect()),
            _ => Part::Text(part.as_str().to_owned()),
        };
        let parts: Vec<Part> = family.clone().into_inner().map(part).collect();
        let text = parts.iter().map(ToString::to_string).collect();
        Some((Name { text, span: span(&family) }, Some(Family { parts, aliases })))
    }

    fn model(&mut self, pair: &Pair<'_, Rule>) -> Option<Model> {
        let here = span(pair);
        let (name, family) = self.head(pair)?;
        let (inputs, kinds) = inputs(pair);
        let inner = pair.clone().into_inner().last()?;
        let body = match inner.as_rule() {
            Rule::factored => self.expr(&child(&inner, Rule::expression)?).map(Body::Factored)?,
            Rule::hybrid => {
                let terms = self.terms(&child(&inner, Rule::terms)?);
                let statements = child(&inner, Rule::body).map(|body| self.statements(&body, &name));
                Body::Hybrid { terms, statements }
            }
            _ => Body::Measured(self.statements(&inner, &name)),
        };
        let docs = self.docs(here.start);
        Some(Model {
            docs,
            spelling: Spelling::Block,
            name,
            family,
            inputs,
            kinds,
            body,
            complete: self.complete,
            span: here,
        })
    }

    fn closed(&mut self, body: &Pair<'_, Rule>, name: &Name) {
        let open = span(body).start;
        let inside = self.scan.faults.iter().any(|fault| (open..=span(body).end).contains(&fault.start()));
        if child(body, Rule::unclosed).is_some() {
            self.complete = false;
            let end = span(body).end;
            if let Some(at) = misplaced_on(self.text, end) {
                let message = "`on` is not a statement of a model".to_owned();
                let error = CheckError::new(ErrorCode::Unknown, message, at, "not here");
                self.errors.push(error.help(AT_THE_HEAD));
            } else if !inside {
                let brace = Span { start: open, end: open + 1 };
                let message = format!("the block of `{}` never ends", name.text);
                let error = CheckError::new(ErrorCode::Unclosed, message, brace, "no `}` closes this brace");
                self.errors.push(error.help("close the brace, here or in the Rust code of this block"));
            }
        }
    }

    fn statements(&mut self, body: &Pair<'_, Rule>, model: &Name) -> Vec<Statement> {
        let mut statements = Vec::new();
        for pair in body.clone().into_inner() {
            match pair.as_rule() {
                Rule::stray_statement => self.stray(&pair, Rule::line, "a statement of a model"),
                Rule::unknown => self.unknown(&pair),
                _ => match self.statement(&pair) {
                    Some(kind) => statements.push(Statement { kind, span: span(&pair) }),
                    None => {
                        self.complete &= matches!(pair.as_rule(), Rule::open | Rule::close | Rule::semicolon)
                    }
                },
            }
        }
        self.closed(body, model);
        statements
    }

    fn statement(&mut self, pair: &Pair<'_, Rule>) -> Option<StatementKind> {
        Some(match pair.as_rule() {
            Rule::for_loop => StatementKind::For(self.for_loop(name(&child(pair, Rule::identifier)?), pair)?),
            Rule::let_line => StatementKind::Let {
                name: name(&child(pair, Rule::identifier)?),
                value: self.expr(&child(pair, Rule::expression)?)?,
            },
            Rule::require => StatementKind::Require(self.expr(&child(pair, Rule::expression)?)?),
            Rule::setup => StatementKind::Setup { once: once(pair), code: self.code(pair)? },
            Rule::task => {
                let hot = child(pair, Rule::hot).is_some();
                StatementKind::Task { once: once(pair), hot, code: self.code(pair)? }
            }
            Rule::cleanup => StatementKind::Cleanup(self.code(pair)?),
            Rule::sample => StatementKind::Sample {
                gives: children(pair, Rule::identifier).map(|given| name(&given)).collect(),
                code: self.code(pair)?,
            },
            Rule::terms_line => StatementKind::Terms(self.terms(&child(pair, Rule::terms)?)),
            Rule::fit_line => StatementKind::Fit(
                children(pair, Rule::fit_part)
                    .map(|part| children(&part, Rule::option_value).map(|word| name(&word)).collect())
                    .collect(),
            ),
            Rule::option => StatementKind::Option {
                name: name(&child(pair, Rule::option_name)?),
                value: name(&child(pair, Rule::option_value)?),
            },
            _ => return None,
        })
    }

    /// A loop's values, which stand in `pair`.
    fn for_loop(&mut self, name: Name, pair: &Pair<'_, Rule>) -> Option<Loop> {
        let mut bounds = children(pair, Rule::expression);
        let (start, stop) = (self.expr(&bounds.next()?), self.expr(&bounds.next()?));
        let step = match child(pair, Rule::step) {
            Some(step) => Some(self.step(&step, Rule::step_operator)?),
            None => None,
        };
        let inclusive = child(pair, Rule::range)?.as_str() == "..=";
        Some(Loop { name, start: start?, stop: stop?, inclusive, step })
    }

    fn step(&mut self, pair: &Pair<'_, Rule>, sign: Rule) -> Option<Step> {
        let here = span(pair);
        if child(pair, Rule::increment).is_some() {
            return Some(Step { operator: StepOperator::Add, by: 1, span: here });
        }
        let operator = match child(pair, sign)?.as_str().trim_end_matches('=') {
            "+" => StepOperator::Add,
            "*" => StepOperator::Multiply,
            _ => StepOperator::ShiftLeft,
        };
        let by = self.integer("step", &child(pair, Rule::integer)?)?;
        Some(Step { operator, by, span: here })
    }

    fn integer(&mut self, what: &str, number: &Pair<'_, Rule>) -> Option<i64> {
        let read = number.as_str().replace('_', "").parse().ok();
        if read.is_none() {
            let message = format!("the {what} {} is too large", number.as_str());
            self.fail(span(number), message, "at most 2^63 - 1");
        }
        read
    }

    /// Rust code in braces: the code of a statement.
    fn code(&self, statement: &Pair<'_, Rule>) -> Option<Code> {
        let open = span(&child(statement, Rule::code)?).start;
        if self.scan.faults.iter().any(|fault| fault.start() == open) {
            return None;
        }
        let span = *self.scan.code.get(&open)?;
        Some(Code { text: self.text[span.start..span.end].to_owned(), span, words: Vec::new() })
    }

    fn terms(&mut self, pair: &Pair<'_, Rule>) -> Vec<Listed> {
        children(pair, Rule::listed).filter_map(|pair| self.listed(&pair)).collect()
    }

    /// A term, or products of factors.
    fn listed(&mut self, pair: &Pair<'_, Rule>) -> Option<Listed> {
        let mut lists: Vec<Vec<Expr>> = Vec::new();
        for factors in children(pair, Rule::factors) {
            let count = children(&factors, Rule::expression).count();
            let read = children(&factors, Rule::expression).filter_map(|pair| self.expr(&pair));
            lists.push(read.collect());
            if lists.last().is_none_or(|list| list.len() < count) {
                return None;
            }
        }
        if let Some(none) = child(pair, Rule::no_factors) {
            let here = span(&none);
            let here = if none.as_str().is_empty() { span(pair) } else { here };
            let message = "no factors stand after this `by`".to_owned();
            let error = CheckError::new(ErrorCode::Syntax, message, here, "multiplied by nothing");
            self.errors.push(error.help("write what it is multiplied by: `(1, keys) by (bits, digits)`"));
            self.complete = false;
            return None;
        }
        match lists.as_mut_slice() {
            [one] if one.len() == 1 => Some(Listed::Term(Term { label: None, value: one.pop()? })),
            [_] => {
                let message = "a list of factors stands in `by`: each is multiplied by what follows it";
                let error = CheckError::new(ErrorCode::Syntax, message, span(pair), "multiplied by nothing");
                let help = "write `(1, keys) by bits` for `bits, keys*bits`; terms stand without parentheses";
                self.errors.push(error.help(help));
                self.complete = false;
                None
            }
            _ => Some(Listed::Products { lists, span: span(pair) }),
        }
    }

    /// An expression: delimited by our grammar, read by the expressions' own.
    fn expr(&mut self, pair: &Pair<'_, Rule>) -> Option<Expr> {
        let here = span(pair);
        let text = self.scan.plain[here.start..here.end].trim_end();
        match expr::parse_at(text, here.start) {
            // The whole text, with parentheses around it.
            Ok(expr) => Some(Expr { span: Span { start: here.start, end: here.start + text.len() }, ..expr }),
            Err(error) => {
                self.fail(error.span, error.message, "here");
                None
            }
        }
    }
}
