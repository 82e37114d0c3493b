//! As much of Rust's lexical structure as is needed to find where a piece of Rust ends.
//!
//! Braces in strings, characters and comments do not count, lifetimes are not characters, raw strings end at
//! their own number of `#`, and block comments nest (The Rust Reference, chapter "Lexical structure"). Nothing
//! here recurses and nothing fails: text that is not Rust still has lexemes, and `syn` says what is wrong with it.

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

/// The lexeme that begins at byte `at`, and where it ends: after `at`, unless `at` is the end of the text.
pub(super) fn lexeme(text: &str, at: usize) -> (Lexeme, usize) {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.get(at) else { return (Lexeme::Other, at) };
    match first {
        b'{' | b'(' | b'[' => (Lexeme::Open(first), at + 1),
        b'}' | b')' | b']' => (Lexeme::Close(first), at + 1),
        b'/' if bytes.get(at + 1) == Some(&b'/') => (Lexeme::LineComment, line_end(bytes, at)),
        b'/' if bytes.get(at + 1) == Some(&b'*') => (Lexeme::BlockComment, block_comment_end(bytes, at)),
        b'"' => (Lexeme::Text, quoted_end(bytes, at + 1, b'"')),
        b'\'' => (Lexeme::Other, character_end(text, at)),
        b' ' | b'\t' | b'\r' | b'\n' => {
            let end =
                bytes[at..].iter().position(|b| !b" \t\r\n".contains(b)).map_or(bytes.len(), |n| at + n);
            (Lexeme::Blank, end)
        }
        _ if is_word_byte(first) => {
            let end = word_end(bytes, at);
            match (&bytes[at..end], raw_string_end(bytes, end)) {
                (b"r" | b"br" | b"cr", Some(end)) => (Lexeme::Text, end),
                _ => (Lexeme::Other, end),
            }
        }
        _ => (Lexeme::Other, next_character(text, at)),
    }
}

/// Where the line of byte `at` ends, without its line feed.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n)
}

/// Where the word that begins at byte `at` ends.
pub(super) fn word_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| !is_word_byte(b)).map_or(bytes.len(), |n| at + n)
}

/// Letters, digits, `_`, and every byte of a character beyond ASCII.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn next_character(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut here) = (0_usize, at);
    while here < bytes.len() {
        match bytes.get(here..here + 2) {
            Some(b"/*") => (depth, here) = (depth + 1, here + 2),
            Some(b"*/") => {
                (depth, here) = (depth - 1, here + 2);
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    bytes.len()
}

/// The end of a string or character whose inside begins at `at`: after its closing `quote`.
fn quoted_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut here = at;
    while let Some(&byte) = bytes.get(here) {
        here += match byte {
            b'\\' => 2,
            _ if byte == quote => return here + 1,
            _ => 1,
        };
    }
    bytes.len()
}

/// A character (`'a'`, `'\n'`, `'{'`) or a lifetime or label (`'a`).
fn character_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let inside = at + 1;
    match bytes.get(inside) {
        Some(b'\\') => {
            let line = line_end(bytes, inside);
            quoted_end(&bytes[..line], inside, b'\'')
        }
        Some(_) => {
            let after = next_character(text, inside);
            if bytes[inside] != b'\'' && bytes.get(after) == Some(&b'\'') {
                after + 1
            } else if is_word_byte(bytes[inside]) {
                word_end(bytes, inside)
            } else {
                inside
            }
        }
        None => inside,
    }
}

/// Where a raw string ends whose `r` ended at `at`; `None` if what follows is no raw string.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let marks = bytes[at..].iter().take_while(|&&b| b == b'#').count();
    let inside = at + marks + 1;
    if bytes.get(inside - 1) != Some(&b'"') {
        return None;
    }
    let mut here = inside;
    while here < bytes.len() {
        if bytes[here] == b'"'
            && bytes[here + 1..].iter().take_while(|&&b| b == b'#').take(marks).count() == marks
        {
            return Some(here + 1 + marks);
        }
        here += 1;
    }
    Some(bytes.len())
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
            r#""}""#,
            r#""\"}""#,
            r##"r#"}"#"##,
            r###"br##"}"#"##"###,
            "'}'",
            r"'\''",
            "// }",
            "/* } /* } */ } */",
            r"'\u{7d}'",
            "b'}'",
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
