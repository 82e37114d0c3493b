//! A smooth non-parametric peer: a Gaussian process over the logarithms of inputs and times.
//!
//! Squared-exponential kernel with one length scale an input, a constant mean and independent
//! noise; the length scales and the noise have the greatest likelihood on a small grid. Source:
//! Rasmussen and Williams, *Gaussian Processes for Machine Learning* (2006), §2.2 and §5.4.1.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::contenders::{Answer, Question};

/// Length scales in units of the range of an input's logarithm.
const LENGTHS: [f64; 5] = [0.15, 0.3, 0.6, 1.2, 2.4];
/// The noise's share of the standard deviation of the logarithms of times.
const NOISES: [f64; 5] = [1e-4, 0.003, 0.01, 0.03, 0.1];

impl Question<'_> {
    pub(crate) fn gaussian_process(&self) -> Answer {
        let log = |point: &[f64]| -> Vec<f64> { point.iter().map(|v| v.max(1e-300).ln()).collect() };
        let median = |times: &Vec<f64>| {
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            sorted[sorted.len() / 2].ln()
        };
        let points: Vec<Vec<f64>> = self.points.iter().map(|p| log(p)).collect();
        let times = DVector::from_iterator(points.len(), self.values.iter().map(median));
        let mean = times.mean();
        let deviation = (times.variance()).sqrt().max(1e-12);
        let times = times.map(|t| (t - mean) / deviation);
        let spans: Vec<f64> = (0..self.inputs.len())
            .map(|i| {
                let column = points.iter().map(|p| p[i]);
                let (low, high) = (column.clone().fold(f64::MAX, f64::min), column.fold(f64::MIN, f64::max));
                (high - low).max(1e-12)
            })
            .collect();
        let mut best: Option<(f64, Vec<f64>, DVector<f64>)> = None;
        for code in 0..LENGTHS.len().pow(spans.len() as u32) {
            let lengths: Vec<f64> = (spans.iter().enumerate())
                .map(|(i, span)| span * LENGTHS[code / LENGTHS.len().pow(i as u32) % LENGTHS.len()])
                .collect();
            let kernel =
                DMatrix::from_fn(points.len(), points.len(), |i, j| alike(&points[i], &points[j], &lengths));
            for noise in NOISES {
                // A prior deviation of three: the mean of the times is not the mean of the process.
                let mut whole = &kernel * 9.0;
                whole.fill_diagonal(9.0 + noise * noise);
                let Some(factor) = Cholesky::new(whole) else { continue };
                let weights = factor.solve(&times);
                let likelihood = -0.5 * times.dot(&weights) - factor.l().diagonal().map(f64::ln).sum();
                if best.as_ref().is_none_or(|b| likelihood > b.0) {
                    best = Some((likelihood, lengths.clone(), weights));
                }
            }
        }
        let Some((_, lengths, weights)) = best else { return Answer::default() };
        let predict = |test: &Vec<f64>| {
            let at = log(test);
            let sum: f64 =
                points.iter().zip(weights.iter()).map(|(p, w)| 9.0 * w * alike(p, &at, &lengths)).sum();
            (mean + deviation * sum).exp()
        };
        Answer { predictions: self.tests.iter().map(predict).collect(), ..Answer::default() }
    }
}

fn alike(a: &[f64], b: &[f64], lengths: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).zip(lengths).map(|((a, b), l)| ((a - b) / l).powi(2)).sum();
    (-0.5 * square).exp()
}
