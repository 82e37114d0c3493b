//! Explanations that fit a screen: lines of at most 80 columns, wrapped between words, without
//! allocation.

use core::fmt::{self, Write};

/// Columns of a line.
const COLUMNS: usize = 80;
/// Bytes of a word that are buffered until its line is known; the rest of a longer word follows.
const WORD: usize = 128;
/// The indent of a wrapped line, beyond the blanks at the line's beginning.
const INDENT: usize = 4;

/// Prints a text wrapped. A word wider than a line, such as a path, stays whole.
pub(crate) struct Wrapped<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for Wrapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut wrapping =
            Wrapping { to: f, column: 0, indent: INDENT, blanks: 0, word: Word::EMPTY, torn: false };
        write!(wrapping, "{}", self.0)?;
        wrapping.end_word()
    }
}

/// The output of a function.
pub(crate) struct Printed<F>(pub(crate) F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Printed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0(f)
    }
}

struct Word {
    bytes: [u8; WORD],
    length: usize,
    columns: usize,
}

impl Word {
    const EMPTY: Self = Self { bytes: [0; WORD], length: 0, columns: 0 };
}

struct Wrapping<'a, 'b> {
    to: &'a mut fmt::Formatter<'b>,
    /// Columns that the line has so far.
    column: usize,
    /// The indent of the wrapped rest of the line.
    indent: usize,
    /// Blanks that are due before the next word.
    blanks: usize,
    word: Word,
    /// The word continues one whose beginning is already written.
    torn: bool,
}

impl Wrapping<'_, '_> {
    fn end_word(&mut self) -> fmt::Result {
        if self.word.length == 0 {
            return Ok(());
        }
        let is_first = self.column == 0;
        if is_first {
            self.indent = self.blanks + INDENT;
        } else if !self.torn && self.column + self.blanks + self.word.columns > COLUMNS {
            self.to.write_char('\n')?;
            (self.column, self.blanks) = (0, self.indent);
        }
        for _ in 0..self.blanks {
            self.to.write_char(' ')?;
        }
        let word = self.word.bytes.get(..self.word.length).unwrap_or_default();
        self.to.write_str(core::str::from_utf8(word).map_err(|_| fmt::Error)?)?;
        self.column += self.blanks + self.word.columns;
        self.blanks = 0;
        self.word = Word::EMPTY;
        Ok(())
    }
}

impl Write for Wrapping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                ' ' => {
                    self.end_word()?;
                    self.torn = false;
                    self.blanks += 1;
                }
                '\n' => {
                    self.end_word()?;
                    self.to.write_char('\n')?;
                    (self.column, self.blanks, self.torn) = (0, 0, false);
                }
                _ => {
                    if self.word.length + c.len_utf8() > WORD {
                        self.end_word()?;
                        self.torn = true;
                    }
                    let place = self.word.length..self.word.length + c.len_utf8();
                    if let Some(bytes) = self.word.bytes.get_mut(place) {
                        c.encode_utf8(bytes);
                    }
                    self.word.length += c.len_utf8();
                    self.word.columns += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, WORD, Wrapped};
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    #[test]
    fn lines_end_by_column_80_and_words_stay_whole() {
        let words = |count: usize| (0..count).map(|n| "µ".repeat(n % 9 + 1)).collect::<Vec<_>>();
        let text = std::format!("  a  b {}\nend", words(99).join(" "));
        let wrapped = Wrapped(&text).to_string();
        assert!(wrapped.lines().all(|line| line.chars().count() <= COLUMNS), "{wrapped}");
        assert!(wrapped.starts_with("  a  b µ µµ") && wrapped.ends_with("\nend"), "{wrapped}");
        let apart = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(apart(&wrapped), apart(&text));
        assert!(wrapped.lines().skip(1).any(|line| line.starts_with("      µ")), "{wrapped}");
        let short = "sort: radix (bits = 11), predicted 1 ms\n  radix  taken";
        assert_eq!(Wrapped(short).to_string(), short);
        let path = "p".repeat(2 * WORD + 7);
        assert_eq!(Wrapped(std::format!("by {path} so")).to_string(), std::format!("by\n    {path}\n    so"));
    }
}
