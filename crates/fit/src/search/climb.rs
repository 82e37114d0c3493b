//! The improvement of sets by their price: a term more, a term less, or one in place of another,
//! until no such step is cheaper.
//!
//! A beam ranks sets by their error, so many complicated sets that fit noise slightly better can
//! displace the simple one. Steps find it again. They also try products with steeper factors, of
//! which there are too many for a beam. Steps begin at short sets, too: in a long set several flat
//! terms together imitate a missing steep one, and no single exchange then lowers the price.
//!
//! The price contains the error with points left out, which is never below the error of the fit.
//! The latter gives a lower bound of the price; steps are tried in the order of these bounds, so
//! that most need not be scored.

use std::collections::BTreeSet;

use nalgebra::DMatrix;

use super::beam::{build, with_each};
use super::pool::{Candidate, evaluate, grown};
use super::{Problem, Scored};

/// Lengths of the sets at which steps begin, besides the best one.
const SHORT: usize = 3;
/// The most steps from a set.
const STEPS: usize = 12;
/// A step gains more than this.
const GAIN: f64 = 1e-9;
/// Prices of one set differ by less than this share, whatever the order of its terms.
const SAME: f64 = 1e-9;

/// The candidates under the weights.
pub(super) struct Pool {
    pub(super) candidates: Vec<Candidate>,
    /// Columns of length one.
    pub(super) matrix: DMatrix<f64>,
    /// The products that were grown besides.
    pub(super) grown: BTreeSet<String>,
}

/// The least price of a set, the places of the terms that stay, and a new term with its column.
type Step = (f64, Vec<usize>, Option<(Candidate, Vec<f64>)>);

impl Problem<'_> {
    /// The new ends of steps from the best of the sets, which rise by price, and from the best ones
    /// of each short length.
    pub(super) fn climbed(&self, scored: &[Scored], longest: usize, pool: &mut Pool) -> Vec<Scored> {
        let Some(best) = scored.first() else { return Vec::new() };
        let mut starts = vec![best];
        for length in 1..=SHORT {
            // A cost usually has a constant, which a flat term imitates beside others.
            let plain = |s: &&Scored| s.candidates.len() == length;
            let with_constant = |s: &&Scored| s.candidates[0].complexity == 0;
            let best = scored.iter().find(plain);
            let constant = scored.iter().filter(plain).find(with_constant);
            for start in best.into_iter().chain(constant) {
                if !starts.iter().any(|known| std::ptr::eq(*known, start)) {
                    starts.push(start);
                }
            }
        }
        let climb = |start: &Scored, pool: &mut Pool| {
            let mut at = start.clone();
            for _ in 0..STEPS {
                let Some(next) = self.step(&at, longest, pool) else { break };
                at = next;
            }
            at
        };
        let mut ends: Vec<Scored> = Vec::new();
        for start in starts {
            let end = climb(start, pool);
            let same = |s: &Scored| {
                s.candidates.len() == end.candidates.len()
                    && (s.price - end.price).abs() <= SAME * s.price.abs()
            };
            if !scored.iter().chain(&ends).any(same) {
                ends.push(end);
            }
        }
        ends
    }

    /// The cheapest set that is one step away from a set, if it is cheaper.
    fn step(&self, set: &Scored, longest: usize, pool: &mut Pool) -> Option<Scored> {
        let count = set.candidates.len();
        let (_, own) = evaluate(set.candidates.clone(), self.inputs, &self.points);
        let (_, own) = self.weighted(set.candidates.clone(), &own);
        let n = self.points.len() as f64;
        let mut steps: Vec<Step> = Vec::new();
        // Place `count`: a term more.
        for place in 0..=count {
            let rest: Vec<usize> = (0..count).filter(|i| *i != place).collect();
            if rest.len() == longest {
                continue;
            }
            let part = build(&rest, &own, &self.times);
            let terms = self.price_of(rest.iter().map(|i| &set.candidates[*i]));
            let bound = |error: f64| self.samples * 2.0 * (error / n).sqrt().max(self.floor).ln() + terms;
            if place < count && count > 1 && bound(part.error) < set.price {
                steps.push((bound(part.error), rest.clone(), None));
            }
            let mut with = |candidates: &[Candidate], columns: &DMatrix<f64>| {
                for (term, error) in with_each(&part, columns, &self.times) {
                    let candidate = &candidates[term];
                    let bound = bound(error) + self.price_of(std::iter::once(candidate));
                    if bound < set.price - GAIN {
                        let column = columns.column(term).iter().copied().collect();
                        steps.push((bound, rest.clone(), Some((candidate.clone(), column))));
                    }
                }
            };
            with(&pool.candidates, &pool.matrix);
            if place < count {
                let more = grown(&set.candidates[place], self.inputs, &pool.candidates);
                let (more, matrix) = evaluate(more, self.inputs, &self.points);
                let (more, matrix) = self.weighted(more, &matrix);
                pool.grown.extend(more.iter().map(|c| c.expr.to_string()));
                with(&more, &matrix);
            }
        }
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best: Option<Scored> = None;
        for (bound, rest, more) in steps {
            let least = best.as_ref().map_or(set.price, |b| b.price) - GAIN;
            if bound >= least {
                break;
            }
            let mut candidates: Vec<Candidate> = rest.iter().map(|i| set.candidates[*i].clone()).collect();
            let mut matrix = own.select_columns(&rest);
            if let Some((candidate, column)) = more {
                candidates.push(candidate);
                matrix = matrix.insert_column(rest.len(), 0.0);
                matrix.column_mut(rest.len()).copy_from_slice(&column);
            }
            // In the order of the pool, whatever the steps were.
            let mut order: Vec<usize> = (0..candidates.len()).collect();
            order.sort_by_key(|i| candidates[*i].place);
            let candidates: Vec<Candidate> = order.iter().map(|i| candidates[*i].clone()).collect();
            let matrix = matrix.select_columns(&order);
            if !self.allowed(candidates.iter()) {
                continue;
            }
            best = self.score_columns(candidates, matrix).filter(|s| s.price < least).or(best);
        }
        best
    }
}
