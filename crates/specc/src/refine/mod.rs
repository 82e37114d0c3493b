//! Adaptive sampling: a few samples and a fit, then repeatedly the most useful further samples and
//! a new fit, until the expected loss reaches its goal.
//!
//! The first samples are a [`pilot`]: points of the loops that determine every term. Each round
//! then fits all candidate terms and asks [`advise`] which samples would most lower the expected
//! loss of choices by the models of the relevant terms, and measures those. A quarter of each round
//! fills the ranges evenly, because a missing term shows only at points that are measured. A goal
//! counts as reached only if fits of parts of the samples agree and verification does not
//! contradict. Verification points are drawn as without refinement, and advice does not use them.
//!
//! This module does not measure. Its caller does, so the machine can be real or synthetic.

mod cross_validation;
mod first_run;

pub use first_run::pilot;

use strata_model::set::Verdict;
use strata_model::{ModelSet, Points, Samples};

use crate::advise::{self, Target};
use crate::lang::checked::{CheckedSpec, ModelKind};
use crate::points::Space;

/// The most rounds. Each adds a quarter of the present samples, so twenty rounds make a hundred of
/// one.
const MAX_ROUNDS: usize = 20;

/// The least number of samples in a round, if there are enough points.
const LEAST: usize = 8;

/// One sample in this number is taken where the ranges are emptiest.
const EXPLORE: usize = 4;

/// The goals that end a refinement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goals {
    /// The expected relative loss of the libraries' choices.
    pub loss: f64,
    /// The relative half width of the predictions of models outside all libraries, from the
    /// uncertainty of their coefficients alone.
    pub precision: f64,
}

/// The state after one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The round's number, from one.
    pub number: usize,
    /// The number of samples so far without those for verification; fewer than requested if the
    /// time ran out.
    pub samples: usize,
    /// Each target with its loss and its goal.
    pub targets: Vec<(Target, f64, f64)>,
    /// Messages about targets without queries.
    pub notes: Vec<String>,
}

/// The reason for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every target has reached its goal.
    Goal,
    /// The caller's budget is spent.
    Budget,
    /// All points of the loops are measured.
    Loops,
    /// The most rounds are done.
    Rounds,
}

/// The functions that a refinement needs from its caller.
pub trait Machine {
    /// The error of a failed measurement.
    type Error;

    /// Measures all of `points`, of which the last `new` are new, and returns all samples,
    /// including those for verification. `None`: the budget is spent.
    ///
    /// # Errors
    /// The measurement failed.
    fn measure(&mut self, points: &Points, new: usize) -> Result<Option<Samples>, Self::Error>;

    /// Fits samples by the spec or, with `everything` (for the advice), with all candidate terms,
    /// irrelevant ones too.
    fn fit(&mut self, samples: &Samples, everything: bool) -> ModelSet;

    /// Is called after each round.
    fn tell(&mut self, round: &Round);
}

/// Refines the models of a spec in their spaces, starting with the points `start`.
///
/// # Errors
/// Those of the machine.
pub fn refine<M: Machine>(
    spec: &CheckedSpec,
    spaces: &[Space<'_>],
    start: Points,
    goals: Goals,
    machine: &mut M,
) -> Result<End, M::Error> {
    let plain: usize = spaces.iter().map(|space| space.loops().len()).sum();
    let mut points = start;
    let mut new = points.len();
    for number in 1..=MAX_ROUNDS {
        let Some(samples) = machine.measure(&points, new)? else { return Ok(End::Budget) };
        let (chosen, set) = (machine.fit(&samples, false), machine.fit(&samples, true));
        let targets = targets(spec, &set);
        let wanted = (points.len() / 4).max(LEAST).min(plain.saturating_sub(points.len()));
        let limits = advise::Limits {
            count: wanted - wanted / EXPLORE,
            budget: f64::INFINITY,
            goals: targets.iter().map(|target| goals.of(target)).collect(),
        };
        let found = advise::advise(&set, Some(&chosen), spaces, &targets, &points, &limits);
        let mut advice =
            found.unwrap_or_else(|why| advise::Advice { notes: vec![why], ..advise::Advice::default() });
        let each = advice.targets.iter().map(|t| (t.target.clone(), t.before, goals.of(&t.target)));
        let fitted = |space: &Space<'_>| {
            let rows = samples.model(space.name()).map_or(&[][..], |model| &model.rows);
            rows.iter().filter(|row| !row.verify).count()
        };
        let mut targets: Vec<(Target, f64, f64)> = each.collect();
        if targets.iter().all(|(_, loss, goal)| loss <= goal) {
            for (target, loss, _) in &mut targets {
                if let Target::Library(library) = target {
                    let fit = &mut |part: &Samples| machine.fit(part, true);
                    *loss = loss.max(cross_validation::loss(library, &chosen, &samples, fit));
                }
            }
        }
        let round = Round {
            number,
            samples: spaces.iter().map(fitted).sum(),
            targets,
            notes: std::mem::take(&mut advice.notes),
        };
        machine.tell(&round);
        // The advice relies on the models, so no goal counts as reached while a model has no fit,
        // fails verification, or probably has an error above the accepted one.
        let good = |space: &Space<'_>| {
            let accept = spec.model(space.name()).map_or(f64::INFINITY, |model| model.options.fit.accept);
            set.known(space.name()).is_some()
                && chosen.known(space.name()).is_some_and(|model| match model.verdict {
                    Verdict::Failed => false,
                    Verdict::Doubtful => model.own_error <= accept,
                    _ => true,
                })
        };
        if spaces.iter().all(good)
            && !round.targets.is_empty()
            && round.targets.iter().all(|(_, loss, goal)| loss <= goal)
        {
            return Ok(End::Goal);
        }
        let before = points.len();
        for sample in &advice.samples {
            let at: Vec<i64> = sample.at.iter().map(|(_, value)| *value).collect();
            points.add(&sample.model, &at);
        }
        explore(spaces, &mut points, before + wanted);
        new = points.len() - before;
        if new == 0 {
            return Ok(End::Loops);
        }
    }
    Ok(End::Rounds)
}

impl Goals {
    fn of(&self, target: &Target) -> f64 {
        match target {
            Target::Library(_) => self.loss,
            Target::Model(_) => self.precision,
        }
    }
}

/// Adds points that fill the ranges evenly, to each model in turn, until there are `total`.
fn explore(spaces: &[Space<'_>], points: &mut Points, total: usize) {
    let mut free: Vec<_> = spaces.iter().map(|space| space.fill(total).into_iter()).collect();
    while points.len() < total {
        let before = points.len();
        for (space, free) in spaces.iter().zip(&mut free) {
            if points.len() < total
                && let Some(at) = free.find(|at| !points.contains(space.name(), at))
            {
                points.add(space.name(), &at);
            }
        }
        if points.len() == before {
            break;
        }
    }
}

/// The libraries in which several candidates have models, then the fitted models outside these
/// libraries.
#[must_use]
pub fn targets(spec: &CheckedSpec, set: &ModelSet) -> Vec<Target> {
    let known = |index: &usize| set.known(&spec.models[*index].name).is_some();
    let candidates = spec.libraries.iter().map(|library| {
        let rivals = library.candidates.iter().filter(|one| known(&one.model));
        (library, rivals.collect::<Vec<_>>())
    });
    let (libraries, rivals): (Vec<_>, Vec<_>) = candidates.filter(|(_, rivals)| rivals.len() > 1).unzip();
    let models = rivals.concat().into_iter().flat_map(|one| spec.models_of(one));
    let competing = spec.with_callees(models.collect());
    let alone = spec.models.iter().enumerate().filter(|(index, model)| {
        matches!(&model.kind, ModelKind::Measured(measured) if !measured.loops.is_empty())
            && known(index)
            && !competing.contains(index)
    });
    let libraries = libraries.into_iter().map(|library| Target::Library(library.name.clone()));
    libraries.chain(alone.map(|(_, model)| Target::Model(model.name.clone()))).collect()
}
