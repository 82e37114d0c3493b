//! Rust code: whether it parses, and if not, at which place of the spec.

use strata_model::expr::Span;
use syn::parse::Parser;

use crate::lang::ast::{Code, UseLine};
use crate::lang::diagnostic::{CheckError, ErrorCode};
use crate::lang::lex::{Lexeme, lexeme};

/// `syn` recurses at brackets and at operators before an operand: these two keep it within
/// [`super::STACK`].
const MAX_BRACKETS: usize = 100;
const MAX_LENGTH: usize = 32 * 1024;

/// The syntax required of a piece of code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Any statements, perhaps with a value at the end.
    Statements,
    /// Statements that end with a value.
    Value,
}

/// Checks one piece of code.
pub(super) fn check(what: &str, code: &Code, shape: Shape) -> Option<CheckError> {
    if let Some(error) = limits(what, &code.text, code.span.start) {
        return Some(error);
    }
    let statements = match syn::Block::parse_within.parse_str(&code.text) {
        Ok(statements) => statements,
        Err(error) => return Some(located(what, &error, &code.text, code.span)),
    };
    let has_value = match statements.last() {
        Some(syn::Stmt::Expr(_, semicolon)) => semicolon.is_none(),
        Some(syn::Stmt::Macro(last)) => last.semi_token.is_none(),
        _ => false,
    };
    if shape == Shape::Value && !has_value {
        let message = format!(
            "the code of `{what}` has no value: it measures by itself and ends with the seconds, an `f64`"
        );
        let end = Span { start: code.span.start.saturating_sub(1), end: code.span.end + 1 };
        let error = CheckError::new(ErrorCode::Rust, message, end, "ends without a value");
        return Some(error.help(
            "leave out the last `;`, or end with an expression such as `start.elapsed().as_secs_f64()`",
        ));
    }
    None
}

/// Checks one `use` line.
pub(super) fn check_use(line: &UseLine) -> Option<CheckError> {
    limits("use", &line.text, line.span.start).or_else(|| {
        let error = syn::parse_str::<syn::ItemUse>(&line.text).err()?;
        Some(located("use", &error, &line.text, line.span))
    })
}

/// Brackets that do not match, in our words; code that is too long or too deep to parse.
fn limits(what: &str, text: &str, offset: usize) -> Option<CheckError> {
    if text.len() > MAX_LENGTH {
        let message = format!("the code of `{what}` is longer than {} kB", MAX_LENGTH / 1024);
        let span = Span { start: offset, end: offset + text.len() };
        let error = CheckError::new(ErrorCode::TooLarge, message, span, "too long");
        return Some(error.help("put it into a crate and `use` it"));
    }
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = lexeme(text, at);
        let place = Span { start: offset + at, end: offset + end };
        match kind {
            Lexeme::Open(bracket) => open.push((bracket, at)),
            Lexeme::Close(bracket) => {
                let opened = open.pop();
                if opened.is_none_or(|(opening, _)| closing(opening) != bracket) {
                    let message = format!("`{}` closes nothing in the code of `{what}`", char::from(bracket));
                    let error = CheckError::new(ErrorCode::Rust, message, place, "opened nowhere");
                    return Some(match opened {
                        Some((_, at)) => error.label(byte(offset + at), "this one is open here"),
                        None => error,
                    });
                }
            }
            _ => {}
        }
        if open.len() > MAX_BRACKETS {
            let message = format!("the code of `{what}` has brackets more than {MAX_BRACKETS} deep");
            let error = CheckError::new(ErrorCode::TooLarge, message, place, "one too many");
            return Some(error.help("put it into a function of a crate and `use` it"));
        }
        at = end;
    }
    let (bracket, at) = open.pop()?;
    let message = format!("`{}` is never closed in the code of `{what}`", char::from(bracket));
    let error = CheckError::new(ErrorCode::Rust, message, byte(offset + at), "opened here");
    Some(error.help(format!("close it by `{}`", char::from(closing(bracket)))))
}

fn byte(at: usize) -> Span {
    Span { start: at, end: at + 1 }
}

fn closing(bracket: u8) -> u8 {
    match bracket {
        b'{' => b'}',
        b'(' => b')',
        _ => b']',
    }
}

/// An error of `syn` at its place in the spec.
fn located(what: &str, error: &syn::Error, text: &str, span: Span) -> CheckError {
    let message = error.to_string();
    let code = Span {
        start: span.start + text.len() - text.trim_start().len(),
        end: span.start + text.trim_end().len(),
    };
    if message == "cannot parse string into token stream" || message == "lex error" {
        // The lexer does not say where.
        let message = format!(
            "the code of `{what}` is not Rust: it has a literal or character that Rust does not know"
        );
        let error = CheckError::new(ErrorCode::Rust, message, code, "somewhere here");
        return error.help("look for `'` around more than one character, numbers with odd suffixes, and characters such as `\\`");
    }
    let range = error.span().byte_range();
    let inside =
        range.end <= text.len() && text.is_char_boundary(range.start) && text.is_char_boundary(range.end);
    let place = if message.starts_with("unexpected end of input") || !inside || range.is_empty() {
        Span { start: code.end, end: code.end + usize::from(code.end < span.end) }
    } else {
        Span { start: span.start + range.start, end: span.start + range.end }
    };
    let message = message.trim_start_matches("unexpected end of input, ");
    CheckError::new(ErrorCode::Rust, format!("the code of `{what}` is not Rust: {message}"), place, "here")
}
