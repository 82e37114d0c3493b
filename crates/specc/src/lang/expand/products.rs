//! `(1, keys) by bits`: lists of factors become the terms that are their products.

use strata_model::expr::{BinaryOp, Expr, ExprKind, Span};

/// Products of so many factors are written out at most.
pub(super) const MOST: usize = 1000;

/// The products of one factor of each list, the first list's slowest; `None` if they are too many.
pub(super) fn products(lists: &[Vec<Expr>], span: Span) -> Option<Vec<Expr>> {
    let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > MOST) {
        return None;
    }
    let mut lists = lists.iter();
    let mut made = lists.next().cloned().unwrap_or_default();
    for list in lists {
        let each = |left: &Expr| list.iter().map(|right| product(left, right, span)).collect::<Vec<_>>();
        made = made.iter().flat_map(each).collect();
    }
    Some(made.into_iter().map(|term| Expr { span, ..term }).collect())
}

/// `left*right` as it would be written: without a factor 1, and `a*b*c` for `b*c`.
fn product(left: &Expr, right: &Expr, span: Span) -> Expr {
    let is_one = |factor: &Expr| factor.as_number() == Some(1.0);
    match &right.kind {
        _ if is_one(left) => right.clone(),
        _ if is_one(right) => left.clone(),
        ExprKind::Binary(op @ (BinaryOp::Multiply | BinaryOp::Divide), first, second) => {
            let kind = ExprKind::Binary(*op, Box::new(product(left, first, span)), second.clone());
            Expr { kind, span }
        }
        _ => Expr { span, ..Expr::binary(BinaryOp::Multiply, left.clone(), right.clone()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_as_they_would_be_written() {
        let read = |texts: &[&str]| -> Vec<Expr> {
            texts.iter().map(|text| strata_model::expr::parse(text).unwrap()).collect()
        };
        let lists = [read(&["1", "keys", "a+b"]), read(&["bits*share", "1", "1/P", "n%3"])];
        let written: Vec<String> =
            products(&lists, Span::default()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            written,
            [
                "bits*share", "1", "1/P", "n%3", "keys*bits*share", "keys", "keys/P", "keys*(n%3)",
                "(a+b)*bits*share", "a+b", "(a+b)/P", "(a+b)*(n%3)"
            ]
        );
        assert_eq!(products(&vec![read(&["a"; 40]); 2], Span::default()), None);
    }
}
