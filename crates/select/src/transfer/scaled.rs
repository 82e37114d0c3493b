//! The models of a table with a scale for each coefficient, and how the scales follow from timings.
//!
//! Of a model Σ c·x another machine changes mostly the coefficients. Their scales have a log-normal
//! prior at 1 whose covariance is a sum of parts: what all models share (the clock), what the terms
//! of one kind share (start-up, work, work beyond some size), what the terms of one model share, and
//! each term's own. Few timings then say something about all terms. A factor over the inputs, linear
//! in logarithms between a few knots, is for what no term describes here. The posterior is that of the
//! logarithm of the time, linearised at its maximum; timings far off are weighted down (Student's t).

use std::vec;
use std::vec::Vec;

use super::matrix::dot;
use super::normal::{Normal, Posterior};
use super::{MOST_TIMINGS, Point, WIDER, WIDTHS, Widths};
use crate::model::joined;
use crate::{
    Source, Table, normal,
    table::{MAX_TERMS, Model, Prediction},
};

/// The relative deviation of a timing about its mean, at least.
const LEAST_NOISE: f64 = 0.03;

/// Degrees of freedom of Student's t.
const FREEDOM: f64 = 4.0;

/// The most steps to the maximum; each is a least-squares fit.
const STEPS: usize = 40;

/// A step by less, in every logarithm, is the last one before timings are weighted.
const SETTLED: f64 = 0.02;

/// The longest step in a logarithm.
const LONGEST: f64 = 1.5;

/// The greatest logarithm of a scale: a factor of 400.
const FARTHEST: f64 = 6.0;

/// The unknowns of one model: candidates that call the same model share them.
#[derive(Clone, Debug)]
struct Base {
    model: &'static Model,
    /// Where its unknowns begin, and how many terms they are; then come [`KNOTS`] for each of its
    /// inputs.
    first: usize,
    count: usize,
    /// The range of each input, in [`log`]arithms.
    ranges: Vec<(f64, f64)>,
}

impl Base {
    fn unknowns(&self) -> usize {
        self.count + KNOTS * self.ranges.len()
    }
}

/// Knots of an input's factor.
const KNOTS: usize = 4;

/// The logarithm by which an input is placed between knots.
fn log(value: f64) -> f64 {
    if value >= 1.0 { value.ln() + 1.0 } else { value.max(0.0) }
}

/// The shares of the knots around a value.
fn around((least, most): (f64, f64), value: f64) -> (usize, f64) {
    let place = (log(value) - least) / (most - least).max(1e-9) * (KNOTS - 1) as f64;
    // NaN counts as the least.
    let place = place.max(0.0).min((KNOTS - 1) as f64);
    let knot = (place as usize).min(KNOTS - 2);
    (knot, place - knot as f64)
}

/// The models of a table, each coefficient times a scale.
#[derive(Clone, Debug)]
pub struct Scaled {
    table: &'static Table,
    bases: Vec<Base>,
    /// The base of each candidate; `None` for one without a model.
    base_of: Vec<Option<usize>>,
    /// The kind of each unknown: start-up, work, work beyond some size, or a knot.
    kinds: Vec<u8>,
    widths: Widths,
    /// The logarithms of the scales.
    logs: Vec<f64>,
    scales: Vec<f64>,
    /// Of the timings that were fitted, and of those that are expected.
    normal: Normal,
    posterior: Option<Posterior>,
    /// The relative deviation of a timing.
    noise: f64,
    timings: usize,
    /// The logarithm of how likely the timings of the last fit are by the widths.
    evidence: f64,
}

/// The time of a candidate for one problem, and its derivative.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) log_seconds: f64,
    /// Where its unknowns begin.
    pub(super) first: usize,
    /// The share of each unknown in the time: the derivative of its logarithm.
    pub(super) shares: Vec<f64>,
    /// The square of the model's own error, relative.
    pub(super) own: f64,
}

impl Scaled {
    /// All scales 1, as before any timing. `problems` are some of the table's domain, from which
    /// the kinds of terms are told.
    pub(super) fn new(table: &'static Table, nodes: usize, problems: &[Vec<f64>]) -> Self {
        let mut bases: Vec<Base> = Vec::new();
        let mut unknowns = 0;
        let base_of = table.entries.iter().map(|entry| {
            let model = entry.model.base()?;
            let known = bases.iter().position(|base| std::ptr::eq(base.model, model));
            Some(known.unwrap_or_else(|| {
                let inputs = table.domain.inputs.iter().map(|(least, most)| (log(*least), log(*most)));
                let parameters = entry.parameters.iter().map(|p| (log(p.min as f64), log(p.max as f64)));
                let ranges = inputs.chain(parameters).map(|(a, b)| (a, b.min(100.0))).collect();
                let base = Base { model, first: unknowns, count: model.unknowns(), ranges };
                unknowns += base.unknowns();
                bases.push(base);
                bases.len() - 1
            }))
        });
        let base_of: Vec<Option<usize>> = base_of.collect();
        let mut kinds = vec![WORK; unknowns];
        for base in &bases {
            kinds[base.first..][base.count..base.unknowns()].fill(SHAPE);
        }
        let mut made = Self {
            table,
            normal: Normal::new(std::iter::empty(), WIDTHS),
            posterior: None,
            bases,
            base_of,
            kinds,
            widths: WIDTHS,
            logs: vec![0.0; unknowns],
            scales: vec![1.0; unknowns],
            noise: LEAST_NOISE,
            timings: 0,
            evidence: 0.0,
        };
        made.tell_kinds(nodes, problems);
        made.reset();
        made
    }

    /// Terms that vary little over the problems are start-up; those that are zero for a part of
    /// the problems are work beyond some size.
    fn tell_kinds(&mut self, nodes: usize, problems: &[Vec<f64>]) {
        let mut seen = vec![(f64::INFINITY, 0.0_f64, 0_usize, 0_usize); self.kinds.len()];
        for (candidate, entry) in self.table.entries.iter().enumerate() {
            let least = crate::table::Parameters::least(entry.parameters);
            let Some(base) = self.base_of[candidate].map(|base| self.bases[base].clone()) else { continue };
            for problem in problems {
                let mut to = [0.0; MAX_TERMS];
                let parts = joined(problem, &least, |x| entry.model.parts(nodes, x, &mut to));
                let Some((count, _)) = parts.filter(|(count, _)| *count == base.count) else { continue };
                for (seen, part) in seen[base.first..].iter_mut().zip(&to[..count]) {
                    let size = part.abs();
                    seen.2 += 1;
                    if size > 0.0 {
                        *seen = (seen.0.min(size), seen.1.max(size), seen.2, seen.3 + 1);
                    }
                }
            }
        }
        let terms = self.kinds.iter_mut().zip(seen).filter(|(kind, _)| **kind != SHAPE);
        for (kind, (least, most, all, nonzero)) in terms {
            *kind = match () {
                () if 8 * nonzero < 7 * all => FAR,
                () if most <= START_UP * least => START,
                () => WORK,
            };
        }
    }

    /// Without timings.
    fn prior(&self) -> Normal {
        let kinds = |base: &'_ Base| &self.kinds[base.first..][..base.unknowns()];
        Normal::new(self.bases.iter().map(kinds), self.widths)
    }

    /// How many timings the scales follow from.
    #[must_use]
    pub fn timings(&self) -> usize {
        self.timings
    }

    /// A hash of all scales.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let bytes = self.scales.iter().flat_map(|scale| scale.to_bits().to_le_bytes());
        super::cache::fnv(bytes)
    }

    /// The time of a candidate, and how it depends on the unknowns; `None` without a prediction.
    pub(super) fn local(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Local> {
        let base = &self.bases[(*self.base_of.get(candidate)?)?];
        let entry = self.table.entries.get(candidate)?;
        let mut to = [0.0; MAX_TERMS];
        let (count, factor) = joined(inputs, parameters, |x| entry.model.parts(nodes, x, &mut to))?;
        let parts = to.get(..count).filter(|_| count == base.count)?;
        let scales = &self.scales[base.first..][..count];
        let sum = dot(parts, scales);
        let mut shape = vec![0.0; base.unknowns() - count];
        let x = inputs.iter().copied().chain(parameters.iter().map(|value| *value as f64));
        for ((range, value), knots) in base.ranges.iter().zip(x).zip(shape.chunks_mut(KNOTS)) {
            let (knot, part) = around(*range, value);
            (knots[knot], knots[knot + 1]) = (1.0 - part, part);
        }
        let seconds = factor * sum * dot(&shape, &self.logs[base.first + count..]).exp();
        if !(seconds.is_finite() && seconds > 0.0) {
            return None;
        }
        let shares = parts.iter().zip(scales).map(|(part, scale)| part * scale / sum).chain(shape).collect();
        let (own, _) = joined(inputs, parameters, |x| entry.model.variances(nodes, x, seconds))?;
        Some(Local { log_seconds: seconds.ln(), first: base.first, shares, own })
    }

    /// The covariance of the logarithms of two times, from the scales.
    pub(super) fn covariance(&self, a: &Local, b: &Local) -> f64 {
        self.posterior.as_ref().map_or(0.0, |posterior| posterior.covariance(a, b))
    }

    /// The variance of a timing about the predicted logarithm.
    fn scatter(&self, local: &Local) -> f64 {
        self.noise * self.noise + local.own
    }

    /// The covariance after a timing there, whatever it will be.
    pub(super) fn expect(&mut self, local: &Local) {
        self.normal.add(local, 1.0 / self.scatter(local), 0.0);
        self.posterior = self.normal.solve();
    }

    /// [`fit`](Self::fit) by the widths by which the timings are the likeliest.
    pub(super) fn fit_widths(&mut self, nodes: usize, points: &[Point]) {
        let narrowest = WIDTHS.wider(WIDER[0].0, WIDER[0].1);
        (self.widths, self.timings) = (narrowest, 0);
        self.fit(nodes, points);
        for (all, shape) in &WIDER[1..] {
            let mut one = self.clone();
            one.widths = WIDTHS.wider(*all, *shape);
            one.fit(nodes, points);
            if one.evidence > self.evidence {
                *self = one;
            }
        }
    }

    /// The scales and their covariance by the newest of these timings, and of those of each
    /// candidate; they are in the order of time. It begins at the scales of the last fit, if any.
    pub(super) fn fit(&mut self, nodes: usize, points: &[Point]) {
        let mut counts = vec![0; self.table.entries.len()];
        let mut newest = MOST_TIMINGS * counts.len();
        let usable = |point: &&Point| {
            if point.nodes != nodes || !(point.seconds.is_finite() && point.seconds > 0.0) {
                return false;
            }
            let Some(count) = counts.get_mut(point.candidate) else { return false };
            let is_new = newest > 0 || *count < MOST_TIMINGS;
            (newest, *count) = (newest.saturating_sub(1), *count + 1);
            is_new
        };
        let points: Vec<&Point> = points.iter().rev().filter(usable).collect();
        if self.timings == 0 {
            self.reset();
        }
        // Far from the maximum every timing looks like an outlier.
        let mut settled = false;
        self.noise = 0.1;
        let mut weights = vec![1.0; points.len()];
        for step in 0..STEPS {
            let locals: Vec<Option<Local>> = points
                .iter()
                .map(|point| self.local(point.candidate, nodes, &point.inputs, &point.parameters))
                .collect();
            let known: Vec<(usize, &Local)> =
                locals.iter().enumerate().filter_map(|(at, local)| Some((at, local.as_ref()?))).collect();
            self.timings = known.len();
            if known.is_empty() {
                return self.reset();
            }
            let residual = |(at, local): &(usize, &Local)| points[*at].seconds.ln() - local.log_seconds;
            if settled {
                self.noise = noise(known.iter().map(|known| residual(known).abs()).collect());
                for known in &known {
                    let square = residual(known).powi(2) / self.scatter(known.1);
                    weights[known.0] = (FREEDOM + 1.0) / (FREEDOM + square);
                }
            }
            let mut normal = self.prior();
            for known in &known {
                let Local { first, shares, .. } = known.1;
                let y = residual(known) + dot(shares, &self.logs[*first..][..shares.len()]);
                normal.add(known.1, weights[known.0] / self.scatter(known.1), y);
            }
            let Some(posterior) = normal.solve() else { return self.reset() };
            // How well the scales fit, beside how far they are from 1 and how much narrower.
            let fit = |known: &(usize, &Local)| {
                let scatter = self.scatter(known.1);
                let square = residual(known).powi(2) / scatter;
                -0.5 * (scatter.ln() + (FREEDOM + 1.0) * (square / FREEDOM).ln_1p())
            };
            self.evidence = known.iter().map(fit).sum::<f64>() + 0.5 * posterior.evidence;
            let last = step + 1 == STEPS;
            let by = posterior.logs.iter().zip(&self.logs).map(|(to, log)| to - log);
            let moved = by.clone().fold(0.0_f64, |most, by| most.max(by.abs()));
            let share = (LONGEST / moved).min(1.0);
            let logs = by.zip(&self.logs).map(|(by, log)| (log + share * by).clamp(-FARTHEST, FARTHEST));
            self.logs = logs.collect();
            self.scales = self.logs.iter().map(|log| log.exp()).collect();
            let weighted = settled;
            settled |= moved < SETTLED;
            if last || weighted && moved < 1e-3 {
                (self.normal, self.posterior) = (normal, Some(posterior));
                return;
            }
        }
    }

    fn reset(&mut self) {
        self.logs.fill(0.0);
        self.scales.fill(1.0);
        (self.noise, self.timings, self.evidence) = (LEAST_NOISE, 0, f64::NEG_INFINITY);
        self.normal = self.prior();
        self.posterior = self.normal.solve();
    }
}

/// The deviation of timings, from the sizes of the residuals: 1.48 times their median.
fn noise(mut sizes: Vec<f64>) -> f64 {
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
    if sizes.len() < 8 { 0.1 } else { (1.48 * median).clamp(LEAST_NOISE, 0.3) }
}

const START: u8 = 0;
const WORK: u8 = 1;
const FAR: u8 = 2;
/// A knot of a factor over an input.
pub(super) const SHAPE: u8 = 3;

/// A term that varies by less than this factor over the problems is start-up.
const START_UP: f64 = 64.0;

impl Source for Scaled {
    fn base(&self) -> Option<&dyn Source> {
        Some(self.table)
    }

    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        let base = &self.bases[(*self.base_of.get(candidate)?)?];
        let entry = self.table.entries.get(candidate)?;
        if inputs.len() != self.table.inputs.len() {
            return None;
        }
        let mut to = [0.0; MAX_TERMS];
        let (count, factor) = joined(inputs, parameters, |x| entry.model.parts(nodes, x, &mut to))?;
        let scales = self.scales.get(base.first..base.first + base.count).filter(|_| count == base.count)?;
        let mut shape = 0.0;
        if self.timings > 0 {
            let x = inputs.iter().copied().chain(parameters.iter().map(|value| *value as f64));
            let knots = self.logs[base.first + count..].chunks(KNOTS);
            for ((range, value), knots) in base.ranges.iter().zip(x).zip(knots) {
                let (knot, part) = around(*range, value);
                shape += (1.0 - part) * knots[knot] + part * knots[knot + 1];
            }
        }
        Some(crate::table::Seconds::new(factor * dot(to.get(..count)?, scales) * shape.exp())?.get())
    }

    fn predict(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Prediction> {
        let seconds = self.seconds(candidate, nodes, inputs, parameters)?;
        let Some(local) = self.local(candidate, nodes, inputs, parameters) else {
            return Prediction::new(seconds, 0.0);
        };
        let entry = self.table.entries.get(candidate)?;
        let (own, noise) = joined(inputs, parameters, |x| entry.model.variances(nodes, x, seconds))?;
        let mean = self.covariance(&local, &local).max(0.0) + own;
        let half = normal::HALF_WIDTH * (mean - own + noise.max(own)).sqrt();
        Prediction::new(seconds, seconds * half)?.with_deviation(seconds * mean.sqrt())
    }
}
