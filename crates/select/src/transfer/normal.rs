//! The posterior of the logarithms of scales.
//!
//! The logarithm of a term's scale is the sum of what all models share (the clock), what the terms of
//! one kind share, what the terms of one model share, and its own; a knot has only its own. Written in
//! these parts, whose priors are independent, the normal equations of a least-squares fit have a block
//! for each model and a border of what models share. Solving them takes time in proportion to the
//! timings and the models.

use std::vec;
use std::vec::Vec;

use super::Widths;
use super::matrix::{Square, dot};
use super::scaled::{Local, SHAPE};

/// The parts that models share: the machine, and three kinds of terms.
const SHARED: usize = 4;

type Shared = [f64; SHARED];

/// The normal equations of one model: of its unknowns' own parts, then of what its terms share.
#[derive(Clone, Debug)]
struct Block {
    /// The kind of each unknown.
    kinds: Vec<u8>,
    /// Where its unknowns begin among those of all models.
    first: usize,
    own: Square,
    cross: Vec<Shared>,
    right: Vec<f64>,
    /// The variances of the prior.
    prior: Vec<f64>,
}

impl Block {
    /// The sums of shares by the shared parts that contribute to them.
    fn shared(&self, shares: &[f64]) -> Shared {
        let mut sums = [0.0; SHARED];
        for (share, kind) in shares.iter().zip(&self.kinds).filter(|(_, kind)| **kind != SHAPE) {
            sums[0] += share;
            sums[1 + usize::from(*kind)] += share;
        }
        sums
    }

    /// An unknown's shares of the shared parts.
    fn of_unknown(&self, unknown: usize) -> Shared {
        let mut shares = vec![0.0; self.kinds.len()];
        shares[unknown] = 1.0;
        self.shared(&shares)
    }
}

/// The normal equations of all unknowns.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    blocks: Vec<Block>,
    shared: Square,
    right: Shared,
    prior: Shared,
}

/// The solution of the normal equations.
#[derive(Clone, Debug)]
pub(super) struct Posterior {
    /// The logarithms of the scales.
    pub(super) logs: Vec<f64>,
    /// Twice the logarithm of how likely the fit makes the prior's parts, less that of their range
    /// (Laplace's approximation).
    pub(super) evidence: f64,
    /// By model: the first of its unknowns, their covariance given the shared parts, and how they
    /// depend on those.
    blocks: Vec<(usize, Square, Vec<Shared>)>,
    /// The covariance of the shared parts.
    shared: Square,
}

impl Normal {
    /// The prior of models whose unknowns have these kinds, in order.
    pub(super) fn new<'a>(models: impl Iterator<Item = &'a [u8]>, widths: Widths) -> Self {
        let Widths { machine, kind, model, term, shape } = widths;
        let mut first = 0;
        let block = |kinds: &[u8]| {
            let own = |kind: &u8| if *kind == SHAPE { shape * shape } else { term * term };
            let prior: Vec<f64> = kinds.iter().map(own).chain([model * model]).collect();
            let size = prior.len();
            let block = Block {
                kinds: kinds.to_vec(),
                first,
                own: Square::diagonal(prior.iter().map(|variance| 1.0 / variance)),
                cross: vec![[0.0; SHARED]; size],
                right: vec![0.0; size],
                prior,
            };
            first += kinds.len();
            block
        };
        let blocks = models.map(block).collect();
        let prior = [machine * machine, kind * kind, kind * kind, kind * kind];
        let shared = Square::diagonal(prior.iter().map(|variance| 1.0 / variance));
        Self { blocks, shared, right: [0.0; SHARED], prior }
    }

    /// Adds an observation `y` of weight `weight` of the sum of a time's unknowns by its shares.
    pub(super) fn add(&mut self, local: &Local, weight: f64, y: f64) {
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.first <= local.first) else { return };
        let shared = block.shared(&local.shares);
        // What a model's terms share counts like the machine.
        let shares = local.shares.iter().chain(&shared[..1]);
        let shares: Vec<f64> = shares.copied().collect();
        for (at, share) in shares.iter().enumerate() {
            let by = weight * share;
            block.right[at] += by * y;
            let row = &mut block.own.row_mut(at)[..=at];
            row.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += by * share);
            block.cross[at].iter_mut().zip(&shared).for_each(|(sum, part)| *sum += by * part);
        }
        for (at, part) in shared.iter().enumerate() {
            self.right[at] += weight * part * y;
            let row = self.shared.row_mut(at).iter_mut().zip(&shared);
            row.for_each(|(sum, other)| *sum += weight * part * other);
        }
    }

    /// The solution; `None` if it is not finite.
    pub(super) fn solve(&self) -> Option<Posterior> {
        let (mut border, mut right) = (self.shared.clone(), self.right);
        let (mut narrowed, mut range) = (0.0, 0.0);
        let mut solved = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let factor = block.own.clone().cholesky()?;
            narrowed += factor.log_determinant();
            let solve = |mut column: Vec<f64>| {
                factor.forward(&mut column);
                factor.backward(&mut column);
                column
            };
            let own = solve(block.right.clone());
            let cross: [Vec<f64>; SHARED] =
                std::array::from_fn(|part| solve(block.cross.iter().map(|row| row[part]).collect()));
            for (part, column) in cross.iter().enumerate() {
                right[part] -= dot(column, &block.right);
                for other in 0..SHARED {
                    let both = column.iter().zip(&block.cross).map(|(a, row)| a * row[other]).sum::<f64>();
                    border.row_mut(part)[other] -= both;
                }
            }
            range += block.prior.iter().map(|variance| variance.ln()).sum::<f64>();
            solved.push((factor, own, cross));
        }
        let factor = border.cholesky()?;
        narrowed += factor.log_determinant();
        range += self.prior.iter().map(|variance| variance.ln()).sum::<f64>();
        let mut common = right.to_vec();
        factor.forward(&mut common);
        factor.backward(&mut common);
        let mut far: f64 = common.iter().zip(self.prior).map(|(part, variance)| part * part / variance).sum();
        let mut logs = Vec::new();
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for (block, (factor, own, cross)) in self.blocks.iter().zip(solved) {
            let count = block.kinds.len();
            let part = |at: usize| own[at] - cross.iter().zip(&common).map(|(q, c)| q[at] * c).sum::<f64>();
            let parts: Vec<f64> = (0..=count).map(part).collect();
            far += parts.iter().zip(&block.prior).map(|(part, variance)| part * part / variance).sum::<f64>();
            // A term has its own part and that of its model, a knot only its own.
            let of_model = |at: usize| if block.kinds[at] == SHAPE { 0.0 } else { 1.0 };
            let depends = |at: usize| -> Shared {
                let direct = block.of_unknown(at);
                std::array::from_fn(|s| direct[s] - cross[s][at] - of_model(at) * cross[s][count])
            };
            logs.extend(
                (0..count)
                    .map(|at| parts[at] + of_model(at) * parts[count] + dot(&block.of_unknown(at), &common)),
            );
            let inverse = factor.inverse();
            let covariance = Square::from_fn(count, |i, j| {
                let (a, b) = (of_model(i), of_model(j));
                inverse.at(i, j)
                    + a * inverse.at(count, j)
                    + b * inverse.at(i, count)
                    + a * b * inverse.at(count, count)
            });
            blocks.push((block.first, covariance, (0..count).map(depends).collect()));
        }
        let evidence = -(far + narrowed + range);
        let all_finite = evidence.is_finite() && logs.iter().all(|log| log.is_finite());
        all_finite.then(|| Posterior { logs, evidence, blocks, shared: factor.inverse() })
    }
}

impl Posterior {
    /// The covariance of the logarithms of two times.
    pub(super) fn covariance(&self, a: &Local, b: &Local) -> f64 {
        let shared = |local: &Local| {
            let block = self.blocks.iter().rfind(|block| block.0 <= local.first)?;
            let mut sums = [0.0; SHARED];
            for (share, depends) in local.shares.iter().zip(&block.2) {
                sums.iter_mut().zip(depends).for_each(|(sum, part)| *sum += share * part);
            }
            Some((&block.1, sums))
        };
        let (Some((own, first)), Some((_, second))) = (shared(a), shared(b)) else { return 0.0 };
        let common: f64 = (0..SHARED).map(|part| first[part] * dot(self.shared.row(part), &second)).sum();
        if a.first != b.first {
            return common;
        }
        let rows = a.shares.iter().enumerate();
        common + rows.map(|(row, share)| share * dot(own.row(row), &b.shares)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTHS;
    use super::*;

    /// Against the same posterior without blocks: of the logarithms themselves, whose prior has the
    /// covariance that the shared parts give them.
    #[test]
    fn blocks_give_what_one_matrix_gives() {
        let models: [&[u8]; 3] = [&[0, 1, SHAPE, SHAPE], &[1], &[0, 1, 2, SHAPE]];
        let kinds: Vec<(usize, u8)> = (0..)
            .zip(models)
            .flat_map(|(model, kinds)| kinds.iter().map(move |kind| (model, *kind)))
            .collect();
        let size = kinds.len();
        let Widths { machine, kind, model, term, shape } = WIDTHS;
        let prior = Square::from_fn(size, |i, j| {
            let if_same = |same: bool, width: f64| if same { width * width } else { 0.0 };
            if kinds[i].1 == SHAPE || kinds[j].1 == SHAPE {
                return if_same(i == j, shape);
            }
            let ((a, b), (c, d)) = (kinds[i], kinds[j]);
            machine * machine + if_same(b == d, kind) + if_same(a == c, model) + if_same(i == j, term)
        });
        let mut normal = Normal::new(models.into_iter(), WIDTHS);
        let prior = prior.cholesky().unwrap();
        let (mut sum, mut right) = (prior.inverse(), std::vec![0.0; size]);
        let firsts = [0, 4, 5];
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut locals = Vec::new();
        for at in 0..12 {
            let (first, count) = (firsts[at % 3], models[at % 3].len());
            let local =
                Local { first, shares: (0..count).map(|_| next()).collect(), log_seconds: 0.0, own: 0.0 };
            let (weight, y) = (1.0 + 99.0 * next(), next() - 0.5);
            normal.add(&local, weight, y);
            let shares: Vec<f64> = (0..size)
                .map(|i| if i < first { 0.0 } else { local.shares.get(i - first).copied().unwrap_or(0.0) })
                .collect();
            for i in 0..size {
                right[i] += weight * shares[i] * y;
                (0..size).for_each(|j| sum.row_mut(i)[j] += weight * shares[i] * shares[j]);
            }
            locals.push((local, shares));
        }
        let factor = sum.cholesky().unwrap();
        let covariance = factor.inverse();
        factor.forward(&mut right);
        factor.backward(&mut right);
        let posterior = normal.solve().unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-10 * (1.0 + b.abs());
        assert!(posterior.logs.iter().zip(&right).all(|(a, b)| near(*a, *b)), "{posterior:?} {right:?}");
        for (a, first) in &locals {
            for (b, second) in &locals {
                let dense: f64 = (0..size).map(|i| first[i] * dot(covariance.row(i), second)).sum();
                assert!(near(posterior.covariance(a, b), dense), "{} {dense}", posterior.covariance(a, b));
            }
        }
        let inverse = prior.inverse();
        let far: f64 = (0..size).map(|i| right[i] * dot(inverse.row(i), &right)).sum();
        let dense = -(far + factor.log_determinant() + prior.log_determinant());
        assert!(near(posterior.evidence, dense), "{} {dense}", posterior.evidence);
    }
}
