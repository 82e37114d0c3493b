//! An input that is one of a few names becomes a whole number: the place of its name.
//!
//! Each term, and the constant, competes once for each name, since a time that depends on the kind
//! has coefficients of its own for each; terms that test the kind themselves stay as they are
//! written.

use strata_model::expr::{BinaryOp, Expr, ExprKind, Span};

use super::super::ast::{Kind, Listed, Loop, Model, Name, Statement, StatementKind, Term};

/// An expression with numbers in place of the names with which a kind is compared.
pub(super) fn numbered(expr: &Expr, kinds: &[Kind]) -> Expr {
    let place = |input: &Expr, name: &Expr| {
        let kind = kinds.iter().find(|kind| input.as_name() == Some(&kind.input.text))?;
        let place = kind.names.iter().position(|one| name.as_name() == Some(&one.text))?;
        Some(Box::new(Expr { span: name.span, ..Expr::number(place as f64) }))
    };
    let within = |part: &Expr| Box::new(numbered(part, kinds));
    let kind = match &expr.kind {
        _ if kinds.is_empty() => return expr.clone(),
        ExprKind::Binary(op, a, b) => {
            let compares = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
            match (place(a, b), place(b, a)) {
                (Some(number), _) if compares => ExprKind::Binary(*op, a.clone(), number),
                (_, Some(number)) if compares => ExprKind::Binary(*op, b.clone(), number),
                _ => ExprKind::Binary(*op, within(a), within(b)),
            }
        }
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, within(a)),
        ExprKind::Call { name, arguments } => ExprKind::Call {
            name: name.clone(),
            arguments: arguments.iter().map(|argument| numbered(argument, kinds)).collect(),
        },
        ExprKind::Number(_) | ExprKind::Name(_) => return expr.clone(),
    };
    Expr { kind, span: expr.span }
}

/// Gives a measured model loops over its kinds, and terms for each name.
pub(super) fn complete(model: &Model, statements: &mut Vec<Statement>) {
    if model.kinds.is_empty() {
        return;
    }
    looped(&model.kinds, statements);
    let terms = statements.iter_mut().find_map(|statement| match &mut statement.kind {
        StatementKind::Terms(terms) => Some(terms),
        _ => None,
    });
    if let Some(terms) = terms {
        *terms = each(std::mem::take(terms), &model.kinds);
        return;
    }
    // By default the inputs are the terms.
    let inputs = model.inputs.iter().filter(|input| !is_kind(&input.text, &model.kinds));
    let term = |input: &Name| Expr { span: input.span, ..Expr::name(&*input.text) };
    let terms = inputs.map(|input| Listed::Term(Term { label: None, value: term(input) })).collect();
    let kind = StatementKind::Terms(each(terms, &model.kinds));
    statements.push(Statement { kind, span: model.name.span });
}

/// Adds a loop over each kind that has none.
pub(super) fn looped(kinds: &[Kind], statements: &mut Vec<Statement>) {
    for Kind { input, names } in kinds.iter().rev() {
        let is_own = |statement: &Statement| matches!(&statement.kind, StatementKind::For(plan) if plan.name.text == input.text);
        if !statements.iter().any(is_own) {
            let end = |value: usize| Expr { span: input.span, ..Expr::number(value as f64) };
            let (start, stop) = (end(0), end(names.len().saturating_sub(1)));
            let plan = Loop { name: input.clone(), start, stop, inclusive: true, step: None };
            statements.insert(0, Statement { kind: StatementKind::For(plan), span: input.span });
        }
    }
}

/// The terms for each name of each kind, unless one of them tests a kind.
pub(super) fn each(terms: Vec<Listed>, kinds: &[Kind]) -> Vec<Listed> {
    let tests = |term: &Term| term.value.names().iter().any(|name| is_kind(name, kinds));
    if terms.iter().filter_map(Listed::term).any(tests) {
        return terms;
    }
    let mut all = terms;
    for Kind { input, names } in kinds {
        let is = |place: usize, span: Span| {
            let (input, place) = (Expr::name(&*input.text), Expr::number(place as f64));
            Expr { span, ..Expr::binary(BinaryOp::Equal, input, place) }
        };
        // The constant of the model is that of the first name.
        let constants = (1..names.len()).map(|place| is(place, input.span));
        let terms = all.iter().filter_map(Listed::term).filter(|term| term.value.as_number().is_none());
        let products = terms.flat_map(|Term { value, .. }| {
            let times = |place| Expr::binary(BinaryOp::Multiply, value.clone(), is(place, value.span));
            (0..names.len()).map(move |place| Expr { span: value.span, ..times(place) }).collect::<Vec<_>>()
        });
        let values: Vec<Expr> = constants.chain(products).collect();
        all = values.into_iter().map(|value| Listed::Term(Term { label: None, value })).collect();
    }
    all
}

fn is_kind(name: &str, kinds: &[Kind]) -> bool {
    kinds.iter().any(|kind| kind.input.text == name)
}
