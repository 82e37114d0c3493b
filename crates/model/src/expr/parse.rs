//! Text to tree. The grammar (expr.pest) yields a flat chain of operators and operands; an operator
//! stack puts it into order (Dijkstra's shunting yard), so that no input, however long or nested,
//! can exhaust the stack.

use pest::Parser;
use pest::error::{Error as PestError, ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::ast::{BinaryOp, COMPARISON, Expr, ExprKind, MAX_HEIGHT, POWER, PREFIX, RESERVED, Span, UnaryOp};
use super::function::Function;

/// How deep parentheses may nest.
pub const MAX_NESTING: usize = 64;

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// What is wrong and what to do about it.
    pub message: String,
    /// The bytes it concerns.
    pub span: Span,
}

#[derive(pest_derive::Parser)]
#[grammar = "expr/expr.pest"]
struct Grammar;

/// Bytes of stack that parsing gets where there are not enough: pest asks for 64 KiB, nesting is
/// bounded.
const STACK: usize = 1 << 20;

/// Reads an expression.
///
/// # Errors
/// The first thing that is wrong, with its place in `text`.
pub fn parse(text: &str) -> Result<Expr, ExprError> {
    parse_at(text, 0)
}

/// Reads an expression that stands at byte `offset` of a larger text: all spans count from there.
///
/// # Errors
/// As [`parse`].
pub fn parse_at(text: &str, offset: usize) -> Result<Expr, ExprError> {
    check_nesting(text, offset)?;
    // pest parses nothing where it takes the stack for full, and knows only the stacks of threads:
    // nodes of a simulated machine have their own.
    let pairs = stacker::maybe_grow(STACK / 4, STACK, || Grammar::parse(Rule::whole, text));
    let mut pairs = pairs.map_err(|error| describe(&error, text, offset))?;
    let end = Span { start: offset + text.len(), end: offset + text.len() };
    let chain =
        pairs.next().ok_or_else(|| ExprError { message: "an expression is missing".into(), span: end })?;
    Builder { offset }.chain(chain).map(|(expr, _)| expr)
}

impl std::str::FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        parse(text)
    }
}

/// The grammar recurses at parentheses only: whoever bounds those bounds the recursion.
fn check_nesting(text: &str, offset: usize) -> Result<(), ExprError> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            let message = format!(
                "parentheses nest more than {MAX_NESTING} deep here: split the expression into several values"
            );
            return Err(ExprError { message, span: Span { start: offset + at, end: offset + at + 1 } });
        }
    }
    Ok(())
}

/// Says what was expected and what was found, in our words.
fn describe(error: &PestError<Rule>, text: &str, offset: usize) -> ExprError {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let found = text.get(at..).and_then(|rest| rest.chars().next());
    let span = Span { start: offset + at, end: offset + at + found.map_or(0, char::len_utf8) };
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => expected(positives),
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let message = match found {
        None => format!("expected {expected}, but the expression ends here"),
        Some(c) => format!("expected {expected}, found `{}`", c.escape_debug()),
    };
    ExprError { message, span }
}

fn expected(rules: &[Rule]) -> String {
    let has = |rule| rules.contains(&rule);
    let mut options = Vec::new();
    if has(Rule::number) || has(Rule::name) || has(Rule::chain) || has(Rule::prefix) && !has(Rule::infix) {
        options.push("a number, a name or `(`");
    }
    if has(Rule::infix) {
        options.push("an operator");
    }
    if has(Rule::comma) {
        options.push("`,`");
    }
    if has(Rule::close) {
        options.push("`)`");
    }
    if has(Rule::EOI) {
        options.push("the end");
    }
    match options.split_last() {
        None => "something else".into(),
        Some((last, [])) => (*last).into(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// An operator that still waits for its right operand.
#[derive(Clone, Copy)]
enum Waiting {
    Prefix(UnaryOp, usize),
    Infix(BinaryOp),
}

impl Waiting {
    fn precedence(self) -> u8 {
        match self {
            Self::Prefix(..) => PREFIX,
            Self::Infix(op) => op.precedence(),
        }
    }
}

/// A tree and its height.
type Tall = (Expr, usize);

struct Builder {
    offset: usize,
}

impl Builder {
    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        let span = pair.as_span();
        Span { start: self.offset + span.start(), end: self.offset + span.end() }
    }

    fn chain(&self, chain: Pair<'_, Rule>) -> Result<Tall, ExprError> {
        let mut operands: Vec<Tall> = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        for pair in chain.into_inner() {
            let span = self.span(&pair);
            match pair.as_rule() {
                Rule::prefix => {
                    let op = if pair.as_str() == "!" { UnaryOp::Not } else { UnaryOp::Negate };
                    waiting.push(Waiting::Prefix(op, span.start));
                }
                Rule::infix => {
                    let Some(op) = BinaryOp::from_symbol(pair.as_str()) else {
                        return Err(ExprError {
                            message: format!("`{}` is not an operator", pair.as_str()),
                            span,
                        });
                    };
                    let precedence = op.precedence();
                    while let Some(top) = waiting.last().copied() {
                        let tighter = top.precedence() > precedence
                            || top.precedence() == precedence && precedence != POWER;
                        if !tighter {
                            break;
                        }
                        if precedence == COMPARISON && top.precedence() == COMPARISON {
                            let message = "comparisons do not chain: write `a<b && b<c`".into();
                            return Err(ExprError { message, span });
                        }
                        waiting.pop();
                        reduce(&mut operands, top, span)?;
                    }
                    waiting.push(Waiting::Infix(op));
                }
                _ => operands.push(self.atom(pair)?),
            }
        }
        while let Some(top) = waiting.pop() {
            reduce(&mut operands, top, Span::default())?;
        }
        operands
            .pop()
            .ok_or_else(|| ExprError { message: "an operand is missing".into(), span: Span::default() })
    }

    fn atom(&self, pair: Pair<'_, Rule>) -> Result<Tall, ExprError> {
        let span = self.span(&pair);
        let fail = |message: String| Err(ExprError { message, span });
        match pair.as_rule() {
            Rule::number => {
                let value: f64 = match pair.as_str().replace('_', "").parse() {
                    Ok(value) => value,
                    Err(_) => return fail(format!("`{}` is not a number", pair.as_str())),
                };
                if !value.is_finite() {
                    return fail(format!(
                        "`{}` is too large: the largest number is about 1.8e308",
                        pair.as_str()
                    ));
                }
                Ok((Expr { kind: ExprKind::Number(value), span }, 1))
            }
            Rule::name => {
                let name = pair.as_str();
                if let Some(function) = Function::from_name(name) {
                    return fail(format!(
                        "`{name}` is a function: give it {} in parentheses",
                        function.arity()
                    ));
                }
                Ok((Expr { kind: ExprKind::Name(name.to_owned()), span }, 1))
            }
            Rule::group => match pair.into_inner().find(|inner| inner.as_rule() == Rule::chain) {
                Some(inner) => self.chain(inner),
                None => fail("an expression is missing between the parentheses".into()),
            },
            Rule::call => self.call(pair, span),
            _ => fail("this is not an operand".into()),
        }
    }

    fn call(&self, pair: Pair<'_, Rule>, span: Span) -> Result<Tall, ExprError> {
        let (mut name, mut arguments, mut height) = (String::new(), Vec::new(), 0);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => name = inner.as_str().to_owned(),
                Rule::chain => {
                    let (argument, h) = self.chain(inner)?;
                    arguments.push(argument);
                    height = height.max(h);
                }
                _ => {}
            }
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(ExprError {
                message: format!("`{name}` is a number, not a model: it takes no arguments"),
                span,
            });
        }
        if let Some(function) = Function::from_name(&name)
            && !function.takes(arguments.len())
        {
            let message = format!("`{name}` takes {}, but {} stand here", function.arity(), arguments.len());
            return Err(ExprError { message, span });
        }
        limit((Expr { kind: ExprKind::Call { name, arguments }, span }, height + 1))
    }
}

/// Gives a waiting operator its operands.
fn reduce(operands: &mut Vec<Tall>, op: Waiting, place: Span) -> Result<(), ExprError> {
    let missing = || ExprError { message: "an operand is missing".into(), span: place };
    let (right, right_height) = operands.pop().ok_or_else(missing)?;
    let built = match op {
        Waiting::Prefix(op, start) => {
            let span = Span { start, end: right.span.end };
            (Expr { kind: ExprKind::Unary(op, Box::new(right)), span }, right_height + 1)
        }
        Waiting::Infix(op) => {
            let (left, left_height) = operands.pop().ok_or_else(missing)?;
            let span = Span { start: left.span.start, end: right.span.end };
            let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
            (Expr { kind, span }, left_height.max(right_height) + 1)
        }
    };
    operands.push(limit(built)?);
    Ok(())
}

fn limit((expr, height): Tall) -> Result<Tall, ExprError> {
    if height <= MAX_HEIGHT {
        return Ok((expr, height));
    }
    let message = format!(
        "more than {MAX_HEIGHT} operators apply one after the other: split the expression into several values"
    );
    Err(ExprError { message, span: expr.span })
}
