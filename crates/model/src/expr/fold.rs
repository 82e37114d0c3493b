//! Simplification of expressions without the values of their names.

use super::ast::{BinaryOp, Expr, ExprKind, RESERVED};

impl Expr {
    /// The same expression with constant parts computed: constants, differences and quotients of a
    /// [`RESERVED`] name and itself, products with 0 and 1.
    #[must_use]
    pub fn folded(&self) -> Self {
        let kind = match &self.kind {
            ExprKind::Number(_) | ExprKind::Name(_) => return self.clone(),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, Box::new(a.folded())),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (a.folded(), b.folded());
                match (op, a.as_number(), b.as_number()) {
                    (BinaryOp::Subtract, ..) if is_node_count(&a) && a == b => return Self::number(0.0),
                    (BinaryOp::Divide, ..) if is_node_count(&a) && a == b => return Self::number(1.0),
                    (BinaryOp::Multiply, Some(0.0), _) | (BinaryOp::Multiply, _, Some(1.0)) => return a,
                    (BinaryOp::Multiply, _, Some(0.0)) | (BinaryOp::Multiply, Some(1.0), _) => return b,
                    _ => ExprKind::Binary(*op, Box::new(a), Box::new(b)),
                }
            }
            ExprKind::Call { name, arguments } => {
                ExprKind::Call { name: name.clone(), arguments: arguments.iter().map(Self::folded).collect() }
            }
        };
        let folded = Self { kind, span: self.span };
        match folded.eval(&|_| None) {
            Ok(value) if folded.is_constant() && value.is_finite() => Self::number(value),
            _ => folded,
        }
    }
}

/// Whether it is `P`, `logP` or `sqrtP`.
fn is_node_count(expr: &Expr) -> bool {
    expr.as_name().is_some_and(|name| RESERVED.contains(&name))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_no_name_decides_is_computed() {
        for (text, folded) in [
            ("max(0, P-P)", "0"),
            ("bytes*max(0, P-P)", "0"),
            ("keys*max(1, P/P)*logP", "keys*logP"),
            ("2*3 + n", "6+n"),
            ("n - n", "n-n"),
            ("n/n", "n/n"),
            ("1/0", "1/0"),
            ("max(0, n - P)", "max(0,n-P)"),
            ("(P > 1)*n", "(P>1)*n"),
        ] {
            let expr = crate::expr::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert_eq!(expr.folded().to_string(), folded, "{text}");
        }
    }
}
