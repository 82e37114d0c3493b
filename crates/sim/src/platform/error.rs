//! Faults of a platform file, or of a platform's name: place, reason and remedy.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::built_in;

/// Why a platform is not available.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum MachineError {
    /// Neither a built-in platform nor a file.
    #[error(
        "there is no platform `{name}`: take one of {}, or the path of a platform file{}",
        built_in::names().collect::<Vec<_>>().join(", "),
        meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"))
    )]
    Unknown {
        name: String,
        /// The built-in platform with the most similar name.
        meant: Option<&'static str>,
    },
    /// A file that cannot be read.
    #[error("cannot read the platform file {}: {source}; is the path right?", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A file that is not a platform.
    #[error(transparent)]
    Faults(#[from] Faults),
}

/// All faults of one platform file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The file's name, as it was given.
    pub file: String,
    /// Its text; invalid UTF-8 is replaced.
    pub text: String,
    /// The faults, by position; at least one.
    pub faults: Vec<Fault>,
}

/// One fault of a platform file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The fault.
    pub message: String,
    /// Its position: bytes of the text.
    pub span: Range<usize>,
    /// A label for that position.
    pub label: String,
    /// The remedy.
    pub help: String,
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The text is not UTF-8, not TOML, or far too long.
    Syntax,
    /// A key, table or keyword that does not exist.
    Unknown,
    /// A missing key or table.
    Missing,
    /// A value of the wrong type: a text instead of a number.
    Type,
    /// A value outside its range.
    Range,
    /// Two keys for one quantity.
    Conflict,
}

impl FaultKind {
    /// The name shown with the fault, stable so that it can be searched for.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "platform::syntax",
            Self::Unknown => "platform::unknown",
            Self::Missing => "platform::missing",
            Self::Type => "platform::type",
            Self::Range => "platform::range",
            Self::Conflict => "platform::conflict",
        }
    }
}

impl Faults {
    /// The line and column of a fault, from 1; the column counts characters.
    #[must_use]
    pub fn place(&self, fault: &Fault) -> (usize, usize) {
        let before = self.text.get(..fault.span.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

impl fmt::Display for Faults {
    /// One line for each fault: file, line, column, fault, remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.faults.iter().enumerate() {
            let (line, column) = self.place(fault);
            let end = if n == 0 { "" } else { "\n" };
            write!(f, "{end}{}:{line}:{column}: {}; {}", self.file, fault.message, fault.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
