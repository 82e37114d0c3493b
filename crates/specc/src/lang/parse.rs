//! Text to tree, with every syntax error of the file.

use pest::Parser;
use pest::error::{Error as PestError, ErrorVariant, InputLocation};
use pest::iterators::Pair;
use strata_model::expr::{self, Expr, Span};
use strata_model::{closest, did_you_mean};

use super::ast::*;
use super::diagnostic::{CheckError, ErrorCode};
use super::scan::{Scan, scan};
use super::words;

#[derive(pest_derive::Parser)]
#[grammar = "lang/grammar.pest"]
struct SpecParser;

/// What could be read of a file, and what could not.
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

/// How many bytes after broken text are read to say what was found there.
const AHEAD: usize = 64;

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
            Rule::shared_let | Rule::shared_terms => file.items.extend(self.shared(pair)),
            Rule::stray if !self.unclosed(pair, file) => {
                self.stray(pair, Rule::top, "a model, a library, `let`, `terms` or `use`");
            }
            _ => {}
        }
    }

    /// Reports the parenthesis of a call that is not closed: a factored model's expression ends
    /// before it, at the name. Returns whether it is one.
    fn unclosed(&mut self, pair: &Pair<'_, Rule>, file: &mut File) -> bool {
        let Span { start, .. } = span(pair);
        let Some(Item::Model(model)) = file.items.last_mut() else { return false };
        let follows = self.text[model.span.end..start].trim().is_empty();
        if !follows || !matches!(model.body, Body::Factored(_)) || !self.text[start..].starts_with('(') {
            return false;
        }
        // It would be closed before the line ends that has no other one open, or the next model
        // begins.
        let rest = &self.scan.shallow[start..];
        let end = ["\nmodel ", "\nlibrary ", "\nuse ", "\n{{"]
            .iter()
            .filter_map(|next| rest.find(next))
            .min()
            .unwrap_or(rest.len());
        let depth = rest[..end].chars().fold(0i64, |depth, c| match c {
            '(' => depth + 1,
            ')' => depth - 1,
            _ => depth,
        });
        if depth <= 0 {
            return false;
        }
        // What the name before it stands for is not known.
        model.complete = false;
        let here = Span { start, end: start + 1 };
        self.fail(here, "this parenthesis is not closed".to_owned(), "opened here");
        true
    }

    /// Reports text that is no `rule`, by trying to read it as one.
    fn stray(&mut self, pair: &Pair<'_, Rule>, rule: Rule, expected: &str) {
        self.complete = false;
        // What is broken ends there or at the next word: reading on would cost time and tell
        // nothing.
        let Span { start, end } = span(pair);
        let mut end = (end + AHEAD).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        match SpecParser::parse(rule, &self.scan.shallow[start..end]) {
            Err(error) => self.pest_error(&error, start, expected),
            Ok(_) => {
                let end = start + self.text[start..].chars().next().map_or(0, char::len_utf8);
                self.fail(Span { start, end }, format!("expected {expected}"), "not expected here");
            }
        }
    }

    fn fail(&mut self, span: Span, message: String, label: &str) {
        self.errors.push(CheckError::new(ErrorCode::Syntax, message, span, label));
        self.complete = false;
    }

    /// Says what was expected and found, in our words.
    fn pest_error(&mut self, error: &PestError<Rule>, offset: usize, otherwise: &str) {
        let at = offset
            + match error.location {
                InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
            };
        let positives = match &error.variant {
            ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
            ErrorVariant::CustomError { .. } => &[],
        };
        let mut expected: Vec<&str> = Vec::new();
        for words in positives.iter().filter_map(|&rule| in_words(rule)) {
            if !expected.contains(&words) {
                expected.push(words);
            }
        }
        let words = expected.clone();
        let expected = match expected.split_last() {
            None => otherwise.to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        };
        // What is missing at the end is missing after the last word.
        let at = at.min(self.text.trim_end().len());
        let rest = &self.text[at..];
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        let found = match &rest[..length] {
            blank if blank.trim().is_empty() => "the end of the file".to_owned(),
            text => format!("`{}`", text.escape_debug()),
        };
        let place =
            Span { start: at, end: at + if word > 0 || !rest.trim().is_empty() { length } else { 0 } };
        // Of what is expected, words stand in backquotes; where it is in words of ours, any may be
        // meant.
        let quoted = words.iter().filter_map(|word| word.strip_prefix('`')?.strip_suffix('`'));
        let is_word = words::all().any(|word| word == &rest[..length]);
        let any = words::all().filter(|_| words.is_empty() && !is_word);
        let meant = did_you_mean(&rest[..length], quoted.chain(any));
        self.fail(place, format!("expected {expected}, found {found}{meant}"), "here");
        if rest.starts_with(|c: char| c.is_alphabetic() && !c.is_ascii())
            && let Some(error) = self.errors.pop()
        {
            self.errors.push(error.help("names are made of the letters a to z and A to Z, digits and `_`"));
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
        let inputs = names(child(pair, Rule::parameters));
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
            if !inside {
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

    fn unknown(&mut self, pair: &Pair<'_, Rule>) {
        self.complete = false;
        let Some(word) = child(pair, Rule::unknown_line).and_then(|line| child(&line, Rule::identifier))
        else {
            return;
        };
        let message = format!("`{}` is not a statement of a model", word.as_str());
        let error = CheckError::new(ErrorCode::Unknown, message, span(&word), "not known");
        self.errors.push(error.help(match closest(word.as_str(), words::statements()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("a model has {}", words::statements().collect::<Vec<_>>().join(", ")),
        }));
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
            Rule::sample => StatementKind::Sample(self.code(pair)?),
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

    fn line_model(&mut self, pair: &Pair<'_, Rule>) -> Option<Model> {
        let here = span(pair);
        let mut statements = Vec::new();
        for pair in child(pair, Rule::line_loops).iter().flat_map(|loops| children(loops, Rule::line_loop)) {
            let mut bounds = children(&pair, Rule::bare);
            let (start, stop) = (self.expr(&bounds.next()?), self.expr(&bounds.next()?));
            let step = self.step(&child(&pair, Rule::update)?, Rule::update_operator);
            let name = name(&child(&pair, Rule::identifier)?);
            if let (Some(start), Some(stop), Some(step)) = (start, stop, step) {
                let kind = StatementKind::For(Loop { name, start, stop, inclusive: true, step: Some(step) });
                statements.push(Statement { kind, span: span(&pair) });
            }
        }
        let inputs = self.bindings(child(pair, Rule::line_inputs));
        let terms = self.bindings(child(pair, Rule::line_terms));
        let header: Vec<Name> = inputs.iter().map(|(name, _)| name.clone()).collect();
        for (name, value) in inputs {
            let span = Span { start: name.span.start, end: value.span.end };
            statements.push(Statement { kind: StatementKind::Let { name, value }, span });
        }
        let marks: Vec<usize> = children(pair, Rule::at).map(|at| span(&at).start).collect();
        let &[first, second, third, fourth, _] = marks.as_slice() else { return None };
        let (setup, task, cleanup) =
            (self.field(first, second), self.field(second, third), self.field(third, fourth));
        // The thesis repeats a task on one setup.
        let setup = setup.map(|code| (code.span, StatementKind::Setup { once: true, code }));
        statements.extend(setup.map(|(span, kind)| Statement { span, kind }));
        let Some(task) = task else {
            let message = "this one-line model has no task".to_owned();
            self.fail(Span { start: second, end: third + 1 }, message, "between these two `@`");
            return None;
        };
        let name = self.line_name(&task)?;
        let span = task.span;
        let kind = StatementKind::Task { once: false, hot: false, code: task };
        statements.push(Statement { span, kind });
        statements
            .extend(cleanup.map(|code| Statement { span: code.span, kind: StatementKind::Cleanup(code) }));
        if let (Some(first), Some(last)) = (terms.first(), terms.last()) {
            let span = Span { start: first.0.span.start, end: last.1.span.end };
            let term = |(label, value)| Listed::Term(Term { label: Some(label), value });
            let terms = terms.into_iter().map(term).collect();
            statements.push(Statement { kind: StatementKind::Terms(terms), span });
        }
        let (docs, complete) = (self.docs(here.start), self.complete);
        let body = Body::Measured(statements);
        Some(Model {
            docs,
            spelling: Spelling::Line,
            name,
            family: None,
            inputs: header,
            body,
            complete,
            span: here,
        })
    }

    fn bindings(&mut self, pair: Option<Pair<'_, Rule>>) -> Vec<(Name, Expr)> {
        let bindings =
            pair.into_iter().flat_map(Pair::into_inner).filter(|pair| pair.as_rule() == Rule::binding);
        let one = |pair: Pair<'_, Rule>| {
            Some((name(&child(&pair, Rule::identifier)?), self.expr(&child(&pair, Rule::expression)?)?))
        };
        bindings.filter_map(one).collect()
    }

    /// Rust code between two `@`, without the blanks around it; `None` if there is nothing else.
    fn field(&self, before: usize, after: usize) -> Option<Code> {
        let text = &self.text[before + 1..after];
        let start = after - text.trim_start().len();
        let text = text.trim();
        let span = Span { start, end: start + text.len() };
        (!text.is_empty()).then(|| Code { text: text.to_owned(), span, words: Vec::new() })
    }

    /// The name of a one-line model: the text of its task before the parenthesis (Brewer 1994,
    /// table 3-3).
    fn line_name(&mut self, task: &Code) -> Option<Name> {
        let text = task.text.split('(').next().unwrap_or_default().trim_end();
        if task.text.contains('(') && expr::is_name(text) {
            let span = Span { start: task.span.start, end: task.span.start + text.len() };
            return Some(Name { text: text.to_owned(), span });
        }
        let message = "the task of a one-line model is a call of a function, whose name is the model's";
        let error = CheckError::new(
            ErrorCode::Syntax,
            message,
            task.span,
            "not a call such as `clear_memory(data, x)`",
        );
        self.errors.push(
            error.help(
                "wrap the code in a function, or write the model as a block: `model Name(inputs) { … }`",
            ),
        );
        None
    }

    fn library(&mut self, pair: &Pair<'_, Rule>) -> Option<Library> {
        let here = span(pair);
        let (name, family) = self.head(pair)?;
        let inputs = names(child(pair, Rule::parameters));
        let body = child(pair, Rule::library_body)?;
        let (mut incumbent, mut candidates) = (None, Vec::new());
        for pair in body.clone().into_inner() {
            match pair.as_rule() {
                Rule::incumbent => incumbent = self.incumbent(&pair),
                Rule::candidate => candidates.extend(self.candidate(&pair)),
                Rule::stray_candidate => self.stray(&pair, Rule::candidate, "`candidate`"),
                _ => {}
            }
        }
        self.closed(&body, &name);
        Some(Library {
            docs: self.docs(here.start),
            name,
            family,
            inputs,
            incumbent,
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

/// What a rule is called in messages; `None` for what is clear from the others.
fn in_words(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::model | Rule::model_word => "`model`",
        Rule::library | Rule::library_word => "`library`",
        Rule::use_line | Rule::use_word => "`use`",
        Rule::line_model | Rule::line_start => "`{{`",
        Rule::line_end => "`}}`",
        Rule::at => "`@`",
        Rule::identifier | Rule::member | Rule::head | Rule::single | Rule::reference => "a name",
        Rule::shared_let => "`let`",
        Rule::shared_terms => "`terms`",
        Rule::as_word | Rule::aliases => "`as`",
        Rule::by_word => "`by`",
        Rule::parameters | Rule::arguments | Rule::left => "`(`",
        Rule::right => "`)`",
        Rule::body | Rule::library_body | Rule::open => "`{`",
        Rule::close => "`}`",
        Rule::comma => "`,`",
        Rule::colon => "`:`",
        Rule::semicolon => "`;`",
        Rule::factored | Rule::equals => "`=`",
        Rule::hybrid | Rule::tilde => "`~`",
        Rule::expression
        | Rule::number
        | Rule::name
        | Rule::terms
        | Rule::listed
        | Rule::factors
        | Rule::bare => "an expression",
        Rule::operator => "an operator",
        Rule::range => "`..=`",
        Rule::root => "`root(…)`",
        Rule::code => "`{` and Rust code",
        Rule::in_word => "`in`",
        Rule::for_key | Rule::ranges => "`for`",
        Rule::step_word => "`step`",
        Rule::step | Rule::step_operator => "a step such as `*2`, `+3` or `<<1`",
        Rule::update | Rule::update_operator | Rule::increment => "an update such as `++`, `*=10` or `<<=1`",
        Rule::integer => "a whole number",
        Rule::option_value | Rule::fit_part => "a value",
        Rule::candidate | Rule::candidate_word => "`candidate`",
        Rule::incumbent | Rule::default_word => "`default`",
        Rule::given => "a parameter with its value, `cutoff = 16`",
        Rule::require_key | Rule::candidate_require => "`require`",
        Rule::binding | Rule::line_inputs | Rule::line_terms => "`name:expression`",
        Rule::line_loop | Rule::line_loops => "a loop such as `i 1 100 *=10`",
        Rule::use_tree => "a path",
        _ => return None,
    })
}
