//! A model in words: how it was fitted and where it predicts, a line each.

use std::collections::BTreeSet;

use super::{Kind, Model, Resolved};
use crate::expr::{BinaryOp, Expr, ExprKind, parse};
use crate::{count, number_text, percent};

impl Model {
    /// A text over the inputs, such as a term, as the spec writes it: with its names for what they
    /// stand for.
    #[must_use]
    pub fn short(&self, text: &str) -> String {
        match parse(text) {
            Ok(expr) if !self.names.is_empty() => expr.with_names(&self.values_of_names()).to_string(),
            _ => text.to_owned(),
        }
    }

    /// A term as a factor behind its coefficient, [short](Self::short): `·passes*keys`,
    /// `·(keys>64)`; nothing for the constant.
    #[must_use]
    pub fn factor(&self, term: &str) -> String {
        let short = self.short(term);
        match parse(&short).map(|expr| expr.kind) {
            _ if short == "1" => String::new(),
            Ok(
                ExprKind::Number(_)
                | ExprKind::Name(_)
                | ExprKind::Call { .. }
                | ExprKind::Binary(BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Power, ..),
            ) => format!("·{short}"),
            _ => format!("·({short})"),
        }
    }

    /// What the names in its [short](Self::short) terms and requirements stand for, in the order of
    /// the spec, each by those before it: `passes = ceil(width/bits)`.
    #[must_use]
    pub fn meanings(&self) -> Vec<String> {
        let terms = self.terms.iter().map(|term| &term.term);
        self.meanings_in(&terms.chain(&self.requires).map(|text| self.short(text)).collect::<Vec<_>>())
    }

    fn meanings_in(&self, short: &[String]) -> Vec<String> {
        let names_of = |text: &String| Some(parse(text).ok()?.names());
        let mut read: BTreeSet<String> = short.iter().filter_map(names_of).flatten().collect();
        let values = self.values_of_names();
        let mut meanings = Vec::new();
        for (at, (name, value)) in values.iter().enumerate().rev() {
            if read.contains(name) {
                let value = value.with_names(&values[..at]);
                read.extend(value.names());
                meanings.push(format!("{name} = {value}"));
            }
        }
        meanings.reverse();
        meanings
    }

    fn values_of_names(&self) -> Vec<(String, Expr)> {
        self.names.iter().filter_map(|named| Some((named.name.clone(), parse(&named.value).ok()?))).collect()
    }

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
            .map(|(input, (min, max))| match self.kinds.get(&input.name) {
                Some(names) => format!("{} in {{{}}}", input.name, names.join(", ")),
                None => format!("{} in {}..={}", input.name, number_text(*min), number_text(*max)),
            })
            .collect();
        parts.push(formula.map_or(model.nodes, |formula| formula.nodes).to_string());
        let requires: Vec<String> = model.requires.iter().map(|text| model.short(text)).collect();
        parts.extend(requires.iter().map(|text| format!("requires {text}")));
        let meanings = model.meanings_in(&requires);
        if !meanings.is_empty() {
            parts.push(format!("where {}", meanings.join(", ")));
        }
        parts.join(", ")
    }
}
