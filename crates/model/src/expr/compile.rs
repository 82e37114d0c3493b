//! Tree to [`Program`]: equal subexpressions are computed once, constants are computed now, and
//! sums of products become one instruction.
//!
//! The program computes the same as the tree: additions and multiplications keep their order, and
//! only identities that change no bit are used (a - b = a + -b, 1·a = a, -0 + a = a, a·b = b·a).

use std::collections::BTreeMap;

use super::ast::{BinaryOp, Expr, ExprKind, Span};
use super::function::Function;
use super::op::Op;
use super::program::{Instruction, LARGE, Operator, Product, Program, Registers};

/// Why an expression cannot be compiled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum CompileError {
    /// A name that is not among the variables.
    #[error("`{name}` is not known here{}", list(known))]
    UnknownName { name: String, known: Vec<String>, span: Span },
    /// A call of another model, which must be inlined first.
    #[error("`{name}` is neither a built-in function ({}) nor can another model be called here", functions())]
    ModelCall {
        /// The name of the called model.
        name: String,
        span: Span,
    },
    /// There are more intermediate values than registers.
    #[error(
        "the expression is too large: it needs {registers} values at once, and there is room for {LARGE}"
    )]
    TooLarge { registers: usize },
}

impl CompileError {
    /// The place in the text of the expression, if known.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::UnknownName { span, .. } | Self::ModelCall { span, .. } => Some(*span),
            Self::TooLarge { .. } => None,
        }
    }
}

fn list(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; known are {}", known.join(", ")) }
}

fn functions() -> String {
    Function::ALL.map(Function::name).join(", ")
}

impl Program {
    /// Compiles `expr` as a function of `variables`.
    ///
    /// # Errors
    /// A name that is not a variable, a call of another model, or an expression of absurd size.
    pub fn compile(expr: &Expr, variables: &[&str]) -> Result<Self, CompileError> {
        let mut values = Values { variables, known: BTreeMap::new(), list: Vec::new() };
        for index in 0..variables.len() {
            values.number(Value::Variable(index));
        }
        let result = values.of(expr)?;
        values.allocate(result)
    }
}

/// The identity of a value: an index into [`Values::list`].
type Id = usize;

/// How a value is computed. Equal values have one entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Variable(usize),
    /// A constant, by its bits, so that -0 and NaN can be compared.
    Constant(u64),
    Apply(Op, Id, Id),
    Sum(Id, Vec<Term>),
}

/// A product inside a sum: see [`Product`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    before: u64,
    after: u64,
    factors: [Id; 3],
}

struct Values<'a> {
    variables: &'a [&'a str],
    known: BTreeMap<Value, Id>,
    /// The values, each after its operands.
    list: Vec<Value>,
}

impl Values<'_> {
    fn number(&mut self, value: Value) -> Id {
        if let Some(id) = self.known.get(&value) {
            return *id;
        }
        let id = self.list.len();
        self.list.push(value.clone());
        self.known.insert(value, id);
        id
    }

    fn constant(&mut self, value: f64) -> Id {
        self.number(Value::Constant(value.to_bits()))
    }

    fn constant_of(&self, id: Id) -> Option<f64> {
        if let Value::Constant(bits) = self.list[id] { Some(f64::from_bits(bits)) } else { None }
    }

    fn apply(&mut self, op: Op, a: Id, b: Id) -> Id {
        match (self.constant_of(a), self.constant_of(b)) {
            (Some(a), Some(b)) => self.constant(op.apply(a, b)),
            _ => self.number(Value::Apply(op, a, b)),
        }
    }

    fn of(&mut self, expr: &Expr) -> Result<Id, CompileError> {
        match &expr.kind {
            ExprKind::Number(value) => Ok(self.constant(*value)),
            ExprKind::Name(name) => match self.variables.iter().position(|known| known == name) {
                Some(index) => Ok(self.number(Value::Variable(index))),
                None => Err(CompileError::UnknownName {
                    name: name.clone(),
                    known: self.variables.iter().map(|&known| known.to_owned()).collect(),
                    span: expr.span,
                }),
            },
            ExprKind::Unary(op, a) => {
                let a = self.of(a)?;
                Ok(self.apply(Op::Unary(*op), a, a))
            }
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Subtract, ..) => self.sum(expr),
            ExprKind::Binary(op, a, b) => self.two(Op::of_binary(*op, a, b), a, b),
            ExprKind::Call { name, arguments } => match (Function::from_name(name), &arguments[..]) {
                (None, _) => Err(CompileError::ModelCall { name: name.clone(), span: expr.span }),
                (Some(Function::Pow), [a, b]) => self.two(Op::of_binary(BinaryOp::Power, a, b), a, b),
                (Some(function), [a]) => {
                    let a = self.of(a)?;
                    Ok(self.apply(Op::Call(function), a, a))
                }
                (Some(function), [first, others @ ..]) => {
                    let mut result = self.of(first)?;
                    for other in others {
                        let other = self.of(other)?;
                        result = self.apply(Op::Call(function), result, other);
                    }
                    Ok(result)
                }
                (Some(_), []) => Ok(self.constant(f64::NAN)),
            },
        }
    }

    fn two(&mut self, op: Op, a: &Expr, b: &Expr) -> Result<Id, CompileError> {
        match op {
            Op::PowerOfTwo => {
                let b = self.of(b)?;
                Ok(self.apply(op, b, b))
            }
            Op::Square | Op::Cube => {
                let a = self.of(a)?;
                Ok(self.apply(op, a, a))
            }
            op => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                Ok(self.apply(op, a, b))
            }
        }
    }

    /// A chain of additions and subtractions. With three operands or more, one instruction is
    /// faster.
    fn sum(&mut self, expr: &Expr) -> Result<Id, CompileError> {
        let (first, others) = addends(expr);
        if let [(negative, only)] = others[..] {
            let (a, b) = (self.of(first)?, self.of(only)?);
            return Ok(self.apply(
                Op::Binary(if negative { BinaryOp::Subtract } else { BinaryOp::Add }),
                a,
                b,
            ));
        }
        let mut terms = Vec::with_capacity(others.len() + 1);
        let start = if factors(first).len() > 1 {
            terms.push(self.term(false, first)?);
            self.constant(-0.0)
        } else {
            self.of(first)?
        };
        for (negative, addend) in others {
            terms.push(self.term(negative, addend)?);
        }
        Ok(self.number(Value::Sum(start, terms)))
    }

    fn term(&mut self, negative: bool, addend: &Expr) -> Result<Term, CompileError> {
        let (before, chosen, after) = split(addend);
        let one = self.constant(1.0);
        let mut ids = [one; 3];
        for (id, factor) in ids.iter_mut().zip(chosen) {
            *id = self.of(factor)?;
        }
        let before = if negative { -before } else { before };
        Ok(Term { before: before.to_bits(), after: after.to_bits(), factors: ids })
    }

    /// Gives every value that `result` needs a register, which is reused when the value is no
    /// longer needed.
    fn allocate(self, result: Id) -> Result<Program, CompileError> {
        let last_use = self.last_uses(result);
        let variables = self.variables.len();
        let mut file = vec![0.0; variables];
        let mut place = vec![0_usize; self.list.len()];
        for (id, value) in self.list.iter().enumerate() {
            match value {
                Value::Variable(index) => place[id] = *index,
                Value::Constant(bits) if last_use[id].is_some() => {
                    place[id] = file.len();
                    file.push(f64::from_bits(*bits));
                }
                _ => {}
            }
        }
        let mut free = Vec::new();
        let mut registers = file.len();
        let mut code = Vec::new();
        let mut products: Vec<Product> = Vec::new();
        let mut dying: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
        for (id, value) in self.list.iter().enumerate() {
            if let (Some(last), Value::Apply(..) | Value::Sum(..)) = (last_use[id], value) {
                dying.entry(last).or_default().push(id);
            }
        }
        // Numbers are masked again at run time; the count is checked below.
        let narrow = |register: usize| u16::try_from(register).unwrap_or(u16::MAX);
        for (id, value) in self.list.iter().enumerate() {
            if last_use[id].is_none() {
                continue;
            }
            let (operator, a, b) = match value {
                Value::Variable(_) | Value::Constant(_) => continue,
                Value::Apply(op, a, b) => (Operator::Apply(*op), place[*a], place[*b]),
                Value::Sum(start, terms) => {
                    let first = products.len() as u32;
                    products.extend(terms.iter().map(|term| Product {
                        before: f64::from_bits(term.before),
                        after: f64::from_bits(term.after),
                        factors: term.factors.map(|factor| narrow(place[factor])),
                    }));
                    (Operator::Sum { first, end: products.len() as u32 }, place[*start], place[*start])
                }
            };
            free.extend(
                dying
                    .remove(&id)
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|dead| *dead != id)
                    .map(|dead| place[dead]),
            );
            place[id] = free.pop().unwrap_or_else(|| {
                registers += 1;
                registers - 1
            });
            code.push(Instruction { operator, to: narrow(place[id]), a: narrow(a), b: narrow(b) });
        }
        let registers = Registers::new(&file, registers).ok_or(CompileError::TooLarge { registers })?;
        Ok(Program { code, products, registers, variables, result: narrow(place[result]) })
    }

    /// For each value the last value that needs it (itself, for the result); `None` if `result`
    /// does not need it.
    fn last_uses(&self, result: Id) -> Vec<Option<Id>> {
        let mut last = vec![None; self.list.len()];
        last[result] = Some(self.list.len());
        for id in (0..self.list.len()).rev() {
            if last[id].is_none() {
                continue;
            }
            let mut needs = |operand: Id| last[operand] = last[operand].max(Some(id));
            match &self.list[id] {
                Value::Variable(_) | Value::Constant(_) => {}
                Value::Apply(_, a, b) => {
                    needs(*a);
                    needs(*b);
                }
                Value::Sum(start, terms) => {
                    needs(*start);
                    terms.iter().flat_map(|term| term.factors).for_each(needs);
                }
            }
        }
        last
    }
}

/// `a + b - c` as `a` and (plus b, minus c).
fn addends(expr: &Expr) -> (&Expr, Vec<(bool, &Expr)>) {
    let (mut first, mut others) = (expr, Vec::new());
    while let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) = &first.kind {
        others.push((*op == BinaryOp::Subtract, &**right));
        first = left;
    }
    others.reverse();
    (first, others)
}

/// `a * b * c` as its factors; one factor if it is not a product.
fn factors(expr: &Expr) -> Vec<&Expr> {
    let (mut first, mut found) = (expr, Vec::new());
    while let ExprKind::Binary(BinaryOp::Multiply, left, right) = &first.kind {
        found.push(&**right);
        first = left;
    }
    found.push(first);
    found.reverse();
    found
}

/// A product as a coefficient in front, at most three factors, and a coefficient behind; other
/// expressions are one factor.
fn split(expr: &Expr) -> (f64, Vec<&Expr>, f64) {
    let whole = factors(expr);
    let few = |chosen: &[&Expr]| (1..=3).contains(&chosen.len());
    if let [first, others @ ..] = &whole[..]
        && let Some(coefficient) = first.as_number()
    {
        if let [only] = others {
            // c * (a * b) is (a * b) * c.
            let inner = factors(only);
            if few(&inner) {
                return (1.0, inner, coefficient);
            }
        }
        if few(others) {
            return (coefficient, others.to_vec(), 1.0);
        }
    }
    if let [others @ .., last] = &whole[..]
        && let Some(coefficient) = last.as_number()
        && few(others)
    {
        return (1.0, others.to_vec(), coefficient);
    }
    if few(&whole) { (1.0, whole, 1.0) } else { (1.0, vec![expr], 1.0) }
}
