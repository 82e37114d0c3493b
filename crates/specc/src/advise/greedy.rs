//! Greedy selection of the samples that lower the loss most.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use strata_model::{ModelSet, Points, Resolved};

use super::Target;
use super::belief::{Belief, dot};
use super::queries::{Query, queries};
use crate::points::Space;

/// The most sites of one model that are rated: from its loops and from between their steps.
const FROM_LOOPS: usize = 240;
const FROM_BETWEEN: usize = 120;

/// The cost of a timing beyond the predicted time, in s: its setup, and synchronising the nodes. No
/// model describes it, so this is a guess; without it short samples would look free.
const OVERHEAD: f64 = 1e-3;

/// The number of samples wanted, and their greatest cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most samples.
    pub count: usize,
    /// The most measuring time in seconds.
    pub budget: f64,
    /// The weight of each target is one over its goal, a loss. One goal for each target, or none to
    /// weigh all alike.
    pub goals: Vec<f64>,
}

/// The advised samples and their effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Each target with its loss before and after.
    pub targets: Vec<TargetLoss>,
    /// The samples, the most useful first.
    pub samples: Vec<Advised>,
    /// Messages about targets without queries.
    pub notes: Vec<String>,
}

/// The loss of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetLoss {
    /// The target.
    pub target: Target,
    /// Its loss with the present models, as a fraction.
    pub before: f64,
    /// Its loss with all the advised samples, if predictions stay the same.
    pub after: f64,
}

/// One advised sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Advised {
    /// The model.
    pub model: String,
    /// The iteration variables, by name, outermost first.
    pub at: Vec<(String, i64)>,
    /// The mean of the targets' losses before it.
    pub before: f64,
    /// The same mean with it.
    pub after: f64,
    /// The estimated seconds to measure it.
    pub cost: f64,
}

impl Advice {
    /// The samples as a points file.
    #[must_use]
    pub fn points(&self) -> Points {
        let mut points = Points::default();
        for sample in &self.samples {
            let at: Vec<i64> = sample.at.iter().map(|(_, value)| *value).collect();
            points.add(&sample.model, &at);
        }
        points
    }
}

/// A sample that could be taken.
struct Site<'a> {
    space: &'a Space<'a>,
    at: Vec<i64>,
    place: usize,
    /// Its row in the weighted fit.
    row: Vec<f64>,
    cost: f64,
}

/// A site with the ratio of its gain to its cost when last computed.
struct Ranked {
    score: f64,
    site: usize,
    /// The number of samples chosen at that time.
    turn: usize,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.site.cmp(&self.site))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// Names the samples that lower the losses of `targets` most, given the points already `measured`.
/// `chooser`: the models that make the final choice, if `set` holds more terms than those.
///
/// # Errors
/// The set is invalid, or no target has queries.
pub fn advise(
    set: &ModelSet,
    chooser: Option<&ModelSet>,
    spaces: &[Space<'_>],
    targets: &[Target],
    measured: &Points,
    limits: &Limits,
) -> Result<Advice, String> {
    let resolved = set.resolve().map_err(|e| e.to_string())?;
    let mut beliefs: Vec<Option<Belief>> = vec![None; set.models.len()];
    for model in &set.models {
        if let Some(belief) = resolved.place(&model.name).and_then(|place| beliefs.get_mut(place)) {
            *belief = Belief::of(model);
        }
    }
    let mut advice = Advice::default();
    let mut asked: Vec<Query> = Vec::new();
    let mut scales = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let goal = limits.goals.get(number).copied().unwrap_or(1.0);
        scales.push(1.0 / (goal * targets.len() as f64));
        match queries(number, target, set, chooser, &resolved, &beliefs) {
            Ok(queries) if !queries.is_empty() => asked.extend(queries),
            Ok(_) => advice.notes.push(format!(
                "`{}` depends on no sample: nowhere do its models predict two times that could change places",
                target.name()
            )),
            Err(why) => advice.notes.push(why),
        }
    }
    if asked.is_empty() && !targets.is_empty() {
        return Err(advice.notes.join("\n"));
    }
    let losses = |asked: &[Query]| {
        let mut losses = vec![0.0; targets.len()];
        asked.iter().for_each(|query| losses[query.target] += query.loss);
        losses
    };
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    let before = losses(&asked);
    let mut now = before.clone();
    let mut work = Outlook { beliefs, queries: asked, scales, by_place: Vec::new() };
    work.index(set.models.len());
    let sites = sites(set, &resolved, &work.beliefs, spaces, measured);
    let score = |work: &Outlook, site: &Site<'_>| work.gain(site) / site.cost;
    let mut heap: BinaryHeap<Ranked> = sites
        .iter()
        .enumerate()
        .map(|(i, site)| Ranked { score: score(&work, site), site: i, turn: 0 })
        .collect();
    let mut left = limits.budget;
    while advice.samples.len() < limits.count {
        let Some(best) = heap.pop() else { break };
        let site = &sites[best.site];
        if best.score.is_nan() || best.score <= 0.0 {
            break;
        }
        if site.cost > left {
            continue; // Too long for what is left of the budget: a cheaper one may fit.
        }
        // Gains fall as samples are chosen, so a site that still leads with its gain computed anew
        // is the best.
        if best.turn < advice.samples.len() {
            heap.push(Ranked { score: score(&work, site), turn: advice.samples.len(), ..best });
            continue;
        }
        work.take(site);
        left -= site.cost;
        let after = losses(&work.queries);
        let names = site.space.variables();
        advice.samples.push(Advised {
            model: site.space.name().to_owned(),
            at: names.iter().map(|n| (*n).to_owned()).zip(site.at.iter().copied()).collect(),
            before: mean(&now),
            after: mean(&after),
            cost: site.cost,
        });
        now = after;
    }
    let each = targets.iter().zip(before.iter().zip(&now));
    advice.targets = each
        .map(|(target, (before, after))| TargetLoss {
            target: target.clone(),
            before: *before,
            after: *after,
        })
        .collect();
    Ok(advice)
}

/// Sites at which there are no samples yet.
fn sites<'a>(
    set: &ModelSet,
    resolved: &Resolved,
    beliefs: &[Option<Belief>],
    spaces: &'a [Space<'a>],
    measured: &Points,
) -> Vec<Site<'a>> {
    let mut sites = Vec::new();
    for space in spaces {
        let Some(place) = resolved.place(space.name()) else { continue };
        let Some(belief) = beliefs.get(place).and_then(Option::as_ref) else { continue };
        let nodes = set.nodes();
        let mut taken = Points::default();
        let loops = space.loops();
        let step = loops.len().div_ceil(FROM_LOOPS).max(1);
        for at in loops.into_iter().step_by(step).chain(space.fill(FROM_BETWEEN)) {
            if measured.contains(space.name(), &at) || !taken.add(space.name(), &at) {
                continue;
            }
            let Some(inputs) = space.inputs(&at) else { continue };
            let Some(found) = resolved.sensitivity(space.name(), nodes, &inputs) else { continue };
            let Some(row) = found.part(place).and_then(|terms| belief.row(terms, found.seconds)) else {
                continue;
            };
            let cost = f64::from(space.repeat().max(1)) * (found.seconds + OVERHEAD);
            sites.push(Site { space, at, place, row, cost });
        }
    }
    sites
}

/// The state of the search as samples are chosen.
struct Outlook {
    beliefs: Vec<Option<Belief>>,
    queries: Vec<Query>,
    /// The weight of each target's loss.
    scales: Vec<f64>,
    /// The queries that depend on each model.
    by_place: Vec<Vec<usize>>,
}

impl Outlook {
    fn index(&mut self, models: usize) {
        self.by_place = (0..models)
            .map(|place| {
                let depends = |query: &Query| {
                    query
                        .groups
                        .iter()
                        .flatten()
                        .any(|one| one.parts.iter().any(|(known, _)| *known == place))
                };
                (0..self.queries.len()).filter(|q| depends(&self.queries[*q])).collect()
            })
            .collect();
    }

    fn direction(&self, site: &Site<'_>) -> Option<Vec<f64>> {
        self.beliefs.get(site.place)?.as_ref()?.direction(&site.row)
    }

    /// By how much the weighted sum of the targets' losses would fall.
    fn gain(&self, site: &Site<'_>) -> f64 {
        let Some(direction) = self.direction(site) else { return 0.0 };
        let narrowed = |query: &Query| {
            query.loss_with(|one| {
                let part = one.parts.iter().find(|(place, _)| *place == site.place);
                one.variance - part.map_or(0.0, |(_, part)| dot(part, &direction).powi(2))
            })
        };
        let of = |q: &usize| {
            let query = &self.queries[*q];
            self.scales[query.target] * (query.loss - narrowed(query))
        };
        self.by_place[site.place].iter().map(of).sum()
    }

    fn take(&mut self, site: &Site<'_>) {
        let Some(direction) = self.direction(site) else { return };
        for q in &self.by_place[site.place] {
            let query = &mut self.queries[*q];
            for one in query.groups.iter_mut().flatten() {
                if let Some((_, part)) = one.parts.iter().find(|(place, _)| *place == site.place) {
                    one.variance = (one.variance - dot(part, &direction).powi(2)).max(0.0);
                }
            }
            query.settle();
        }
        if let Some(belief) = &mut self.beliefs[site.place] {
            belief.add(&direction);
        }
    }
}
