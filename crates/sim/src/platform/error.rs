//! What is wrong with a platform file, or with the name of a platform: where, why, and the way out.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::built_in;

/// Why there is no platform.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// Neither a built-in platform nor a file.
    #[error(
        "there is no platform `{name}`: take one of {}, or the path of a platform file{}",
        built_in::names().collect::<Vec<_>>().join(", "),
        meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"))
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in platform that was probably meant.
        meant: Option<&'static str>,
    },
    /// A file that cannot be read.
    #[error("cannot read the platform file {}: {source}; is the path right?", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that is not a platform.
    #[error(transparent)]
    Faults(#[from] Faults),
}

/// Everything that is wrong with one platform file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The file's name, as it was given.
    pub file: String,
    /// Its text; what was not UTF-8 is replaced.
    pub text: String,
    /// What is wrong, by place; at least one.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong with a platform file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing.
    pub kind: FaultKind,
    /// What is wrong.
    pub message: String,
    /// Where: bytes of the text.
    pub span: Range<usize>,
    /// A few words for the marked place.
    pub label: String,
    /// The way out.
    pub help: String,
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The text is not UTF-8, not TOML, or far too long.
    Syntax,
    /// A key, table or word that does not exist.
    Unknown,
    /// A key or table that has to be there.
    Missing,
    /// A value of the wrong kind: a text where a number belongs.
    Type,
    /// A value outside its range.
    Range,
    /// Two keys for one quantity.
    Conflict,
}

impl FaultKind {
    /// The name shown with the fault, stable to search for.
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
    /// The line and column, from 1, where a fault is; the column counts characters.
    #[must_use]
    pub fn place(&self, fault: &Fault) -> (usize, usize) {
        let before = self.text.get(..fault.span.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

impl fmt::Display for Faults {
    /// A line a fault: file, line, column, what is wrong, the way out.
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
