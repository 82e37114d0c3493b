//! The canonical text of a spec.
//!
//! Layout is decided here and nowhere else: four blanks of indent, one statement a line, operators
//! that compare spaced and others not, one blank line around blocks, at most one where the author
//! left some. Comments, numbers, parentheses and Rust code stay as they are; code of several lines
//! moves as a whole. A comment inside a statement moves before it. The one-line form stays one
//! line.

use strata_model::expr::{Expr, Span};

use super::ast::*;
use super::code;
use super::diagnostic::CheckErrors;
use super::load::{sorted, too_long};
use super::parse::parse;
use super::scan::scan;
use super::wrap::{filled, wrapped};

/// Lines are broken, where they can be, to be no longer than this.
pub(super) const WIDTH: usize = 100;
pub(super) const INDENT: usize = 4;

/// The canonical text of a spec; `name` is for errors. Formatting it again changes nothing.
///
/// # Errors
/// Its syntax errors: only what can be read completely can be printed.
pub fn format(name: &str, text: &str) -> Result<String, CheckErrors> {
    let text = text.replace("\r\n", "\n");
    if let Some(error) = too_long(name, &text) {
        return Err(CheckErrors::new(vec![error]));
    }
    let parsed = parse(&text);
    if !parsed.errors.is_empty() {
        let errors = parsed.errors.into_iter().map(|error| (0, error)).collect();
        return Err(sorted(errors, &[(name, &text)]));
    }
    let plain = scan(&text).plain;
    let mut printer = Printer {
        text: &text,
        plain: &plain,
        comments: &parsed.file.comments,
        out: String::new(),
        end: 0,
        tall: false,
    };
    printer.file(&parsed.file);
    Ok(printer.out)
}

struct Printer<'a> {
    text: &'a str,
    /// The text without comments and Rust.
    plain: &'a str,
    /// The comments that are not yet printed.
    comments: &'a [Comment],
    out: String,
    /// Where the last piece that was printed ends in `text`.
    end: usize,
    /// Whether the item printed last has several lines.
    tall: bool,
}

impl Printer<'_> {
    fn file(&mut self, file: &File) {
        let uses = file.uses.iter().map(|line| (line.span, None));
        let items = file.items.iter().map(|item| (item.span(), Some(item)));
        let mut all: Vec<(Span, Option<&Item>)> = uses.chain(items).collect();
        all.sort_by_key(|(span, _)| span.start);
        for (span, item) in all {
            let before = self.out.len();
            self.begin(span, item.map_or(span.end, |item| self.head_end(item)), 0);
            let start = self.out.len();
            match item {
                None => self.out.push_str(&self.text[span.start..span.end]),
                Some(Item::Model(model)) => self.model(model),
                Some(Item::Library(library)) => self.library(library),
                Some(Item::On(MeasuredOn { machines, .. })) => {
                    let words: Vec<&str> = machines.iter().map(|word| word.text.as_str()).collect();
                    self.out.push_str(&format!("on {}", words.join(", ")));
                }
                Some(Item::Features(FeaturesLine { features, .. })) => {
                    let words: Vec<String> = features.iter().map(|word| word.text.clone()).collect();
                    self.out.push_str(&filled("features", &words, 0));
                }
                Some(Item::Let(SharedValue { name, value, .. })) => {
                    let text = format!("let {} = {}", name.text, self.expr(value));
                    self.out.push_str(&wrapped(&text, 0, INDENT));
                }
                Some(Item::Terms(SharedTerms { name, terms, .. })) => {
                    self.out.push_str(&filled(&format!("terms {} =", name.text), &self.terms(terms), 0));
                }
            }
            self.finish(span.end);
            let tall = item.is_some() && self.out[start..].trim_end().contains('\n');
            if (tall || self.tall) && before > 0 && !self.out[before..].starts_with('\n') {
                self.out.insert(before, '\n');
            }
            self.tall = tall;
        }
        self.comments_before(self.text.len(), 0, self.tall);
    }

    /// Where the part of an item ends that is printed on its first line.
    fn head_end(&self, item: &Item) -> usize {
        let span = item.span();
        let head = match item {
            Item::Model(Model { body: Body::Measured(_), spelling: Spelling::Block, name, .. })
            | Item::Model(Model { body: Body::Hybrid { statements: Some(_), .. }, name, .. })
            | Item::Library(Library { name, .. }) => name.span.end,
            Item::Model(_) | Item::On(_) | Item::Features(_) | Item::Let(_) | Item::Terms(_) => {
                return span.end;
            }
        };
        let open = self.plain[head..span.end].find('{');
        open.map_or(span.end, |open| head + open + 1)
    }

    /// Prints what stands before a piece: a blank line if there was one, the comments before it and
    /// in it up to `head_end`, and the indent.
    fn begin(&mut self, span: Span, head_end: usize, indent: usize) {
        self.comments_before(span.start, indent, false);
        self.blank_line(span.start, false);
        while let Some((comment, rest)) =
            self.comments.split_first().filter(|(comment, _)| comment.span.start < head_end)
        {
            // As a line of its own before the piece it must not become its documentation.
            let text = comment.text.trim_start_matches('/').trim_start_matches('!');
            let text = format!("{:indent$}//{text}\n", "");
            self.out.push_str(&text);
            self.comments = rest;
        }
        self.out.push_str(&" ".repeat(indent));
    }

    /// Prints the comments that stand before `start`, each on its own line, after a blank line if
    /// one is due.
    fn comments_before(&mut self, start: usize, indent: usize, mut blank: bool) {
        while let Some((comment, rest)) =
            self.comments.split_first().filter(|(comment, _)| comment.span.start < start)
        {
            self.blank_line(comment.span.start, blank);
            blank = false;
            let text = format!("{:indent$}{}\n", "", comment.text);
            self.out.push_str(&text);
            self.end = comment.span.end;
            self.comments = rest;
        }
    }

    /// A blank line if one is due or the author left one, but never at the start of the file or of
    /// a block.
    fn blank_line(&mut self, start: usize, due: bool) {
        let gap = self.text.get(self.end..start).unwrap_or_default();
        let left = gap.matches('\n').count() > 1
            && gap.trim_matches([' ', '\t', '\n', '\r', ';', '\u{FEFF}']).is_empty();
        let first = self.out.is_empty() || self.out.ends_with("{\n");
        if (due || left) && !first {
            self.out.push('\n');
        }
    }

    /// Ends the line of a piece that ends at `end` in the text, with the comment that stands on the
    /// same line.
    fn finish(&mut self, end: usize) {
        self.end = end;
        if let Some((comment, rest)) = self.comments.split_first()
            && let Some(gap) = self.text.get(end..comment.span.start)
            && gap.chars().all(|c| " \t;".contains(c))
        {
            self.out.push(' ');
            self.out.push_str(&comment.text);
            self.end = comment.span.end;
            self.comments = rest;
        }
        self.out.push('\n');
    }

    /// The first line of a block: `model {A, B} as way (bytes, shift)`.
    fn head(&mut self, word: &str, name: &Name, family: Option<&Family>, (inputs, kinds): Inputs<'_>) {
        let kind = |input: &str| {
            let kind = kinds.iter().find(|kind| kind.input.text == input)?;
            Some(kind.names.iter().map(|name| &*name.text).collect())
        };
        let inputs = header(inputs.iter().map(|input| &*input.text), &kind);
        let gap = if family.is_some_and(|family| !family.aliases.is_empty()) { " " } else { "" };
        let text = format!("{word} {}{gap}({inputs})", named(name, family));
        self.out.push_str(&wrapped(&text, 0, INDENT));
    }

    fn model(&mut self, model: &Model) {
        if model.spelling == Spelling::Line {
            return self.line_model(model);
        }
        self.head("model", &model.name, model.family.as_ref(), (&model.inputs, &model.kinds));
        match &model.body {
            Body::Factored(expr) => {
                let text = format!(" = {}", self.expr(expr));
                self.push_wrapped(&text);
            }
            Body::Hybrid { terms, statements } => {
                let text = format!(" ~ {}", self.terms(terms).join(", "));
                self.push_wrapped(&text);
                if let Some(statements) = statements {
                    self.block(model.span, statements);
                }
            }
            Body::Measured(statements) => self.block(model.span, statements),
        }
    }

    /// A block of statements. One statement alone stays on the model's line if it was there.
    fn block(&mut self, span: Span, statements: &[Statement]) {
        let no_comment = self.comments.first().is_none_or(|comment| comment.span.start >= span.end);
        match statements {
            [] if no_comment => return self.out.push_str(" {}"),
            [one] if no_comment && !self.text[span.start..span.end].contains('\n') => {
                let text = format!(" {{ {} }}", self.statement(one, 0));
                let line = self.out.rfind('\n').map_or(0, |n| n + 1);
                if !text.contains('\n') && self.out[line..].chars().count() + text.chars().count() <= WIDTH {
                    return self.out.push_str(&text);
                }
            }
            _ => {}
        }
        self.open();
        for statement in statements {
            let head_end = match &statement.kind {
                StatementKind::Setup { code, .. }
                | StatementKind::Task { code, .. }
                | StatementKind::Cleanup(code)
                | StatementKind::Sample { code, .. } => code.span.start,
                _ => statement.span.end,
            };
            self.begin(statement.span, head_end, INDENT);
            let text = self.statement(statement, INDENT);
            self.out.push_str(&text);
            self.finish(statement.span.end);
        }
        self.close(span);
    }

    /// Continues the current line.
    fn push_wrapped(&mut self, text: &str) {
        let column = self.out.rfind('\n').map_or(self.out.as_str(), |line| &self.out[line + 1..]);
        let text = wrapped(text, column.chars().count(), INDENT);
        self.out.push_str(&text);
    }

    fn open(&mut self) {
        self.out.push_str(" {\n");
    }

    fn close(&mut self, span: Span) {
        self.comments_before(span.end.saturating_sub(1), INDENT, false);
        self.out.push('}');
    }

    fn statement(&self, statement: &Statement, indent: usize) -> String {
        let long = |text: String| wrapped(&text, indent, indent + INDENT);
        match &statement.kind {
            StatementKind::For(plan) => long(format!("for {}", self.values(plan))),
            StatementKind::Let { name, value } => long(format!("let {} = {}", name.text, self.expr(value))),
            StatementKind::Require(expr) => long(format!("require {}", self.expr(expr))),
            StatementKind::Setup { once, code } => self.code("setup", &[("once", *once)], code, indent),
            StatementKind::Task { once, hot, code } => {
                self.code("task", &[("once", *once), ("hot", *hot)], code, indent)
            }
            StatementKind::Cleanup(code) => code::block("cleanup", &code.text, indent, WIDTH),
            StatementKind::Sample { gives, code } => {
                let head = format!("sample {}", list(gives));
                code::block(head.trim_end(), &code.text, indent, WIDTH)
            }
            StatementKind::Terms(terms) => filled("terms", &self.terms(terms), indent),
            StatementKind::Fit(parts) => {
                let words = |part: &Vec<Name>| {
                    part.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
                };
                filled("fit", &parts.iter().map(words).collect::<Vec<_>>(), indent)
            }
            StatementKind::Option { name, value } => format!("{} {}", name.text, value.text),
        }
    }

    /// Code after its word and those of `marks` that stand there.
    fn code(&self, word: &str, marks: &[(&str, bool)], code: &Code, indent: usize) -> String {
        let marks = marks.iter().filter(|(_, stands)| *stands).map(|(mark, _)| *mark);
        let head: Vec<&str> = std::iter::once(word).chain(marks).collect();
        code::block(&head.join(" "), &code.text, indent, WIDTH)
    }

    fn parameter(&self, parameter: &Parameter) -> String {
        let Parameter { values, root } = parameter;
        match root {
            Some(root) => format!("{} = root({}, {})", values.name.text, self.range(values), self.expr(root)),
            None => self.values(values),
        }
    }

    fn range(&self, plan: &Loop) -> String {
        let dots = if plan.inclusive { "..=" } else { ".." };
        format!("{}{dots}{}", self.expr(&plan.start), self.expr(&plan.stop))
    }

    fn values(&self, plan: &Loop) -> String {
        let range = format!("{} in {}", plan.name.text, self.range(plan));
        match plan.step {
            Some(Step { operator, by, .. }) => format!("{range} step {}{by}", sign(operator)),
            None => range,
        }
    }

    fn terms(&self, terms: &[Listed]) -> Vec<String> {
        let one = |listed: &Listed| match listed {
            Listed::Term(term) => self.expr(&term.value),
            Listed::Products { lists, .. } => {
                let lists: Vec<String> = lists.iter().map(|list| self.factors(list)).collect();
                lists.join(" by ")
            }
        };
        terms.iter().map(one).collect()
    }

    fn factors(&self, list: &[Expr]) -> String {
        let factors: Vec<String> = list.iter().map(|factor| self.expr(factor)).collect();
        if factors.len() == 1 { factors.concat() } else { format!("({})", factors.join(", ")) }
    }

    /// The author's text of an expression, in canonical spacing.
    fn expr(&self, expr: &Expr) -> String {
        respaced(&self.plain[expr.span.start..expr.span.end], true)
    }

    /// The same without any blank, as in the one-line form.
    fn bare(&self, expr: &Expr) -> String {
        respaced(&self.plain[expr.span.start..expr.span.end], false)
    }

    fn line_model(&mut self, model: &Model) {
        let (mut loops, mut inputs, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        let (mut setup, mut task, mut cleanup) = (String::new(), String::new(), String::new());
        let Body::Measured(statements) = &model.body else { return };
        for statement in statements {
            match &statement.kind {
                StatementKind::For(plan) => {
                    let update = match plan.step {
                        None | Some(Step { operator: StepOperator::Add, by: 1, .. }) => "++".to_owned(),
                        Some(Step { operator, by, .. }) => format!("{}={by}", sign(operator)),
                    };
                    loops.push(format!(
                        "{} {} {} {update}",
                        plan.name.text,
                        self.bare(&plan.start),
                        self.bare(&plan.stop)
                    ));
                }
                StatementKind::Let { name, value } => {
                    inputs.push(format!("{}:{}", name.text, self.bare(value)))
                }
                StatementKind::Setup { code, .. } => setup = code::field(&code.text),
                StatementKind::Task { code, .. } => task = code::field(&code.text),
                StatementKind::Cleanup(code) => cleanup = code::field(&code.text),
                StatementKind::Terms(listed) => {
                    let label = |term: &Term| {
                        term.label.as_ref().map_or(String::new(), |label| format!("{}:", label.text))
                    };
                    let listed = listed.iter().filter_map(Listed::term);
                    terms.extend(listed.map(|term| format!("{}{}", label(term), self.bare(&term.value))));
                }
                StatementKind::Require(_)
                | StatementKind::Sample { .. }
                | StatementKind::Fit(_)
                | StatementKind::Option { .. } => {}
            }
        }
        let fields = [loops.join(", "), setup, task, cleanup, inputs.join(", "), terms.join(", ")];
        self.out.push_str("{{");
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.out.push_str(if self.out.ends_with('\n') { "@" } else { " @" });
            }
            if !field.is_empty() {
                self.out.push(' ');
                self.out.push_str(field);
            }
        }
        self.out.push_str(" }}");
    }

    fn library(&mut self, library: &Library) {
        self.head("library", &library.name, library.family.as_ref(), (&library.inputs, &library.kinds));
        self.open();
        let incumbent = library.incumbent.iter().map(|Incumbent { candidate, values, span }| {
            let given: Vec<String> =
                values.iter().map(|(name, value)| format!("{} = {value}", name.text)).collect();
            let given = if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) };
            (*span, span.end, format!("default {}{given}", candidate.text))
        });
        let limits = library
            .limits
            .iter()
            .map(|(name, value)| (name.span, value.span.end, format!("{} {}", name.text, value.text)));
        let equal = library.equal.iter().map(|(group, span)| {
            let names: Vec<&str> = group.iter().map(|name| name.text.as_str()).collect();
            (*span, span.end, format!("equal {{{}}}", names.join(", ")))
        });
        let candidates = library.candidates.iter().map(|candidate| {
            let arguments: Vec<String> =
                candidate.arguments.iter().map(|argument| self.expr(argument)).collect();
            let name = named(&candidate.name, candidate.family.as_ref());
            let head = format!("candidate {name} = {}({})", candidate.model.text, arguments.join(", "));
            let ranges = candidate.parameters.iter().map(|one| self.parameter(one)).collect();
            let requires = candidate.requires.iter().map(|expr| self.expr(expr)).collect();
            (candidate.span, candidate.span.end, self::candidate(&head, ranges, requires))
        });
        let mut all: Vec<_> = incumbent.chain(limits).chain(equal).chain(candidates).collect();
        all.sort_by_key(|(span, ..)| span.start);
        for (span, end, text) in all {
            self.begin(span, end, INDENT);
            self.out.push_str(&text);
            self.finish(end);
        }
        self.close(library.span);
    }
}

/// A candidate: on one line, or with its ranges and requirements on lines of their own.
pub(super) fn candidate(head: &str, ranges: Vec<String>, requires: Vec<String>) -> String {
    let mut text = wrapped(head, INDENT, 2 * INDENT);
    let ranges = (!ranges.is_empty()).then(|| format!("for {}", ranges.join(", ")));
    for part in ranges.into_iter().chain(requires.iter().map(|expr| format!("require {expr}"))) {
        let last = text.lines().last().unwrap_or_default().chars().count();
        let indent = if text.contains('\n') { 0 } else { INDENT };
        if indent + last + 1 + part.chars().count() > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(2 * INDENT));
            text.push_str(&wrapped(&part, 2 * INDENT, 3 * INDENT));
        } else {
            text.push(' ');
            text.push_str(&part);
        }
    }
    text
}

fn list(names: &[Name]) -> String {
    names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// The inputs of a header, and those that are kinds.
type Inputs<'a> = (&'a [Name], &'a [Kind]);

/// The inputs of a header: `n, kind in {random, sorted}`. `names`: those of an input that is a kind.
pub(super) fn header<'a>(
    inputs: impl Iterator<Item = &'a str>,
    names: &dyn Fn(&str) -> Option<Vec<&'a str>>,
) -> String {
    let input = |input: &'a str| match names(input) {
        Some(names) => format!("{input} in {{{}}}", names.join(", ")),
        None => input.to_owned(),
    };
    inputs.map(input).collect::<Vec<_>>().join(", ")
}

/// A name, with its members and what their lists are called.
fn named(name: &Name, family: Option<&Family>) -> String {
    match family {
        Some(Family { aliases, .. }) if !aliases.is_empty() => format!("{} as {}", name.text, list(aliases)),
        _ => name.text.clone(),
    }
}

pub(super) fn sign(operator: StepOperator) -> &'static str {
    match operator {
        StepOperator::Add => "+",
        StepOperator::Multiply => "*",
        StepOperator::ShiftLeft => "<<",
    }
}

/// Operators that are written with blanks around them.
pub(super) const SPACED: [&str; 8] = ["||", "&&", "==", "!=", "<=", ">=", "<", ">"];

/// An expression's text with the blanks that belong there and no others.
pub(super) fn respaced(text: &str, spaces: bool) -> String {
    let mut out = String::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let length = token(rest);
        let token = &rest[..length];
        match token {
            "," if spaces => out.push_str(", "),
            _ if spaces && SPACED.contains(&token) => {
                out.push(' ');
                out.push_str(token);
                out.push(' ');
            }
            _ => out.push_str(token),
        }
        rest = rest[length..].trim_start();
    }
    out
}

/// The length of the first token of an expression; `rest` is not empty.
pub(super) fn token(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let word = |from: usize| {
        from + bytes[from..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
    };
    if bytes[0].is_ascii_digit() {
        let mut end = word(0);
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end = word(end + 1);
        }
        if matches!(bytes[end - 1], b'e' | b'E') && matches!(bytes.get(end), Some(b'+' | b'-')) {
            end = word(end + 1);
        }
        return end;
    }
    if bytes[0].is_ascii_alphabetic() || bytes[0] == b'_' {
        return word(0);
    }
    let two = ["||", "&&", "==", "!=", "<=", ">=", "<<", ">>"].iter().any(|pair| rest.starts_with(pair));
    if two { 2 } else { rest.chars().next().map_or(1, char::len_utf8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_respaced_token_by_token() {
        assert_eq!(respaced(" a  *( b+1e-3 )>=65_536 && !c ", true), "a*(b+1e-3) >= 65_536 && !c");
        assert_eq!(respaced("max( a ,2 ) << 1", true), "max(a, 2)<<1");
        assert_eq!(respaced("max( a ,2 ) < 1", false), "max(a,2)<1");
        assert_eq!(respaced("a - - b", true), "a--b");
    }
}
