//! Samples of one point are not independent: they share the place of its memory and the other
//! programs that ran.
//!
//! Source: Draper and Smith, *Applied Regression Analysis*, 3rd ed. (1998), §2.1 (repeats and lack
//! of fit); Cook and Weisberg, *Residuals and Influence in Regression* (1982), §3.6 (deleting
//! groups of samples).

use std::hash::Hash;

use nalgebra::{Cholesky, DMatrix, DVector};

/// A number for each row, the same for equal rows, counted from 0 in the order in which they first
/// occur.
pub(crate) fn groups<R: Iterator<Item = f64>>(rows: impl Iterator<Item = R>) -> Vec<usize> {
    let rows = Rows::new(rows.map(|row| row.map(f64::to_bits)));
    numbered((0..rows.ends.len()).map(|row| rows.row(row)))
}

/// Rows of words, one behind the other: a million rows of a few words are one allocation.
pub(crate) struct Rows {
    words: Vec<u64>,
    ends: Vec<usize>,
}

impl Rows {
    pub(crate) fn new<R: Iterator<Item = u64>>(rows: impl Iterator<Item = R>) -> Self {
        let mut words = Vec::new();
        let ends = rows.map(|row| {
            words.extend(row);
            words.len()
        });
        let ends = ends.collect();
        Self { words, ends }
    }

    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]]
    }
}

/// A number for each key, the same for equal keys, counted from 0 in the order in which they first
/// occur.
#[expect(clippy::disallowed_types, reason = "keys are looked up only, so that no order reaches a result")]
pub(crate) fn numbered<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut known = std::collections::HashMap::new();
    let number = |key| {
        let next = known.len();
        *known.entry(key).or_insert(next)
    };
    keys.map(number).collect()
}

/// The factor by which the variance of a fit of such samples exceeds that of as many independent
/// ones: the mean square of the residuals between points over that of all residuals, at least 1.
/// Kish, *Survey Sampling* (1965), §8.2.
///
/// `along`: the rows of one point are multiples of each other, with these factors.
pub(crate) fn design_effect(residuals: &[f64], along: &[f64], groups: &[usize], rank: usize) -> f64 {
    let count = groups.iter().max().map_or(0, |most| most + 1);
    let Some(between) = count.checked_sub(rank).filter(|b| *b > 0 && count < groups.len()) else {
        return 1.0;
    };
    let mut sums = vec![(0.0, 0.0); count];
    for ((r, a), group) in residuals.iter().zip(along).zip(groups) {
        sums[*group].0 += a * r;
        sums[*group].1 += a * a;
    }
    let square: f64 = sums.iter().filter(|s| s.1 > 0.0).map(|s| s.0 * s.0 / s.1).sum();
    let all: f64 = residuals.iter().map(|r| r * r).sum();
    let effect = square / between as f64 / (all / (groups.len() - rank) as f64);
    if effect.is_finite() { effect.max(1.0) } else { 1.0 }
}

/// The error of each sample if it and all others of its group take no part in the fit with an
/// orthonormal basis `q`: r + Q (I − QᵀQ)⁻¹ Qᵀr over the group. `None` if the fit of the others is
/// not determined.
pub(crate) fn left_out_groups(
    q: &DMatrix<f64>,
    residual: &DVector<f64>,
    groups: &[usize],
) -> Option<DVector<f64>> {
    let width = q.ncols();
    let count = groups.iter().max().map_or(0, |most| most + 1);
    let mut sums = vec![(DMatrix::identity(width, width), DVector::zeros(width)); count];
    for (i, group) in groups.iter().enumerate() {
        let (square, along) = &mut sums[*group];
        for a in 0..width {
            along[a] += q[(i, a)] * residual[i];
            for b in 0..=a {
                square[(a, b)] -= q[(i, a)] * q[(i, b)];
            }
        }
    }
    let moved: Option<Vec<DVector<f64>>> = sums
        .into_iter()
        .map(|(square, along)| {
            let factor = Cholesky::new(square)?;
            // What is left is rounding.
            let is_known = factor.l_dirty().diagonal().min() > 1e-5;
            is_known.then(|| factor.solve(&along))
        })
        .collect();
    let moved = moved?;
    Some(DVector::from_fn(groups.len(), |i, _| residual[i] + q.row(i).transpose().dot(&moved[groups[i]])))
}

/// The error of each sample if it and all others of its point take no part in the fit.
///
/// Rows of one point are multiples of each other, so its block of the hat matrix is c wwᵀ and
/// (I − c wwᵀ)⁻¹ r = r + c w (wᵀr)/(1 − c wᵀw).
pub(crate) fn left_out(residuals: &[f64], leverages: &[f64], groups: &[usize]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); groups.iter().max().map_or(0, |most| most + 1)];
    for ((r, h), group) in residuals.iter().zip(leverages).zip(groups) {
        sums[*group].0 += h;
        sums[*group].1 += h.sqrt() * r;
    }
    let each = residuals.iter().zip(leverages).zip(groups);
    each.map(|((r, h), group)| r + h.sqrt() * sums[*group].1 / (1.0 - sums[*group].0).max(1e-6)).collect()
}
