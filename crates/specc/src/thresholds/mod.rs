//! Choices without models: thresholds along one input, or a decision table over several.

mod few;
mod grow;
pub mod intervals;
mod limited;
pub mod places;

use std::fmt;

use serde::Serialize;
use strata_interchange::emit::thresholds::{
    LibraryThresholds, Rule, Threshold, ThresholdInput, ThresholdWay,
};
use strata_model::{ModelSet, percent};

use crate::competition::Competition;
use intervals::Evidence;

pub use crate::lang::checked::Limits;
pub use grow::{LOSS, NEVER, POINTS};
pub use limited::limit;

/// What choices lose against all ways, as shares of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// On average.
    pub mean: f64,
    /// At the worst input.
    pub worst: f64,
}

/// `up to 14 %, 0.4 % on average`
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worst {
            // A way that does not apply loses as much as is counted at all.
            worst if worst < NEVER => write!(f, "up to {}", percent(worst))?,
            _ => write!(f, "{} or more", percent(NEVER))?,
        }
        write!(f, ", {} on average", percent(self.mean))
    }
}

impl Loss {
    /// The loss of the best ways of a set, at points with the losses of all ways.
    fn of(losses: &[Vec<f64>], set: &[usize]) -> Self {
        let count = losses.len().max(1) as f64;
        let each = losses.iter().map(|row| few::least(row, set));
        each.fold(Self::default(), |all, loss| Self {
            mean: all.mean + loss / count,
            worst: all.worst.max(loss),
        })
    }
}

/// The fewest ways of a library that suffice.
#[derive(Clone, Debug, PartialEq)]
pub struct Few {
    /// Each with the share of the inputs at which it is the best of them, the largest first.
    pub ways: Vec<(Taken, f64)>,
    /// How many ways compete, at most 64.
    pub of: usize,
    /// The number of random inputs at which losses were computed.
    pub points: usize,
    /// The loss of choices among them.
    pub loss: Loss,
    /// The same of one way fewer.
    pub fewer: Option<Loss>,
    /// The same of one way more.
    pub more: Option<Loss>,
}

/// The fewest ways of a library that suffice, with the inputs in `fixed` held.
///
/// # Errors
/// As [`of`].
pub fn few(competition: &Competition, fixed: &[(String, f64)], limits: Limits) -> Result<Few, String> {
    match free(competition, fixed).as_slice() {
        [] => Err(all_held(competition)),
        free => grow::few(competition, fixed, free, limits, None),
    }
}

/// The inputs that are not held.
fn free(competition: &Competition, fixed: &[(String, f64)]) -> Vec<usize> {
    let names = competition.inputs();
    (0..names.len()).filter(|input| fixed.iter().all(|(name, _)| *name != names[*input])).collect()
}

fn all_held(competition: &Competition) -> String {
    format!("`{}`: every input is held; leave one to choose by", competition.name())
}

/// The thresholds of a library with the inputs in `fixed` held, and warnings about them. With one
/// free input they are constants, with several, or [limited](Limits) ways, a table. An input without
/// a range in the models is an error.
///
/// # Errors
/// A message: no input is free, one has no range, or the choices cannot be followed.
pub fn of(
    set: &ModelSet,
    competition: &Competition,
    fixed: &[(String, f64)],
    limits: Limits,
    evidence: &Evidence,
) -> Result<(LibraryThresholds, Vec<String>), String> {
    let names = competition.inputs();
    let free = free(competition, fixed);
    let mut inputs = Vec::new();
    for input in &free {
        let scale = places::scale(competition, *input)?;
        let (low, high) = (scale.low, scale.high);
        inputs.push(ThresholdInput { name: names[*input].clone(), whole: scale.whole, low, high });
    }
    let mut warnings = Vec::new();
    let (ways, rule) = match free.as_slice() {
        [] => return Err(all_held(competition)),
        [_] if !limits.are_set() => line(set, competition, fixed, evidence, &mut warnings)?,
        several => grow::table(competition, fixed, several, limits)?,
    };
    if let (Rule::Table(table), Some(slowdown)) = (&rule, limits.slowdown)
        && table.worst > slowdown
    {
        warnings.push(format!(
            "the table of `{}` loses up to {} at some inputs, more than {}: more ways (`--ways`), or export the models",
            competition.name(),
            percent(table.worst),
            percent(slowdown)
        ));
    } else if let Rule::Table(table) = &rule
        && table.loss > LOSS
        && !limits.are_set()
    {
        warnings.push(format!(
            "the table of `{}` loses {} on average with {} questions; hold an input with `--at`, or export the models",
            competition.name(),
            percent(table.loss),
            table.splits.len()
        ));
    }
    for (candidate, _) in &ways {
        let name = competition.candidates()[*candidate].name;
        let Some(declared) = competition.declared(*candidate) else { continue };
        let is_parameter = |word: &str| declared.parameters.iter().any(|one| one.name == word);
        let asks = |word: &str| word.starts_with(char::is_alphabetic) && !is_parameter(word);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if declared.requires.iter().any(|text| text.split(|c| !is_word(c)).any(asks)) {
            warnings.push(format!(
                "`{name}` of `{}` has a `require`, for which thresholds do not ask: the program must, or export the models",
                competition.name()
            ));
        }
    }
    let way = |(candidate, parameters): &(usize, Vec<i64>)| {
        let names = competition.declared(*candidate).map_or(&[][..], |declared| &declared.parameters);
        let names = names.iter().map(|parameter| parameter.name.clone());
        ThresholdWay {
            candidate: competition.candidates()[*candidate].name.to_owned(),
            parameters: names.zip(parameters.iter().copied()).collect(),
        }
    };
    let thresholds = LibraryThresholds {
        library: competition.name().to_owned(),
        nodes: competition.nodes(),
        inputs,
        held: fixed.to_vec(),
        failed: competition.failed().into_iter().map(str::to_owned).collect(),
        beside: competition.round_inputs().map(str::to_owned).collect(),
        ways: ways.iter().map(way).collect(),
        rule,
    };
    Ok((thresholds, warnings))
}

/// A candidate with its parameters.
pub type Taken = (usize, Vec<i64>);

/// The index of a way, which is added if it is new.
fn place(ways: &mut Vec<Taken>, way: Taken) -> usize {
    ways.iter().position(|known| *known == way).unwrap_or_else(|| {
        ways.push(way);
        ways.len() - 1
    })
}

/// Constants along the only free input.
fn line(
    set: &ModelSet,
    competition: &Competition,
    fixed: &[(String, f64)],
    evidence: &Evidence,
    warnings: &mut Vec<String>,
) -> Result<(Vec<Taken>, Rule), String> {
    let found = intervals::compute(set, competition, fixed, None, evidence)?;
    let Some(chain) = found.lines.first() else { return Err("nothing is chosen".to_owned()) };
    let mut ways = Vec::new();
    let mut steps = Vec::new();
    let mut first = None;
    for segment in &chain.segments {
        let to = place(&mut ways, (segment.way.candidate, segment.way.taken.clone()));
        if first.is_none() {
            first = Some(to);
            continue;
        }
        let known = chain.crossovers.iter().find(|one| one.at == segment.from);
        steps.push(Threshold {
            at: segment.from,
            to,
            interval: known.and_then(|one| one.interval),
            flat: known.and_then(|one| one.flat),
            off_by_two: known.map_or([None; 2], |one| one.off_by_two),
        });
    }
    let name = competition.name();
    if chain.lost > 0.0 {
        let lost = percent(chain.lost);
        warnings.push(format!("`{name}`: what wins by little is left out; it would save up to {lost} there"));
    }
    if steps.iter().any(|step| step.interval == Some((None, None))) {
        warnings.push(format!(
            "`{name}`: a threshold is not known within the measured range; `specc thresholds` says which, \
             `specc show` whether a model failed"
        ));
    }
    // If no model covers one side, the way may be the same on both.
    let mut before = first.unwrap_or(0);
    steps.retain(|step| std::mem::replace(&mut before, step.to) != step.to);
    Ok((ways, Rule::Line { first: first.unwrap_or(0), steps }))
}
