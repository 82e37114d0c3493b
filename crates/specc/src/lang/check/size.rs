//! How large an expression becomes when names or models in it are replaced by what they stand for.
//!
//! Sixty lines `let b = a + a` double a value sixty times: the size is computed before anything is
//! replaced.

use std::collections::BTreeMap;

use strata_model::expr::{Expr, ExprKind, Function, MAX_HEIGHT};

/// A replaced expression may have so many operators, names and numbers.
const MAX_NODES: f64 = 10_000.0;

/// The size of a tree, and how often it reads each name.
#[derive(Clone, Debug, Default)]
pub(in crate::lang) struct Size {
    nodes: f64,
    height: usize,
    reads: BTreeMap<String, f64>,
}

impl Size {
    /// Whether everything that walks such a tree can walk it.
    pub(in crate::lang) fn is_fine(&self) -> bool {
        self.nodes <= MAX_NODES && self.height <= MAX_HEIGHT
    }

    fn add(&mut self, other: &Self, times: f64) {
        self.nodes += other.nodes * times;
        for (name, count) in &other.reads {
            *self.reads.entry(name.clone()).or_default() += count * times;
        }
    }

    /// The size of `expr` after replacing names of `values` and inlining models of `models` (inputs
    /// and size).
    pub(in crate::lang) fn of(
        expr: &Expr,
        values: &BTreeMap<String, Self>,
        models: &BTreeMap<&str, (Vec<String>, Self)>,
    ) -> Self {
        let leaf = |reads: BTreeMap<String, f64>| Self { nodes: 1.0, height: 1, reads };
        if let ExprKind::Name(name) = &expr.kind {
            return values.get(name).cloned().unwrap_or_else(|| leaf(BTreeMap::from([(name.clone(), 1.0)])));
        }
        let children: Vec<Self> =
            expr.children().into_iter().map(|child| Self::of(child, values, models)).collect();
        let tallest = children.iter().map(|child| child.height).max().unwrap_or(0);
        if let ExprKind::Call { name, .. } = &expr.kind
            && Function::from_name(name).is_none()
            && let Some((inputs, body)) = models.get(name.as_str())
        {
            let mut size = Self { nodes: body.nodes, height: body.height + tallest, reads: BTreeMap::new() };
            for (input, child) in inputs.iter().zip(&children) {
                size.add(child, body.reads.get(input).copied().unwrap_or(0.0));
            }
            return size;
        }
        let mut size = Self { nodes: 1.0, height: tallest + 1, reads: BTreeMap::new() };
        children.iter().for_each(|child| size.add(child, 1.0));
        size
    }
}
