//! Points to measure, as requested by a person or an adviser; `specc` makes a plan of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::parse::{at, header, version};
use super::{PlanError, VERSION, at_text};
use crate::SpecId;
use crate::expr::is_name;
use crate::samples::parse_spec;

/// Points of some models of a spec, each once.
///
/// ```
/// use strata_model::Points;
///
/// let mut points = Points::parse("strata-plan 1\nRadix 16,2\n", "points.txt")?;
/// assert!(points.add("Radix", &[20, 4]));
/// assert!(!points.add("Radix", &[16, 2]), "it is there already");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    /// The spec of the points; unknown if written by hand.
    pub spec: Option<SpecId>,
    models: Vec<ModelPoints>,
    known: BTreeSet<(String, Vec<i64>)>,
}

/// The points of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPoints {
    /// Its name.
    pub model: String,
    /// The values of the iteration variables, in the order of the file; never empty.
    pub points: Vec<Vec<i64>>,
}

impl Points {
    /// The same points, for this spec.
    #[must_use]
    pub fn with_spec(self, spec: Option<SpecId>) -> Self {
        Self { spec, ..self }
    }

    /// Adds a point. False if it is already in the list, has no values, or if `model` is not a
    /// name.
    pub fn add(&mut self, model: &str, at: &[i64]) -> bool {
        if at.is_empty() || !is_name(model) || !self.known.insert((model.to_owned(), at.to_vec())) {
            return false;
        }
        match self.models.iter_mut().find(|m| m.model == model) {
            Some(known) => known.points.push(at.to_vec()),
            None => self.models.push(ModelPoints { model: model.to_owned(), points: vec![at.to_vec()] }),
        }
        true
    }

    /// Whether the list has a point.
    #[must_use]
    pub fn contains(&self, model: &str, at: &[i64]) -> bool {
        self.known.contains(&(model.to_owned(), at.to_vec()))
    }

    /// The models with points, in the order in which they were first named.
    #[must_use]
    pub fn models(&self) -> &[ModelPoints] {
        &self.models
    }

    /// The points of a model; `None` if it has none.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<&[Vec<i64>]> {
        self.models.iter().find(|m| m.model == model).map(|m| m.points.as_slice())
    }

    /// The number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The text of a plan with only these points; it reads back equal. A spec whose path does not
    /// fit into a line is left out.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("strata-plan {VERSION}\n");
        // Writing to a string does not fail.
        if let Some(spec) = self
            .spec
            .as_ref()
            .filter(|s| parse_spec(&format!("{} sha256={}", s.path, s.sha256)).as_ref() == Some(s))
        {
            let _ = writeln!(text, "spec {} sha256={}", spec.path, spec.sha256);
        }
        for ModelPoints { model, points } in &self.models {
            for at in points {
                let _ = writeln!(text, "{model} {}", at_text(at));
            }
        }
        text
    }

    /// Reads the points of a plan, for all numbers of nodes, without those for verification. A
    /// point that occurs twice counts once.
    ///
    /// # Errors
    /// The first error in a line; `file` is used only in the message.
    pub fn parse(text: &str, file: &str) -> Result<Self, PlanError> {
        let fail = |line, message: String| Err(PlanError { file: file.to_owned(), line, message });
        let mut points = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, first) = lines.next().unwrap_or((1, ""));
        if let Err(message) = version(first) {
            return fail(number, message);
        }
        for (number, line) in lines {
            match header(line) {
                Some(("spec", rest)) => match parse_spec(rest).filter(|_| points.spec.is_none()) {
                    Some(spec) => points.spec = Some(spec),
                    None => return fail(number, "expected `spec PATH sha256=HASH`, once".into()),
                },
                Some(_) => {}
                None if line.starts_with('@') => {}
                None => {
                    let mut words = line.split_whitespace();
                    let name = words.next().filter(|name| is_name(name));
                    let Some((name, at)) = name.zip(words.next().and_then(at)) else {
                        let form = "a model and whole numbers, `Radix 16,2,1`";
                        return fail(number, format!("expected {form}, but this is `{line}`"));
                    };
                    points.add(name, &at);
                }
            }
        }
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, say) in [
            ("", 1, "first line"),
            ("# only this\n", 1, "first line"),
            ("Radix 1\n", 1, "first line"),
            ("strata-plan 2\n", 1, "version 1"),
            ("strata-plan 1\nstrata-plan 1\n", 2, "whole numbers"),
            ("strata-plan 1\n\nRadix\n", 3, "whole numbers"),
            ("strata-plan 1\nRadix 1,x\n", 2, "Radix 1,x"),
            ("strata-plan 1\n1x 1\n", 2, "1x 1"),
            ("strata-plan 1\nRadix 99999999999999999999\n", 2, "whole numbers"),
            ("strata-plan 1\nspec sha256=\n", 2, "sha256"),
            ("strata-plan 1\nspec a sha256=1\nspec a sha256=1\n", 3, "once"),
        ] {
            let error = Points::parse(text, "p").unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.to_string().contains(say), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            points in prop::collection::vec(("[A-Za-z][a-z0-9_]{0,4}|spec|run|model|fit", prop::collection::vec(any::<i64>(), 0..4)), 0..30),
            path in prop::option::of("\\PC{0,12}"),
        ) {
            let mut all = Points { spec: path.map(|path| SpecId { path, sha256: "0a".into() }), ..Points::default() };
            for (model, at) in &points {
                let new = !at.is_empty() && !all.contains(model, at) && is_name(model);
                prop_assert_eq!(all.add(model, at), new);
            }
            let read = Points::parse(&all.to_text(), "p").unwrap();
            prop_assert_eq!(read.models(), all.models());
            prop_assert_eq!(read.len(), all.len());
            if let Some(spec) = &read.spec {
                prop_assert_eq!(Some(spec), all.spec.as_ref());
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}(\n\\PC{0,20}){0,4}") {
            let _ = Points::parse(&text, "p");
            let _ = Points::parse(&format!("strata-plan 1\n{text}"), "p");
        }
    }
}
