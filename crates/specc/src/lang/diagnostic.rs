//! Errors of a spec: place, cause and remedy.
//!
//! One shape for every stage (scanning, grammar, names, loops, Rust code) and for platform files,
//! so that all errors of all files come at once and look alike. `miette` draws them.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use strata_model::expr::Span;
use strata_screen::{USUAL, has_colours, width_of_stderr};
use strata_sim::platform::FaultKind;

/// The kinds of error, as shown in brackets: stable names to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorCode {
    /// The text does not follow the grammar.
    Syntax,
    /// A piece of Rust that `syn` cannot parse.
    Rust,
    /// A brace, or `{{`, that is never closed.
    Unclosed,
    /// A statement, option or value that does not exist.
    Unknown,
    /// A name that nothing defines.
    UnknownName,
    /// A crate that the spec's workspace does not have.
    UnknownCrate,
    /// A feature that no crate of the workspace has.
    UnknownFeature,
    /// A name or option given twice.
    Duplicate,
    /// A name with a meaning of its own: `P`, a Rust keyword, a word of this language.
    Reserved,
    /// A term, requirement or argument that is not a function of the inputs.
    NotAFunction,
    /// A loop that has no point, never ends, or has too many points.
    Loop,
    /// A call with the wrong number of arguments.
    Arity,
    /// Models that call each other in a circle.
    Cycle,
    /// A `require` that no sample meets.
    Excluded,
    /// A required part is missing.
    Missing,
    /// A number outside its range.
    Range,
    /// An expression that is too large.
    TooLarge,
    /// A file that cannot be read.
    File,
    /// Something in a platform file.
    Platform(FaultKind),
}

impl ErrorCode {
    /// The name shown with the error.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "spec::syntax",
            Self::Rust => "spec::rust",
            Self::Unclosed => "spec::unclosed",
            Self::Unknown => "spec::unknown",
            Self::UnknownName => "spec::unknown_name",
            Self::UnknownCrate => "spec::unknown_crate",
            Self::UnknownFeature => "spec::unknown_feature",
            Self::Duplicate => "spec::duplicate",
            Self::Reserved => "spec::reserved",
            Self::NotAFunction => "spec::not_a_function",
            Self::Loop => "spec::loop",
            Self::Arity => "spec::arity",
            Self::Cycle => "spec::cycle",
            Self::Excluded => "spec::excluded",
            Self::Missing => "spec::missing",
            Self::Range => "spec::range",
            Self::TooLarge => "spec::too_large",
            Self::File => "spec::file",
            Self::Platform(kind) => kind.name(),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct CheckError {
    /// Its kind.
    pub code: ErrorCode,
    /// What is wrong.
    pub message: String,
    /// The places, the main one first, each with a few words.
    pub labels: Vec<(Span, String)>,
    /// The remedy.
    pub help: Option<String>,
    source: Option<Arc<NamedSource<String>>>,
    /// Whether the message gives the place, instead of a drawing of the source line.
    hidden: bool,
}

impl CheckError {
    pub(crate) fn new(
        code: ErrorCode,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            labels: vec![(span, label.into())],
            help: None,
            source: None,
            hidden: false,
        }
    }

    /// An error about a file as a whole.
    pub(crate) fn of_file(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::File,
            message: message.into(),
            labels: Vec::new(),
            help: Some(help.into()),
            source: None,
            hidden: false,
        }
    }

    pub(crate) fn label(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says which file the error is in. Places in very long lines are told, because they cannot be
    /// drawn.
    pub(crate) fn within(mut self, source: &Arc<NamedSource<String>>) -> Self {
        let text = source.inner();
        for (span, _) in &mut self.labels {
            if span.end.saturating_sub(span.start) > WINDOW {
                span.end = span.start + text[span.start..].find('\n').unwrap_or(0).min(WINDOW);
            }
        }
        if let Some(&(span, _)) = self.labels.iter().find(|(span, _)| !can_be_drawn(text, *span)) {
            self.message = format!("{}, byte {}: {}", source.name(), span.start, self.message);
            self.labels.truncate(1);
            self.hidden = true;
        }
        self.source = Some(Arc::clone(source));
        self
    }

    /// Where the error begins; 0 for an error about a whole file.
    #[must_use]
    pub fn start(&self) -> usize {
        self.labels.first().map_or(0, |(span, _)| span.start)
    }

    /// The name of the file it is in, if it is in one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.source.as_deref().map(NamedSource::name)
    }
}

/// The lines around a place are drawn only if they end within this many bytes of it.
const WINDOW: usize = 2000;

/// Whether the lines around a place are short enough to be drawn.
fn can_be_drawn(text: &str, span: Span) -> bool {
    let bytes = text.as_bytes();
    let (start, end) = (span.start.min(bytes.len()), span.end.min(bytes.len()));
    let before = &bytes[start.saturating_sub(WINDOW)..start];
    let after = &bytes[end..(end + WINDOW).min(bytes.len())];
    let two = |window: &mut dyn Iterator<Item = &u8>| window.filter(|&&byte| byte == b'\n').nth(1).is_some();
    (before.len() == start || two(&mut before.iter().rev()))
        && (after.len() == bytes.len() - end || two(&mut after.iter()))
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CheckError {}

impl Diagnostic for CheckError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code.name()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_deref().filter(|_| !self.hidden).map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let one = |(at, (span, text)): (usize, &(Span, String))| {
            let place = (span.start, span.end.saturating_sub(span.start));
            if at == 0 {
                LabeledSpan::new_primary_with_span(Some(text.clone()), place)
            } else {
                LabeledSpan::new_with_span(Some(text.clone()), place)
            }
        };
        Some(Box::new(self.labels.iter().filter(|_| !self.hidden).enumerate().map(one)))
    }
}

/// Everything that is wrong with the specs that were loaded together.
#[derive(Debug)]
pub struct CheckErrors {
    errors: Vec<CheckError>,
}

/// More errors than this are counted, not drawn.
const DRAWN: usize = 100;

impl CheckErrors {
    /// Takes the errors in the order in which they are to be shown; there is at least one.
    pub(crate) fn new(errors: Vec<CheckError>) -> Self {
        Self { errors }
    }

    /// The errors, by file and place.
    #[must_use]
    pub fn errors(&self) -> &[CheckError] {
        &self.errors
    }

    /// The errors themselves.
    pub(crate) fn into_errors(self) -> Vec<CheckError> {
        self.errors
    }

    /// The text for people: every error with its place drawn, then their number. Ends with a line
    /// feed.
    ///
    /// The text is the same on every machine: notes wrap at 80 columns.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        self.draw(colour, USUAL)
    }

    fn draw(&self, colour: bool, width: usize) -> String {
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width)
            .with_links(false)
            .with_break_words(false)
            .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
        let mut text = String::new();
        for error in self.errors.iter().take(DRAWN) {
            if handler.render_report(&mut text, error).is_err() {
                text.push_str(&error.message);
                text.push('\n');
            }
            text.push('\n');
        }
        if self.errors.len() > DRAWN {
            text.push_str(&format!("… and {} more\n", self.errors.len() - DRAWN));
        }
        text.push_str(&format!("{self}\n"));
        text
    }

    /// [`render`](Self::render) for standard error: as wide as that is, and in colour on a terminal
    /// that has some, unless `NO_COLOR` is set.
    #[must_use]
    pub fn render_for_terminal(&self) -> String {
        self.draw(has_colours(), width_of_stderr())
    }
}

impl fmt::Display for CheckErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut files: Vec<&str> = self.errors.iter().filter_map(CheckError::file).collect();
        files.dedup();
        let errors = if self.errors.len() == 1 { "error" } else { "errors" };
        write!(f, "{} {errors}", self.errors.len())?;
        match files.as_slice() {
            [] => Ok(()),
            [one] => write!(f, " in {one}"),
            many => write!(f, " in {} files", many.len()),
        }
    }
}

impl std::error::Error for CheckErrors {}

impl Diagnostic for CheckErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().map(|error| error as &dyn Diagnostic)))
    }
}
