//! Samples as blocks: the values of the parameters that were measured at one input.

use std::collections::BTreeMap;

use strata_model::set::Contrast;
use strata_select::table::{ROUND, octaves, roundness};

use super::process::{Kind, Point};
use crate::Residual;
use crate::points;

/// More samples add little; whole blocks are left out.
const ENOUGH: usize = 200;
/// The least number of pairs of values for which differences are used.
const LEAST_PAIRS: usize = 20;
/// Distances at which differences may reach their greatest variance, as shares of the range.
const REACHES: [f64; 6] = [0.03, 0.1, 0.2, 0.4, 0.8, 1.6];

/// An input that varies in the samples.
pub(super) struct Axis {
    /// Its index among the inputs.
    pub(super) input: usize,
    /// Whether it is a parameter, a value of another input, or its roundness.
    pub(super) kind: Kind,
    /// The measured values, rising.
    pub(super) values: Vec<f64>,
}

impl Axis {
    pub(super) fn is_parameter(&self) -> bool {
        self.kind == Kind::Parameter
    }

    /// The value of a sample.
    fn of(&self, sample: &Residual) -> f64 {
        let value = sample.inputs[self.input];
        if self.kind == Kind::Round { roundness(value) } else { value }
    }

    /// The place of a value in the range, 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.kind == Kind::Round {
            return value / ROUND.len() as f64;
        }
        let end = |value: Option<&f64>| value.map_or(0.0, |value| octaves(*value));
        let (low, high) = (end(self.values.first()), end(self.values.last()));
        (octaves(value) - low) / (high - low)
    }
}

/// The samples of a model that were fitted.
pub(super) struct Blocks<'a> {
    pub(super) axes: Vec<Axis>,
    pub(super) rows: Vec<&'a Residual>,
    /// The residuals of the terms, row by row.
    pub(super) points: Vec<Point>,
    /// The rows of each combination of parameters, block by block.
    pub(super) settings: Vec<Vec<Vec<usize>>>,
}

impl<'a> Blocks<'a> {
    /// `parameters`: the indices of inputs that are parameters, `round`: of one whose roundness
    /// counts. Samples that the fit of the terms left out take part: a large residual may be an
    /// effect of a parameter.
    pub(super) fn new(residuals: &'a [Residual], parameters: &[usize], round: Option<usize>) -> Self {
        let good = |r: &&Residual| r.observed > 0.0 && r.predicted > 0.0 && r.predicted.is_finite();
        let mut rows: Vec<&Residual> = residuals.iter().filter(|r| !r.verify).filter(good).collect();
        let number = |rows: &[&Residual], parameter: bool| {
            points::groups(rows.iter().map(|r| {
                let wanted = r.inputs.iter().enumerate().filter(|(i, _)| parameters.contains(i) == parameter);
                wanted.map(|(_, value)| *value)
            }))
        };
        let stride = rows.len().div_ceil(ENOUGH).max(1);
        let numbers = number(&rows, false);
        rows = rows.into_iter().zip(numbers).filter(|(_, n)| n % stride == 0).map(|pair| pair.0).collect();
        let (blocks, settings) = (number(&rows, false), number(&rows, true));
        let count = rows.first().map_or(0, |r| r.inputs.len());
        let axis = |(input, kind)| {
            let mut axis = Axis { input, kind, values: Vec::new() };
            axis.values = rows.iter().map(|r| axis.of(r)).collect();
            axis.values.sort_by(f64::total_cmp);
            axis.values.dedup();
            (axis.values.len() > 1).then_some(axis)
        };
        let kind = |input| if parameters.contains(&input) { Kind::Parameter } else { Kind::Input };
        let plain = (0..count).map(|input| (input, kind(input)));
        let round = round.into_iter().map(|input| (input, Kind::Round));
        let axes: Vec<Axis> = round.chain(plain).filter_map(axis).collect();
        let point = |(r, block): (&&Residual, &usize)| Point {
            block: *block,
            place: axes.iter().map(|axis| axis.place(axis.of(r))).collect(),
            residual: (r.observed / r.predicted).ln(),
        };
        let points = rows.iter().zip(&blocks).map(point).collect();
        let mut grouped: Vec<BTreeMap<usize, Vec<usize>>> = Vec::new();
        for (row, (block, setting)) in blocks.iter().zip(&settings).enumerate() {
            grouped.resize(grouped.len().max(block + 1), BTreeMap::new());
            grouped[*block].entry(*setting).or_default().push(row);
        }
        let settings = grouped.into_iter().map(|block| block.into_values().collect()).collect();
        Self { axes, rows, points, settings }
    }

    /// The blocks of at least so many combinations of parameters.
    pub(super) fn telling(&self, least: usize) -> impl Iterator<Item = &[Vec<usize>]> {
        self.settings.iter().map(Vec::as_slice).filter(move |block| block.len() >= least)
    }

    /// The combination of a block with the least predicted time, if `correction` is added to the
    /// logarithm of each row's predicted time; of ties the middle one.
    pub(super) fn taken(&self, block: &[Vec<usize>], correction: &dyn Fn(usize) -> f64) -> usize {
        let times: Vec<f64> = block
            .iter()
            .map(|rows| mean(rows.iter().map(|row| self.rows[*row].predicted.ln() + correction(*row))))
            .collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let mut tied: Vec<usize> = (0..block.len()).filter(|i| times[*i] <= least + 1e-9).collect();
        let place = |i: &usize| {
            let place = &self.points[block[*i][0]].place;
            place.iter().zip(&self.axes).filter(|(_, axis)| axis.is_parameter()).map(|p| *p.0).sum::<f64>()
        };
        tied.sort_by(|a, b| place(a).total_cmp(&place(b)));
        tied[(tied.len() - 1) / 2]
    }

    /// The relative excess of the chosen combination's time over the least measured time, for each
    /// block of at least so many combinations.
    pub(super) fn regrets(&self, least: usize, correction: &dyn Fn(usize) -> f64) -> Vec<f64> {
        let regret = |block: &[Vec<usize>]| {
            let time = |rows: &Vec<usize>| mean(rows.iter().map(|row| self.rows[*row].observed.ln()));
            let fastest = block.iter().map(time).fold(f64::INFINITY, f64::min);
            (time(&block[self.taken(block, correction)]) - fastest).exp_m1()
        };
        self.telling(least).map(regret).collect()
    }

    /// How the remaining errors, row by row, differ between two combinations of one block, without
    /// the noise that repeats show.
    pub(super) fn contrast(&self, errors: &[f64]) -> Option<Contrast> {
        let mut pairs = Vec::new();
        for block in &self.settings {
            let rows: Vec<usize> = block.iter().flatten().copied().collect();
            for (place, a) in rows.iter().enumerate() {
                for b in &rows[..place] {
                    let distance = self.distance(*a, *b);
                    if distance > 0.0 {
                        let noise = self.rows[*a].noise.powi(2) + self.rows[*b].noise.powi(2);
                        pairs.push((distance, (errors[*a] - errors[*b]).powi(2) - noise));
                    }
                }
            }
        }
        if pairs.len() < LEAST_PAIRS {
            return None;
        }
        // If no repeats show the noise, it is estimated from the differences of neighbouring
        // values.
        let noise_is_known = self.rows.iter().any(|row| row.noise > 0.0);
        let count = pairs.len() as f64;
        // Least squares of the variance for each reach.
        let fitted = REACHES.map(|reach| {
            let shape = |distance: f64| 1.0 - (-distance / reach).exp();
            let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(h, d)| f(shape(*h), *d)).sum::<f64>();
            let (ss, sd, s, d) = (sum(&|s, _| s * s), sum(&|s, d| s * d), sum(&|s, _| s), sum(&|_, d| d));
            let slope = ((count * sd - s * d) / (count * ss - s * s)).max(0.0);
            let noise = if noise_is_known { 0.0 } else { ((d - slope * s) / count).max(0.0) };
            let variance = ((sd - noise * s) / ss).max(0.0);
            (sum(&|s, d| (d - noise - variance * s).powi(2)), variance, reach)
        });
        let (_, variance, reach) = fitted.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let deviation = rounded(variance.sqrt(), 3);
        deviation.is_finite().then_some(Contrast { deviation, reach })
    }

    /// The distance of two rows in their parameters.
    fn distance(&self, a: usize, b: usize) -> f64 {
        let places = self.points[a].place.iter().zip(&self.points[b].place).zip(&self.axes);
        places.filter(|(_, axis)| axis.is_parameter()).map(|((a, b), _)| (a - b).abs()).sum()
    }
}

/// Rounds to so many significant digits: further digits are noise.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

pub(super) fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count().max(1) as f64
}
