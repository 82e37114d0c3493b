//! For which numbers of nodes a model holds.

use crate::count;
use crate::expr::{Expr, RESERVED, node_values};

/// The numbers of nodes for which a model holds, `min` to `max`.
///
/// In the text of a model set: `0` for any number, `4` for one, `[2, 6]` for a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The least, at least 1.
    pub min: usize,
    /// The greatest, at least `min`.
    pub max: usize,
}

impl Default for Nodes {
    fn default() -> Self {
        Self::ANY
    }
}

impl Nodes {
    /// Any number.
    pub const ANY: Self = Self { min: 1, max: usize::MAX };

    /// One number; any number for 0, which means unknown.
    #[must_use]
    pub fn known(nodes: usize) -> Self {
        if nodes == 0 { Self::ANY } else { Self { min: nodes, max: nodes } }
    }

    /// Whether the model holds on `nodes` nodes.
    #[must_use]
    pub fn contains(self, nodes: usize) -> bool {
        self.min <= nodes && nodes <= self.max
    }

    /// The number of nodes, if the range has only one.
    #[must_use]
    pub fn fixed(self) -> Option<usize> {
        (self.min == self.max).then_some(self.min)
    }

    /// The numbers in both ranges; `None` if the ranges are disjoint.
    #[must_use]
    pub fn and(self, other: Self) -> Option<Self> {
        let (min, max) = (self.min.max(other.min), self.max.min(other.max));
        (min <= max).then_some(Self { min, max })
    }

    /// `expr` with `P`, `logP` and `sqrtP` as numbers if the number of nodes is fixed.
    #[must_use]
    pub fn fix(self, expr: &Expr) -> Expr {
        let Some(nodes) = self.fixed() else { return expr.clone() };
        let values = node_values(nodes);
        expr.substitute(&|name| {
            RESERVED.iter().position(|reserved| *reserved == name).map(|place| Expr::number(values[place]))
        })
    }
}

impl std::fmt::Display for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.fixed(), *self) {
            (_, Self::ANY) => f.write_str("any number of nodes"),
            (Some(nodes), _) => f.write_str(&count(nodes, "node", "nodes")),
            (None, Self { min, max }) => write!(f, "{min} to {max} nodes"),
        }
    }
}
