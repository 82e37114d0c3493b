//! The search for unnamed terms among products of powers and logarithms of the inputs, and
//! breakpoints.
//!
//! Sets of up to [`LONGEST`] terms are ranked by the error with which each point is predicted from
//! all others; along an input of few values, each of its values from the others, since points
//! between them matter. Such an input bears half as many functions as it has values: with more, the
//! curve between them is arbitrary. Every term costs more the more candidates of its complexity there
//! are, so that a plain truth is found where a complicated sum is hardly better. A beam finds sets by
//! their error; the best of them are improved by their price, term by term, where products also grow:
//! a grown one costs as one of all that could have been grown. Errors are relative to the
//! predictions of the best set of a first search, unless measured times are requested as weights.
//! Samples that the found terms exclude as outliers are left out, and the search is repeated; so is
//! one at whose point several terms serve nothing else. The fit treats found terms like named ones.
//!
//! Terms that are alike where they were measured can imitate another one by a sum of alternating
//! signs, which is far off elsewhere. Such a sum gives way to terms without negative coefficients
//! that predict left-out points as well.
//!
//! Source: Chen and Chen, *Extended Bayesian information criteria* (2008), and Rissanen (1983) for
//! prices by complexity; Belsley, Kuh and Welsch, *Regression Diagnostics* (1980), §3.2, for terms
//! that are alike; Breiman et al., *Classification and Regression Trees* (1984), §3.4.3, for *as
//! well*.

mod beam;
mod climb;
mod pool;

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};
use strata_model::expr::{Expr, RESERVED};
use strata_model::samples::{ModelSamples, Sample};
use strata_model::set::Mode;

use crate::design::nodes_of_rows;
use crate::domain::FEW;
use crate::knee::{LEAST_PIECE, nearby};
use crate::noise;
use crate::points::{self, left_out, left_out_groups};
use crate::regress::{LEAST_SHARE, inliers, plausible, smooth};
use crate::stats::last_place;
use crate::{FitOptions, Robust, Structure, Weights};
use climb::Pool;
use pool::{Break, Candidate, Input, evaluate, hinge};

/// The most terms of a found model.
const LONGEST: usize = 6;
/// The most pieces that the range of an input is cut into.
const MAX_PIECES: usize = 4;
/// The least number of distinct points for each coefficient and each place of a breakpoint: Austin
/// and Steyerberg, *The number of subjects per variable required in linear regression analyses*
/// (2015).
const POINTS_EACH: usize = 2;
/// The least number of distinct points to distinguish curves.
pub(crate) const LEAST_POINTS: usize = 4;
/// More samples than these add little to the choice of terms.
const ENOUGH: usize = 500;
/// The most values in the table of samples and candidates: the work of a search is at most some
/// thousand times this.
const TABLE: usize = 1 << 20;
/// How often the search is repeated with other outliers.
const REPEATED: usize = 3;
/// The additional cost of a term with a negative coefficient, in units of the logarithm of the
/// squared error times the samples.
const NEGATIVE_PRICE: f64 = 8.0;
/// A set gives way to one that was found without a single point if it has so many more terms.
const RESTING: usize = 2;
/// The least leverage of such a point.
const DETERMINES: f64 = 0.5;
/// The additional cost of a breakpoint, whose place was chosen too.
const BREAK_PRICE: f64 = 6.0;
/// The number of best sets of each length whose breakpoints are moved from the samples to where
/// they fit best.
const MOVED: usize = 3;
/// The number of best sets from which each term is left out in turn.
const SHORTENED: usize = 8;
/// Relative errors below this are rounding.
const EXACT: f64 = 1e-12;
/// Values of an input with [`FEW`] of them are left out whole; of two the rest tells nothing.
const LEAST_FEW: usize = 3;
/// Terms whose condition is above this are alike.
const ALIKE: f64 = 30.0;
/// How often weights are recomputed from new predictions; they need not converge to choose terms.
const REWEIGHTED: usize = 4;
/// Weights that differ by less than this share choose the same terms.
const SAME_WEIGHTS: f64 = 1e-6;

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The terms besides the constant.
    pub(crate) terms: Vec<Expr>,
    /// The number of candidates, and whether more were left out.
    pub(crate) candidates: usize,
    pub(crate) cut: bool,
    /// The root mean square of the error with which points were predicted from all others; a
    /// fraction in relative mode, else in s.
    pub(crate) error: f64,
    /// The inputs and the measured values between which the model has breakpoints.
    pub(crate) breaks: Vec<(String, f64, f64)>,
}

/// The weighted problem.
struct Problem<'a> {
    inputs: &'a [Input],
    points: Vec<Vec<f64>>,
    /// Samples of one point have one number.
    groups: Vec<usize>,
    by_value: bool,
    /// The number of each sample's value, for each input with few.
    values: Vec<Vec<usize>>,
    /// The equivalent number of independent samples.
    samples: f64,
    /// Errors below this are rounding.
    floor: f64,
    /// The decimal place to which times are rounded, s.
    last_place: f64,
    /// One over the weight of each sample, scaled so that the times have about the length one.
    weights: DVector<f64>,
    times: DVector<f64>,
    options: &'a FitOptions,
    /// The number of coefficients and places of breakpoints that the points allow.
    parameters: usize,
    /// The price of a term, by complexity.
    prices: Vec<f64>,
    /// The price of a grown product, of usual factors and of others.
    grown: [f64; 2],
}

/// A set of terms with its price.
#[derive(Clone)]
struct Scored {
    candidates: Vec<Candidate>,
    price: f64,
    error: f64,
    residual: DVector<f64>,
    /// Coefficients below zero that no cost has.
    negative: usize,
}

/// Searches terms for a model; `None` if there are no candidates.
pub(crate) fn search(samples: &ModelSamples, structure: &Structure, options: &FitOptions) -> Option<Found> {
    let columns: Option<Vec<usize>> =
        structure.inputs.iter().map(|input| samples.columns.iter().position(|c| c.text == *input)).collect();
    let columns = columns?;
    let nodes = nodes_of_rows(samples, structure.nodes).ok()?;
    let rows: Vec<(&Sample, usize)> = samples.rows.iter().zip(nodes).filter(|(row, _)| !row.verify).collect();
    let stride = rows.len().div_ceil(ENOUGH).max(1);
    let (rows, nodes): (Vec<&Sample>, Vec<usize>) = rows.into_iter().step_by(stride).unzip();
    let at = |row: &Sample| columns.iter().map(|c| row.values[*c]).collect();
    let mut values: Vec<Vec<f64>> = rows.iter().map(|row| at(row)).collect();
    let mut names: Vec<&str> = structure.inputs.iter().map(String::as_str).collect();
    // The number of nodes is an input, if it varies.
    if nodes.iter().any(|number| *number != nodes[0]) && !names.contains(&RESERVED[0]) {
        names.push(RESERVED[0]);
        values.iter_mut().zip(&nodes).for_each(|(point, number)| point.push(*number as f64));
    }
    let input = |(i, name): (usize, &&str)| Input {
        parameter: structure.parameters.iter().any(|parameter| parameter == name),
        ..Input::new(name, values.iter().map(|p| p[i]))
    };
    let inputs: Vec<Input> = names.iter().enumerate().map(input).collect();
    if inputs.iter().all(|i| i.values.len() < 2) {
        return None;
    }
    let (all, cut) = pool::candidates(&inputs, options.constant, TABLE / rows.len().max(1));
    let (all, matrix) = evaluate(all, &inputs, &values);
    let seconds = DVector::from_iterator(rows.len(), rows.iter().map(|r| r.seconds));
    let noise = noise::of_steady(&rows);
    let variables = DMatrix::from_fn(names.len(), rows.len(), |input, row| values[row][input]);
    let robust = options.robust == Robust::Reject && options.weights == Weights::Predicted;
    let is_relative = options.mode == Mode::Relative;
    // What is off whatever the terms takes part nowhere: a time near zero would outweigh all others.
    let off = if robust && is_relative { plausible(&variables, &seconds, &noise) } else { None };
    let everything = off.unwrap_or_else(|| (0..rows.len()).collect());
    let among = |terms: &DMatrix<f64>, times: &DVector<f64>, noise: &[f64]| -> Vec<usize> {
        let noise: Vec<f64> = everything.iter().map(|i| noise[*i]).collect();
        let variables = variables.select_columns(&everything);
        inliers(&terms.select_rows(&everything), &variables, &times.select_rows(&everything), &noise)
            .map_or_else(|| everything.clone(), |kept| kept.rows.iter().map(|i| everything[*i]).collect())
    };
    let repeated = |by_value: bool| {
        let mut kept = everything.clone();
        if robust && is_relative {
            kept = among(&smooth(&variables), &seconds.map(f64::ln), &noise);
        }
        let mut found = None;
        for _ in 0..REPEATED {
            let search = |rows: &[usize]| {
                let points = rows.iter().map(|i| values[*i].clone()).collect();
                let (part, matrix) = (seconds.select_rows(rows), matrix.select_rows(rows));
                best_of(points, &part, &inputs, &all, &matrix, by_value, options)
            };
            let Some((mut best, mut count, problem)) = search(&kept) else { break };
            if let Some(row) = problem.rests_on(&best).filter(|_| robust && is_relative) {
                let others: Vec<usize> = (0..kept.len()).filter(|i| *i != row).map(|i| kept[i]).collect();
                if let Some((plain, candidates, _)) = search(&others)
                    && best.candidates.len() >= plain.candidates.len() + RESTING
                    && problem.with_one_off(&plain) < best.price
                {
                    (best, count) = (plain, candidates);
                }
            }
            let next = if robust {
                let (_, terms) = evaluate(best.candidates.clone(), &inputs, &values);
                let unit = |i: usize| if is_relative { 1.0 / seconds[i] } else { 1.0 };
                let rows = DMatrix::from_fn(terms.nrows(), terms.ncols(), |i, j| terms[(i, j)] * unit(i));
                let times = DVector::from_fn(seconds.len(), |i, _| seconds[i] * unit(i));
                let noise: Vec<f64> = noise.iter().zip(times.iter()).map(|(n, t)| n * t.abs()).collect();
                among(&rows, &times, &noise)
            } else {
                kept.clone()
            };
            found = Some((best, count, seconds.select_rows(&kept).amax()));
            if next == kept {
                break;
            }
            kept = next;
        }
        found
    };
    let mut found = repeated(true);
    // Programs run on the numbers of nodes that were measured, so that where no plain curve between
    // few of them is accepted, the points count.
    let varies = |input: &Input| input.name == RESERVED[0] && input.values.len() > 1;
    if inputs.iter().any(varies) && found.as_ref().is_none_or(|(best, ..)| best.error > options.accept) {
        found = repeated(false).or(found);
    }
    let (best, count, largest) = found?;
    let breaks = best.candidates.iter().filter_map(|c| c.breakpoint);
    let mut named: Vec<(String, f64, f64)> =
        breaks.filter(|b| !b.continuous).map(|b| (inputs[b.input].name.clone(), b.at, b.next)).collect();
    named.dedup();
    Some(Found {
        terms: best.candidates.into_iter().map(|c| c.expr).filter(|e| e.as_number().is_none()).collect(),
        candidates: count,
        cut,
        error: best.error * if is_relative { 1.0 } else { largest },
        breaks: named,
    })
}

/// The best set for some samples, the number of candidates, and the problem whose price is least.
/// `by_value`: whether an input of few values bears few functions, and its values are left out whole.
fn best_of<'a>(
    points: Vec<Vec<f64>>,
    seconds: &DVector<f64>,
    inputs: &'a [Input],
    all: &[Candidate],
    matrix: &DMatrix<f64>,
    by_value: bool,
    options: &'a FitOptions,
) -> Option<(Scored, usize, Problem<'a>)> {
    let groups = points::groups(points.iter().map(|point| point.iter().copied()));
    let count = groups.iter().max()? + 1;
    if count < LEAST_POINTS {
        return None;
    }
    let parameters = (count - 1) / POINTS_EACH;
    let count = |complexity: u8| all.iter().filter(|c| c.complexity <= complexity).count().max(1) as f64;
    // The largest of many chance gains grows with the logarithm of their number; the constant is
    // not chosen from candidates.
    let price = |count: f64| (seconds.len() as f64).ln() + 2.0 * count.ln();
    let prices = (0..=u8::MAX).map(|c| if c == 0 { 0.0 } else { price(count(c)) }).collect();
    let grown = pool::growable(inputs).map(|more| price(count(u8::MAX) + more));
    let samples = seconds.len() as f64;
    let (weights, times) = (seconds.clone(), seconds.clone());
    let is_few = |i: &Input| by_value && (LEAST_FEW..=FEW).contains(&i.values.len());
    let few = (0..inputs.len()).filter(|i| is_few(&inputs[*i]));
    let of_value = |i: usize| points::groups(points.iter().map(|p| std::iter::once(p[i])));
    let values = few.map(of_value).collect();
    let (floor, last_place) = (EXACT, last_place(seconds.as_slice()));
    let mut problem = Problem {
        inputs,
        points,
        groups,
        by_value,
        values,
        samples,
        floor,
        last_place,
        weights,
        times,
        options,
        parameters,
        prices,
        grown,
    };
    problem.weigh(
        seconds,
        match options.mode {
            Mode::Relative => seconds.map(|y| 1.0 / y),
            Mode::Absolute => {
                DVector::from_element(seconds.len(), 1.0 / seconds.amax().max(f64::MIN_POSITIVE))
            }
        },
    );
    let (mut best, mut count) = problem.best(all, matrix, None)?;
    problem.samples /= problem.design_effect(&best);
    let mut again = problem.samples < seconds.len() as f64;
    if options.mode == Mode::Relative && options.weights == Weights::Predicted {
        let weights = problem.predicted(&best, seconds)?;
        let change =
            weights.iter().zip(problem.weights.iter()).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        if change > SAME_WEIGHTS {
            problem.weigh(seconds, weights);
            again = true;
        }
    }
    if again {
        (best, count) = problem.best(all, matrix, Some(best.candidates))?;
    }
    Some((best, count, problem))
}

impl Problem<'_> {
    /// Sets one over the weights.
    fn weigh(&mut self, seconds: &DVector<f64>, weights: DVector<f64>) {
        self.times = seconds.component_mul(&weights);
        self.floor =
            EXACT.max(0.5 * self.last_place * (weights.norm_squared() / weights.len() as f64).sqrt());
        self.weights = weights;
    }

    /// One over the predictions of a set of terms, found by repeated fitting until it converges.
    fn predicted(&mut self, set: &Scored, seconds: &DVector<f64>) -> Option<DVector<f64>> {
        let before = (self.weights.clone(), self.times.clone());
        for _ in 0..REWEIGHTED {
            let residual = self.score(set.candidates.clone())?.residual;
            let predicted = |i: usize| seconds[i] - residual[i] / self.weights[i];
            let weights = DVector::from_fn(seconds.len(), |i, _| {
                1.0 / predicted(i).clamp(LEAST_SHARE * seconds[i], seconds[i] / LEAST_SHARE)
            });
            self.weigh(seconds, weights);
        }
        let after = std::mem::replace(&mut self.weights, before.0);
        self.times = before.1;
        Some(after)
    }

    /// The best set of terms, and how many candidates there were. `start`: a set to be compared too.
    fn best(
        &self,
        all: &[Candidate],
        matrix: &DMatrix<f64>,
        start: Option<Vec<Candidate>>,
    ) -> Option<(Scored, usize)> {
        let (candidates, matrix) = self.weighted(all.to_vec(), matrix);
        if candidates.is_empty() {
            return None;
        }
        let allowed = |terms: &[usize]| self.allowed(terms.iter().map(|t| &candidates[*t]));
        let ranks: Vec<u8> = candidates.iter().map(|c| c.complexity).collect();
        let longest = LONGEST.min(self.parameters);
        let sets = beam::best_sets(&matrix, &self.times, &ranks, longest, &allowed);
        let mut scored: Vec<Scored> = sets
            .into_iter()
            .filter_map(|set| self.score(set.iter().map(|t| candidates[*t].clone()).collect()))
            .collect();
        scored.extend(start.and_then(|start| self.score(start)));
        // A beam only grows: later terms may have made an earlier one superfluous.
        for _ in 0..2 {
            scored.sort_by(|a, b| a.price.total_cmp(&b.price));
            let shorter: Vec<Scored> = scored.iter().take(SHORTENED).flat_map(|s| self.shorter(s)).collect();
            scored.extend(shorter);
        }
        scored.sort_by(|a, b| a.price.total_cmp(&b.price));
        let mut pool = Pool { candidates, matrix, grown: BTreeSet::new() };
        let climbed = self.climbed(&scored, longest, &mut pool);
        scored.extend(climbed);
        scored.sort_by(|a, b| a.price.total_cmp(&b.price));
        let mut best = 0;
        let mut moved: Vec<Scored> = Vec::new();
        for length in 1..=longest {
            let hinged = |s: &&Scored| {
                s.candidates.len() == length
                    && s.candidates.iter().any(|c| c.breakpoint.is_some_and(|b| b.continuous))
            };
            moved.extend(scored.iter().filter(hinged).take(MOVED).map(|s| self.place_breaks(s.clone())));
        }
        scored.extend(moved);
        for (place, s) in scored.iter().enumerate() {
            if s.price < scored[best].price - 1e-9 {
                best = place;
            }
        }
        let best = self.without_alternating(&scored, best);
        let best = scored.into_iter().nth(best)?;
        Some((best, pool.candidates.len() + pool.grown.len()))
    }

    /// The place of the best set or, if it is a sum of alternating signs of terms that are alike, of
    /// the best one without negative coefficients that predicts left-out points as well: within a
    /// standard error of the mean of squares.
    fn without_alternating(&self, scored: &[Scored], best: usize) -> usize {
        let set = &scored[best];
        let (_, matrix) = evaluate(set.candidates.clone(), self.inputs, &self.points);
        let (_, matrix) = self.weighted(set.candidates.clone(), &matrix);
        let singular = matrix.clone().singular_values();
        if set.negative == 0 || singular.max() <= ALIKE * singular.min() {
            return best;
        }
        // The spread of squares about their mean, of the residuals as of the left-out points.
        let mean = set.residual.norm_squared() / set.residual.len() as f64;
        let spread = set.residual.iter().map(|r| (r * r / mean.max(f64::MIN_POSITIVE) - 1.0).powi(2));
        let error = (spread.sum::<f64>()).sqrt() / set.residual.len() as f64;
        let limit = set.error.max(self.floor) * (1.0 + error).sqrt();
        let plain = (0..scored.len()).filter(|i| scored[*i].negative == 0 && scored[*i].error <= limit);
        plain.min_by(|a, b| scored[*a].price.total_cmp(&scored[*b].price)).unwrap_or(best)
    }

    /// Columns under the weights, scaled to length one; columns of zeros are left out.
    fn weighted(&self, candidates: Vec<Candidate>, matrix: &DMatrix<f64>) -> (Vec<Candidate>, DMatrix<f64>) {
        let mut kept = Vec::new();
        let mut values = Vec::new();
        for (candidate, column) in candidates.into_iter().zip(matrix.column_iter()) {
            let weighted = column.component_mul(&self.weights);
            let most = weighted.amax();
            let length = (weighted.clone() / most).norm() * most;
            if length.is_normal() {
                kept.push(candidate);
                values.extend(weighted.iter().map(|v| v / length));
            }
        }
        let matrix = DMatrix::from_vec(self.points.len(), kept.len(), values);
        (kept, matrix)
    }

    /// Whether the points allow so many coefficients and breakpoints, no input is cut into too many
    /// pieces, and every piece has enough of its values.
    fn allowed<'a>(&self, candidates: impl Iterator<Item = &'a Candidate> + Clone) -> bool {
        let places = places(candidates.clone());
        let pieces = |i: usize| 1 + places.iter().filter(|p| p.0 == i).count();
        let apart = places.windows(2).all(|pair| {
            let between = |v: &&f64| pair[0].1 < **v && **v <= pair[1].1;
            pair[0].0 != pair[1].0
                || self.inputs[pair[0].0].values.iter().filter(between).count() >= LEAST_PIECE
        });
        let functions = |i: usize| {
            let mut numbers: Vec<u32> =
                candidates.clone().flat_map(|c| &c.functions).filter(|f| f.0 == i).map(|f| f.1).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len()
        };
        candidates.clone().count() + places.len() <= self.parameters
            && (!self.by_value || (0..self.inputs.len()).all(|i| functions(i) <= self.inputs[i].bears()))
            && (0..self.inputs.len()).all(|i| pieces(i) <= MAX_PIECES)
            && apart
    }

    /// The price of a set: its error on points left out, and the cost of its terms. `None` if the
    /// terms cannot be distinguished.
    fn score(&self, candidates: Vec<Candidate>) -> Option<Scored> {
        let count = candidates.len();
        let (candidates, matrix) = evaluate(candidates, self.inputs, &self.points);
        let (candidates, matrix) = self.weighted(candidates, &matrix);
        if candidates.len() != count {
            return None;
        }
        self.score_columns(candidates, matrix)
    }

    /// The same for weighted columns of length one.
    fn score_columns(&self, candidates: Vec<Candidate>, matrix: DMatrix<f64>) -> Option<Scored> {
        if matrix.ncols() >= matrix.nrows() {
            return None;
        }
        let qr = matrix.qr();
        let (q, r) = (qr.q(), qr.r());
        if r.diagonal().iter().any(|d| d.abs() <= beam::LEAST_LEFT.sqrt()) {
            return None;
        }
        let along = q.tr_mul(&self.times);
        let residual = &self.times - &q * &along;
        let coefficients = r.solve_upper_triangular(&along)?;
        let negative =
            |c: &Candidate, beta: f64| beta < 0.0 && (self.options.nonnegative || c.breakpoint.is_none());
        let pairs = candidates.iter().zip(coefficients.iter());
        let negative = pairs.filter(|(c, beta)| negative(c, **beta)).count();
        if negative > 0 && self.options.nonnegative {
            return None;
        }
        let errors = self.left_out(&q, &residual)?;
        let square = |e: &[f64]| e.iter().map(|e| e * e).sum::<f64>() / e.len() as f64;
        let error = (errors.iter().map(|e| square(&e.0)).sum::<f64>() / errors.len() as f64).sqrt();
        let price = self.samples * 2.0 * error.max(self.floor).ln()
            + self.price_of(candidates.iter())
            + NEGATIVE_PRICE * negative as f64
            + BREAK_PRICE * places(candidates.iter()).len() as f64;
        Some(Scored { candidates, price, error, residual, negative })
    }

    /// The errors of left-out values of each input with few, and of left-out points if another input
    /// has many, each with the numbers of the values or points. `None` if a value determines a term
    /// alone.
    fn left_out(&self, q: &DMatrix<f64>, residual: &DVector<f64>) -> Option<Vec<(Vec<f64>, &[usize])>> {
        let mut errors = Vec::new();
        let others = |input: &Input| input.values.len() > FEW || input.values.len() + 1 == LEAST_FEW;
        if !self.by_value || self.inputs.iter().any(others) {
            let leverages: Vec<f64> = q.row_iter().map(|row| row.norm_squared()).collect();
            errors.push((left_out(residual.as_slice(), &leverages, &self.groups), &*self.groups));
        }
        for values in &self.values {
            errors.push((left_out_groups(q, residual, values)?.as_slice().to_vec(), &**values));
        }
        Some(errors)
    }

    /// The design effect of a set: errors of one point are alike as far as terms are missing, and as
    /// many samples tell no more than one.
    fn design_effect(&self, set: &Scored) -> f64 {
        let (_, matrix) = evaluate(set.candidates.clone(), self.inputs, &self.points);
        let (_, matrix) = self.weighted(set.candidates.clone(), &matrix);
        let errors = self.left_out(&matrix.qr().q(), &set.residual).unwrap_or_default();
        let effect = |e: &[f64]| points::design_effect(e, &vec![1.0; e.len()], &self.groups, 0);
        let effects = errors.iter().map(|(errors, _)| effect(errors));
        effects.fold(1.0, f64::max)
    }

    /// The sample that determines a part of a set alone, if it is the only one of its point.
    fn rests_on(&self, set: &Scored) -> Option<usize> {
        let (_, matrix) = evaluate(set.candidates.clone(), self.inputs, &self.points);
        let (_, matrix) = self.weighted(set.candidates.clone(), &matrix);
        let leverages = matrix.qr().q().row_iter().map(|row| row.norm_squared()).collect::<Vec<_>>();
        let row = (0..leverages.len()).max_by(|a, b| leverages[*a].total_cmp(&leverages[*b]))?;
        let alone = self.groups.iter().filter(|group| **group == self.groups[row]).count() == 1;
        (alone && leverages[row] > DETERMINES).then_some(row)
    }

    /// The price of a set that was found without one sample, as if the error of that sample were as
    /// large as the others'. It pays for a term of its own, one of as many as there are samples.
    fn with_one_off(&self, set: &Scored) -> f64 {
        set.price + 2.0 * set.error.max(self.floor).ln() + 3.0 * self.samples.ln()
    }

    /// The cost of terms, whatever their coefficients.
    fn price_of<'a>(&self, candidates: impl Iterator<Item = &'a Candidate>) -> f64 {
        let price = |c: &Candidate| {
            c.grown()
                .map_or(self.prices[usize::from(c.complexity)], |unusual| self.grown[usize::from(unusual)])
        };
        // The simpler of equal ones.
        candidates.map(|c| price(c) + 1e-3 * f64::from(c.complexity)).sum()
    }

    /// A set without each of its terms in turn.
    fn shorter(&self, set: &Scored) -> Vec<Scored> {
        let without = |place: usize| {
            let mut candidates = set.candidates.clone();
            candidates.remove(place);
            if candidates.is_empty() { None } else { self.score(candidates) }
        };
        (0..set.candidates.len()).filter_map(without).collect()
    }

    /// Moves continuous breakpoints from the samples to the places of least error.
    fn place_breaks(&self, mut best: Scored) -> Scored {
        for _ in 0..3 {
            for place in 0..best.candidates.len() {
                let Some(b @ Break { continuous: true, .. }) = best.candidates[place].breakpoint else {
                    continue;
                };
                let input = &self.inputs[b.input];
                let below = input.values.iter().rev().find(|v| **v < b.at).copied().unwrap_or(b.at);
                let above = input.values.iter().find(|v| **v > b.at).copied().unwrap_or(b.at);
                let (_, others) = evaluate(best.candidates.clone(), self.inputs, &self.points);
                let (_, others) = self.weighted(best.candidates.clone(), &others);
                let error = |at: f64| {
                    let mut matrix = others.clone();
                    let rise = |i: usize| (self.points[i][b.input] - at).max(0.0) * self.weights[i];
                    let column = DVector::from_fn(self.points.len(), |i, _| rise(i));
                    matrix.set_column(place, &column.normalize());
                    let scored = self.score_columns(best.candidates.clone(), matrix);
                    scored.map_or(f64::INFINITY, |s| s.error)
                };
                let mut candidates = best.candidates.clone();
                let moved = hinge(input, Break { at: nearby(below, b.at, above, &error), ..b });
                let moved = moved.and_then(|hinge| {
                    candidates[place] = Candidate { place: candidates[place].place, ..hinge };
                    self.score(candidates)
                });
                if let Some(scored) = moved.filter(|s| s.error <= best.error) {
                    best = scored;
                }
            }
        }
        best
    }
}

/// The breakpoints of a set: inputs and values, rising, without duplicates.
fn places<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Vec<(usize, f64)> {
    let mut places: Vec<(usize, f64)> =
        candidates.filter_map(|c| c.breakpoint).map(|b| (b.input, b.at)).collect();
    places.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    places.dedup();
    places
}

#[cfg(test)]
mod tests;
