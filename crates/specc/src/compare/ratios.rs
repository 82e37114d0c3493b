//! The ratios of two runs' times of one model, point by point.

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_model::samples::ModelSamples;
use strata_model::set::{Kind, Model};
use strata_model::{ModelSet, Resolved, Unit};

use super::Run;
use super::change::{LEAST, Point};
use crate::thresholds::places::{Scale, Takes};
use strata_fit::bootstrap::mean;

/// The number of points if both times are predicted.
const DRAWN: usize = 64;

/// The origin of the two times of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Both were measured.
    Samples,
    /// One was measured; the other run's models predict the other.
    Predictions,
    /// Both are predicted.
    Models,
    /// Both were measured, repeatedly at few points.
    Repeats,
    /// Both were measured in each of several rounds.
    Rounds,
}

/// The ratios of one model.
pub(super) struct Ratios {
    pub(super) by: By,
    /// The names of a point's values; the last is the number of nodes.
    pub(super) names: Vec<String>,
    pub(super) points: Vec<Point>,
    /// The standard deviation of an error common to all predicted times.
    pub(super) off: f64,
    /// What repeats tell at each of too few points.
    pub(super) repeats: Option<Vec<Repeats>>,
}

/// The samples and the model of one run.
struct Side<'a> {
    /// The names of its inputs.
    names: Vec<&'a str>,
    unit: &'a Unit,
    samples: Option<&'a ModelSamples>,
    fitted: Option<&'a Model>,
    resolved: Option<Resolved>,
    /// The number of nodes of the measurement.
    nodes: usize,
}

/// The ratios of the model `name` in two runs; `None` if the runs have no point in common and no
/// models that predict.
///
/// # Errors
/// A message: its inputs or its unit differ.
pub(super) fn of(name: &str, [before, after]: [&Run; 2]) -> Result<Option<Ratios>, String> {
    let (Some(old), Some(new)) = (Side::of(name, before), Side::of(name, after)) else { return Ok(None) };
    let sorted = |names: &[&str]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.join(", ")
    };
    let [here, there] = [sorted(&old.names), sorted(&new.names)];
    if here != there {
        return Err(format!(
            "`{name}` depends on other inputs: {here} in {}, {there} in {}; runs of one spec can be compared",
            before.name, after.name
        ));
    }
    if old.unit != new.unit {
        return Err(format!(
            "`{name}` is in {} in {}, and in {} in {}",
            old.unit, before.name, new.unit, after.name
        ));
    }
    let order = old.names.clone();
    let names = order.iter().map(ToString::to_string).chain(["P".to_owned()]).collect();
    let (was, is) = (old.measured(&order), new.measured(&order));
    let ratio = |at: &[f64], after: f64, before: f64| Point { at: at.to_vec(), log: (after / before).ln() };
    let both = || is.values().filter_map(|(at, after)| Some((at, &was.get(&bits(at))?.1, after)));
    let points: Vec<Point> =
        both().map(|(at, before, after)| ratio(at, median(after.clone()), median(before.clone()))).collect();
    let ratios = |by, points, off, repeats| Ok(Some(Ratios { by, names, points, off, repeats }));
    if points.len() >= LEAST {
        return ratios(By::Samples, points, 0.0, None);
    }
    let by_old = is
        .values()
        .filter_map(|(at, after)| Some(ratio(at, median(after.clone()), old.predict(&order, at)?)));
    let by_new = was
        .values()
        .filter_map(|(at, before)| Some(ratio(at, new.predict(&order, at)?, median(before.clone()))));
    let mut predicted: Vec<Point> = by_old.chain(by_new).collect();
    let mut by = By::Predictions;
    if predicted.is_empty() {
        by = By::Models;
        let drawn = old.drawn(&new, &order);
        let pair = |at: &Vec<f64>| Some(ratio(at, new.predict(&order, at)?, old.predict(&order, at)?));
        predicted = drawn.iter().filter_map(pair).collect();
    }
    if predicted.len() <= points.len() {
        if points.is_empty() {
            return Ok(None);
        }
        let repeats: Option<Vec<Repeats>> =
            both().map(|(_, before, after)| Repeats::of(before, after)).collect();
        return match repeats {
            Some(repeats) => ratios(By::Repeats, points, 0.0, Some(repeats)),
            None => ratios(By::Samples, points, 0.0, None),
        };
    }
    ratios(by, predicted, old.off().hypot(new.off()), None)
}

/// The mean of logarithms of repeated times after, less that of those before: Welch, *The
/// generalization of Student's problem when several different population variances are involved*
/// (1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Repeats {
    pub(super) log: f64,
    /// The variance of `log`, and its degrees of freedom.
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

impl Repeats {
    /// `None` with too few repeats to tell their noise.
    fn of(before: &[f64], after: &[f64]) -> Option<Self> {
        /// The fewest repeats of each run.
        const LEAST_REPEATS: usize = 4;
        let of = |times: &[f64]| {
            let logs: Vec<f64> = times.iter().map(|time| time.ln()).collect();
            let n = logs.len() as f64;
            let middle = mean(&logs);
            let square: f64 = logs.iter().map(|log| (log - middle).powi(2)).sum();
            (logs.len() >= LEAST_REPEATS).then_some((middle, square / (n - 1.0) / n, n - 1.0))
        };
        let ((old, of_old, few), (new, of_new, many)) = of(before).zip(of(after))?;
        let variance = of_old + of_new;
        let freedom = variance * variance / (of_old * of_old / few + of_new * of_new / many);
        let freedom = if freedom.is_finite() { freedom } else { few + many };
        Some(Self { log: new - old, variance, freedom })
    }
}

/// Measured times by point: the inputs in an order, then the number of nodes.
type Times = BTreeMap<Vec<u64>, (Vec<f64>, Vec<f64>)>;

fn measured(samples: &ModelSamples, order: &[&str]) -> Times {
    let place = |name: &&str| samples.columns.iter().position(|column| column.text == **name);
    let Some(places) = order.iter().map(place).collect::<Option<Vec<usize>>>() else {
        return BTreeMap::new();
    };
    let mut all = Times::new();
    for row in samples.rows.iter().filter(|row| row.seconds.is_finite() && row.seconds > 0.0) {
        let values = places.iter().map(|place| row.values.get(*place).copied());
        let Some(mut at) = values.collect::<Option<Vec<f64>>>() else { continue };
        at.push(row.notes.nodes as f64);
        all.entry(bits(&at)).or_insert_with(|| (at, Vec::new())).1.push(row.seconds);
    }
    all
}

/// A point as the key of a map.
fn bits(at: &[f64]) -> Vec<u64> {
    at.iter().map(|value| value.to_bits()).collect()
}

impl<'a> Side<'a> {
    fn of(name: &str, run: &'a Run) -> Option<Self> {
        let samples = run.samples.as_ref().and_then(|samples| samples.model(name));
        let set = run.set.as_ref();
        let predicts = |model: &&Model| model.kind != Kind::Unmeasured && model.bound.is_none();
        let fitted = set.and_then(|set| set.model(name)).filter(predicts);
        let columns = |samples: &'a ModelSamples| -> Vec<&'a str> {
            let inputs: Vec<&str> = samples.inputs().map(|(_, column)| column.text.as_str()).collect();
            if inputs.is_empty() {
                samples.columns.iter().map(|column| &*column.text).collect()
            } else {
                inputs
            }
        };
        let inputs = |model: &'a Model| model.inputs.iter().map(|input| &*input.name).collect();
        Some(Self {
            names: samples.map(columns).or_else(|| fitted.map(inputs))?,
            unit: samples.map(|samples| &samples.unit).or_else(|| fitted.map(|model| &model.unit))?,
            samples,
            fitted,
            resolved: fitted.and(set).and_then(|set| set.resolve().ok()),
            nodes: set.map_or(0, ModelSet::nodes),
        })
    }

    fn measured(&self, order: &[&str]) -> Times {
        self.samples.map(|samples| measured(samples, order)).unwrap_or_default()
    }

    /// The predicted time at a point.
    fn predict(&self, order: &[&str], at: &[f64]) -> Option<f64> {
        let model = self.fitted?;
        let value = |input: &strata_model::set::Input| {
            order.iter().position(|name| *name == input.name).and_then(|place| at.get(place).copied())
        };
        let inputs: Vec<f64> = model.inputs.iter().map(value).collect::<Option<_>>()?;
        let nodes = at.last().map_or(0, |nodes| *nodes as usize);
        let nodes = if nodes == 0 { self.nodes } else { nodes };
        let seconds = self.resolved.as_ref()?.seconds(&model.name, nodes, &inputs)?;
        (seconds > 0.0).then_some(seconds)
    }

    /// Points in the range of both models.
    fn drawn(&self, other: &Side<'_>, order: &[&str]) -> Vec<Vec<f64>> {
        let range = |name: &&str| {
            let of = |side: &Side<'_>| {
                let input = side.fitted?.inputs.iter().find(|input| input.name == **name)?.clone();
                (input.min.is_finite() && input.max.is_finite()).then_some(input)
            };
            let [one, two] = [of(self)?, of(other)?];
            let (low, high) = (one.min.max(two.min), one.max.min(two.max));
            (low <= high).then_some(Scale { low, high, whole: one.integer && two.integer, takes: Takes::All })
        };
        let Some(scales) = order.iter().map(range).collect::<Option<Vec<Scale>>>() else {
            return Vec::new();
        };
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let mut point = || {
            let values = scales.iter().map(|scale| scale.at(random.random::<f64>()));
            values.chain([self.nodes as f64]).collect()
        };
        (0..DRAWN).map(|_| point()).collect()
    }

    /// The standard deviation of the model's common error: from its own error and from its
    /// coefficients.
    fn off(&self) -> f64 {
        let Some(model) = self.fitted else { return 0.0 };
        let kept = model.terms.iter().filter(|term| term.relevant).count() as f64;
        let (noise, samples) = (model.noise_variance.max(0.0), model.samples.max(1) as f64);
        let relative = if model.mean_time > 0.0 { noise / model.mean_time.powi(2) } else { 0.0 };
        model.own_error.hypot((relative * kept / samples).sqrt())
    }
}

/// The median of some values, of which there must be one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}
