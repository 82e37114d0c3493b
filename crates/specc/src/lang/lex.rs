//! The lexemes of Rust, by the compiler's own lexer, as far as they are needed to find where a
//! piece of Rust ends.
//!
//! Braces in strings, characters and comments do not count. Nothing here fails: text that is not
//! Rust still has lexemes, and `syn` says what is wrong with it.

use ra_ap_rustc_lexer::{Cursor, FrontmatterAllowed, LiteralKind, TokenKind};

/// What a lexeme is, as far as finding the end of a piece of Rust needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lexeme {
    /// `{`, `(` or `[`.
    Open(u8),
    /// `}`, `)` or `]`.
    Close(u8),
    /// `//` to the end of the line.
    LineComment,
    /// `/* … */`, nested.
    BlockComment,
    /// A string of any kind.
    Text,
    /// Blanks and line ends.
    Blank,
    /// Anything else: a word, a number, a character, one character of punctuation.
    Other,
}

/// The lexeme that begins at byte `at`, and where it ends: after `at`, unless `at` is the end of
/// the text.
pub(super) fn lexeme(text: &str, at: usize) -> (Lexeme, usize) {
    let token = Cursor::new(&text[at..], FrontmatterAllowed::No).advance_token();
    let end = at + token.len as usize;
    let kind = match token.kind {
        TokenKind::OpenBrace | TokenKind::OpenParen | TokenKind::OpenBracket => {
            Lexeme::Open(text.as_bytes()[at])
        }
        TokenKind::CloseBrace | TokenKind::CloseParen | TokenKind::CloseBracket => {
            Lexeme::Close(text.as_bytes()[at])
        }
        TokenKind::LineComment { .. } => Lexeme::LineComment,
        TokenKind::BlockComment { .. } => Lexeme::BlockComment,
        TokenKind::Whitespace => Lexeme::Blank,
        TokenKind::Literal { kind, .. } => match kind {
            LiteralKind::Int { .. }
            | LiteralKind::Float { .. }
            | LiteralKind::Char { .. }
            | LiteralKind::Byte { .. } => Lexeme::Other,
            _ => Lexeme::Text,
        },
        // `#"`: the string begins after the mark.
        TokenKind::GuardedStrPrefix => return (Lexeme::Other, at + 1),
        _ => Lexeme::Other,
    };
    (kind, end)
}

/// Where the line of byte `at` ends, without its line feed.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n)
}

/// Where the word that begins at byte `at` ends: letters, digits, `_`, and every byte of a
/// character beyond ASCII.
pub(super) fn word_end(bytes: &[u8], at: usize) -> usize {
    let in_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii();
    bytes[at..].iter().position(|&b| !in_word(b)).map_or(bytes.len(), |n| at + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of every lexeme that is not blank.
    fn lexemes(text: &str) -> Vec<(Lexeme, &str)> {
        let (mut at, mut all) = (0, Vec::new());
        while at < text.len() {
            let (kind, end) = lexeme(text, at);
            if kind != Lexeme::Blank {
                all.push((kind, &text[at..end]));
            }
            at = end;
        }
        all
    }

    #[test]
    fn braces_in_strings_characters_and_comments_are_hidden() {
        for hidden in [
            r#""}""#, r#""\"}""#, r##"r#"}"#"##, r###"br##"}"#"##"###, "'}'", r"'\''", "// }",
            "/* } /* } */ } */", r"'\u{7d}'", "b'}'",
        ] {
            let kinds: Vec<_> = lexemes(hidden).into_iter().map(|(kind, _)| kind).collect();
            assert!(!kinds.iter().any(|k| matches!(k, Lexeme::Close(_))), "{hidden}: {kinds:?}");
        }
    }

    #[test]
    fn lifetimes_and_labels_are_not_characters() {
        assert_eq!(lexemes("'a: {").last(), Some(&(Lexeme::Open(b'{'), "{")));
        assert_eq!(lexemes("<'a>{}").last(), Some(&(Lexeme::Close(b'}'), "}")));
        assert_eq!(lexemes("r#type{").last(), Some(&(Lexeme::Open(b'{'), "{")));
    }

    #[test]
    fn what_is_not_closed_reaches_to_the_end() {
        for text in ["\"abc", "r#\"abc\"", "/* abc", "/*", "\"abc\\", "'", "'\\", "r###\""] {
            let (_, end) = lexeme(text, 0);
            assert!(end <= text.len() && end > 0, "{text}");
        }
    }
}
