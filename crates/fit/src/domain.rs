//! Where a model is valid, and whether all its predictions there are times.
//!
//! The domain is the box of the measured ranges of the inputs, limited by the requirements and by
//! the samples: a point whose leverage is above that of every sample is beyond them even inside the
//! box. A sum of terms can be negative between samples, so it is checked at the corners of the box
//! and at points that fill it evenly.
//!
//! Source: Cook and Weisberg, *Residuals and Influence in Regression* (1982), §2.1 (leverage as the
//! domain); Halton (1960) for the points.

use nalgebra::DVector;
use strata_model::expr::{Program, RESERVED, holds};
use strata_model::set::{Input, Mode, Nodes};

use crate::design::{Design, compile};
use crate::regress::Regression;
use crate::solve::dot;
use crate::{FitOptions, Lookup, Structure};

/// An input with at most so many values holds at these, and perhaps not between them.
pub(crate) const FEW: usize = 8;
/// Points that fill the box.
const POINTS: u32 = 512;
/// Corners are tried for at most so many inputs.
const MAX_CORNERS: usize = 10;
const PRIMES: [u32; 25] =
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97];
/// A range whose ends differ by this factor is sampled by its logarithm.
const WIDE: f64 = 20.0;
/// A sum whose parts cancel to less than this share of them is zero except for rounding.
const CANCELLED: f64 = 1e-12;

/// The parts of a fit that the check needs.
pub(crate) struct Domain<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) structure: &'a Structure,
    pub(crate) design: &'a Design,
    pub(crate) regression: &'a Regression,
    pub(crate) mean_time: f64,
    pub(crate) leverage_limit: f64,
    pub(crate) options: &'a FitOptions,
}

impl Domain<'_> {
    /// Where a prediction is not a time, as text; `None` if no such point was found.
    pub(crate) fn wrong(&self, lookup: &Lookup<'_>) -> Option<String> {
        // Differences of times may be below zero, if samples are.
        if self.options.mode == Mode::Absolute && self.design.fit.times.iter().any(|y| *y < 0.0) {
            return None;
        }
        let kept: Vec<usize> =
            (0..self.design.terms.len()).filter(|j| self.regression.coefficients[*j] != 0.0).collect();
        let c: Vec<f64> = kept.iter().map(|j| self.regression.coefficients[*j]).collect();
        // At the fitted samples all terms are known.
        for (i, row) in self.design.fit.matrix.row_iter().enumerate() {
            let x: Vec<f64> = kept.iter().map(|j| row[*j]).collect();
            if self.design.fit.times[i] >= 0.0 && !is_time(&c, &x) {
                return Some(format!("the prediction at a sample that was fitted is {:.3e} s", dot(&c, &x)));
            }
        }
        let names = &self.structure.inputs;
        // A term that is a column of its own, not a function of the inputs, is known only at the
        // samples.
        let program = |text: &String| {
            let expr = strata_model::expr::parse(text).ok()?;
            compile(&expr, names, lookup).ok()
        };
        let terms: Vec<Program> =
            kept.iter().map(|j| program(&self.design.terms[*j])).collect::<Option<_>>()?;
        let requires: Vec<Program> =
            self.structure.requires.iter().map(|r| compile(r, names, lookup).ok()).collect::<Option<_>>()?;
        let least = self.design.fit.times.iter().copied().filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
        let axes = self.axes();
        for point in self.points(&axes) {
            let mut variables = point.clone();
            // The number of nodes comes last; its logarithm and root follow.
            variables.extend(point.last().into_iter().flat_map(|p| [p.log2(), p.sqrt()]));
            if !requires.iter().all(|r| holds(r.eval(&variables))) {
                continue;
            }
            let x: Vec<f64> = terms.iter().map(|t| t.eval(&variables)).collect();
            if is_time(&c, &x) || !self.reached(&kept, &x, dot(&c, &x), least) {
                continue;
            }
            let told =
                axes.iter().zip(&point).take(if self.ranges_over_nodes() { axes.len() } else { names.len() });
            let place: Vec<String> = told.map(|(axis, value)| format!("{} = {value}", axis.name)).collect();
            return Some(format!(
                "the prediction at {}, inside the measured ranges, is {:.3e} s",
                place.join(", "),
                dot(&c, &x)
            ));
        }
        None
    }

    /// Whether a point has no more leverage than the samples. A prediction near zero or below
    /// counts as the least time.
    fn reached(&self, kept: &[usize], x: &[f64], predicted: f64, least: f64) -> bool {
        let noise = self.regression.noise_variance;
        // With one input every point of the range is between samples.
        if self.inputs.len() + usize::from(self.ranges_over_nodes()) < 2
            || self.leverage_limit <= 0.0
            || noise <= 0.0
            || !predicted.is_finite()
        {
            return true;
        }
        let x = DVector::from_column_slice(x);
        let covariance = |i: usize, j: usize| self.regression.covariance[kept[i]][kept[j]];
        let square: f64 =
            (0..x.len()).map(|i| x[i] * (0..x.len()).map(|j| covariance(i, j) * x[j]).sum::<f64>()).sum();
        let weight = match self.options.mode {
            Mode::Relative => self.mean_time / predicted.max(least),
            Mode::Absolute => 1.0,
        };
        square / noise * weight * weight <= self.leverage_limit
    }

    fn ranges_over_nodes(&self) -> bool {
        self.design.nodes != Nodes::ANY && self.design.nodes.fixed().is_none()
    }

    /// The inputs, then the number of nodes, with their ranges.
    fn axes(&self) -> Vec<Input> {
        let Nodes { min, max } =
            if self.design.nodes == Nodes::ANY { Nodes::known(1) } else { self.design.nodes };
        let nodes = Input { name: RESERVED[0].to_owned(), min: min as f64, max: max as f64, integer: true };
        self.inputs.iter().cloned().chain([nodes]).collect()
    }

    fn points(&self, axes: &[Input]) -> Vec<Vec<f64>> {
        let mut points = Vec::new();
        let varying = self.inputs.len() + usize::from(self.ranges_over_nodes());
        if varying == 0 || axes.len() > PRIMES.len() {
            return points;
        }
        if varying <= MAX_CORNERS {
            for corner in 0..1usize << varying {
                let end = |(i, axis): (usize, &Input)| if corner >> i & 1 == 0 { axis.min } else { axis.max };
                points.push(axes.iter().enumerate().map(end).collect());
            }
        }
        for k in 1..=POINTS {
            let place = |(axis, prime): (&Input, &u32)| {
                let share = radical_inverse(k, *prime);
                let value = if axis.min > 0.0 && axis.max / axis.min > WIDE {
                    (axis.min.ln() + share * (axis.max.ln() - axis.min.ln())).exp()
                } else {
                    axis.min + share * (axis.max - axis.min)
                };
                let value = if axis.integer { value.round() } else { value };
                value.clamp(axis.min, axis.max)
            };
            points.push(axes.iter().zip(&PRIMES).map(place).collect());
        }
        points
    }
}

/// Whether the sum of coefficients times terms is a time, or zero except for rounding.
fn is_time(c: &[f64], x: &[f64]) -> bool {
    let sum = dot(c, x);
    sum >= 0.0 && sum.is_finite()
        || sum.is_finite() && -sum <= CANCELLED * c.iter().zip(x).map(|(c, x)| (c * x).abs()).sum::<f64>()
}

/// The digits of k after the point, in reverse order.
fn radical_inverse(mut k: u32, base: u32) -> f64 {
    let (mut value, mut unit) = (0.0, 1.0 / f64::from(base));
    while k > 0 {
        value += f64::from(k % base) * unit;
        k /= base;
        unit /= f64::from(base);
    }
    value
}
