//! Where each piece of generated text comes from, so that rustc's errors can be shown in the spec.
//!
//! Code from a spec is copied byte for byte, so a place in the copy has exactly one place in the
//! spec. Expressions are printed anew; a place in one of those stands for the whole expression.

use std::ops::Range;

use strata_model::Span;

use crate::lang::ast::Code;

/// A file of the generated crate under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    generated: Range<usize>,
    place: SpecRange,
    verbatim: bool,
}

/// A part of a spec file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRange {
    /// Which of the spec's files.
    pub file: usize,
    /// Bytes of its text.
    pub range: Range<usize>,
}

impl Page {
    /// A line of our own.
    pub(crate) fn line(&mut self, indent: usize, text: &str) {
        if !text.is_empty() {
            self.indent(indent);
            self.text.push_str(text);
        }
        self.text.push('\n');
    }

    pub(crate) fn indent(&mut self, indent: usize) {
        self.text.extend(std::iter::repeat_n("    ", indent));
    }

    /// A line of our own that stands for a part of the spec.
    pub(crate) fn mapped(&mut self, indent: usize, text: &str, file: usize, span: Span) {
        let start = self.text.len();
        self.line(indent, text);
        let place = SpecRange { file, range: span.start..span.end };
        self.pieces.push(Piece { generated: start..self.text.len(), place, verbatim: false });
    }

    /// A line of the spec as it stands there.
    pub(crate) fn verbatim(&mut self, code: &str, file: usize, spec_start: usize) {
        self.piece(code, file, spec_start..spec_start + code.len(), true);
        self.text.push('\n');
    }

    /// Code of the spec as it stands there, on lines of its own, with the words of a family's member
    /// in their places.
    pub(crate) fn code(&mut self, code: &Code, file: usize) {
        for (text, at) in code.pieces() {
            let verbatim = text.len() == at.len() && code.text[at.clone()] == *text;
            self.piece(text, file, code.span.start + at.start..code.span.start + at.end, verbatim);
        }
        // A comment at the end of the code must not swallow what follows.
        self.text.push('\n');
    }

    fn piece(&mut self, text: &str, file: usize, range: Range<usize>, verbatim: bool) {
        let start = self.text.len();
        self.text.push_str(text);
        let place = SpecRange { file, range };
        self.pieces.push(Piece { generated: start..self.text.len(), place, verbatim });
    }
}

/// The generated files and where in the spec their text comes from.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    pages: Vec<(String, Page)>,
}

impl SourceMap {
    pub(crate) fn add(&mut self, path: &str, page: Page) {
        self.pages.push((path.to_owned(), page));
    }

    /// The part of the spec that the bytes `range` of the generated file `path` (relative to its
    /// crate, with `/`) come from; `None` if we wrote them ourselves.
    #[must_use]
    pub fn find(&self, path: &str, range: Range<usize>) -> Option<SpecRange> {
        let page = self.page(path)?;
        let piece = page
            .pieces
            .iter()
            .find(|piece| piece.generated.contains(&range.start) || piece.generated == range)
            .or_else(|| {
                page.pieces.iter().find(|piece| piece.generated.end == range.start && piece.verbatim)
            })?;
        if !piece.verbatim {
            return Some(piece.place.clone());
        }
        let shift = |at: usize| piece.place.range.start + (at - piece.generated.start);
        let end = range.end.clamp(range.start, piece.generated.end.max(range.start));
        Some(SpecRange { file: piece.place.file, range: shift(range.start)..shift(end) })
    }

    /// The same for a line and column, both from one, as a panic message has them.
    #[must_use]
    pub fn find_line(&self, path: &str, line: usize, column: usize) -> Option<SpecRange> {
        let text = &self.page(path)?.text;
        let start = line_start(text, line)?;
        let rest = text.get(start..)?;
        let within = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
        self.find(path, start + within..start + within)
    }

    fn page(&self, path: &str) -> Option<&Page> {
        self.pages.iter().find(|(name, _)| name == path).map(|(_, page)| page)
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pages.iter().map(|(path, page)| (path.as_str(), page.text.as_str()))
    }
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    let before = line.checked_sub(1)?;
    if before == 0 { Some(0) } else { text.match_indices('\n').nth(before - 1).map(|(at, _)| at + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_in_copied_code_are_exact() {
        let spec = "task { gänse(1);\n  foo(2) }";
        let code = &spec[6..26];
        let mut page = Page::default();
        page.line(1, "let ours = 1;");
        page.verbatim(code, 2, 6);
        page.mapped(0, "let x = 3.0;", 2, Span { start: 0, end: 4 });
        let at = page.text.find("foo").unwrap();
        let ours = page.text.find("x =").unwrap();
        let mut map = SourceMap::default();
        map.add("src/m.rs", page);
        assert_eq!(&spec[map.find("src/m.rs", at..at + 3).unwrap().range], "foo");
        assert_eq!(map.find_line("src/m.rs", 3, 3).map(|place| place.range.start), spec.find("foo"));
        assert_eq!(map.find("src/m.rs", ours..ours + 1), Some(SpecRange { file: 2, range: 0..4 }));
        assert_eq!(map.find("src/m.rs", 0..3), None);
        assert_eq!(map.find("src/other.rs", 0..3), None);
    }

    proptest! {
        #[test]
        fn any_place_is_found_or_not(text in ".{0,60}", a in 0usize..200, b in 0usize..200, line in 0usize..9) {
            let mut page = Page::default();
            page.verbatim(&text, 0, 10);
            let mut map = SourceMap::default();
            map.add("x", page);
            let _ = map.find("x", a.min(b)..a.max(b));
            let _ = map.find_line("x", line, a);
        }
    }
}
