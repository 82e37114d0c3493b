//! The comparison of two runs: how much the times of each model have changed, in which part of its
//! inputs, and which choices have changed.
//!
//! At the points of both runs the logarithms of the ratios of their times are averaged; the
//! interval comes from a bootstrap over the points. If the runs share too few points, the models of
//! each predict the times at the points of the other. The level of the test is such that, with no
//! real change, noise makes a change of any of the models in one of twenty comparisons.

mod change;
mod choices;
mod ratios;

use std::collections::BTreeSet;

use serde::Serialize;
use strata_model::set::Kind;
use strata_model::{Kinds, ModelSet, Samples, did_you_mean, kind_text};

use crate::thresholds::intervals::Evidence;

use change::{Cut, Point};

pub use change::{Change, Verdict};
pub use choices::{LibraryChange, LineChange, Moved, libraries};
pub use ratios::By;
pub(crate) use ratios::median;

/// The probability that noise alone makes a change of any model.
pub(crate) const LEVEL: f64 = 0.05;

/// The most models that the message names if no model is shared.
const NAMED: usize = 4;

/// A run: its samples and the models fitted to them, each if present.
#[derive(Debug, Default)]
pub struct Run {
    /// Its name in messages.
    pub name: String,
    /// The samples.
    pub samples: Option<Samples>,
    /// The models.
    pub set: Option<ModelSet>,
    /// The source of the intervals of crossovers.
    pub evidence: Evidence,
}

impl Run {
    /// The names of the models with times.
    fn models(&self) -> Vec<&str> {
        let measured = self.samples.iter().flat_map(|samples| &samples.models).map(|model| &*model.name);
        let fitted = self.set.iter().flat_map(|set| &set.models);
        let fitted = fitted.filter(|model| model.kind == Kind::Fitted).map(|model| &*model.name);
        let mut seen = BTreeSet::new();
        measured.chain(fitted).filter(|name| seen.insert(*name)).collect()
    }
}

/// The change of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelChange {
    /// The model's name.
    pub model: String,
    /// The origin of the times.
    pub by: By,
    /// The change over all points.
    #[serde(flatten)]
    pub whole: Change,
    /// The two parts, if a split by one input explains much of the change.
    pub parts: Option<[Part; 2]>,
}

/// A part of a model's points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The input's name; `P` for the number of nodes.
    pub input: String,
    /// The greatest value of the input in this part.
    pub to: Option<f64>,
    /// The least value of the input in this part.
    pub from: Option<f64>,
    /// The change in this part.
    #[serde(flatten)]
    pub change: Change,
}

impl ModelChange {
    /// Whether it changed over all points or in a part.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.changes().any(|(_, change)| matches!(change.verdict, Verdict::Slower | Verdict::Faster))
    }

    /// The change over all points, then the change of each part.
    pub fn changes(&self) -> impl Iterator<Item = (Option<&Part>, &Change)> {
        let parts = self.parts.iter().flatten().map(|part| (Some(part), &part.change));
        std::iter::once((None, &self.whole)).chain(parts)
    }
}

/// The changes of the models of both runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Models {
    /// The models that could be compared.
    pub changes: Vec<ModelChange>,
    /// A message for each model that could not.
    pub left_out: Vec<String>,
}

/// Compares the models of two runs.
///
/// # Errors
/// A message: the runs have no model in common, or inputs or units of a model differ.
pub fn models(before: &Run, after: &Run) -> Result<Models, String> {
    let [old, new] = [before.models(), after.models()];
    let shared: Vec<&str> = old.iter().copied().filter(|name| new.contains(name)).collect();
    if shared.is_empty() {
        let list = |names: &[&str]| match names {
            [] => "none".to_owned(),
            [few @ .., _] if few.len() >= NAMED => {
                format!("{} and {} others", names[..NAMED].join(", "), names.len() - NAMED)
            }
            names => names.join(", "),
        };
        let meant = old.first().map_or(String::new(), |name| did_you_mean(name, new.iter().copied()));
        return Err(format!(
            "the runs have no model in common: {} has {}, {} has {}{meant}; name two runs of one spec",
            before.name,
            list(&old),
            after.name,
            list(&new)
        ));
    }
    let mut models = Models::default();
    let level = LEVEL / (2.0 * shared.len() as f64);
    let kinds = after.set.as_ref().map_or_else(Kinds::new, |set| set.kinds.clone());
    for name in &shared {
        match ratios::of(name, [before, after])? {
            Some(ratios) => models.changes.extend(changes_of(name, &ratios, &kinds, level)),
            None => models.left_out.push(format!("`{name}` was measured at no point of both")),
        }
    }
    if models.changes.is_empty() {
        return Err(format!(
            "{} and {} have no point in common, and no models predict the points of the other: `specc fit SAMPLES -o \
             FOLDER` makes models of samples, and FOLDER can be compared",
            before.name, after.name
        ));
    }
    for (these, others, run) in [(&old, &new, before), (&new, &old, after)] {
        let only: Vec<String> =
            these.iter().filter(|name| !others.contains(name)).map(|name| format!("`{name}`")).collect();
        if !only.is_empty() {
            models.left_out.push(format!("{} in {} alone", only.join(", "), run.name));
        }
    }
    Ok(models)
}

/// The change of a model, or of each of few points that were measured repeatedly.
fn changes_of(name: &str, ratios: &ratios::Ratios, kinds: &Kinds, level: f64) -> Vec<ModelChange> {
    let ratios::Ratios { by, names, points, off, repeats } = ratios;
    if let Some(repeats) = repeats {
        let level = level / repeats.len() as f64;
        let one = |(point, repeats): (&Point, &ratios::Repeats)| {
            let at = names.iter().zip(&point.at).take(names.len() - 1);
            let at: Vec<String> =
                at.map(|(name, value)| format!("{name}={}", kind_text(kinds, name, *value))).collect();
            let model = if points.len() == 1 { name.to_owned() } else { format!("{name} {}", at.join(" ")) };
            ModelChange { model, by: *by, whole: Change::by_repeats(*repeats, level), parts: None }
        };
        return points.iter().zip(repeats).map(one).collect();
    }
    let change = |points: &[Point]| {
        let logs: Vec<f64> = points.iter().map(|point| point.log).collect();
        Change::of(&logs, *off, level)
    };
    // With predicted times, an error of a model would look like a change of a part.
    let cut = if *by == By::Samples { Cut::find(points, level) } else { None };
    let parts = cut.map(|cut| {
        let part = |below: bool| {
            let here: Vec<Point> =
                points.iter().filter(|point| cut.is_below(point) == below).cloned().collect();
            Part {
                input: names.get(cut.input).cloned().unwrap_or_default(),
                to: below.then_some(cut.to),
                from: (!below).then_some(cut.from),
                change: change(&here),
            }
        };
        [part(true), part(false)]
    });
    let is_told = |part: &Part| matches!(part.change.verdict, Verdict::Slower | Verdict::Faster);
    let parts = parts.filter(|parts| parts.iter().any(is_told));
    vec![ModelChange { model: name.to_owned(), by: *by, whole: change(points), parts }]
}
