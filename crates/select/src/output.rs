//! Messages for people on standard error, the only way in which crates of Strata write there.
//!
//! `eprintln!` panics if standard error cannot be written: its disk is full, or its reader has
//! gone, as in `program 2>&1 | head -1`. A message must neither end a program nor leave other nodes
//! waiting for ever. A lost message cannot be reported, so [`say`](say()) ignores the error.

use std::collections::BTreeSet;
use std::fmt::{Arguments, Write as _};
use std::io::Write as _;
use std::string::String;
use std::sync::{Mutex, PoisonError};

/// The most characters of a line.
const LONGEST: usize = 2000;

/// Writes a line to standard error, in one piece, and ignores every error.
///
/// A line feed is added. The whole message is one write: `eprintln!` writes several pieces, and
/// messages of other processes come between them. [`say!`](crate::say!) takes the arguments of
/// `format!`. Messages quote what files contain, so control characters are [escaped](printable) and
/// long lines are cut.
///
/// A standard error that is not read blocks, as with any other write: do not write a message while
/// other threads or nodes wait.
///
/// # Panics
/// Only where a value's own formatting does.
pub fn say(message: Arguments<'_>) {
    say_by(message, false);
}

/// As [`say`], for a message with styles of a terminal (the sequences that set colours and weights),
/// which stay.
///
/// # Panics
/// As [`say`].
pub fn say_styled(message: Arguments<'_>) {
    say_by(message, true);
}

fn say_by(message: Arguments<'_>, styled: bool) {
    let mut text = String::new();
    // A value whose formatting fails leaves the message incomplete, which is better than none.
    let _incomplete = text.write_fmt(message);
    let mut line = printable(&text, styled);
    line.push('\n');
    // A failed write cannot be reported.
    let _unwritten = std::io::stderr().write_all(line.as_bytes());
}

/// A text of which a terminal obeys nothing but its line feeds, tabs and, if `styled`, styles:
/// control characters, and those that turn the direction of writing, are escaped as in Rust. Lines of
/// more than 2,000 characters are cut, with a word.
#[must_use]
pub fn printable(text: &str, styled: bool) -> String {
    let mut all = String::with_capacity(text.len().min(1 << 16));
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            all.push('\n');
        }
        let end = line.char_indices().nth(LONGEST).map(|(end, _)| end);
        let mut rest = &line[..end.unwrap_or(line.len())];
        while let Some(c) = rest.chars().next() {
            let style = if styled { style_at(rest) } else { 0 };
            let length = style.max(c.len_utf8());
            let turns =
                matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if style == 0 && c != '\t' && (c.is_control() || turns) {
                all.extend(c.escape_default());
            } else {
                all.push_str(&rest[..length]);
            }
            rest = &rest[length..];
        }
        if end.is_some() {
            let _ = write!(all, " … ({} characters)", line.chars().count());
        }
    }
    all
}

/// The length of the style with which the text begins: `ESC [ numbers m`; 0 if it begins with none.
fn style_at(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\u{1b}[") else { return 0 };
    let length = numbers.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if numbers[length..].starts_with('m') { length + 3 } else { 0 }
}

/// Writes a line to standard error, in one piece, and ignores every error: `eprintln!` without its
/// panic. It takes the arguments of `format!`; see [`say`](say()).
///
/// ```
/// use strata_select::say;
///
/// let name = "radx";
/// say!("strata: there is no candidate `{name}`");
/// ```
#[macro_export]
macro_rules! say {
    ($($message:tt)+) => {
        $crate::output::say(::core::format_args!($($message)+))
    };
}

/// Writes a line to standard error, once in a process.
pub fn say_once(line: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let first = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone());
    if first {
        crate::say!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn a_terminal_obeys_nothing_that_a_message_quotes() {
        for (text, plain) in [
            ("radix, 3 µs\n\tnext", "radix, 3 µs\n\tnext"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\rb\0\u{9b}2J\u{202e}", "a\\rb\\u{0}\\u{9b}2J\\u{202e}"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("", ""),
        ] {
            assert_eq!(printable(text, false), plain);
        }
        let styled = "\u{1b}[1;31mred\u{1b}[m";
        assert_eq!(
            printable(&format!("{styled}\u{1b}[2J\u{1b}[31"), true),
            format!("{styled}\\u{{1b}}[2J\\u{{1b}}[31")
        );
    }

    #[test]
    fn long_lines_are_cut() {
        let zeros = "\0".repeat(1 << 20);
        let shown = printable(&format!("{zeros}\nshort"), false);
        assert!(shown.len() < 20_000 && shown.ends_with(" … (1048576 characters)\nshort"));
        let whole = "µ".repeat(LONGEST);
        assert_eq!(printable(&whole, true), whole);
    }
}
