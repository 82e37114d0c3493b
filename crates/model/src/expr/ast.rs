//! The tree of an expression, and its properties.

use std::collections::BTreeSet;

use super::function::{Function, Whole};

/// The tallest accepted tree. Every walk of a tree is recursive; this limit keeps it within a small
/// stack.
pub const MAX_HEIGHT: usize = 256;

/// A range of bytes in the text that was parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// An expression and its place in the text. Equality ignores the place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The operation or value.
    pub kind: ExprKind,
    /// The place in the text; empty for expressions that were not parsed.
    pub span: Span,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The operation or value of an expression. Every value is an `f64`; truth is 1 or 0.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Number(f64),
    /// An input, a parameter, an iteration variable, or one of the reserved `P`, `logP`, `sqrtP`.
    Name(String),
    /// An operator before its operand.
    Unary(UnaryOp, Box<Expr>),
    /// An operator between its operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A built-in function or another model, as [`Function::from_name`] distinguishes them.
    Call {
        /// The name of the function or model.
        name: String,
        /// Its arguments, in order.
        arguments: Vec<Expr>,
    },
}

/// Operators before their operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnaryOp {
    /// `-a`
    Negate,
    /// `!a`: 1 where `a` is 0 or not a number, else 0.
    Not,
}

/// Operators between their operands, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// `a << b`: a · 2^b
    ShiftLeft,
    /// `a >> b`: ⌊a / 2^b⌋
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The remainder of truncated division, as in Rust and C.
    Remainder,
    /// `a ^ b`: a to the power of b, from the right, tighter than a minus before it.
    Power,
}

/// The operators in the order of the enumeration: how each is written, and its precedence. Tighter
/// operators have larger numbers; [`PREFIX`] lies between `*` and `^`.
const OPERATORS: [(BinaryOp, &str, u8); 16] = {
    use BinaryOp::*;
    [
        (Or, "||", 1),
        (And, "&&", 2),
        (Equal, "==", COMPARISON),
        (NotEqual, "!=", COMPARISON),
        (Less, "<", COMPARISON),
        (LessEqual, "<=", COMPARISON),
        (Greater, ">", COMPARISON),
        (GreaterEqual, ">=", COMPARISON),
        (ShiftLeft, "<<", 4),
        (ShiftRight, ">>", 4),
        (Add, "+", 5),
        (Subtract, "-", 5),
        (Multiply, "*", 6),
        (Divide, "/", 6),
        (Remainder, "%", 6),
        (Power, "^", POWER),
    ]
};

impl BinaryOp {
    /// How the operator is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        OPERATORS[self as usize].1
    }

    pub(super) fn from_symbol(symbol: &str) -> Option<Self> {
        OPERATORS.iter().find(|row| row.1 == symbol).map(|row| row.0)
    }

    pub(super) fn precedence(self) -> u8 {
        OPERATORS[self as usize].2
    }
}

pub(super) const COMPARISON: u8 = 3;
/// The precedence of `-` and `!` before their operand.
pub(super) const PREFIX: u8 = 7;
pub(super) const POWER: u8 = 8;
/// The precedence of expressions that need no parentheses anywhere.
pub(super) const ATOM: u8 = 9;

/// Names that stand for the number of nodes, its logarithm to base 2 and its square root.
pub const RESERVED: [&str; 3] = ["P", "logP", "sqrtP"];

/// In a term of a spec `knee(x)` is `max(0, x - k)`, a hinge whose place k the fit chooses.
pub const KNEE: &str = "knee";

/// The values of the [`RESERVED`] names on so many nodes.
#[must_use]
pub fn node_values(nodes: usize) -> [f64; 3] {
    let p = nodes as f64;
    [p, p.log2(), p.sqrt()]
}

/// Whether `text` can be a name: a letter or `_`, then letters, digits and `_`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl Expr {
    /// An expression without a place in a text.
    #[must_use]
    pub fn new(kind: ExprKind) -> Self {
        Self { kind, span: Span::default() }
    }

    /// A constant.
    #[must_use]
    pub fn number(value: f64) -> Self {
        Self::new(ExprKind::Number(value))
    }

    /// A name.
    #[must_use]
    pub fn name(name: impl Into<String>) -> Self {
        Self::new(ExprKind::Name(name.into()))
    }

    /// `left op right`.
    #[must_use]
    pub fn binary(op: BinaryOp, left: Self, right: Self) -> Self {
        Self::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
    }

    /// The operands or arguments, in order.
    #[must_use]
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Number(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Call { arguments, .. } => arguments.iter().collect(),
        }
    }

    /// The number if this is a number and nothing else.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        if let ExprKind::Number(value) = self.kind { Some(value) } else { None }
    }

    /// The name if this is a name and nothing else.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        if let ExprKind::Name(name) = &self.kind { Some(name) } else { None }
    }

    /// Calls `visit` with this expression and everything in it, outermost first.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        for child in self.children() {
            child.visit(visit);
        }
    }

    /// Every name that the expression reads, `P`, `logP` and `sqrtP` included.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.visit(&mut |e| names.extend(e.as_name().map(str::to_owned)));
        names
    }

    /// Every model that the expression calls; built-in functions are not models.
    #[must_use]
    pub fn calls(&self) -> BTreeSet<String> {
        let mut calls = BTreeSet::new();
        self.visit(&mut |e| {
            if let ExprKind::Call { name, .. } = &e.kind
                && Function::from_name(name).is_none()
            {
                calls.insert(name.clone());
            }
        });
        calls
    }

    /// Whether the value is constant: the expression has neither a name nor a call of another
    /// model.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.names().is_empty() && self.calls().is_empty()
    }

    /// The same operation on operands or arguments that `change` makes of these.
    fn map_children(&self, change: &dyn Fn(&Self) -> Self) -> Self {
        let within = |part: &Self| Box::new(change(part));
        let kind = match &self.kind {
            kind @ (ExprKind::Number(_) | ExprKind::Name(_)) => kind.clone(),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, within(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, within(a), within(b)),
            ExprKind::Call { name, arguments } => {
                ExprKind::Call { name: name.clone(), arguments: arguments.iter().map(change).collect() }
            }
        };
        Self { kind, span: self.span }
    }

    /// The same expression with calls of one argument of `function` replaced, the innermost first.
    #[must_use]
    pub fn replace_calls(&self, function: &str, replace: &dyn Fn(&Self) -> Self) -> Self {
        let replaced = self.map_children(&|part| part.replace_calls(function, replace));
        match &replaced.kind {
            ExprKind::Call { name, arguments } if name == function && arguments.len() == 1 => {
                replace(&arguments[0])
            }
            _ => replaced,
        }
    }

    /// The same expression with each name replaced for which `replace` has an expression.
    #[must_use]
    pub fn substitute(&self, replace: &dyn Fn(&str) -> Option<Self>) -> Self {
        let replaced = self.as_name().and_then(replace);
        replaced.unwrap_or_else(|| self.map_children(&|part| part.substitute(replace)))
    }

    /// The same expression with names in place of what they stand for: at each place the last of
    /// `names` whose value stands there.
    #[must_use]
    pub fn with_names(&self, names: &[(String, Self)]) -> Self {
        match names.iter().rfind(|(_, value)| value == self) {
            Some((name, _)) => Self { kind: ExprKind::Name(name.clone()), span: self.span },
            None => self.map_children(&|part| part.with_names(names)),
        }
    }

    /// Whether the value is a whole number if `P` and the names for which `integral` holds are.
    ///
    /// Exponents and shift counts are assumed to be at least zero unless they contain a minus sign.
    #[must_use]
    pub fn is_integral(&self, integral: &dyn Fn(&str) -> bool) -> bool {
        use BinaryOp::*;
        let count = |e: &Self| e.is_integral(integral) && !e.has_minus();
        match &self.kind {
            ExprKind::Number(value) => value.fract() == 0.0,
            ExprKind::Name(name) => name == "P" || integral(name),
            ExprKind::Unary(UnaryOp::Not, _) => true,
            ExprKind::Unary(UnaryOp::Negate, a) => a.is_integral(integral),
            ExprKind::Binary(op, a, b) => match op {
                Or | And | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | ShiftRight => true,
                Add | Subtract | Multiply | Remainder => a.is_integral(integral) && b.is_integral(integral),
                Power | ShiftLeft => a.is_integral(integral) && count(b),
                Divide => false,
            },
            ExprKind::Call { name, arguments } => match Function::from_name(name).map(|f| f.row().whole) {
                Some(Whole::Always) => true,
                Some(Whole::OfWhole) => arguments.iter().all(|a| a.is_integral(integral)),
                Some(Whole::Power) => matches!(&arguments[..], [a, b] if a.is_integral(integral) && count(b)),
                Some(Whole::No) | None => false,
            },
        }
    }

    fn has_minus(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| match e.kind {
            ExprKind::Number(value) => found |= value < 0.0,
            ExprKind::Unary(UnaryOp::Negate, _) | ExprKind::Binary(BinaryOp::Subtract, ..) => found = true,
            _ => {}
        });
        found
    }

    /// How many nodes the tree has, and how many lie on its longest branch.
    #[must_use]
    pub fn measure(&self) -> (usize, usize) {
        let (mut nodes, mut height) = (1, 0);
        for child in self.children() {
            let (n, h) = child.measure();
            nodes += n;
            height = height.max(h);
        }
        (nodes, height + 1)
    }
}
