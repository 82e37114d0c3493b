//! Text to tree. Operators and operands are read as a flat chain, which an operator stack orders
//! (Dijkstra's shunting yard). The recursion is only as deep as the parentheses, which is bounded,
//! so no input can exhaust the stack.

use super::ast::{BinaryOp, COMPARISON, Expr, ExprKind, MAX_HEIGHT, POWER, PREFIX, RESERVED, Span, UnaryOp};
use super::function::Function;

/// How deep parentheses may nest.
pub const MAX_NESTING: usize = 64;

/// An error in an expression, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// The error and its remedy.
    pub message: String,
    /// The place in bytes.
    pub span: Span,
}

/// Reads an expression.
///
/// # Errors
/// The first error, with its place in `text`.
pub fn parse(text: &str) -> Result<Expr, ExprError> {
    parse_at(text, 0)
}

/// Reads an expression at byte `offset` of a larger text: all spans count from the beginning of
/// that text.
///
/// # Errors
/// As [`parse`].
pub fn parse_at(text: &str, offset: usize) -> Result<Expr, ExprError> {
    let mut parser = Parser { text, offset, at: 0, depth: 0 };
    let (expr, _) = parser.chain(&[OPERAND])?;
    if parser.at < text.len() {
        return Err(parser.expected(&["an operator", "the end"]));
    }
    Ok(expr)
}

impl std::str::FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        parse(text)
    }
}

const OPERAND: &str = "a number, a name or `(`";

/// An operator whose right operand is still missing.
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

type Tall = (Expr, usize);

struct Parser<'a> {
    text: &'a str,
    /// The offset of the text in a larger one.
    offset: usize,
    /// The bytes that have been read.
    at: usize,
    /// How many parentheses are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    /// `operand (operator operand)*`; `begins` lists what may be first, for messages.
    fn chain(&mut self, begins: &[&str]) -> Result<Tall, ExprError> {
        let mut operands: Vec<Tall> = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut begins = begins;
        loop {
            while let Some(op) = self.prefix() {
                waiting.push(Waiting::Prefix(op, self.offset + self.at - 1));
                begins = &[OPERAND];
            }
            operands.push(self.operand(begins)?);
            begins = &[OPERAND];
            let Some((op, span)) = self.infix() else { break };
            let precedence = op.precedence();
            while let Some(top) = waiting.last().copied() {
                let tighter =
                    top.precedence() > precedence || top.precedence() == precedence && precedence != POWER;
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
        while let Some(top) = waiting.pop() {
            reduce(&mut operands, top, Span::default())?;
        }
        operands
            .pop()
            .ok_or_else(|| ExprError { message: "an operand is missing".into(), span: Span::default() })
    }

    fn operand(&mut self, expected: &[&str]) -> Result<Tall, ExprError> {
        let start = self.at;
        if self.take("(") {
            self.open(start)?;
            let inner = self.chain(&[OPERAND])?;
            if !self.take(")") {
                return Err(self.expected(&["an operator", "`)`"]));
            }
            self.depth -= 1;
            return Ok(inner);
        }
        match self.text.as_bytes().get(start) {
            Some(byte) if byte.is_ascii_digit() => self.number(),
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => self.name(),
            _ => Err(self.expected(expected)),
        }
    }

    /// Digits, perhaps with `.` and more, perhaps with an exponent; `_` may separate digits.
    fn number(&mut self) -> Result<Tall, ExprError> {
        let start = self.at;
        self.digits();
        for (begins, sign) in [(".", ""), ("eE", "+-")] {
            let before = self.at;
            if self.any_of(begins) {
                self.any_of(sign);
                if !self.digits() {
                    self.at = before;
                }
            }
        }
        let (text, span) = self.since(start);
        let fail = |message| Err(ExprError { message, span });
        match text.replace('_', "").parse() {
            Ok(value) if f64::is_finite(value) => Ok((Expr { kind: ExprKind::Number(value), span }, 1)),
            Ok(_) => fail(format!("`{text}` is too large: the largest number is about 1.8e308")),
            Err(_) => fail(format!("`{text}` is not a number")),
        }
    }

    fn name(&mut self) -> Result<Tall, ExprError> {
        let start = self.at;
        self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
        let (name, span) = self.since(start);
        let function = Function::from_name(name);
        self.skip_space();
        let open = self.at;
        if !self.take("(") {
            if let Some(function) = function {
                let arity = function.arity();
                let message = format!("`{name}` is a function: give it {arity} in parentheses");
                return Err(ExprError { message, span });
            }
            return Ok((Expr { kind: ExprKind::Name(name.to_owned()), span }, 1));
        }
        self.open(open)?;
        let (mut arguments, mut height) = (Vec::new(), 0);
        let mut begins: &[&str] = &[OPERAND, "`)`"];
        self.skip_space();
        while begins.len() == 1 || !self.take(")") {
            let (argument, h) = self.chain(begins)?;
            arguments.push(argument);
            height = height.max(h);
            if self.take(")") {
                break;
            }
            if !self.take(",") {
                return Err(self.expected(&["an operator", "`,`", "`)`"]));
            }
            begins = &[OPERAND];
        }
        self.depth -= 1;
        let (_, span) = self.since(start);
        if RESERVED.contains(&name) {
            let message = format!("`{name}` is a number, not a model: it takes no arguments");
            return Err(ExprError { message, span });
        }
        if let Some(function) = function.filter(|function| !function.takes(arguments.len())) {
            let message = format!("`{name}` takes {}, but {} stand here", function.arity(), arguments.len());
            return Err(ExprError { message, span });
        }
        limit((Expr { kind: ExprKind::Call { name: name.to_owned(), arguments }, span }, height + 1))
    }

    /// Counts the parenthesis at `at`.
    fn open(&mut self, at: usize) -> Result<(), ExprError> {
        self.depth += 1;
        if self.depth <= MAX_NESTING {
            return Ok(());
        }
        let message = format!(
            "parentheses nest more than {MAX_NESTING} deep here: split the expression into several values"
        );
        Err(ExprError { message, span: Span { start: self.offset + at, end: self.offset + at + 1 } })
    }

    fn prefix(&mut self) -> Option<UnaryOp> {
        self.skip_space();
        if self.take("-") { Some(UnaryOp::Negate) } else { self.take("!").then_some(UnaryOp::Not) }
    }

    fn infix(&mut self) -> Option<(BinaryOp, Span)> {
        self.skip_space();
        let start = self.at;
        let op = [2, 1].into_iter().find_map(|length| {
            let op = BinaryOp::from_symbol(self.text.get(start..start + length)?)?;
            self.at = start + length;
            Some(op)
        });
        op.map(|op| (op, self.since(start).1))
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn any_of(&mut self, chars: &str) -> bool {
        let found = self.text[self.at..].starts_with(|c| chars.contains(c));
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> bool {
        let found = self.text[self.at..].starts_with(|c: char| c.is_ascii_digit());
        if found {
            self.skip(|c| c.is_ascii_digit() || c == '_');
        }
        found
    }

    fn skip(&mut self, while_: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|c| !while_(c)).unwrap_or(rest.len());
    }

    fn skip_space(&mut self) {
        self.skip(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
    }

    /// The text read since `start`.
    fn since(&self, start: usize) -> (&'a str, Span) {
        (&self.text[start..self.at], Span { start: self.offset + start, end: self.offset + self.at })
    }

    /// The error that one of `options` was expected here.
    fn expected(&self, options: &[&str]) -> ExprError {
        let found = self.text[self.at..].chars().next();
        let start = self.offset + self.at;
        let span = Span { start, end: start + found.map_or(0, char::len_utf8) };
        let expected = match options.split_last() {
            None => String::new(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        };
        let message = match found {
            None => format!("expected {expected}, but the expression ends here"),
            Some(c) => format!("expected {expected}, found `{}`", c.escape_debug()),
        };
        ExprError { message, span }
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
