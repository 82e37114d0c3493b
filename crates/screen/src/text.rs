//! What fits a screen: its width, text wrapped to it, and styles where a terminal has them.
//!
//! The width is that of the terminal; where a stream is none it is that of `COLUMNS`, else 80.
//! Words are never cut: a name or a path that is wider than the screen stays whole.

use std::fmt;
use std::os::fd::AsFd;

use anstyle::Style;
use strata_select::{
    output::{printable, say_styled},
    say,
};
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter};

/// The columns where nothing tells how many there are.
pub const USUAL: usize = 80;
/// On fewer columns nothing would be readable.
const LEAST: usize = 40;

/// The columns of standard output.
#[must_use]
pub fn width() -> usize {
    columns(std::io::stdout())
}

/// The columns of standard error.
#[must_use]
pub fn width_of_stderr() -> usize {
    columns(std::io::stderr())
}

/// Whether standard error is a terminal with colours that are wanted (`NO_COLOR`, `CLICOLOR`,
/// `TERM`).
#[must_use]
pub fn has_colours() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

fn columns(stream: impl AsFd) -> usize {
    // A terminal that was never told its size has none.
    let own = terminal_size_of(stream).map(|(Width(columns), _)| usize::from(columns));
    let told = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    own.filter(|columns| *columns > 0).or_else(told).unwrap_or(USUAL).max(LEAST)
}

/// Each line of `text` wrapped to `width` columns, what follows a wrap behind `indent` more than
/// what its line begins with. Escape sequences take no columns.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    for line in with_units(text).split('\n') {
        let own: String = line.chars().take_while(|c| *c == ' ').collect();
        let later = format!("{own}{indent}");
        let options = Options::new(width)
            .initial_indent(&own)
            .subsequent_indent(&later)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        lines.extend(
            textwrap::wrap(line.trim_start_matches(' '), options).into_iter().map(|line| line.into_owned()),
        );
    }
    lines.join("\n").replace(JOINED, " ")
}

/// A blank at which no line ends.
pub const JOINED: char = '\u{a0}';

/// Joins numbers to the units behind them.
fn with_units(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        joined.push_str(word);
        let Some(next) = words.peek() else { break };
        let unit = next.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        let is_quantity =
            word.ends_with(|c: char| c.is_ascii_digit()) && ["%", "s", "ms", "µs", "ns"].contains(&unit);
        joined.push(if is_quantity { JOINED } else { ' ' });
    }
    joined
}

/// As [`wrapped`], but that a formula which fits no line is broken before its factors.
#[must_use]
pub fn wrapped_formula(text: &str, width: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    for line in with_units(text).split('\n') {
        let mut filled = String::new();
        for word in line.split(' ') {
            let fits = columns_of(indent) + columns_of(word) <= width;
            let places = word.char_indices().filter(|(place, c)| *c == '*' && *place > 0 && !fits);
            let ends = places.map(|(place, _)| place).chain([word.len()]);
            let mut from = 0;
            for end in ends {
                let piece = &word[from..end];
                let glue = if from == 0 && !filled.is_empty() { " " } else { "" };
                let is_begun = filled.len() > indent.len();
                if is_begun && columns_of(&filled) + glue.len() + columns_of(piece) > width {
                    lines.push(std::mem::replace(&mut filled, indent.to_owned()));
                    filled += piece;
                } else {
                    filled += glue;
                    filled += piece;
                }
                from = end;
            }
        }
        lines.push(filled);
    }
    lines.join("\n").replace(JOINED, " ")
}

/// The columns that a text takes, escape sequences aside.
#[must_use]
pub fn columns_of(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// A text that takes at most so many columns: `…` stands for the middle of a longer one.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    all[..head].iter().chain(&['…']).chain(&all[all.len() - tail..]).collect()
}

/// A text in a style; what prints it leaves the style out where the terminal has none.
#[must_use]
pub fn styled(text: impl fmt::Display, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Says a message on standard error, wrapped. Drawn diagnostics have been laid out already.
pub fn say_wrapped(message: impl fmt::Display) {
    let mut message = message.to_string();
    if !message.contains(|c| ('─'..='╿').contains(&c)) {
        message = wrapped(&printable(&message, true), width_of_stderr(), "  ");
    }
    if has_colours() { say_styled(format_args!("{message}")) } else { say!("{message}") }
}

/// Says a message on standard error, wrapped; it takes the arguments of `format!`.
#[macro_export]
macro_rules! tell {
    ($($message:tt)+) => { $crate::say_wrapped(::core::format_args!($($message)+)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_blanks_behind_their_indent() {
        let text = "one two-three four\n  five `six --seven` eight";
        assert_eq!(wrapped(text, 15, "  "), "one two-three\n  four\n  five `six\n    --seven`\n    eight");
        assert_eq!(wrapped("/a/path/that/is/long x", 10, ""), "/a/path/that/is/long\nx");
        let bold = styled("radix", Style::new().bold());
        assert_eq!(wrapped(&format!("{bold} < {bold}"), 13, ""), format!("{bold} < {bold}"));
        assert_eq!(wrapped("", 10, "  "), "");
        assert_eq!(wrapped("at most 12 %, in 4 ms.", 10, ""), "at most\n12 %, in\n4 ms.");
        assert_eq!(wrapped_formula("+ 2·max(1,n)*log2(n)*m so", 15, "  "), "+ 2·max(1,n)\n  *log2(n)*m so");
        assert_eq!(wrapped_formula("three short words", 11, "  "), "three short\n  words");
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shortened("radix", 5), "radix");
        assert_eq!(shortened("bit-reversal", 7), "bit…sal");
        assert_eq!(shortened("bit-reversal", 1), "…");
    }
}
