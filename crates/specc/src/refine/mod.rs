//! Adaptive sampling: a few samples, a fit, those samples that would help most, and so on until the
//! choice is sure enough.
//!
//! It begins with a [`pilot`]: points of the loops from which every term can be told. Each round
//! then fits all candidate terms, asks [`advise`] which samples would lower the expected loss of
//! what the models of the relevant terms choose most, and measures those; a quarter of each round
//! fills the ranges evenly whatever the models say, since what no term describes shows only where
//! somebody looks. A goal that seems reached is one only if fits of parts of the samples
//! agree and verification does not contradict. Verification points are drawn as ever and take no
//! part in the advice.
//!
//! Nothing here measures: the caller does, so that a machine can be real or made up.

mod folds;
mod pilot;

pub use pilot::pilot;

use strata_model::set::Verdict;
use strata_model::{ModelSet, Points, Samples};

use crate::advise::{self, Target};
use crate::lang::plan::{CheckedSpec, ModelKind};
use crate::points::Space;

/// Rounds at most. Each adds a quarter of the samples there are, so these would make a hundred of
/// one.
const MAX_ROUNDS: usize = 20;

/// A round has at least so many samples, if there are as many.
const LEAST: usize = 8;

/// One in so many samples of a round is taken wherever the ranges are emptiest.
const EXPLORE: usize = 4;

/// When it is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goals {
    /// The expected loss of the libraries' choices, as a share of the time.
    pub loss: f64,
    /// The half width of the predictions of models that compete nowhere, as a share of the time,
    /// from the uncertainty of their coefficients alone.
    pub precision: f64,
}

/// What a round found.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// From one.
    pub number: usize,
    /// The samples so far, those of verification aside; fewer than were asked for where the time
    /// did not suffice.
    pub samples: usize,
    /// How far each target is: its loss, and the goal.
    pub targets: Vec<(Target, f64, f64)>,
    /// What could not be asked, in words.
    pub notes: Vec<String>,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every target has reached its goal.
    Goal,
    /// The caller would measure no more.
    Budget,
    /// As many points are measured as the loops have.
    Loops,
    /// Too many rounds.
    Rounds,
}

/// What a refinement needs of its caller.
pub trait Machine {
    /// Why a measurement fails.
    type Error;

    /// Measures all of `points`, the last `new` of which were not asked for before, and gives all
    /// samples, those for verification among them. `None`: the budget is spent.
    ///
    /// # Errors
    /// Whatever measuring ends with.
    fn measure(&mut self, points: &Points, new: usize) -> Result<Option<Samples>, Self::Error>;

    /// Fits samples, as the spec says or, for the advice, with `everything`: all candidate terms,
    /// irrelevant ones too.
    fn fit(&mut self, samples: &Samples, everything: bool) -> ModelSet;

    /// Hears of each round.
    fn tell(&mut self, round: &Round);
}

/// Refines the models of a spec in their spaces, beginning with `start`.
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
                    *loss = loss.max(folds::loss(library, &chosen, &samples, fit));
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
        // The advice believes the models. One that cannot be fitted yet, fails, or probably misses
        // by more than is accepted is not to be believed when it says that its choice is sure.
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

/// Adds points that fill the ranges evenly, a model after the other, until there are `total`.
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

/// The libraries of which several candidates have models, then the fitted models that no candidate
/// of theirs comes from.
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
