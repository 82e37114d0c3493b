//! Calls of other models inside an expression, named so that their results can be varied.

use crate::expr::{Expr, ExprKind, Function};

/// A call of a model; its arguments may name the results of earlier calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The name of the model.
    pub model: String,
    /// The arguments of the call.
    pub arguments: Vec<Expr>,
}

impl Site {
    /// Whether an argument depends on the result of another call.
    #[must_use]
    pub fn nested(&self) -> bool {
        self.arguments.iter().any(|a| a.names().iter().any(|n| result_number(n).is_some()))
    }
}

/// The name of a call's result in an expression; it cannot occur in a text.
pub(super) fn result_name(number: usize) -> String {
    format!("#{number}")
}

/// The call whose result has this name.
#[must_use]
pub fn result_number(name: &str) -> Option<usize> {
    name.strip_prefix('#')?.parse().ok()
}

/// Replaces calls of models by names, innermost first; equal calls get one name.
pub fn name_calls(expr: &Expr, sites: &mut Vec<Site>) -> Expr {
    let kind = match &expr.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => return expr.clone(),
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, Box::new(name_calls(a, sites))),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (name_calls(a, sites), name_calls(b, sites));
            ExprKind::Binary(*op, Box::new(a), Box::new(b))
        }
        ExprKind::Call { name, arguments } => {
            let arguments: Vec<Expr> = arguments.iter().map(|a| name_calls(a, sites)).collect();
            if Function::from_name(name).is_none() {
                let site = Site { model: name.clone(), arguments };
                let number = sites.iter().position(|s| *s == site).unwrap_or_else(|| {
                    sites.push(site);
                    sites.len() - 1
                });
                return Expr::name(result_name(number));
            }
            ExprKind::Call { name: name.clone(), arguments }
        }
    };
    Expr { kind, span: expr.span }
}
