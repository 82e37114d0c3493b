//! Decisions: the loss from a library's choices, measured instead of computed from the models.
//!
//! At fresh inputs, or those of a program's calls, the candidate that the models choose is timed in
//! turns with others: the same with other values of its parameters, near and from their whole range,
//! and each other candidate. The choice is compared with the fastest of them. Times judge it, so this
//! also works for models that failed verification: a choice can be right although its time is badly
//! predicted.

mod alternatives;
mod drift;
mod like;
mod regret;
mod saved;

use std::collections::BTreeMap;

use strata_model::plan::Run;
use strata_model::set::{Incumbent, Nodes, Regret};
use strata_model::{ModelSet, Samples};
use strata_report::Judged;

use crate::competition::Competition;
use crate::lang::checked::CheckedSpec;
use crate::points::{self, Draws, Site, Space};

pub(crate) use alternatives::pin;
use alternatives::{Alternative, Alternatives};
pub(crate) use like::Calls;
pub use like::Like;
use regret::Rule;
pub use saved::{Saved, saved};

/// The number of fresh inputs for each library.
pub const INPUTS: usize = 32;

/// The most draws to find an input at which several ways apply.
const MAX_DRAWS: u64 = 50;

/// The fewest timings of each way, split into two halves that judge each other.
const REPEAT: u32 = 8;

/// Constants or tables that a program holds instead of the models.
#[derive(Clone, Copy)]
pub struct Held<'a> {
    /// Its choice at inputs of a library; `None` if it has none.
    pub taken: Taken<'a>,
    /// Inputs of a library that it holds fixed, with their values; it has no choice at others.
    pub at: &'a dyn Fn(&str) -> Vec<(String, f64)>,
}

/// Gives the choice at inputs of a library: a candidate and its parameters.
pub type Taken<'a> = &'a dyn Fn(&Competition, &[f64]) -> Option<(usize, Vec<i64>)>;

/// The choice by the models.
pub(crate) fn chosen(competition: &Competition, inputs: &[f64]) -> Option<(usize, Vec<i64>)> {
    let choice = competition.choose(inputs, None).ok()?;
    Some((choice.index, choice.parameters.to_vec()))
}

/// The measured loss of a library's choices, and the deviations of its models.
#[derive(Debug)]
pub struct Compared {
    /// The library's name.
    pub library: String,
    /// The loss; `None` if too little was timed.
    pub regret: Option<Regret>,
    /// The ratio of measured to predicted times for each model.
    pub moved: Vec<Moved>,
}

/// A model's times over its predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The model's name.
    pub model: String,
    /// The median of measured over predicted times.
    pub ratio: f64,
    /// The 95 % interval of the median.
    pub interval: (f64, f64),
    /// The number of points.
    pub points: usize,
}

/// The ways to time, by which choices are judged.
#[derive(Debug, Default)]
pub struct Decisions {
    libraries: Vec<Library>,
}

/// The decisions of one library.
#[derive(Debug)]
struct Library {
    name: String,
    inputs: Vec<String>,
    /// The `default` way that the spec names, as a pin.
    default: Option<String>,
    /// The file of calls that the inputs were drawn from, if any.
    like: Option<String>,
    /// The inputs of each decision, with its ways.
    at: Vec<(Vec<f64>, Vec<Alternative>)>,
}

/// How the inputs of decisions are drawn.
#[derive(Clone, Copy)]
pub struct Drawn<'a> {
    /// The seed.
    pub seed: u64,
    /// The number of decisions of each library.
    pub count: usize,
    /// The share of round inputs, in place of the spec's.
    pub round: Option<f64>,
    /// The calls of a program in place of inputs drawn evenly.
    pub like: &'a Like,
}

/// Plans decisions of each library of `set` among ways that can be measured at `site`, with the points
/// to time for them. The choice of `held` is among these ways.
///
/// # Errors
/// As [`points::spaces`].
pub fn plan(
    spec: &CheckedSpec,
    site: &Site,
    set: &ModelSet,
    Drawn { seed, count, round, like }: Drawn<'_>,
    held: Option<Held<'_>>,
) -> Result<(Decisions, Run), String> {
    let spaces = points::spaces(spec, site.clone())?;
    let share = round.unwrap_or_else(|| spaces.iter().map(Space::round).fold(0.0, f64::max));
    let (mut decisions, mut planned) = (Decisions::default(), BTreeMap::new());
    for library in &spec.libraries {
        let Ok(competition) = Competition::new(set, &library.name) else { continue };
        let ways = Alternatives::new(spec, (library, site), &spaces, &competition);
        let draws = Draws::new(seed);
        let fixed = held.map_or(Vec::new(), |held| (held.at)(&library.name));
        let calls = like.of(&library.name);
        let mut at: Vec<(Vec<f64>, Vec<Alternative>)> = Vec::new();
        for number in 0..count as u64 {
            let mut tries = 0..MAX_DRAWS;
            let found = tries.find_map(|again| {
                let draw = number * MAX_DRAWS + again;
                let called = calls.map(|calls| calls.draw(seed, draw));
                let mut inputs = called.unwrap_or_else(|| ways.draw(&draws, draw))?;
                // Round values may be excluded where those beside them are not, or all be too small.
                if calls.is_none() && again < MAX_DRAWS / 2 && points::is_round_draw(number, share) {
                    let round = points::rounded(&inputs, number, share).next();
                    inputs = round?;
                }
                for (name, value) in &fixed {
                    let place = library.inputs.iter().position(|input| input == name)?;
                    inputs[place] = *value;
                }
                // A frequent call counts as often as it is drawn.
                let fresh = calls.is_some() || at.iter().all(|(known, _)| *known != inputs);
                let held = held.and_then(|held| (held.taken)(&competition, &inputs));
                let ways = if fresh { ways.at(&inputs, held) } else { Vec::new() };
                (ways.len() > 1).then_some((inputs, ways))
            });
            at.extend(found);
        }
        for way in at.iter().flat_map(|(_, ways)| ways) {
            let points: &mut Vec<_> = planned.entry(way.model.clone()).or_default();
            if !points.contains(&way.point) {
                points.push(way.point.clone());
            }
        }
        if !at.is_empty() {
            decisions.libraries.push(Library {
                name: library.name.clone(),
                inputs: library.inputs.clone(),
                like: calls.map(|calls| calls.file.clone()),
                default: library.incumbent.as_ref().map(|(candidate, parameters)| {
                    alternatives::pin(&library.candidates[*candidate].name, parameters)
                }),
                at,
            });
        }
    }
    let machine: BTreeMap<_, _> = spaces.iter().flat_map(Space::machine).copied().collect();
    let space = |model: &String| spaces.iter().find(|space| space.name() == model);
    let models = planned.into_iter().filter_map(|(model, points)| {
        let mut plan = points::model_plan(space(&model)?, points);
        plan.repeat = plan.repeat.max(REPEAT);
        Some(plan)
    });
    let run = Run {
        nodes: site.nodes(),
        // Repetitions differ from those that were fitted.
        seed: !seed,
        machine: machine.into_iter().map(|(word, value)| (word.to_owned(), value)).collect(),
        models: models.collect(),
    };
    Ok((decisions, run))
}

impl Decisions {
    /// Whether there are no decisions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.libraries.is_empty()
    }

    /// The loss of what is `held` (of the models, if it is `None`), and the deviations of the
    /// models from these times.
    pub fn compare(&self, set: &ModelSet, times: &Samples, held: Option<Held<'_>>) -> Vec<Compared> {
        let one = |library: &Library| {
            let competition = Competition::new(set, &library.name).ok()?;
            let Library { name, inputs, default, like, at } = library;
            let timed = regret::timed(
                inputs,
                at,
                &competition,
                times,
                held.map_or(&chosen as Taken<'_>, |held| held.taken),
            );
            Some(Compared {
                library: name.clone(),
                regret: regret::of(&timed, &regret::choices(&timed, false, None), default.as_deref())
                    .map(|regret| Regret { like: like.clone(), ..regret }),
                moved: drift::of(at, &competition, times),
            })
        };
        self.libraries.iter().filter_map(one).collect()
    }

    /// Writes into `set` the loss of each library's choices by its models, computed from these
    /// times; `None` for libraries with too few timings. With `adopt`, a library gets an incumbent
    /// if its choices then lose less, unless the models hold on several numbers of nodes: the times
    /// are of one of them. Returns the loss of each choice.
    pub fn judge(&self, set: &mut ModelSet, times: &Samples, adopt: bool) -> Vec<Judged> {
        let several = |nodes: Nodes| nodes != Nodes::ANY && nodes.fixed().is_none();
        let adopt = adopt && !set.models.iter().any(|model| several(model.nodes));
        let mut judged = Vec::new();
        for Library { name, inputs, default, like, at } in &self.libraries {
            let Some(place) = set.libraries.iter().position(|library| library.name == *name) else {
                continue;
            };
            // With `adopt` the old incumbent is removed first, so that the models alone are judged.
            let before = if adopt { set.libraries[place].incumbent.take() } else { None };
            let Ok(competition) = Competition::new(set, name) else { continue };
            let timed = regret::timed(inputs, at, &competition, times, &chosen);
            let default = default.as_deref();
            let library = &mut set.libraries[place];
            let choices = regret::choices(&timed, adopt, default);
            library.regret =
                regret::of(&timed, &choices, default).map(|regret| Regret { like: like.clone(), ..regret });
            judged.extend(regret::each(name, inputs, &timed, &choices));
            if adopt {
                let rule = regret::rule(&timed.iter().collect::<Vec<_>>(), default);
                let found = rule.and_then(|Rule { name, gain }| {
                    let mut ways = at.iter().flat_map(|(_, ways)| ways);
                    let way = ways.find(|way| way.pin(&competition) == name)?;
                    let candidate = competition.candidates()[way.candidate].name.to_owned();
                    Some(Incumbent { candidate, parameters: way.parameters.clone(), gain })
                });
                library.incumbent = found.or(before);
            }
        }
        judged
    }
}
