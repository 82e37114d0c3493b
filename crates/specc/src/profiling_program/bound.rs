//! The names that a piece of Rust binds, so that its values can be handed to another piece.

use std::collections::BTreeSet;
use std::iter::Peekable;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// The names that the `let` statements of a piece of Rust bind, those within its blocks aside.
pub(super) fn bound(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Ok(tokens) = code.parse::<TokenStream>() else { return names };
    let mut tokens = tokens.into_iter().peekable();
    // Not `if let` and `while let`, whose names end with their blocks.
    let mut begins = true;
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(word) if begins && word == "let" => pattern(&mut tokens, false, &mut names),
            _ => {}
        }
        begins = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() != Delimiter::Parenthesis,
            _ => false,
        };
    }
    names
}

/// Adds the names of a pattern: up to its type or its value, or to the end of its braces, whose
/// words before a colon are fields.
fn pattern(
    tokens: &mut Peekable<impl Iterator<Item = TokenTree>>,
    in_braces: bool,
    names: &mut BTreeSet<String>,
) {
    let is = |token: Option<&TokenTree>, marks: &[char]| match token {
        Some(TokenTree::Punct(punct)) => marks.contains(&punct.as_char()),
        _ => false,
    };
    let mut in_path = false;
    while !is(tokens.peek(), &['=', ';']) {
        let Some(token) = tokens.next() else { return };
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => match is(tokens.peek(), &[':']) {
                true => in_path = tokens.next().is_some(),
                false if in_braces => {}
                false => return,
            },
            TokenTree::Ident(word) => {
                let of_type = match tokens.peek() {
                    Some(TokenTree::Group(group)) => group.delimiter() != Delimiter::Bracket,
                    next => is(next, &['!']) || in_braces && is(next, &[':']),
                };
                if !of_type && !in_path && is_variable(&word) {
                    names.insert(word.to_string());
                }
                in_path = false;
            }
            TokenTree::Group(group) => {
                let in_braces = group.delimiter() == Delimiter::Brace;
                let inner = group.stream().into_iter();
                pattern(&mut inner.peekable(), in_braces, names);
            }
            _ => {}
        }
    }
}

/// Constants begin with a capital, by the custom that the compiler warns about.
fn is_variable(word: &Ident) -> bool {
    let word = word.to_string();
    let first = word.chars().next().unwrap_or('_');
    word != "_" && !["mut", "ref", "box"].contains(&word.as_str()) && !first.is_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_patterns_are_found_and_nothing_else() {
        for (code, names) in [
            ("let x = 1;", &["x"][..]),
            ("let (mut a, ref b): (Vec<u8>, T) = f(c, d);", &["a", "b"]),
            ("let x; let _y = x;", &["_y", "x"]),
            ("let [first, .., last] = array; g(last)", &["first", "last"]),
            ("let Point { x, y: (left, _), .. } = p else { return Ok(()) };", &["left", "x"]),
            ("let Some(v) | Other::Case(v) = v else { panic!() };", &["v"]),
            ("if let Some(inner) = o { let deep = 1; } let after = 2;", &["after"]),
            ("fill(&mut v, |x| { let hidden = x; });", &[]),
            ("{ let scoped = 1; } let outer = { let inner = 1; inner };", &["outer"]),
            ("#[rustfmt::skip] let attributed: u8 = 3;", &["attributed"]),
            ("let whole @ 1..=5 = n else { return };", &["whole"]),
            ("node.install(node.handlers());", &[]),
            ("no rust \"", &[]),
        ] {
            assert_eq!(bound(code).into_iter().collect::<Vec<_>>(), names, "{code}");
        }
    }
}
