//! A model in words: how it was fitted and where it predicts, a line each.

use super::{Kind, Model, Resolved};
use crate::{count, number_text, percent};

impl Model {
    /// How a model was fitted, in one line.
    #[must_use]
    pub fn quality(&self) -> String {
        match &self.kind {
            Kind::Factored { expression } => return format!("factored, {expression}"),
            Kind::Unmeasured => return format!("not known: {}", self.reason),
            Kind::Fitted => {}
        }
        let kept = self.terms.iter().filter(|t| t.relevant).count();
        let error = self
            .mre_verify
            .map_or("no held-out error".to_owned(), |mre| format!("held-out error {}", percent(mre)));
        let corrected = self.correction.as_ref().map_or(String::new(), |correction| {
            format!(", corrected by {}", count(correction.samples, "sample", "samples"))
        });
        let unit = if self.unit.is_seconds() { String::new() } else { format!(", in {}", self.unit) };
        let bound = self.bound.map_or(String::new(), |bound| format!(", a bound: {}", bound.promise()));
        format!(
            "{}{unit}{bound}, rank {} of {kept}{corrected}, condition {:.1e}; {error} ({} of {} samples)",
            self.verdict,
            self.rank,
            self.condition,
            self.verify_samples,
            self.samples + self.verify_samples
        )
    }
}

impl Resolved {
    /// Where a model predicts, in one line.
    #[must_use]
    pub fn validity(&self, model: &Model) -> String {
        if model.kind == Kind::Unmeasured {
            return "nothing".to_owned();
        }
        let formula = self.formula(&model.name);
        let ranges = formula.map_or(&[][..], |formula| &formula.ranges);
        let mut parts: Vec<String> = model
            .inputs
            .iter()
            .zip(ranges)
            .map(|(input, (min, max))| {
                format!("{} in {}..={}", input.name, number_text(*min), number_text(*max))
            })
            .collect();
        parts.push(formula.map_or(model.nodes, |formula| formula.nodes).to_string());
        parts.extend(model.requires.iter().map(|r| format!("requires {r}")));
        parts.join(", ")
    }
}
