//! Takes comments and Rust code out of a spec before the grammar reads it.
//!
//! Rust cannot be delimited by a grammar that does not know Rust, and must not be reached by one
//! that recurses: here a lexer without recursion finds the end of each piece, and blanks it byte
//! for byte so that every position holds. It also limits how far an error can reach: a piece of
//! Rust ends at the latest before the next line that begins a model, a library or a statement, so
//! that a missing brace or quote hides nothing after it.

use std::collections::BTreeMap;

use strata_model::expr::{MAX_NESTING, Span};

use super::ast::Comment;
use super::diagnostic::{CheckError, ErrorCode};
use super::lex::{Lexeme, lexeme, line_end, word_end};

/// A spec's text without comments and Rust.
pub(super) struct Scan {
    /// Comments and Rust are blank.
    pub(super) plain: String,
    /// As `plain`, and parentheses that nest too deep for the grammar are blank too.
    pub(super) shallow: String,
    /// What was taken out between `//` and the line's end.
    pub(super) comments: Vec<Comment>,
    /// The inside of every piece of Rust in braces, by the place of its `{`.
    pub(super) code: BTreeMap<usize, Span>,
    /// Errors for pieces that are never closed.
    pub(super) faults: Vec<CheckError>,
}

/// Words that open a piece of Rust; at the start of a line they are never Rust themselves.
const CODE_WORDS: [&str; 4] = ["setup", "task", "cleanup", "sample"];

/// After this many unclosed pieces the rest of the file is not scanned: each costs a walk through
/// the text after it.
const MAX_FAULTS: usize = 100;

/// Scans a whole file.
pub(super) fn scan(text: &str) -> Scan {
    let mut scanner = Scanner {
        text,
        plain: text.as_bytes().to_vec(),
        starts: item_starts(text),
        depth: 0,
        in_library: false,
        scan: empty(),
    };
    scanner.run();
    let Scanner { plain, mut scan, .. } = scanner;
    scan.plain = String::from_utf8_lossy(&plain).into_owned();
    scan.shallow = flatten(&scan.plain);
    scan
}

fn empty() -> Scan {
    Scan {
        plain: String::new(),
        shallow: String::new(),
        comments: Vec::new(),
        code: BTreeMap::new(),
        faults: Vec::new(),
    }
}

/// What begins an item at the start of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// `model Name (` or `library Name (`: never Rust.
    Block,
    /// `{{`: a one-line model, or two braces of Rust.
    Line,
}

/// Every line that begins like an item, in order.
fn item_starts(text: &str) -> Vec<(usize, Start)> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at + (line.len() - line.trim_start_matches([' ', '\t', '\u{FEFF}']).len());
        if is_block_start(text, begin) {
            starts.push((begin, Start::Block));
        } else if text[begin..].starts_with("{{") {
            starts.push((begin, Start::Line));
        }
        at += line.len();
    }
    starts
}

/// `model Name (` or `library Name (` at byte `at`, also where the name is that of a family.
fn is_block_start(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    let Some(rest) = rest.strip_prefix("model").or_else(|| rest.strip_prefix("library")) else {
        return false;
    };
    let name = rest.trim_start_matches([' ', '\t']);
    let after = after_names(name);
    name.len() < rest.len()
        && after.len() < name.len()
        && after.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('(')
}

/// What follows `Name`, or `Name{A, B} as a` of a family.
fn after_names(text: &str) -> &str {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_blank = |c: char| " \t\r\n".contains(c);
    let (mut rest, mut is_family) = (text, false);
    loop {
        rest = rest.trim_start_matches(in_word);
        let Some(list) = rest.strip_prefix('{') else { break };
        let after = list.trim_start_matches(|c: char| in_word(c) || is_blank(c) || c == ',');
        let Some(after) = after.strip_prefix('}') else { break };
        (rest, is_family) = (after, true);
    }
    let aliases = rest.trim_start_matches(is_blank).strip_prefix("as").filter(|_| is_family);
    match aliases {
        Some(aliases) if aliases.starts_with(is_blank) => {
            aliases.trim_start_matches(|c: char| in_word(c) || is_blank(c) || c == ',')
        }
        _ if is_family => rest,
        _ => rest.trim_start_matches([' ', '\t']),
    }
}

struct Scanner<'a> {
    text: &'a str,
    plain: Vec<u8>,
    starts: Vec<(usize, Start)>,
    /// Braces open around this place, Rust and one-line models aside.
    depth: usize,
    /// Whether this is a library, in which there is no Rust.
    in_library: bool,
    scan: Scan,
}

impl Scanner<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut at, mut line_start) = (0, true);
        while at < bytes.len() && self.scan.faults.len() < MAX_FAULTS {
            let fresh = std::mem::replace(&mut line_start, false);
            at = match bytes[at] {
                b'\n' => {
                    line_start = true;
                    at + 1
                }
                b' ' | b'\t' | b'\r' => {
                    line_start = fresh;
                    at + 1
                }
                b'/' if bytes.get(at + 1) == Some(&b'/') => self.comment(at),
                b'{' if bytes.get(at + 1) == Some(&b'{') && (fresh || self.depth == 0) => self.one_line(at),
                b'{' => {
                    self.depth += 1;
                    at + 1
                }
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    at + 1
                }
                0xEF if self.text[at..].starts_with('\u{FEFF}') => {
                    line_start = fresh;
                    self.blank(at, at + 3)
                }
                byte if byte.is_ascii_alphabetic() || byte == b'_' => self.word(at, fresh),
                byte if byte.is_ascii_alphanumeric() => word_end(bytes, at),
                _ => at + self.text[at..].chars().next().map_or(1, char::len_utf8),
            };
        }
        self.blank(at.min(bytes.len()), bytes.len());
    }

    fn blank(&mut self, from: usize, to: usize) -> usize {
        self.plain[from..to].fill(b' ');
        to
    }

    fn comment(&mut self, at: usize) -> usize {
        let end = line_end(self.text.as_bytes(), at);
        let text = self.text[at..end].trim_end().to_owned();
        let span = Span { start: at, end: at + text.len() };
        self.scan.comments.push(Comment { text, span });
        self.blank(at, end)
    }

    /// The next place after `at` where a line begins an item.
    fn next_start(&self, at: usize, lines_too: bool) -> usize {
        let from = self.starts.partition_point(|&(start, _)| start <= at);
        let found = self.starts[from..].iter().find(|&&(_, start)| lines_too || start == Start::Block);
        found.map_or(self.text.len(), |&(start, _)| start)
    }

    fn word(&mut self, at: usize, fresh: bool) -> usize {
        let bytes = self.text.as_bytes();
        let end = word_end(bytes, at);
        match &self.text[at..end] {
            word @ ("model" | "library") if fresh && is_block_start(self.text, at) => {
                self.depth = 0;
                self.in_library = word == "library";
                return end;
            }
            "use" if fresh && self.depth == 0 => {
                let limit = self.next_start(at, true);
                return self.text[at..limit].find(';').map_or(end, |n| at + n);
            }
            _ => {}
        }
        if self.depth == 0 || self.in_library {
            return end;
        }
        let open = skip_marks(self.text, skip_blanks(bytes, end));
        if bytes.get(open) == Some(&b'{') { self.code(open) } else { end }
    }

    /// Rust in braces, of which `open` is the first.
    fn code(&mut self, open: usize) -> usize {
        let limit = self.next_start(open, false);
        let text = &self.text[..limit];
        let (mut at, mut depth) = (open + 1, 1_usize);
        let end = loop {
            if at >= limit {
                break None;
            }
            let (kind, end) = lexeme(text, at);
            match kind {
                Lexeme::Open(b'{') => depth += 1,
                Lexeme::Close(b'}') => depth -= 1,
                Lexeme::Blank if text[at..end].contains('\n') && begins_statement(text, end) => break None,
                _ => {}
            }
            if depth == 0 {
                break Some(at);
            }
            at = end;
        };
        match end {
            Some(close) => {
                self.scan.code.insert(open, Span { start: open + 1, end: close });
                self.blank(open + 1, close);
                close + 1
            }
            None => {
                let end = statement_after(text, open);
                let interior = Span { start: open + 1, end };
                self.scan.code.insert(open, interior);
                self.blank(open + 1, end);
                let brace = Span { start: open, end: open + 1 };
                let error = CheckError::new(
                    ErrorCode::Unclosed,
                    "this Rust code never ends",
                    brace,
                    "no `}` closes this brace",
                );
                self.scan
                    .faults
                    .push(error.help("close the brace; look for an unclosed `\"` or `/*` in the code too"));
                end
            }
        }
    }

    /// A model in the one-line form; `at` is the place of its `{{`.
    fn one_line(&mut self, at: usize) -> usize {
        let limit = self.next_start(at, true);
        let fields = fields(self.text, at, limit, true).or_else(|| fields(self.text, at, limit, false));
        let Some((marks, end)) = fields else {
            let brace = Span { start: at, end: at + 2 };
            let error = CheckError::new(
                ErrorCode::Unclosed,
                "this one-line model never ends",
                brace,
                "no `}}` closes it",
            );
            self.scan
                .faults
                .push(error.help("the form is `{{ loops @ setup @ task @ cleanup @ inputs @ terms }}`"));
            return self.blank(at, limit);
        };
        let code = marks.first().copied().zip(marks.get(3.min(marks.len().saturating_sub(1))).copied());
        let mut here = at + 2;
        while here < end {
            let (kind, next) = lexeme(&self.text[..end], here);
            let is_rust = code.is_some_and(|(first, last)| first <= here && here < last);
            if kind == Lexeme::LineComment && !is_rust {
                self.comment(here);
            }
            here = next;
        }
        for pair in marks.windows(2).take(3) {
            self.blank(pair[0] + 1, pair[1]);
        }
        end
    }
}

/// The places of the `@` that separate the fields of a one-line model, and its end after `}}`.
///
/// An `@` inside brackets belongs to a pattern of Rust; with `all_brackets` false only braces count
/// as such, for code in which a parenthesis is not closed.
fn fields(text: &str, start: usize, limit: usize, all_brackets: bool) -> Option<(Vec<usize>, usize)> {
    let text = &text[..limit];
    let (mut at, mut depth, mut marks) = (start + 2, 0_usize, Vec::new());
    while at < limit {
        let (kind, end) = lexeme(text, at);
        match kind {
            Lexeme::Close(b'}') if depth == 0 && text[end..].starts_with('}') => {
                return Some((marks, end + 1));
            }
            Lexeme::Open(bracket) if all_brackets || bracket == b'{' => depth += 1,
            Lexeme::Close(bracket) if all_brackets || bracket == b'}' => depth = depth.saturating_sub(1),
            Lexeme::Other if depth == 0 && &text[at..end] == "@" => marks.push(at),
            _ => {}
        }
        at = end;
    }
    None
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| !b" \t\r\n".contains(b)).map_or(bytes.len(), |n| at + n)
}

/// Words that may stand between `setup` or `task` and its code.
const MARKS: [&str; 2] = ["once", "hot"];

fn skip_marks(text: &str, mut at: usize) -> usize {
    for _ in MARKS {
        let Some(mark) = MARKS.into_iter().find(|mark| text[at..].starts_with(mark)) else { break };
        at = skip_blanks(text.as_bytes(), at + mark.len());
    }
    at
}

/// Whether a statement of a model begins at byte `at` that cannot be Rust.
fn begins_statement(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let end = word_end(bytes, at);
    let word = &text[at..end];
    let next = skip_blanks(bytes, end);
    if CODE_WORDS.contains(&word) {
        let marked = ["task", "setup"].contains(&word) && skip_marks(text, next) > next;
        return bytes.get(next) == Some(&b'{') || marked;
    }
    word == "terms" && next > end && bytes.get(next).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Where the Rust code that `open` begins is taken to end, if its brace is never closed: at the
/// next line that begins a statement or closes a block at the start of a line, else at the end of
/// `text`.
fn statement_after(text: &str, open: usize) -> usize {
    let mut at = line_end(text.as_bytes(), open);
    while at < text.len() {
        let line = at + 1;
        let begin = line + text[line..].len() - text[line..].trim_start_matches([' ', '\t']).len();
        if begins_statement(text, begin) || text[line..].starts_with('}') {
            return line;
        }
        at = line_end(text.as_bytes(), line);
    }
    text.len()
}

/// Replaces parentheses that nest deeper than expressions may by a number: the grammar recurses at
/// each.
///
/// The expression parser, which reads `plain`, then says what is wrong.
fn flatten(plain: &str) -> String {
    let mut bytes = plain.as_bytes().to_vec();
    let mut open: Vec<usize> = Vec::new();
    for at in 0..bytes.len() {
        match bytes[at] {
            b'(' => open.push(at),
            b')' => {
                let Some(start) = open.pop() else { continue };
                if open.len() == MAX_NESTING {
                    bytes[start..=at].fill(b' ');
                    bytes[start] = b'0';
                }
            }
            b'{' | b'}' | b';' | b'@' => {
                blank_unclosed(&mut bytes, &open, at);
                open.clear();
            }
            _ => {}
        }
    }
    let end = bytes.len();
    blank_unclosed(&mut bytes, &open, end);
    String::from_utf8(bytes).unwrap_or_else(|_| plain.to_owned())
}

/// Parentheses that nest too deep and are not closed before `end`.
fn blank_unclosed(bytes: &mut [u8], open: &[usize], end: usize) {
    if let Some(&start) = open.get(MAX_NESTING) {
        bytes[start..end].fill(b' ');
        bytes[start] = b'0';
    }
}
