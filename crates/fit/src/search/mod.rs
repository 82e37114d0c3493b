//! Terms that nobody named: found among products of powers and logarithms of the inputs, and breakpoints.
//!
//! Sets of up to [`LONGEST`] terms are ranked by the error with which each sample is predicted from all others, and every
//! term must pay for the many that it was chosen from. Errors are relative to what the best set of a first search predicts,
//! unless measured times are asked for as weights. What is proposed are ordinary terms; the fit then treats them
//! like named ones.

mod beam;
mod pool;

use nalgebra::{DMatrix, DVector};
use strata_model::expr::Expr;
use strata_model::samples::ModelSamples;
use strata_model::set::Mode;

use crate::regress::LEAST_SHARE;
use crate::solve::{Solution, solve};
use crate::{Options, Structure, Weights};
use pool::{Break, Candidate, Input, evaluate, hinge};

/// As many terms as a found model has at most.
const LONGEST: usize = 6;
/// More samples than these add nothing to the choice of terms.
const ENOUGH: usize = 1500;
/// What a term must gain, in units of the logarithm of the squared error times the samples, to be worth having: so much
/// for each factor e in the number of candidates, as the largest of many chance gains grows.
const PRICE: f64 = 2.0;
/// What a term must gain besides if it is rare, or its cost negative.
const RARE_PRICE: f64 = 1.5;
const NEGATIVE_PRICE: f64 = 8.0;
/// What a breakpoint must gain besides, since its place was chosen too.
const BREAK_PRICE: f64 = 6.0;
/// Sets of each length whose breakpoints are moved from the samples to where they fit best.
const MOVED: usize = 3;
/// The best sets, from which each term is left out in turn.
const SHORTENED: usize = 8;
/// Relative errors below this are rounding.
const EXACT: f64 = 1e-12;
/// How often weights are taken from new predictions; they need not settle to choose terms.
const REWEIGHTED: usize = 4;
/// Weights that differ by less than this share choose the same terms.
const SAME_WEIGHTS: f64 = 1e-6;

/// What a search found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The terms besides the constant.
    pub(crate) terms: Vec<Expr>,
    /// How many candidates they were chosen from.
    pub(crate) candidates: usize,
    /// The root mean square of the error with which samples were predicted from all others; a fraction in relative mode, else in s.
    pub(crate) error: f64,
    /// Between which measured values of which inputs the model breaks.
    pub(crate) breaks: Vec<(String, f64, f64)>,
}

/// The weighted problem.
struct Problem {
    inputs: Vec<Input>,
    points: Vec<Vec<f64>>,
    /// One over the weight of each sample, scaled so that the times have about the length one.
    weights: DVector<f64>,
    times: DVector<f64>,
    limits: Limits,
    /// The logarithm of the number of candidates.
    choice: f64,
}

#[derive(Clone, Copy)]
struct Limits {
    pieces: usize,
    nonnegative: bool,
}

/// A set of terms with its price.
#[derive(Clone)]
struct Scored {
    candidates: Vec<Candidate>,
    price: f64,
    error: f64,
}

/// Searches terms for a model; `None` if there is nothing to choose from.
pub(crate) fn search(samples: &ModelSamples, structure: &Structure, options: &Options) -> Option<Found> {
    let columns: Option<Vec<usize>> =
        structure.inputs.iter().map(|input| samples.columns.iter().position(|c| c.text == *input)).collect();
    let columns = columns?;
    let rows: Vec<_> = samples.rows.iter().filter(|r| !r.verify).collect();
    let stride = rows.len().div_ceil(ENOUGH).max(1);
    let rows: Vec<_> = rows.into_iter().step_by(stride).collect();
    let points: Vec<Vec<f64>> = rows.iter().map(|r| columns.iter().map(|c| r.values[*c]).collect()).collect();
    let inputs: Vec<Input> = (structure.inputs.iter().enumerate())
        .map(|(i, name)| Input::new(name, points.iter().map(|p| p[i])))
        .collect();
    let longest = LONGEST.min(rows.len().saturating_sub(2) / 2);
    if longest == 0 || inputs.iter().all(|i| i.values.len() < 2) {
        return None;
    }
    let seconds = DVector::from_iterator(rows.len(), rows.iter().map(|r| r.seconds));
    let limits = Limits { pieces: options.pieces, nonnegative: options.nonnegative };
    let all = pool::candidates(&inputs, options.constant, options.pieces > 1);
    let choice = (all.len().max(2) as f64).ln();
    let (all, matrix) = evaluate(all, &inputs, &points);
    let mut problem =
        Problem { inputs, points, weights: seconds.clone(), times: seconds.clone(), limits, choice };
    problem.weigh(
        &seconds,
        match options.mode {
            Mode::Relative => seconds.map(|y| 1.0 / y),
            Mode::Absolute => DVector::from_element(rows.len(), 1.0 / seconds.amax().max(f64::MIN_POSITIVE)),
        },
    );
    let (mut best, mut count) = problem.best(&all, &matrix, longest)?;
    if options.mode == Mode::Relative && options.weights == Weights::Predicted {
        let weights = problem.predicted(&best, &seconds)?;
        let change =
            weights.iter().zip(problem.weights.iter()).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        if change > SAME_WEIGHTS {
            problem.weigh(&seconds, weights);
            (best, count) = problem.best(&all, &matrix, longest)?;
        }
    }
    let unit = if options.mode == Mode::Relative { 1.0 } else { seconds.amax() };
    let breaks = best.candidates.iter().filter_map(|c| c.breakpoint);
    let mut named: Vec<(String, f64, f64)> = breaks
        .filter(|b| !b.continuous)
        .map(|b| (problem.inputs[b.input].name.clone(), b.at, b.next))
        .collect();
    named.dedup();
    Some(Found {
        terms: best.candidates.into_iter().map(|c| c.expr).filter(|e| e.as_number().is_none()).collect(),
        candidates: count,
        error: best.error * unit,
        breaks: named,
    })
}

impl Problem {
    /// Sets one over the weights.
    fn weigh(&mut self, seconds: &DVector<f64>, weights: DVector<f64>) {
        self.times = seconds.component_mul(&weights);
        self.weights = weights;
    }

    /// One over what a set of terms predicts, found by fitting again until it stands still.
    fn predicted(&mut self, set: &Scored, seconds: &DVector<f64>) -> Option<DVector<f64>> {
        let before = (self.weights.clone(), self.times.clone());
        for _ in 0..REWEIGHTED {
            let (_, solution) = self.solve(&set.candidates)?;
            let predicted = |i: usize| seconds[i] - solution.residual[i] / self.weights[i];
            let weights = DVector::from_fn(seconds.len(), |i, _| {
                1.0 / predicted(i).clamp(LEAST_SHARE * seconds[i], seconds[i] / LEAST_SHARE)
            });
            self.weigh(seconds, weights);
        }
        let after = std::mem::replace(&mut self.weights, before.0);
        self.times = before.1;
        Some(after)
    }

    /// The best set of terms, and how many candidates there were.
    fn best(&self, all: &[Candidate], matrix: &DMatrix<f64>, longest: usize) -> Option<(Scored, usize)> {
        let (candidates, matrix) = self.weighted(all.to_vec(), matrix);
        if candidates.is_empty() {
            return None;
        }
        let allowed =
            |terms: &[usize]| self.pieces_of(terms.iter().map(|t| &candidates[*t])) <= self.limits.pieces;
        let ranks: Vec<u8> = candidates.iter().map(Candidate::rank).collect();
        let sets = beam::best_sets(&matrix, &self.times, &ranks, longest, &allowed);
        let mut scored: Vec<Scored> = sets
            .into_iter()
            .filter_map(|set| self.score(set.iter().map(|t| candidates[*t].clone()).collect()))
            .collect();
        // A beam only grows: what an earlier term was needed for may since be said better by others.
        for _ in 0..2 {
            scored.sort_by(|a, b| a.price.total_cmp(&b.price));
            let shorter: Vec<Scored> = scored.iter().take(SHORTENED).flat_map(|s| self.shorter(s)).collect();
            scored.extend(shorter);
        }
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
        Some((best, candidates.len()))
    }

    /// Columns under the weights, scaled to length one; a column of nothing is left out.
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

    /// The most pieces that the range of an input is cut into.
    fn pieces_of<'a>(&self, candidates: impl Iterator<Item = &'a Candidate>) -> usize {
        let mut places: Vec<(usize, f64)> =
            candidates.filter_map(|c| c.breakpoint).map(|b| (b.input, b.at)).collect();
        places.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        places.dedup();
        (0..self.inputs.len()).map(|i| 1 + places.iter().filter(|p| p.0 == i).count()).max().unwrap_or(1)
    }

    fn solve(&self, candidates: &[Candidate]) -> Option<(DMatrix<f64>, Solution)> {
        let (kept, matrix) = evaluate(candidates.to_vec(), &self.inputs, &self.points);
        let count = kept.len();
        let (kept, matrix) = self.weighted(kept, &matrix);
        if kept.len() != candidates.len() || count != kept.len() {
            return None;
        }
        let solution = solve(&matrix, &self.times).ok()?;
        (solution.rank == kept.len()).then_some((matrix, solution))
    }

    /// The price of a set: its error on samples left out, and what its terms cost. `None` where they cannot be told apart.
    fn score(&self, candidates: Vec<Candidate>) -> Option<Scored> {
        let (matrix, solution) = self.solve(&candidates)?;
        let n = self.points.len() as f64;
        let negative =
            |c: &Candidate, beta: f64| beta < 0.0 && (self.limits.nonnegative || c.breakpoint.is_none());
        let pairs = candidates.iter().zip(solution.coefficients.iter());
        let negative = pairs.filter(|(c, beta)| negative(c, **beta)).count();
        if negative > 0 && self.limits.nonnegative {
            return None;
        }
        let half = &matrix * &solution.covariance;
        let mut total = 0.0;
        for i in 0..self.points.len() {
            let leverage = half.row(i).dot(&matrix.row(i));
            total += (solution.residual[i] / (1.0 - leverage).max(1e-6)).powi(2);
        }
        let error = (total / n).sqrt();
        let mut breaks: Vec<(usize, f64)> =
            candidates.iter().filter_map(|c| c.breakpoint).map(|b| (b.input, b.at)).collect();
        breaks.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        breaks.dedup();
        let price = n * 2.0 * error.max(EXACT).ln()
            + PRICE * self.choice * candidates.len() as f64
            + NEGATIVE_PRICE * negative as f64
            + RARE_PRICE * candidates.iter().map(|c| c.rarity).sum::<f64>()
            + BREAK_PRICE * breaks.len() as f64
            // Of equals the simpler.
            + candidates.iter().map(|c| 1e-3 * f64::from(c.rank())).sum::<f64>();
        Some(Scored { candidates, price, error })
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

    /// Moves continuous breakpoints from the samples to where the error is least.
    fn place_breaks(&self, mut best: Scored) -> Scored {
        for _ in 0..3 {
            for place in 0..best.candidates.len() {
                let Some(b @ Break { continuous: true, .. }) = best.candidates[place].breakpoint else {
                    continue;
                };
                let input = &self.inputs[b.input];
                let below = input.values.iter().rev().find(|v| **v < b.at).copied().unwrap_or(b.at);
                let above = input.values.iter().find(|v| **v > b.at).copied().unwrap_or(b.at);
                let moved = |at: f64| {
                    let mut candidates = best.candidates.clone();
                    candidates[place] = hinge(input, Break { at, ..b })?;
                    self.score(candidates)
                };
                let error = |at: f64| moved(at).map_or(f64::INFINITY, |s| s.error);
                let at = [(below, b.at), (b.at, above)]
                    .map(|(low, high)| golden(low, high, &error))
                    .into_iter()
                    .min_by(|a, b| a.1.total_cmp(&b.1))
                    .map_or(b.at, |found| found.0);
                // A round number that does as well is more likely the truth.
                let round = [at.log2().round().exp2(), at.round(), three_digits(at)];
                let least = error(at).min(best.error);
                let better = round.into_iter().chain([at]).find(|at| error(*at) <= least * 1.001 + EXACT);
                if let Some(scored) = better.and_then(moved)
                    && scored.error <= best.error
                {
                    best = scored;
                }
            }
        }
        best
    }
}

/// The least value of a function between two bounds, by golden section.
fn golden(mut low: f64, mut high: f64, f: &dyn Fn(f64) -> f64) -> (f64, f64) {
    const SHARE: f64 = 0.618_033_988_749_894_8;
    let (mut left, mut right) = (high - SHARE * (high - low), low + SHARE * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    for _ in 0..60 {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - SHARE * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + SHARE * (high - low);
            at_right = f(right);
        }
    }
    if at_left <= at_right { (left, at_left) } else { (right, at_right) }
}

fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests;
