//! Two runs compared: by how much the times of each model have changed, over which part of its
//! inputs, and which choices have.
//!
//! At the points that both runs have measured the logarithms of the ratios of their times are
//! averaged; the interval comes from a bootstrap over the points. Where the runs share too few
//! points, the models of each predict the times at the points of the other. What is called a change
//! is so at a level that noise reaches for one of all models once in twenty comparisons.

mod change;
mod choices;
mod ratios;

use std::collections::BTreeSet;

use strata_model::set::Kind;
use strata_model::{ModelSet, Samples, did_you_mean};

use crate::crossovers::Evidence;

use change::Cut;

pub use change::{Change, Verdict};
pub use choices::{LibraryChange, LineChange, Moved, libraries};
pub use ratios::By;

/// With which probability noise alone makes a change of one of all models.
const LEVEL: f64 = 0.05;

/// So many models are named where none is shared.
const NAMED: usize = 4;

/// A run: what was measured, and the models that were fitted to it, as far as they are there.
#[derive(Debug, Default)]
pub struct Run {
    /// How messages name it.
    pub name: String,
    /// The samples.
    pub samples: Option<Samples>,
    /// The models.
    pub set: Option<ModelSet>,
    /// What intervals of crossovers are computed from.
    pub evidence: Evidence,
}

impl Run {
    /// The names of the models that it has times of.
    fn models(&self) -> Vec<&str> {
        let measured = self.samples.iter().flat_map(|samples| &samples.models).map(|model| &*model.name);
        let fitted = self.set.iter().flat_map(|set| &set.models);
        let fitted = fitted.filter(|model| model.kind == Kind::Fitted).map(|model| &*model.name);
        let mut seen = BTreeSet::new();
        measured.chain(fitted).filter(|name| seen.insert(*name)).collect()
    }
}

/// What became of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelChange {
    /// The model.
    pub model: String,
    /// Where the times come from.
    pub by: By,
    /// The change over all points.
    pub whole: Change,
    /// Two parts that differ, if a split by one input explains much.
    pub parts: Option<[Part; 2]>,
}

/// A part of a model's points.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The input; `P`: the number of nodes.
    pub input: String,
    /// The greatest value of the input in this part.
    pub to: Option<f64>,
    /// The least value.
    pub from: Option<f64>,
    /// The change over it.
    pub change: Change,
}

impl ModelChange {
    /// Whether it changed anywhere.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.changes().any(|(_, change)| matches!(change.verdict, Verdict::Slower | Verdict::Faster))
    }

    /// The change over all points, then those of the parts.
    pub fn changes(&self) -> impl Iterator<Item = (Option<&Part>, &Change)> {
        let parts = self.parts.iter().flatten().map(|part| (Some(part), &part.change));
        std::iter::once((None, &self.whole)).chain(parts)
    }
}

/// What became of the models that both runs have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Models {
    /// Those that could be compared.
    pub changes: Vec<ModelChange>,
    /// What could not, in words.
    pub left_out: Vec<String>,
}

/// Compares the models of two runs.
///
/// # Errors
/// They have nothing in common, or inputs or units of a model differ, in words.
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
    for name in &shared {
        match ratios::of(name, [before, after])? {
            Some(ratios) => models.changes.push(change_of(name, &ratios, level)),
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

fn change_of(name: &str, ratios: &ratios::Ratios, level: f64) -> ModelChange {
    let ratios::Ratios { by, names, points, off } = ratios;
    let logs: Vec<f64> = points.iter().map(|point| point.log).collect();
    // What models miss would look like a part.
    let cut = if *by == By::Samples { Cut::find(points, level) } else { None };
    let parts = cut.map(|cut| {
        let part = |below: bool| {
            let here = points.iter().filter(|point| cut.is_below(point) == below);
            let logs: Vec<f64> = here.map(|point| point.log).collect();
            Part {
                input: names.get(cut.input).cloned().unwrap_or_default(),
                to: below.then_some(cut.to),
                from: (!below).then_some(cut.from),
                change: Change::of(&logs, *off, level),
            }
        };
        [part(true), part(false)]
    });
    let is_told = |part: &Part| matches!(part.change.verdict, Verdict::Slower | Verdict::Faster);
    let parts = parts.filter(|parts| parts.iter().any(is_told));
    ModelChange { model: name.to_owned(), by: *by, whole: Change::of(&logs, *off, level), parts }
}
