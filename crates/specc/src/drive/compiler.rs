//! rustc's messages about the generated program, turned into messages about the spec.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use thiserror::Error;

use crate::cargo::{Diagnostic as Rustc, DiagnosticSpan};
use crate::profiling_program::{Emitted, SpecRange};

/// One compiler error in code of the spec.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct CodeError {
    message: String,
    code: Option<String>,
    help: Option<String>,
    labels: Vec<LabeledSpan>,
    source_code: NamedSource<Arc<str>>,
}

impl Diagnostic for CodeError {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.code.as_ref().map(|code| Box::new(format!("rustc::{code}")) as Box<dyn std::fmt::Display>)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}

/// All compiler errors in the code of one spec.
#[derive(Debug, Error)]
#[error("{} in the Rust code of {spec}", count(errors.len()))]
pub struct CodeErrors {
    spec: String,
    /// The errors, in the compiler's order.
    pub errors: Vec<CodeError>,
}

fn count(errors: usize) -> String {
    if errors == 1 { "1 error".to_owned() } else { format!("{errors} errors") }
}

impl Diagnostic for CodeErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().map(|error| error as &dyn Diagnostic)))
    }
}

/// The compiler errors collected from cargo's messages.
#[derive(Default)]
pub(super) struct Collector {
    errors: Vec<CodeError>,
    seen: BTreeSet<String>,
    /// Errors that are not in code of the spec, as rustc renders them.
    foreign: String,
}

impl Collector {
    /// Collects the errors of a message; warnings are ignored.
    pub(super) fn take(&mut self, message: &Rustc, emitted: &Emitted) {
        if !["error", "error: internal compiler error"].contains(&message.level.as_str()) {
            return;
        }
        let places = labels(message, emitted);
        let Some((file, labels)) = places.filter(|(_, labels)| !labels.is_empty()) else {
            // Summaries such as "aborting due to 3 errors" have neither a place nor a code.
            if !message.spans.is_empty() || message.code.is_some() {
                self.foreign += message.rendered.as_deref().unwrap_or(&message.message);
            }
            return;
        };
        let Some((path, text)) = emitted.files.get(file) else { return };
        let mut help: Vec<String> = message.children.iter().map(|child| advice(&child.message)).collect();
        if message.code.as_ref().is_some_and(|code| code.code == "E0382")
            && message.message.contains("moved value")
        {
            help.push("short tasks are repeated inside one timing; `task once { … }` is not".to_owned());
        }
        help.dedup();
        let error = CodeError {
            message: message.message.clone(),
            code: message.code.as_ref().map(|code| code.code.clone()),
            help: (!help.is_empty()).then(|| help.join("\n")),
            labels,
            source_code: NamedSource::new(path, Arc::clone(text)).with_language("Rust"),
        };
        // A `use` line stands in every model's module, so its errors come once a model.
        if self.seen.insert(format!("{file} {:?} {}", error.labels, error.message)) {
            self.errors.push(error);
        }
    }

    /// The errors; else what else the compiler had to say.
    pub(super) fn finish(self, emitted: &Emitted) -> Result<CodeErrors, String> {
        if self.errors.is_empty() {
            return Err(self.foreign);
        }
        Ok(CodeErrors { spec: emitted.spec.path.clone(), errors: self.errors })
    }
}

/// The places of a message that lie in the spec, in the file of its main place.
fn labels(message: &Rustc, emitted: &Emitted) -> Option<(usize, Vec<LabeledSpan>)> {
    let found: Vec<(&DiagnosticSpan, SpecRange)> =
        message.spans.iter().filter_map(|span| Some((span, place(span, emitted)?))).collect();
    let file = found.iter().find(|(span, _)| span.is_primary).or(found.first())?.1.file;
    let mut labels: Vec<LabeledSpan> = Vec::new();
    for (span, place) in found.into_iter().filter(|(_, place)| place.file == file) {
        let at = (place.range.start, place.range.len());
        let label = if span.is_primary {
            LabeledSpan::new_primary_with_span(span.label.clone(), at)
        } else {
            LabeledSpan::new_with_span(span.label.clone(), at)
        };
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    Some((file, labels))
}

/// Where in the spec a span lies; for code that comes out of a macro, where the macro is called.
fn place(span: &DiagnosticSpan, emitted: &Emitted) -> Option<SpecRange> {
    let own = file(&span.file_name, emitted)
        .and_then(|file| emitted.map.find(&file, span.byte_start..span.byte_end));
    own.or_else(|| place(&span.expansion.as_ref()?.span, emitted))
}

/// The file's name in the generated crate, with slashes.
fn file(name: &str, emitted: &Emitted) -> Option<String> {
    let path = Path::new(name);
    let inside = if path.is_absolute() { path.strip_prefix(&emitted.folder).ok()? } else { path };
    Some(inside.to_string_lossy().replace('\\', "/"))
}

fn advice(text: &str) -> String {
    text.trim_end().to_owned()
}

/// Replaces places in generated files, `src/m.rs:12:5`, by places in the spec.
pub(super) fn in_spec(line: &str, emitted: &Emitted) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("src/") {
        let tail = &rest[at..];
        let end = tail.find(|c: char| c.is_whitespace() || c == '`' || c == ')').unwrap_or(tail.len());
        let word = tail[..end].trim_end_matches([':', '.', ',']);
        let mut fields = word.splitn(3, ':');
        let found = (|| {
            let path = fields.next()?;
            let (line, column) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            emitted.map.find_line(path, line, column)
        })();
        match found {
            Some(place) => {
                // The path may have had folders in front of it.
                let folders = rest[..at].rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
                text += &rest[..folders];
                text += &emitted.describe(&place);
            }
            None => text += &rest[..at + word.len()],
        }
        rest = &rest[at + word.len()..];
        if word.is_empty() {
            break;
        }
    }
    text + rest
}
