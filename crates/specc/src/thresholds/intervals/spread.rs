//! The spread of coefficients, and so of crossovers, under repeated measurement.
//!
//! If the samples of a model are there, its coefficients are drawn by a wild bootstrap over the
//! points (Wu 1986; MacKinnon 2013): each point keeps its deviation from the model with a random
//! sign, and least squares give the coefficients. This covers noise that differs from point to
//! point, and costs that no term describes. The coefficients of other models are drawn from their
//! covariance. In both cases each time also gets the model's own error: the error at held-out
//! samples that noise does not explain.

use std::collections::{BTreeMap, BTreeSet};

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_model::set::{Kind, Mode, Model, SetError};
use strata_model::{ModelSet, Resolved};
use strata_select::normal::{self, HALF_WIDTH};

use super::Evidence;
use super::measured::rows;
use super::pair::{Found, Pair, Point};

const DRAWS: usize = 1000;

/// A deviation above this multiple of the median one is an outlier, which the fit has left out.
const OUTLIER: f64 = 8.0;

/// The origin of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A bootstrap over this number of points of the samples.
    Samples(usize),
    /// The covariance of the coefficients; the samples are missing.
    Covariance,
    /// No source; there are no intervals.
    Nothing,
}

/// Drawn deviations of coefficients.
pub(super) struct Spread {
    /// For each fitted model, by its index, the deviations of its kept coefficients: one row per
    /// draw.
    models: BTreeMap<usize, Vec<Vec<f64>>>,
    /// For each model its own error, and the contrast between values of its parameters.
    errors: BTreeMap<String, (f64, f64)>,
    /// The number of points of each model that is drawn from its samples.
    points: BTreeMap<usize, usize>,
}

impl Spread {
    pub(super) fn of(set: &ModelSet, nodes: usize, evidence: &Evidence) -> Result<Self, SetError> {
        let resolved = set.resolve()?;
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (mut models, mut errors) = (BTreeMap::new(), BTreeMap::new());
        let mut points = BTreeMap::new();
        for model in &set.models {
            let contrast = model.contrast.map_or(0.0, |contrast| contrast.deviation);
            // Without a known noise the own error is the whole error at held-out samples. The
            // deviations of the samples already contain it, so it is not added.
            let own = if model.noise.is_some() { model.own_error } else { 0.0 };
            errors.insert(model.name.clone(), (own, contrast));
            let (Kind::Fitted, Some(place)) = (&model.kind, resolved.place(&model.name)) else { continue };
            let repeated = evidence
                .files()
                .find_map(|file| Scores::of(&resolved, model, &rows(model, file.model(&model.name)?), nodes));
            let drawn = match &repeated {
                Some(scores) => {
                    points.insert(place, scores.points.len());
                    scores.draw(&mut random)
                }
                None => by_covariance(model, &mut random),
            };
            models.extend(drawn.map(|drawn| (place, drawn)));
        }
        Ok(Self { models, points, errors })
    }

    /// The origin of the intervals of times that these models predict.
    pub(super) fn origin(&self, models: &BTreeSet<usize>) -> Origin {
        let points: Vec<Option<usize>> = models.iter().map(|place| self.points.get(place).copied()).collect();
        if !points.is_empty() && points.iter().all(Option::is_some) {
            Origin::Samples(points.into_iter().flatten().sum())
        } else if models.iter().any(|place| self.models.contains_key(place)) {
            Origin::Covariance
        } else {
            Origin::Nothing
        }
    }

    /// The interval of a crossover at this value: quantiles of the crossovers with the drawn
    /// coefficients.
    pub(super) fn interval(&self, pair: &Pair<'_>, at: f64) -> Option<(Option<f64>, Option<f64>)> {
        let root = pair.root()?;
        let [first, second] = pair.ways.map(|way| way.candidate);
        let error = |candidate: usize| {
            let (model, _) = pair.competition.arguments(candidate)?;
            self.errors.get(model).copied()
        };
        let [(first_error, contrast), (second_error, _)] =
            [first, second].map(error).map(Option::unwrap_or_default);
        // The error of one model is the same at two values of a parameter, except for its contrast.
        let deviation = if first == second { contrast } else { first_error.hypot(second_error) };
        if deviation <= 0.0 && !pair.models().iter().any(|place| self.models.contains_key(place)) {
            return None;
        }
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut roots: Vec<f64> = (0..DRAWS)
            .map(|draw| {
                let off = deviation * normal(&mut random);
                let ratio = |point: &Point| {
                    let seconds = [0, 1].map(|way| self.drawn(point, way, draw));
                    if seconds.iter().any(|seconds| *seconds <= 0.0) {
                        return point.ratio() + off;
                    }
                    point.ratio() + (seconds[1] / seconds[0]).ln() + off
                };
                match pair.crossing(&ratio) {
                    Found::At(value) => value,
                    Found::Below => f64::NEG_INFINITY,
                    Found::Above => f64::INFINITY,
                }
            })
            .collect();
        roots.sort_by(f64::total_cmp);
        let end = |place: usize| {
            // The choice need not change exactly where the times cross.
            let value = pair.moved(roots[place], root, at);
            value.is_finite().then_some(value)
        };
        Some((end(DRAWS / 40), end(DRAWS - 1 - DRAWS / 40)))
    }

    /// The drawn time of a way over the model's time.
    fn drawn(&self, point: &Point, way: usize, draw: usize) -> f64 {
        let sensitivity = &point.sensitivity[way];
        let change = |(place, terms): &(usize, Vec<f64>)| {
            let Some(deviations) = self.models.get(place).and_then(|model| model.get(draw)) else {
                return 0.0;
            };
            deviations.iter().zip(terms).map(|(deviation, term)| deviation * term).sum()
        };
        1.0 + sensitivity.parts.iter().map(change).sum::<f64>() / sensitivity.seconds
    }
}

/// The contributions of a model's points to its coefficients.
struct Scores {
    /// (X'X)⁻¹ x e for each point.
    points: Vec<Vec<f64>>,
    /// The factor on the deviations for having few points.
    widened: f64,
}

impl Scores {
    /// `None` if there are too few points for the terms, or rows that do not determine them.
    fn of(
        resolved: &Resolved,
        model: &Model,
        rows: &[super::measured::Row<'_>],
        nodes: usize,
    ) -> Option<Self> {
        let place = resolved.place(&model.name)?;
        // Rows of the weighted fit, with the deviation and the point of each.
        let mut all: Vec<(Vec<f64>, f64, Vec<u64>)> = Vec::new();
        for row in rows.iter().filter(|row| !row.sample.verify) {
            let nodes = if row.sample.notes.nodes == 0 { nodes } else { row.sample.notes.nodes };
            let Some(sensitivity) = resolved.sensitivity(&model.name, nodes, &row.inputs) else { continue };
            let weight = if model.mode == Mode::Relative { 1.0 / sensitivity.seconds } else { 1.0 };
            let Some(terms) = sensitivity.part(place) else { continue };
            let x: Vec<f64> = terms.iter().map(|term| term * weight).collect();
            let deviation = (row.sample.seconds - sensitivity.seconds) * weight;
            if x.iter().chain([&deviation]).all(|value| value.is_finite()) {
                let point = row.inputs.iter().map(|value| value.to_bits()).chain([nodes as u64]).collect();
                all.push((x, deviation, point));
            }
        }
        let mut sizes: Vec<f64> = all.iter().map(|(_, deviation, _)| deviation.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let usual = sizes.get(sizes.len() / 2).copied()?;
        all.retain(|(_, deviation, _)| usual <= 0.0 || deviation.abs() <= OUTLIER * usual);
        let count = all.first()?.0.len();
        let points: BTreeSet<&Vec<u64>> = all.iter().map(|(_, _, point)| point).collect();
        (count > 0 && points.len() > count + 1).then_some(())?;
        let solve = Inverse::of(count, all.iter().map(|(x, _, _)| x.as_slice()))?;
        let mut scores: BTreeMap<&Vec<u64>, Vec<f64>> = BTreeMap::new();
        for (x, deviation, point) in &all {
            let direction = solve.times(x);
            // The deviation as it would be if the point had not been fitted.
            let leverage = dot(&direction, x).clamp(0.0, 0.99);
            let score = scores.entry(point).or_insert_with(|| vec![0.0; count]);
            score.iter_mut().zip(&direction).for_each(|(sum, d)| *sum += d * deviation / (1.0 - leverage));
        }
        Some(Self {
            points: scores.into_values().collect(),
            widened: (model.t_quantile / HALF_WIDTH).max(1.0),
        })
    }

    fn draw(&self, random: &mut ChaCha8Rng) -> Option<Vec<Vec<f64>>> {
        let count = self.points.first()?.len();
        let one = |_| {
            let mut sum = vec![0.0; count];
            for point in &self.points {
                let sign = if random.random::<bool>() { self.widened } else { -self.widened };
                sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += sign * value);
            }
            sum
        };
        Some((0..DRAWS).map(one).collect())
    }
}

/// Draws from the covariance of the coefficients; `None` if it is not known.
fn by_covariance(model: &Model, random: &mut ChaCha8Rng) -> Option<Vec<Vec<f64>>> {
    let kept: Vec<usize> = (0..model.terms.len()).filter(|term| model.terms[*term].relevant).collect();
    let known = model.covariance.len() == model.terms.len()
        && model.covariance.iter().flatten().any(|value| *value != 0.0);
    (known && !kept.is_empty()).then_some(())?;
    let covariance: Vec<Vec<f64>> =
        kept.iter().map(|i| kept.iter().map(|j| model.covariance[*i][*j]).collect()).collect();
    let root = cholesky(&covariance);
    let widened = (model.t_quantile / HALF_WIDTH).max(1.0);
    let one = |_| {
        let z: Vec<f64> = kept.iter().map(|_| widened * normal(random)).collect();
        root.iter().map(|row| dot(row, &z)).collect()
    };
    Some((0..DRAWS).map(one).collect())
}

/// The inverse of a matrix of products, with columns scaled to about equal size.
struct Inverse {
    scales: Vec<f64>,
    root: Vec<Vec<f64>>,
}

impl Inverse {
    fn of<'a>(count: usize, rows: impl Iterator<Item = &'a [f64]> + Clone) -> Option<Self> {
        let norm = |j: usize| rows.clone().map(|row| row[j] * row[j]).sum::<f64>().sqrt();
        let scales: Vec<f64> = (0..count).map(norm).collect();
        scales.iter().all(|scale| *scale > 0.0).then_some(())?;
        let product = |i: usize, j: usize| {
            rows.clone().map(|row| row[i] * row[j]).sum::<f64>() / (scales[i] * scales[j])
        };
        let matrix: Vec<Vec<f64>> = (0..count).map(|i| (0..count).map(|j| product(i, j)).collect()).collect();
        let root = cholesky(&matrix);
        // Dependent terms give zeros on the diagonal.
        (0..count).all(|i| root[i][i] > 1e-7).then_some(Self { scales, root })
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        let count = self.scales.len();
        let mut y: Vec<f64> = x.iter().zip(&self.scales).map(|(x, scale)| x / scale).collect();
        for i in 0..count {
            let before: f64 = (0..i).map(|j| self.root[i][j] * y[j]).sum();
            y[i] = (y[i] - before) / self.root[i][i];
        }
        for i in (0..count).rev() {
            let after: f64 = (i + 1..count).map(|j| self.root[j][i] * y[j]).sum();
            y[i] = (y[i] - after) / self.root[i][i];
        }
        y.iter().zip(&self.scales).map(|(y, scale)| y / scale).collect()
    }
}

/// The lower triangle L of the matrix L L'; columns of zeros if it is rank deficient.
fn cholesky(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = matrix.len();
    let mut root = vec![vec![0.0; count]; count];
    for i in 0..count {
        for j in 0..=i {
            let rest = matrix[i][j] - (0..j).map(|k| root[i][k] * root[j][k]).sum::<f64>();
            root[i][j] = match i == j {
                true => rest.max(0.0).sqrt(),
                false if root[j][j] > 0.0 => rest / root[j][j],
                false => 0.0,
            };
        }
    }
    root
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A draw from the normal distribution (Box and Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    normal::draw(random.random(), random.random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_is_one() {
        let rows = [[1.0, 1e6], [1.0, 2e6], [1.0, 5e6]];
        let inverse = Inverse::of(2, rows.iter().map(|row| &row[..])).unwrap();
        // X'X times the solution gives the vector again.
        let solved = inverse.times(&[3.0, 4e6]);
        let product = |i: usize| rows.iter().map(|row| row[i] * dot(row, &solved)).sum::<f64>();
        assert!((product(0) - 3.0).abs() < 1e-9 && (product(1) - 4e6).abs() < 1e-3, "{solved:?}");
        assert!(Inverse::of(2, [[1.0, 2.0], [2.0, 4.0]].iter().map(|row| &row[..])).is_none());
    }
}
