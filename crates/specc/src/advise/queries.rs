//! Queries: the inputs of a target with the predictions that its loss there depends on.

use strata_model::ModelSet;
use strata_model::set::{Model, Resolved, Sensitivity};
use strata_select::{choice::Outcome, normal};

use super::Target;
use super::belief::Belief;
use crate::competition::Competition;
use crate::points::evenly;

/// The number of queries of a target.
const QUERIES: usize = 200;
/// A range whose ends differ by more than this factor is spaced by logarithms.
const WIDE: f64 = 20.0;
/// The most values of each parameter of the chosen candidate that count as rivals.
const VARIANTS: i64 = 12;
/// A rival with a smaller share than this in the target's loss is dropped.
const NEGLIGIBLE: f64 = 1e-6;

/// A difference between two predictions, or one prediction, with its derivatives by the
/// coefficients.
#[derive(Clone, Debug)]
pub(super) struct Uncertain {
    /// How much longer the rival is predicted to take, s.
    gap: f64,
    /// For each model that takes part, its index and the derivatives by its coefficients.
    pub(super) parts: Vec<(usize, Vec<f64>)>,
    pub(super) variance: f64,
}

/// One point of a target's inputs.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) target: usize,
    /// The factor from its loss in seconds to its share in the target's loss.
    weight: f64,
    /// How much longer the choice is predicted to take than the fastest candidate, s; above zero
    /// only if another set of models chooses. Samples do not lower it directly.
    excess: f64,
    /// For a library, the rivals of the chosen candidate: a group for each other candidate, and one
    /// for the values of each parameter. Only the greatest loss of a group counts. For a model, its
    /// one prediction.
    pub(super) groups: Vec<Vec<Uncertain>>,
    /// Its present share in the target's loss.
    pub(super) loss: f64,
    choice: bool,
}

impl Query {
    /// The loss if `narrowed` gives the variance of each uncertain difference.
    pub(super) fn loss_with(&self, narrowed: impl Fn(&Uncertain) -> f64) -> f64 {
        let of = |one: &Uncertain| {
            let variance = narrowed(one).max(0.0);
            if self.choice { normal::gain(one.gap, variance.sqrt()) } else { variance.sqrt() }
        };
        let group = |group: &Vec<Uncertain>| group.iter().map(of).fold(0.0, f64::max);
        self.weight * (self.excess + self.groups.iter().map(group).sum::<f64>())
    }

    pub(super) fn settle(&mut self) {
        self.loss = self.loss_with(|one| one.variance);
    }
}

/// The queries of the target with index `number`. `Err`: the reason for having none.
///
/// `chooser`: the models that choose, if they differ from the models under study.
pub(super) fn queries(
    number: usize,
    target: &Target,
    set: &ModelSet,
    chooser: Option<&ModelSet>,
    resolved: &Resolved,
    beliefs: &[Option<Belief>],
) -> Result<Vec<Query>, String> {
    let mut queries = match target {
        Target::Library(name) => {
            let competition = Competition::new(set, name).map_err(|e| e.to_string())?;
            let ranges =
                (0..competition.inputs().len()).map(|i| (competition.range(i), false)).collect::<Vec<_>>();
            let places =
                places(&ranges).ok_or_else(|| format!("no model limits the inputs of library `{name}`"))?;
            // If the other set lacks the library, that set chooses nothing in it.
            let chooser = chooser.and_then(|set| Competition::new(set, name).ok());
            let chooser = chooser.as_ref().unwrap_or(&competition);
            places.iter().filter_map(|inputs| choice(number, &competition, chooser, inputs)).collect()
        }
        Target::Model(name) => {
            let model = set.model(name).ok_or_else(|| format!("there is no model `{name}`"))?;
            model_queries(number, model, set, resolved, beliefs)
        }
    };
    let share = 1.0 / queries.len().max(1) as f64;
    for query in &mut queries {
        query.weight *= share;
        for one in query.groups.iter_mut().flatten() {
            one.variance = one
                .parts
                .iter()
                .filter_map(|(place, part)| Some(beliefs.get(*place)?.as_ref()?.variance(part)))
                .sum();
        }
        query.settle();
    }
    // Variances only fall, so a rival that is negligible now stays so.
    let least = NEGLIGIBLE * queries.iter().map(|q| q.loss).sum::<f64>();
    for query in &mut queries {
        let (weight, choice) = (query.weight, query.choice);
        for group in &mut query.groups {
            group.retain(|one| {
                !choice || weight * normal::gain(one.gap, one.variance.max(0.0).sqrt()) > least
            });
        }
        query.groups.retain(|group| !group.is_empty());
    }
    Ok(queries)
}

fn model_queries(
    number: usize,
    model: &Model,
    set: &ModelSet,
    resolved: &Resolved,
    beliefs: &[Option<Belief>],
) -> Vec<Query> {
    let nodes = set.nodes();
    let ranges = resolved.formula(&model.name).map_or(&[][..], |formula| &formula.ranges);
    let ranges: Vec<_> =
        ranges.iter().zip(&model.inputs).map(|(range, input)| (*range, input.integer)).collect();
    let own = resolved.place(&model.name).and_then(|place| beliefs.get(place)?.as_ref());
    let query = |inputs: &Vec<f64>| {
        let found = resolved.sensitivity(&model.name, nodes, inputs)?;
        let one = Uncertain { gap: 0.0, parts: found.parts, variance: 0.0 };
        let weight = own.map_or(2.0, |belief| belief.t_quantile) / found.seconds;
        let query =
            Query { target: number, weight, excess: 0.0, groups: vec![vec![one]], loss: 0.0, choice: false };
        query.weight.is_finite().then_some(query)
    };
    places(&ranges).unwrap_or_default().iter().filter_map(query).collect()
}

/// Points that fill the ranges evenly, by logarithms in wide ones; whole numbers where the ends
/// are. `None` if a range has no end.
pub(crate) fn places(ranges: &[((f64, f64), bool)]) -> Option<Vec<Vec<f64>>> {
    if !ranges.iter().all(|((low, high), _)| low.is_finite() && high.is_finite() && low <= high) {
        return None;
    }
    let mut places: Vec<Vec<f64>> = Vec::new();
    for k in 0..QUERIES {
        let value = |(i, ((low, high), integer)): (usize, &((f64, f64), bool))| {
            let share = evenly(k, i, ranges.len());
            let value = if *low > 0.0 && high / low > WIDE {
                low * (high / low).powf(share)
            } else {
                low + share * (high - low)
            };
            let whole = *integer || low.fract() == 0.0 && high.fract() == 0.0 && high - low >= 1.0;
            if whole { value.round().clamp(*low, *high) } else { value }
        };
        let place: Vec<f64> = ranges.iter().enumerate().map(value).collect();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Some(places)
}

/// The choice at these inputs with its rivals. `None` if fewer than two settings have predictions.
fn choice(number: usize, competition: &Competition, chooser: &Competition, inputs: &[f64]) -> Option<Query> {
    let choice = competition.choose(inputs, None).ok()?;
    let mut field: Vec<(usize, Vec<i64>, Sensitivity)> = Vec::new();
    for (candidate, (_, outcome)) in choice.outcomes().enumerate() {
        let parameters = match outcome {
            Outcome::Taken => choice.parameters.to_vec(),
            Outcome::Slower(_, parameters) => parameters.to_vec(),
            _ => continue,
        };
        if let Some(found) = competition.sensitivity(candidate, inputs, &parameters) {
            field.push((candidate, parameters, found));
        }
    }
    let first = (0..field.len()).min_by(|a, b| field[*a].2.seconds.total_cmp(&field[*b].2.seconds))?;
    let (candidate, parameters, chosen) = field.swap_remove(first);
    let mut groups: Vec<Vec<Uncertain>> =
        field.iter().map(|(_, _, rival)| vec![difference(&chosen, rival)]).collect();
    for (at, declared) in competition.candidates()[candidate].declared.iter().enumerate() {
        let count = declared.max.abs_diff(declared.min).min(VARIANTS as u64 - 1) as i64;
        let values = (0..=count).map(|k| declared.min + (declared.max - declared.min) / count.max(1) * k);
        let variants = values.filter(|value| parameters.get(at) != Some(value)).filter_map(|value| {
            let mut other = parameters.clone();
            *other.get_mut(at)? = value;
            Some(difference(&chosen, &competition.sensitivity(candidate, inputs, &other)?))
        });
        groups.push(variants.collect());
    }
    groups.retain(|group| !group.is_empty());
    let weight = 1.0 / chosen.seconds;
    let taken =
        chooser.choose(inputs, None).ok().filter(|taken| taken.predicted.is_some()).and_then(|taken| {
            let candidate = competition.candidates().iter().position(|row| row.name == taken.name)?;
            competition.sensitivity(candidate, inputs, &taken.parameters)
        });
    let excess = taken.map_or(0.0, |taken| (taken.seconds - chosen.seconds).max(0.0));
    let query = Query { target: number, weight, excess, groups, loss: 0.0, choice: true };
    (!query.groups.is_empty() && weight.is_finite()).then_some(query)
}

/// The difference in time between a rival and the choice. Common parts cancel.
fn difference(chosen: &Sensitivity, rival: &Sensitivity) -> Uncertain {
    let mut parts = rival.parts.clone();
    for (place, derivatives) in &chosen.parts {
        match parts.iter_mut().find(|(known, _)| known == place) {
            Some((_, part)) => part.iter_mut().zip(derivatives).for_each(|(r, c)| *r -= c),
            None => parts.push((*place, derivatives.iter().map(|c| -c).collect())),
        }
    }
    // A variant of the chosen candidate can be faster by rounding only.
    Uncertain { gap: (rival.seconds - chosen.seconds).max(0.0), parts, variance: 0.0 }
}
