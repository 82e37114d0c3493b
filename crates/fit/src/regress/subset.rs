//! The best set of terms, each of which gains more than it costs.
//!
//! Dropping one term after another can drop the wrong one of several similar terms; the rest then
//! needs further terms that are not in the cost. All sets are therefore compared. A set costs its
//! squared error, as n ln χ², and for each term the gain of a term whose interval just reaches
//! zero. With k candidates the confidence is 1 − (1 − c)/k, so that with the probability c *no*
//! irrelevant term stays, for any number of candidates. If all times are positive and several terms
//! are named, the first is free: the cost is not zero, even with few samples.
//!
//! The residual of a set follows from the fit of all terms: with A = QR and b = Ax + r, where r is
//! orthogonal to A, its square is ‖r‖² plus the squared residual of Rx by the set's columns of R.
//! If the fit is exact it has all its digits, since r is not a difference.
//!
//! Source: Bonferroni's inequality; Furnival and Wilson, *Regressions by leaps and bounds* (1974);
//! Miller, *Subset Selection in Regression*, 2nd ed. (2002), chapter 2.

use nalgebra::{DMatrix, DVector};

use super::Data;
use super::step::Step;
use crate::stats::t_quantile;

/// The number of sets doubles with each term, so of more terms those that are not sure are first
/// dropped one by one, but for the [`leading`] ones; if more are sure, the least sure of them are
/// compared, and the others are in every set.
pub(super) const MOST: usize = 12;
/// The number of leading terms. The others among the compared are those that matter beside all.
const LEADING: usize = MOST / 2;
/// With so many samples for each term, how much it matters beside all others is sure enough:
/// Peduzzi et al., *A simulation study of the number of events per variable* (1996).
const ENOUGH_EACH: f64 = 10.0;
/// A column of which a smaller share is left beside others depends on them.
const LEAST_LEFT: f64 = 1e-9;
/// Sets whose costs differ by less are equal, since some of their terms depend on each other. Of
/// these the one with the most significant weakest coefficients is taken, where negative ones,
/// which no cost has, count least; then the first named one.
const TIE: f64 = 1e-6;

/// The terms that explain most, each beside those before it. Beside many irrelevant terms a true one
/// can look weak, because several of these together are alike to it: a constant, beside positive
/// columns. Pati, Rezaiifar and Krishnaprasad, *Orthogonal matching pursuit* (1993). With
/// [`ENOUGH_EACH`] samples a term none needs to lead.
pub(super) fn leading(step: &Step) -> Vec<usize> {
    let Some(solution) = &step.solution else { return Vec::new() };
    if step.samples >= ENOUGH_EACH * step.active.len() as f64 {
        return Vec::new();
    }
    let mut columns = step.rows.clone().qr().r();
    let mut left = &columns * &solution.coefficients;
    let whole: Vec<f64> = columns.column_iter().map(|column| column.norm()).collect();
    let mut found = Vec::new();
    while found.len() < LEADING.min(columns.ncols()) {
        let gain = |j: usize| {
            let length = columns.column(j).norm();
            if length > LEAST_LEFT * whole[j] { (columns.column(j).dot(&left) / length).abs() } else { 0.0 }
        };
        let others = (0..columns.ncols()).filter(|j| !found.contains(j));
        let Some((best, _)) = others.map(|j| (j, gain(j))).max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        found.push(best);
        let direction = columns.column(best).clone_owned();
        let square = direction.norm_squared();
        if square > 0.0 {
            left.axpy(-direction.dot(&left) / square, &direction, 1.0);
            for mut column in columns.column_iter_mut() {
                let along = direction.dot(&column) / square;
                column.axpy(-along, &direction, 1.0);
            }
        }
    }
    found.into_iter().map(|at| step.active[at]).collect()
}

/// The ratio of a term's coefficient to its interval's half width from which the term gains more
/// than its price.
pub(super) fn needed(step: &Step, confidence: f64, data: Data<'_>, term: usize) -> f64 {
    let each = 1.0 - (1.0 - confidence) / (data.candidates.max(1) * data.places[term]) as f64;
    let freedom = (step.samples.round() as usize).saturating_sub(step.active.len());
    t_quantile(each, freedom).map_or(f64::INFINITY, |t| t / step.t)
}

/// The indices among the active terms of those that stay, in rising order.
pub(super) fn best(step: &Step, confidence: f64, data: Data<'_>) -> Vec<usize> {
    let Some(solution) = &step.solution else { return Vec::new() };
    let triangle = step.rows.clone().qr().r();
    let whole = &triangle * &solution.coefficients;
    let groups = groups(&triangle.column_iter().map(|c| c.into_owned()).collect::<Vec<_>>());
    let samples = step.samples;
    let free = usize::from(groups.len() > 1 && data.times.iter().all(|time| *time > 0.0));
    let mut sets = Sets {
        columns: groups.iter().map(|group| triangle.column(group[0]).normalize()).collect(),
        least: free,
        settled: vec![false; groups.len()],
        prices: prices(free, groups.len(), data.candidates, samples, confidence),
        extra: groups
            .iter()
            .map(|group| {
                let term = step.active[group[0]];
                let price = |candidates| prices(0, 1, candidates, samples, confidence)[1];
                price(data.candidates * data.places[term]) - price(data.candidates)
            })
            .collect(),
        samples,
        unexplained: step.weighted_sse(),
        floor: (step.rounding * step.rows.nrows() as f64).max(f64::MIN_POSITIVE),
        chosen: Vec::new(),
        basis: Vec::new(),
        cost: f64::INFINITY,
        best: Vec::new(),
        whole: whole.clone(),
    };
    let rest = sets.begin(&groups, &step.ratios());
    sets.visit(0, &rest);
    let mut kept: Vec<usize> = sets.best.iter().flat_map(|g| groups[*g].iter().copied()).collect();
    kept.sort_unstable();
    kept
}

/// Columns that are multiples of each other, as groups: they share their weight, and stay or are
/// dropped together.
fn groups(columns: &[DVector<f64>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (j, column) in columns.iter().enumerate() {
        let length = column.norm();
        let along = |group: &&mut Vec<usize>| {
            let other = &columns[group[0]];
            let share = other.dot(column) / other.norm_squared();
            (column - other * share).norm() <= LEAST_LEFT * length
        };
        if length == 0.0 {
            continue;
        }
        match groups.iter_mut().find(along) {
            Some(group) => group.push(j),
            None => groups.push(vec![j]),
        }
    }
    groups
}

/// The costs of sets of each length up to `longest`; their first `free` terms cost nothing.
fn prices(free: usize, longest: usize, candidates: usize, samples: f64, confidence: f64) -> Vec<f64> {
    let each = 1.0 - (1.0 - confidence) / candidates.max(1) as f64;
    let mut prices = vec![0.0];
    for length in 1..=longest {
        let freedom = (samples.round() as usize).saturating_sub(length);
        let price = |t: f64| samples * (t * t / freedom as f64).ln_1p();
        let term = t_quantile(each, freedom).map_or(f64::INFINITY, price);
        prices.push(prices[length - 1] + if length > free { term } else { 0.0 });
    }
    prices
}

/// The enumeration of all sets.
struct Sets {
    /// A column of R of length one for each candidate.
    columns: Vec<DVector<f64>>,
    /// The least number of terms of a set.
    least: usize,
    /// Whether a candidate is in every set.
    settled: Vec<bool>,
    /// By length.
    prices: Vec<f64>,
    /// The additional cost of each candidate whose place was chosen too.
    extra: Vec<f64>,
    samples: f64,
    /// The squared error with all terms.
    unexplained: f64,
    /// The squared error of rounding alone.
    floor: f64,
    chosen: Vec<usize>,
    /// An orthonormal basis of the chosen columns.
    basis: Vec<DVector<f64>>,
    cost: f64,
    best: Vec<usize>,
    /// Rx.
    whole: DVector<f64>,
}

impl Sets {
    /// The coefficients of a set in units of their standard errors, up to a common factor of all
    /// sets, rising.
    fn sureness(&self, set: &[usize]) -> Vec<f64> {
        let columns: Vec<DVector<f64>> = set.iter().map(|g| self.columns[*g].clone()).collect();
        if columns.is_empty() {
            return Vec::new();
        }
        let qr = DMatrix::from_columns(&columns).qr();
        let inverse = qr.r().solve_upper_triangular(&DMatrix::identity(set.len(), set.len()));
        inverse.map_or(Vec::new(), |inverse| {
            let coefficients = &inverse * qr.q().tr_mul(&self.whole);
            let mut ratios: Vec<f64> =
                (0..set.len()).map(|j| coefficients[j] / inverse.row(j).norm()).collect();
            ratios.sort_by(f64::total_cmp);
            ratios
        })
    }

    /// Whether the first coefficient in which two sets differ, from the weakest on, is more
    /// significant in the chosen one.
    fn surer(&self) -> bool {
        let (chosen, best) = (self.sureness(&self.chosen), self.sureness(&self.best));
        let differ = chosen.iter().zip(&best).find(|(a, b)| (**a - **b).abs() > TIE * a.abs().max(b.abs()));
        differ.is_some_and(|(a, b)| a > b)
    }

    /// Puts the surest candidates into every set, so that [`MOST`] are compared; returns the
    /// residual of Rx by them.
    fn begin(&mut self, groups: &[Vec<usize>], ratios: &[f64]) -> DVector<f64> {
        let mut surest: Vec<usize> = (0..groups.len()).collect();
        surest.sort_by(|a, b| ratios[groups[*b][0]].total_cmp(&ratios[groups[*a][0]]));
        let mut left = self.whole.clone();
        for &candidate in &surest[..groups.len().saturating_sub(MOST)] {
            self.settled[candidate] = true;
            if let Some(rest) = self.choose(candidate, &left) {
                left = rest;
            }
        }
        left
    }

    /// Adds a candidate to the chosen ones; returns the residual of Rx by them from that by those
    /// before, or `None`, without the candidate, if it depends on them.
    fn choose(&mut self, candidate: usize, left: &DVector<f64>) -> Option<DVector<f64>> {
        let mut column = self.columns[candidate].clone();
        for _ in 0..2 {
            for other in &self.basis {
                column.axpy(-other.dot(&column), other, 1.0);
            }
        }
        let length = column.norm();
        if length <= LEAST_LEFT {
            return None;
        }
        column /= length;
        let mut rest = left.clone();
        rest.axpy(-column.dot(left), &column, 1.0);
        self.chosen.push(candidate);
        self.basis.push(column);
        Some(rest)
    }

    /// Visits every set that consists of the chosen candidates and of any from `next` on. `left`:
    /// the residual of Rx by the chosen ones.
    fn visit(&mut self, next: usize, left: &DVector<f64>) {
        if next == self.columns.len() {
            if self.chosen.len() < self.least {
                return;
            }
            let error = (self.unexplained + left.norm_squared()).max(self.floor);
            let cost = self.samples * (error / self.samples).ln()
                + self.prices[self.chosen.len()]
                + self.chosen.iter().map(|c| self.extra[*c]).sum::<f64>();
            let better = cost < self.cost - TIE || self.cost.is_infinite();
            if better || cost < self.cost + TIE && self.surer() {
                (self.cost, self.best) = (cost, self.chosen.clone());
            }
            return;
        }
        if self.settled[next] {
            return self.visit(next + 1, left);
        }
        if let Some(rest) = self.choose(next, left) {
            self.visit(next + 1, &rest);
            self.chosen.pop();
            self.basis.pop();
        }
        self.visit(next + 1, left);
    }
}
