//! Models of one line, as in Brewer 1994, table 3-3: fields between `@`.

use pest::iterators::Pair;
use strata_model::expr::{self, Expr, Span};

use super::{Reader, Rule, child, children, name, span};
use crate::lang::ast::*;
use crate::lang::diagnostic::{CheckError, ErrorCode};

impl Reader<'_> {
    pub(super) fn line_model(&mut self, pair: &Pair<'_, Rule>) -> Option<Model> {
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
            kinds: Vec::new(),
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
}
