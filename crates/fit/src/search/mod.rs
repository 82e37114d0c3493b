//! The search for unnamed terms among products of powers and logarithms of the inputs, and
//! breakpoints.
//!
//! Sets of up to [`LONGEST`] terms are ranked by the error with which each point is predicted from
//! all others. Every term costs more the more candidates of its complexity there are, so that a
//! plain truth is found where a complicated sum is hardly better. A beam finds sets by their error;
//! the best of them are improved by their price, term by term, where products also grow: a grown
//! one costs as one of all that could have been grown. Errors are relative to the
//! predictions of the best set of a first search, unless measured times are requested as weights.
//! Samples that the found terms exclude as outliers are left out, and the search is repeated. The
//! fit treats found terms like named ones.
//!
//! Source: Chen and Chen, *Extended Bayesian information criteria* (2008), and Rissanen (1983) for
//! prices by complexity.

mod beam;
mod climb;
mod pool;

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};
use strata_model::expr::{Expr, RESERVED};
use strata_model::samples::{ModelSamples, Sample};
use strata_model::set::Mode;

use crate::design::nodes_of_rows;
use crate::knee::{LEAST_PIECE, nearby};
use crate::noise;
use crate::points::{self, left_out};
use crate::regress::{LEAST_SHARE, inliers};
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
/// The additional cost of a breakpoint, whose place was chosen too.
const BREAK_PRICE: f64 = 6.0;
/// The number of best sets of each length whose breakpoints are moved from the samples to where
/// they fit best.
const MOVED: usize = 3;
/// The number of best sets from which each term is left out in turn.
const SHORTENED: usize = 8;
/// Relative errors below this are rounding.
const EXACT: f64 = 1e-12;
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
    /// One over the weight of each sample, scaled so that the times have about the length one.
    weights: DVector<f64>,
    times: DVector<f64>,
    options: &'a FitOptions,
    /// The number of coefficients and places of breakpoints that the points allow.
    parameters: usize,
    /// The price of a term, by complexity.
    prices: Vec<f64>,
    /// The price of a grown product.
    grown: f64,
}

/// A set of terms with its price.
#[derive(Clone)]
struct Scored {
    candidates: Vec<Candidate>,
    price: f64,
    error: f64,
    residual: DVector<f64>,
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
    let robust = options.robust == Robust::Reject && options.weights == Weights::Predicted;
    let everything: Vec<usize> = (0..rows.len()).collect();
    let mut kept = everything.clone();
    if robust && options.mode == Mode::Relative {
        kept =
            inliers(&smooth(&inputs, &values), &seconds.map(f64::ln), &noise).map_or(kept, |kept| kept.rows);
    }
    let mut found = None;
    for _ in 0..REPEATED {
        let points: Vec<Vec<f64>> = kept.iter().map(|i| values[*i].clone()).collect();
        let part = seconds.select_rows(&kept);
        let best = best_of(points, &part, &inputs, &all, &matrix.select_rows(&kept), options);
        let Some((best, count, _)) = best else { break };
        let next = if robust {
            let (_, terms) = evaluate(best.candidates.clone(), &inputs, &values);
            let unit = |i: usize| if options.mode == Mode::Relative { 1.0 / seconds[i] } else { 1.0 };
            let rows = DMatrix::from_fn(terms.nrows(), terms.ncols(), |i, j| terms[(i, j)] * unit(i));
            let times = DVector::from_fn(seconds.len(), |i, _| seconds[i] * unit(i));
            let noise: Vec<f64> = noise.iter().zip(times.iter()).map(|(n, t)| n * t.abs()).collect();
            inliers(&rows, &times, &noise).map_or_else(|| everything.clone(), |kept| kept.rows)
        } else {
            kept.clone()
        };
        found = Some((best, count, part.amax()));
        if next == kept {
            break;
        }
        kept = next;
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
        error: best.error * if options.mode == Mode::Relative { 1.0 } else { largest },
        breaks: named,
    })
}

/// A smooth surface for the logarithms of times, to detect outliers before any terms are known: all
/// products of up to two logarithms of inputs.
fn smooth(inputs: &[Input], values: &[Vec<f64>]) -> DMatrix<f64> {
    let varying: Vec<usize> = (0..inputs.len()).filter(|i| inputs[*i].values.len() > 1).collect();
    let scale = |i: usize, x: f64| if inputs[i].values[0] > 0.0 { x.ln() } else { x };
    let mut pairs = vec![(None, None)];
    for (place, i) in varying.iter().enumerate() {
        pairs.push((Some(*i), None));
        pairs.extend(varying[place..].iter().map(|j| (Some(*i), Some(*j))));
    }
    DMatrix::from_fn(values.len(), pairs.len(), |row, column| {
        let factor = |input: Option<usize>| input.map_or(1.0, |i| scale(i, values[row][i]));
        factor(pairs[column].0) * factor(pairs[column].1)
    })
}

/// The best set for some samples, the number of candidates, and the problem whose price is least.
fn best_of<'a>(
    points: Vec<Vec<f64>>,
    seconds: &DVector<f64>,
    inputs: &'a [Input],
    all: &[Candidate],
    matrix: &DMatrix<f64>,
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
    let grown = price(count(u8::MAX) + pool::growable(inputs));
    let (weights, times) = (seconds.clone(), seconds.clone());
    let mut problem = Problem { inputs, points, groups, weights, times, options, parameters, prices, grown };
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
    if options.mode == Mode::Relative && options.weights == Weights::Predicted {
        let weights = problem.predicted(&best, seconds)?;
        let change =
            weights.iter().zip(problem.weights.iter()).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        if change > SAME_WEIGHTS {
            problem.weigh(seconds, weights);
            (best, count) = problem.best(all, matrix, Some(best.candidates))?;
        }
    }
    Some((best, count, problem))
}

impl Problem<'_> {
    /// Sets one over the weights.
    fn weigh(&mut self, seconds: &DVector<f64>, weights: DVector<f64>) {
        self.times = seconds.component_mul(&weights);
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
        let best = scored.into_iter().nth(best)?;
        Some((best, pool.candidates.len() + pool.grown.len()))
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
        candidates.count() + places.len() <= self.parameters
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
        let leverages: Vec<f64> = q.row_iter().map(|row| row.norm_squared()).collect();
        let n = self.points.len() as f64;
        let total: f64 = left_out(residual.as_slice(), &leverages, &self.groups).iter().map(|e| e * e).sum();
        let error = (total / n).sqrt();
        let price = n * 2.0 * error.max(EXACT).ln()
            + self.price_of(candidates.iter())
            + NEGATIVE_PRICE * negative as f64
            + BREAK_PRICE * places(candidates.iter()).len() as f64;
        Some(Scored { candidates, price, error, residual })
    }

    /// The cost of terms, whatever their coefficients.
    fn price_of<'a>(&self, candidates: impl Iterator<Item = &'a Candidate>) -> f64 {
        let price =
            |c: &Candidate| if c.is_grown() { self.grown } else { self.prices[usize::from(c.complexity)] };
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
