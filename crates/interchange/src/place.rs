//! Positions in a file, and the errors there.

use std::borrow::Cow;

use std::fmt;

use strata_model::samples::SamplesErrors;

/// The errors of a file.
pub(crate) struct Problems<'a> {
    file: &'a str,
    text: &'a str,
    /// Whether times may be below zero.
    pub(crate) differences: bool,
    found: SamplesErrors,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, differences: false, found: SamplesErrors::default() }
    }

    pub(crate) fn push(&mut self, at: usize, message: String) {
        self.found.add(self.file, message, || line_and_column(self.text, at));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.errors.is_empty()
    }

    /// All errors, each with line and column.
    pub(crate) fn errors(self) -> SamplesErrors {
        self.found.in_order()
    }

    /// Parses a number from a piece of the text, or records an error there.
    pub(crate) fn number(&mut self, piece: &str, what: impl fmt::Display) -> Option<f64> {
        let at = offset(self.text, piece);
        match piece.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Some(number),
            _ if piece.trim().is_empty() => {
                self.push(at, format!("{what} is missing: fill it in, or take the whole measurement out"));
                None
            }
            Ok(number) => {
                self.push(at, format!("{what} is {number}; take the measurement out or repeat it"));
                None
            }
            Err(_) => {
                self.push(at, format!("{what} must be a number, but it is `{}`", short(piece)));
                None
            }
        }
    }

    /// Parses a time from a piece of the text: a number that is not negative unless it is a difference.
    pub(crate) fn time(&mut self, piece: &str, what: impl fmt::Display) -> Option<f64> {
        let time = self.number(piece, &what)?;
        if time < 0.0 && !self.differences {
            let at = offset(self.text, piece);
            self.push(
                at,
                format!(
                    "{what} is {time}, but no time is below zero; repeat it or, if it is a difference of two times, give `specc fit --absolute`"
                ),
            );
            return None;
        }
        Some(time)
    }
}

/// The position of a piece in `text`; 0 if it is not part of it.
pub(crate) fn offset(text: &str, piece: &str) -> usize {
    let at = (piece.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    if at <= text.len() { at } else { 0 }
}

pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The line that a byte is on, from one.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.bytes().filter(|b| *b == b'\n').count() + 1, before[start..].chars().count() + 1)
}

/// The byte at a line and a column in bytes, both from one; the end of the text if it is shorter.
pub(crate) fn byte_of(text: &str, line: usize, column: usize) -> usize {
    let start = Lines::new(text).starts.get(line.saturating_sub(1)).copied().unwrap_or(text.len());
    let mut at = start.saturating_add(column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The beginning of a text, for a message.
pub(crate) fn short(text: &str) -> String {
    const LENGTH: usize = 40;
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() > LENGTH {
        line.chars().take(LENGTH).chain(['…']).collect()
    } else {
        line.to_owned()
    }
}

/// The bytes as text, without a byte-order mark.
pub(crate) fn utf8<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, SamplesErrors> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let (line, column) = line_and_column(&good, good.len());
            let message =
                "this is not UTF-8 text; convert the file, for example with `iconv -f LATIN1 -t UTF-8`"
                    .into();
            let mut errors = SamplesErrors::default();
            errors.add(file, message, || (line, column));
            Err(errors)
        }
    }
}

/// The text without the rank that `mpiexec -l` (`[0] `) or `mpirun --tag-output` (`[1,0]<stdout>:`)
/// puts before each line.
pub(crate) fn without_ranks(text: &str) -> Cow<'_, str> {
    fn rest(line: &str) -> Option<&str> {
        let (rank, rest) = line.strip_prefix('[')?.split_once(']')?;
        let is_rank = rank.split(',').all(|word| word.parse::<u32>().is_ok());
        let rest = rest.strip_prefix("<stdout>:").or_else(|| rest.strip_prefix(' '));
        rest.or((line.len() == rank.len() + 2).then_some("")).filter(|_| is_rank)
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(rest);
    match lines.collect::<Option<Vec<_>>>() {
        // `[1,2]` alone is JSON.
        Some(lines) if lines.iter().any(|line| !line.is_empty()) => (lines.join("\n") + "\n").into(),
        _ => text.into(),
    }
}
