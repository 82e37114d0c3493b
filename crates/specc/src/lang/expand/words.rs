//! The words of a family's member, in the spellings of Rust: `rep_movsb` and `RepMovsb`.

use std::collections::BTreeMap;
use std::ops::Range;

use strata_model::expr::{Expr, Span};

use crate::lang::ast::Name;
use crate::lang::check::name_uses;
use crate::lang::lex::{Lexeme, lexeme};

/// What the lists of a family are called, each with the word of one member.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    replaced: Vec<(String, String)>,
}

impl Words {
    /// `alias` stands for `word` from now on, in small letters or as a type, by how it is written.
    pub(super) fn add(&mut self, alias: &Name, word: &str) {
        self.replaced.push((alias.text.clone(), snake(word)));
        self.replaced.push((pascal(&alias.text), pascal(word)));
    }

    /// What an expression has in place of the aliases that it reads: names that the file shares, or
    /// numbers.
    pub(super) fn in_expr(&self, expr: &Expr) -> Expr {
        let read = name_uses(expr);
        let found = read.into_iter().filter_map(|(name, span)| Some((name, (self.word(name)?, span))));
        let found: BTreeMap<&str, (&str, Span)> = found.collect();
        if found.is_empty() {
            return expr.clone();
        }
        expr.substitute(&|name| {
            let (word, span) = *found.get(name)?;
            let value = word.parse().map_or_else(|_| Expr::name(word), Expr::number);
            Some(Expr { span, ..value })
        })
    }

    /// The word that `text` stands for, if it is an alias.
    fn word(&self, text: &str) -> Option<&str> {
        self.replaced.iter().find(|(alias, _)| alias == text).map(|(_, word)| word.as_str())
    }

    /// `text` with words in place of the aliases that stand in braces; the braces that hold anything
    /// else stay.
    pub(super) fn spelled(&self, text: &str) -> String {
        let mut out = String::new();
        let mut end = 0;
        for (at, word) in self.in_braces(text) {
            out.push_str(&text[end..at.start]);
            out.push_str(word);
            end = at.end;
        }
        out + &text[end..]
    }

    /// Every alias in braces, with its word.
    fn in_braces(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let opened = text.match_indices('{').filter_map(|(open, _)| {
            let close = open + text[open..].find('}')?;
            Some((open..close + 1, self.word(&text[open + 1..close])?))
        });
        opened.collect()
    }

    /// What of a piece of Rust stands for a word: identifiers, and names in braces in strings.
    pub(super) fn in_rust(&self, code: &str) -> Vec<(Range<usize>, String)> {
        let (mut at, mut found) = (0, Vec::new());
        if self.replaced.is_empty() {
            return found;
        }
        while at < code.len() {
            let (kind, end) = lexeme(code, at);
            let text = &code[at..end];
            match kind {
                Lexeme::Other => found.extend(self.word(text).map(|word| (at..end, word.to_owned()))),
                Lexeme::Text => found.extend(
                    self.in_braces(text)
                        .into_iter()
                        .map(|(inside, word)| (at + inside.start..at + inside.end, word.to_owned())),
                ),
                _ => {}
            }
            at = end;
        }
        found
    }
}

/// As Rust writes functions and variables: `RepMovsb` is `rep_movsb`.
pub(super) fn snake(word: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for c in word.chars() {
        if c.is_ascii_uppercase() && before != '_' && !before.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
        before = c;
    }
    out
}

/// As Rust writes types: `rep_movsb` is `RepMovsb`.
fn pascal(word: &str) -> String {
    let parts = word.split('_').filter(|part| !part.is_empty());
    let part = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    parts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelled_as_rust_spells_names() {
        for (typed, function) in [
            ("RepMovsb", "rep_movsb"),
            ("Avx512ForwardT0", "avx512_forward_t0"),
            ("HotRead", "hot_read"),
            ("A", "a"),
        ] {
            assert_eq!((snake(typed), pascal(function)), (function.to_owned(), typed.to_owned()));
            assert_eq!((snake(function), pascal(typed)), (function.to_owned(), typed.to_owned()));
        }
    }

    #[test]
    fn rust_reads_words_as_identifiers_and_in_strings() {
        let mut words = Words::default();
        words.add(&Name { text: "way".into(), span: Default::default() }, "RepMovsb");
        let code = r#"way::go(Kind::Way, "{way}", "{Way}x{other}", 'a', ways) // {way}"#;
        let found = words.in_rust(code);
        let read: Vec<(&str, &str)> =
            found.iter().map(|(at, word)| (&code[at.clone()], word.as_str())).collect();
        assert_eq!(
            read,
            [("way", "rep_movsb"), ("Way", "RepMovsb"), ("{way}", "rep_movsb"), ("{Way}", "RepMovsb")]
        );
        assert_eq!(words.spelled("`{way}` of {ways} {"), "`rep_movsb` of {ways} {");
    }
}
