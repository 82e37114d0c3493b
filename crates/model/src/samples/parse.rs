//! Text to samples. Every bad line is an error of its own, with its place; no value is guessed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use super::{Column, ModelSamples, Notes, Ratio, Sample, Samples, SpecId, Timing, VERSION, join_platforms};
use crate::expr::{self, is_name};
use crate::{Platform, Unit, did_you_mean};

/// The words that begin lines other than samples. A model may have such a name: in a line of its
/// samples a number follows.
pub const WORDS: [&str; 9] =
    ["strata-samples", "platform", "spec", "busy", "launch", "model", "fit", "unit", "&"];

/// How many errors are reported; further ones are only counted.
pub const MAX_ERRORS: usize = 20;

/// One bad line, and the number of further lines with the same fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}{}", more_like_it(*.alike))]
pub struct SampleError {
    /// The file, as it was named by the caller.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// The character in the line, from one.
    pub column: usize,
    /// The error and its remedy.
    pub message: String,
    /// How many further lines have the same fault with other values.
    pub alike: usize,
}

fn more_like_it(alike: usize) -> String {
    if alike == 0 { String::new() } else { format!(" (and {alike} more like it)") }
}

/// All errors of a samples file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SamplesErrors {
    /// The first line of each fault, in order, up to [`MAX_ERRORS`].
    pub errors: Vec<SampleError>,
    /// The number of further bad lines.
    pub more: usize,
    /// The kinds of the errors as they were added.
    kinds: Vec<String>,
}

impl SamplesErrors {
    /// Adds an error. If an earlier one has the same message with another value, it is only counted
    /// there. `place`: its line and column, from one.
    pub fn add(&mut self, file: &str, message: String, place: impl FnOnce() -> (usize, usize)) {
        let kind = kind(&message);
        if let Some(first) = self.kinds.iter().position(|known| *known == kind) {
            self.errors[first].alike += 1;
        } else if self.errors.len() < MAX_ERRORS {
            let (line, column) = place();
            self.errors.push(SampleError { file: file.to_owned(), line, column, message, alike: 0 });
            self.kinds.push(kind);
        } else {
            self.more += 1;
        }
    }

    /// The errors in the order of their lines.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.errors.sort_by_key(|error| (error.line, error.column));
        self.kinds.clear();
        self
    }
}

/// A message without its numbers and without the last of several names in it, which is the value
/// found in the file.
fn kind(message: &str) -> String {
    let pieces: Vec<&str> = message.split('`').collect();
    let value = if pieces.len() > 4 { pieces.len() - 2 } else { pieces.len() };
    let mut kind = String::new();
    for (place, piece) in pieces.into_iter().enumerate() {
        if place % 2 == 1 {
            kind.push_str(if place == value { "`" } else { piece });
            continue;
        }
        for word in piece.split(' ') {
            let bare = word.trim_end_matches([',', ';', ':', ')']).trim_start_matches('(');
            kind.push_str(if bare.parse::<f64>().is_ok_and(f64::is_finite) { "#" } else { word });
            kind.push(' ');
        }
    }
    kind
}

impl fmt::Display for SamplesErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if i > 0 { "\n" } else { "" })?;
        }
        if self.more > 0 { write!(f, "\nand {} more bad lines", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for SamplesErrors {}

/// A samples file whose writer may have been interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial {
    /// The complete samples.
    pub samples: Samples,
    /// Whether the last line was torn; it is not among the samples.
    pub torn: bool,
    /// How many bytes of the file are complete lines: cut it here before appending.
    pub bytes: usize,
}

impl Samples {
    /// Reads a samples file, or a bare fragment of one.
    ///
    /// A file with the header line must end with a line end: without it the last line may be
    /// truncated in the middle of a number, which could not be detected.
    ///
    /// # Errors
    /// Every bad line, up to [`MAX_ERRORS`]; `file_name` is used only in messages.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, SamplesErrors> {
        Parser::new(file_name).run(text, true)
    }

    /// As [`parse`](Self::parse), from a reader.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and errors of the reader.
    pub fn read(mut reader: impl Read, file_name: &str) -> Result<Self, SamplesErrors> {
        let mut bytes = Vec::new();
        let mut parser = Parser::new(file_name);
        if let Err(error) = reader.read_to_end(&mut bytes) {
            return Err(parser.only(1, 1, format!("cannot read: {error}")));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => parser.run(text, true),
            Err(error) => {
                let good = &bytes[..error.valid_up_to()];
                let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
                let start = good.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                let column = String::from_utf8_lossy(&good[start..]).chars().count() + 1;
                Err(parser.only(line, column, "this is not text (UTF-8): is it a samples file?".into()))
            }
        }
    }

    /// Reads the file of an interrupted run: a last line without a line end is set aside. Other
    /// errors are reported as in [`parse`](Self::parse).
    ///
    /// # Errors
    /// Every bad line but a torn last one.
    pub fn parse_partial(text: &str, file_name: &str) -> Result<Partial, SamplesErrors> {
        let bytes = text.rfind('\n').map_or(0, |at| at + 1);
        let samples = Parser::new(file_name).run(&text[..bytes], false)?;
        Ok(Partial { samples, torn: bytes < text.len(), bytes })
    }
}

/// A word of a line and the character at which it begins, from one.
type Word<'a> = (&'a str, usize);

/// A message and the character that it concerns.
type Bad = (String, usize);

struct Parser<'f> {
    file: &'f str,
    samples: Samples,
    /// The place of each model among the samples' models.
    index: BTreeMap<String, usize>,
    /// The model of the sample in the previous line.
    last: Option<usize>,
    /// Whether the file began with its version: then a program wrote it, and it must be complete.
    versioned: bool,
    /// The number of nodes of the samples that follow.
    nodes: usize,
    /// Whether a line other than a comment was read.
    begun: bool,
    errors: SamplesErrors,
}

impl<'f> Parser<'f> {
    fn new(file: &'f str) -> Self {
        Self {
            file,
            samples: Samples::default(),
            index: BTreeMap::new(),
            last: None,
            versioned: false,
            nodes: 0,
            begun: false,
            errors: SamplesErrors::default(),
        }
    }

    fn error(&mut self, line: usize, column: usize, message: String) {
        self.errors.add(self.file, message, || (line, column));
    }

    fn only(&mut self, line: usize, column: usize, message: String) -> SamplesErrors {
        self.error(line, column, message);
        self.errors.clone()
    }

    fn run(mut self, text: &str, whole: bool) -> Result<Samples, SamplesErrors> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = 0;
        for (index, line) in text.lines().enumerate() {
            lines = index + 1;
            if let Err((message, column)) = self.line(line, lines) {
                self.error(lines, column, message);
            }
        }
        if whole && self.versioned && !text.ends_with('\n') {
            let column = text.lines().last().map_or(0, |line| line.chars().count()) + 1;
            self.error(
                lines,
                column,
                "the file ends in the middle of this line: it was truncated; measure again".into(),
            );
        }
        if whole && !self.begun {
            self.error(
                1,
                1,
                "there is nothing in this file: expected `model NAME COLUMN …` and samples below it".into(),
            );
        }
        if self.errors.errors.is_empty() { Ok(self.samples) } else { Err(self.errors) }
    }

    fn line(&mut self, line: &str, number: usize) -> Result<(), Bad> {
        let (row, notes) = line.split_once(';').map_or((line, None), |(row, notes)| (row, Some(notes)));
        let words = words(line, 0);
        let Some(&(first, _)) = words.first() else { return Ok(()) };
        if first.starts_with('#') {
            return Ok(());
        }
        let begun = std::mem::replace(&mut self.begun, true);
        let at = words.get(1).map_or(line.chars().count() + 1, |word| word.1);
        let rest = line.trim_start()[first.len()..].trim();
        let above = self.last.take();
        let as_model = || {
            let model = format!("; a model called `{first}` is declared by `model {first} COLUMN …`");
            if rest.contains('=') { String::new() } else { model }
        };
        match self.keyword(&words, row).unwrap_or_default() {
            "strata-samples" => {
                if begun {
                    return Err(("`strata-samples` belongs into the first line and nowhere else".into(), 1));
                }
                if rest != VERSION.to_string() {
                    return Err((
                        format!(
                            "this program reads version {VERSION} of the format, not `{rest}`: measure again"
                        ),
                        at,
                    ));
                }
                self.versioned = true;
                Ok(())
            }
            "platform" => {
                let platform: Platform = rest.parse().map_err(|e: crate::platform::PlatformError| {
                    (format!("{e}{}", as_model()), at + e.column - 1)
                })?;
                self.nodes = platform.nodes;
                self.samples.platform =
                    join_platforms(self.samples.platform.as_ref(), Some(platform)).map_err(|why| (why, 1))?;
                Ok(())
            }
            "spec" => {
                let spec = parse_spec(rest)
                    .ok_or_else(|| (format!("expected `spec PATH sha256=HASH`{}", as_model()), at))?;
                if self.samples.spec.replace(spec).is_some() {
                    return Err(("the spec is given twice".into(), 1));
                }
                Ok(())
            }
            "busy" => {
                let cores = rest.parse().ok().filter(|cores: &f64| cores.is_finite() && *cores >= 0.0);
                let cores = cores
                    .ok_or_else(|| (format!("expected `busy CORES`, a number of cores{}", as_model()), at))?;
                self.samples.busy = self.samples.busy.max(cores);
                Ok(())
            }
            "launch" => {
                let moment = rest.strip_prefix("at=").and_then(|text| text.parse().ok());
                let moment = moment.filter(|moment: &f64| moment.is_finite() && *moment >= 0.0);
                let moment = moment
                    .ok_or_else(|| (format!("expected `launch at=MOMENT`, in seconds{}", as_model()), at))?;
                self.samples.launches.push(moment);
                self.samples.launches.sort_by(f64::total_cmp);
                Ok(())
            }
            "model" => match words.get(1) {
                Some(&name) => self.structure(name, &words[2..]),
                None => Err(("the model's name is missing: `model NAME COLUMN …`".into(), at)),
            },
            "fit" if words.get(1).is_some_and(|(name, _)| self.index.contains_key(*name)) => {
                let (name, at) = words[1];
                let text = words[2..].iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" ");
                if text.contains(';') {
                    return Err(("a way to fit is words without `;`".to_owned(), at));
                }
                let place = self.index.get(name).copied();
                match place.and_then(|place| self.samples.models.get_mut(place)) {
                    Some(model) if model.fit.is_empty() || model.fit == text => model.fit = text,
                    _ => return Err((format!("how to fit `{name}` was said before, and otherwise"), at)),
                }
                Ok(())
            }
            "unit" if words.get(1).is_some_and(|(name, _)| self.index.contains_key(*name)) => {
                let [(_, _), (name, _), (unit, at)] = words[..] else {
                    return Err(("expected `unit MODEL UNIT`".to_owned(), at));
                };
                let unit: Unit = unit.parse().map_err(|error| (error, at))?;
                let place = self.index.get(name).copied();
                match place.and_then(|place| self.samples.models.get_mut(place)) {
                    Some(model) if model.rows.is_empty() || model.unit == unit => model.unit = unit,
                    _ => return Err((format!("the unit of `{name}` must be named above its samples"), at)),
                }
                Ok(())
            }
            "&" => {
                let timings = words[1..].iter().map(|word| timing(*word)).collect::<Result<_, _>>()?;
                let model = above.and_then(|place| self.samples.models.get_mut(place));
                let sample = model.and_then(|model| model.rows.last_mut());
                let sample = sample.ok_or_else(|| {
                    ("single timings belong into the line below their sample".to_owned(), 1)
                })?;
                sample.notes.timings = timings;
                Ok(())
            }
            _ => {
                let name = first.trim_start_matches('@');
                let bare = words.get(1).is_some_and(|(word, _)| word.parse::<f64>().is_err());
                if bare && !first.starts_with('@') && !self.index.contains_key(name) {
                    return self.structure(words[0], &words[1..]);
                }
                let row_words: Vec<_> = self::words(row, 0);
                let sample =
                    self.row(&row_words, notes.map(|notes| (notes, row.chars().count() + 1)), number)?;
                self.last = self.index.get(name).copied();
                if let Some(model) = self.last.and_then(|place| self.samples.models.get_mut(place)) {
                    model.rows.push(sample);
                }
                Ok(())
            }
        }
    }

    /// The word of [`WORDS`] that a line begins with; `None` where the line is one of samples.
    ///
    /// If a model has that name, its samples continue with a time, which no header line does: names
    /// are not numbers (a time is never written as `inf` or `NaN`), and the other possible words
    /// have a `=`.
    fn keyword(&self, words: &[Word<'_>], row: &str) -> Option<&'static str> {
        let &(first, _) = words.first()?;
        let word = WORDS.into_iter().find(|word| *word == first)?;
        let time = words.get(1).is_some_and(|(word, _)| word.parse::<f64>().is_ok() && !is_name(word));
        let sample = time && !row.contains('=') && self.index.contains_key(word);
        (!sample).then_some(word)
    }

    fn structure(&mut self, (name, at): Word<'_>, words: &[Word<'_>]) -> Result<(), Bad> {
        if !is_name(name) {
            return Err((
                format!("a model's name is a letter, then letters, digits and _, but this is `{name}`"),
                at,
            ));
        }
        let mut columns: Vec<Column> = Vec::with_capacity(words.len());
        for &(word, at) in words {
            let column = parse_column(word).map_err(|error| {
                let before = word.get(..error.span.start).map_or(0, |text| text.chars().count());
                (format!("`{word}` is not a column: {}", error.message), at + before)
            })?;
            if columns.iter().any(|other| other.text == column.text) {
                return Err((format!("the column `{}` stands here twice", column.text), at));
            }
            columns.push(column);
        }
        match self.declared(name) {
            // Fragments of several files may be joined.
            Some(model) if model.columns == columns => Ok(()),
            Some(_) => Err((format!("the model `{name}` was declared before with other columns"), at)),
            None => {
                self.index.insert(name.to_owned(), self.samples.models.len());
                self.samples.models.push(ModelSamples {
                    name: name.to_owned(),
                    columns,
                    ..ModelSamples::default()
                });
                Ok(())
            }
        }
    }

    fn declared(&self, name: &str) -> Option<&ModelSamples> {
        self.samples.models.get(*self.index.get(name)?)
    }

    fn row(&self, words: &[Word<'_>], notes: Option<Word<'_>>, line: usize) -> Result<Sample, Bad> {
        let Some(&(first, at)) = words.first() else {
            return Err(("a sample is missing before `;`".into(), 1));
        };
        let verify = first.starts_with('@');
        let name = first.strip_prefix('@').unwrap_or(first);
        let Some(model) = self.declared(name) else {
            let meant = did_you_mean(name, self.index.keys().map(String::as_str));
            let message = format!(
                "no line above declares the model `{name}`{meant}: put `model {name} COLUMN …` before its samples"
            );
            return Err((message, at));
        };
        let end = words.last().map_or(1, |(word, at)| at + word.chars().count());
        let Some(&seconds) = words.get(1) else {
            return Err(("the sample has no time: was the file truncated?".into(), end));
        };
        let seconds = number(seconds, || "a time in seconds".into())?;
        let (expected, found) = (model.columns.len(), words.len() - 2);
        if found < expected {
            let missing = &model.columns[found].text;
            let message = format!(
                "`{name}` has {expected} columns, but {found} values stand here; `{missing}` is missing (truncated?)"
            );
            return Err((message, end));
        }
        if found > expected {
            return Err((
                format!("`{name}` has {expected} columns, but {found} values stand here"),
                words[2 + expected].1,
            ));
        }
        // Of this length exactly: there may be a million samples.
        let mut values = Vec::with_capacity(expected);
        for (word, column) in words[2..].iter().zip(&model.columns) {
            values.push(number(*word, || format!("the value of `{}`", column.text))?);
        }
        let notes = notes.map_or(Ok(Notes::default()), |(text, before)| self::notes(text, before))?;
        let notes = Notes { nodes: self.nodes, ..notes };
        Ok(Sample { verify, seconds, values, notes, line })
    }
}

/// The words of a text that begins after `before` characters of its line.
fn words(text: &str, before: usize) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut column = before + 1;
    for piece in text.split(|c: char| c.is_whitespace()) {
        if !piece.is_empty() {
            found.push((piece, column));
        }
        column += piece.chars().count() + 1;
    }
    found
}

/// Whether the first parenthesis closes at the very end: `(keys)`, but not `(a)*(b)`.
fn in_parentheses(word: &str) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at > 0 && at + 1 == word.len();
        }
    }
    false
}

fn number((word, at): Word<'_>, what: impl FnOnce() -> String) -> Result<f64, Bad> {
    word.parse().map_err(|_| (format!("{} must be a number, but it is `{word}`", what()), at))
}

/// `SECONDS@MOMENT`.
fn timing((word, at): Word<'_>) -> Result<Timing, Bad> {
    let wrong = || (format!("a single timing is SECONDS@MOMENT, but this is `{word}`"), at);
    let (seconds, moment) = word.split_once('@').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().map_err(|_| wrong());
    Ok(Timing { seconds: number(seconds)?, moment: number(moment)? })
}

/// A column as a word of a structure line.
pub(crate) fn parse_column(word: &str) -> Result<Column, expr::ExprError> {
    Ok(Column { text: expr::parse(word)?.to_string(), candidate: !in_parentheses(word) })
}

/// The text after the word `spec`: `PATH sha256=HASH`.
pub(crate) fn parse_spec(text: &str) -> Option<SpecId> {
    let (path, hash) = text.rsplit_once("sha256=")?;
    let path = path.trim();
    let good = !path.is_empty()
        && !path.contains(['\n', '\r'])
        && !hash.is_empty()
        && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
    good.then(|| SpecId { path: path.to_owned(), sha256: hash.to_owned() })
}

/// `MEDIAN,SPREAD`.
fn ratio(text: &str) -> Option<Ratio> {
    let (median, spread) = text.split_once(',')?;
    Some(Ratio { median: median.parse().ok()?, spread: spread.parse().ok()? })
}

fn notes(text: &str, before: usize) -> Result<Notes, Bad> {
    let mut notes = Notes::default();
    for (word, at) in words(text, before) {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| (format!("a note is NAME=VALUE, but this is `{word}`"), at))?;
        let at = at + key.chars().count() + 1;
        let bad = |what: &str| (format!("`{key}` must be {what}, but it is `{value}`"), at);
        match key {
            "at" => {
                notes.at.reserve_exact(value.matches(',').count() + 1);
                for one in value.split(',') {
                    notes.at.push(one.parse().map_err(|_| bad("whole numbers joined by commas"))?);
                }
            }
            "repeats" => notes.repeats = value.parse().map_err(|_| bad("a whole number"))?,
            "spread" => notes.spread = value.parse().map_err(|_| bad("a number"))?,
            "draws" => notes.draws = value.parse().map_err(|_| bad("a whole number"))?,
            "preempted" => notes.preempted = value.parse().map_err(|_| bad("a whole number"))?,
            "hot" | "replayed" => {
                let ratio = ratio(value).ok_or_else(|| bad("two numbers joined by a comma"))?;
                *(if key == "hot" { &mut notes.hot } else { &mut notes.replayed }) = Some(ratio);
            }
            _ => {
                let known = "at, repeats, spread, preempted, draws, hot, replayed";
                return Err((format!("`{key}` is not one of the notes {known}"), at));
            }
        }
    }
    Ok(notes)
}
