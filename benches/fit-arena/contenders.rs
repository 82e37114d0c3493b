//! The contenders: Strata with and without terms, and two plain least squares with Strata's terms.

use nalgebra::{DMatrix, DVector};
use strata_benches::cost::{fit, samples};
use strata_fit::FitOptions;
use strata_model::expr::Expr;
use strata_model::samples::Sample;
use strata_model::{ModelSet, Program};

/// The input of every contender: single timings, and points to predict.
pub(crate) struct Question<'a> {
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) points: &'a [Vec<f64>],
    /// Repeated times of each point.
    pub(crate) values: &'a [Vec<f64>],
    pub(crate) tests: &'a [Vec<f64>],
    /// The terms for contenders that are given terms.
    pub(crate) terms: Vec<Expr>,
}

/// The output of a contender.
#[derive(Default)]
pub(crate) struct Answer {
    /// One prediction a test; empty if the contender failed.
    pub(crate) predictions: Vec<f64>,
    /// The 95 % interval of a new measurement at each test, from contenders that compute one;
    /// `None` where it has no prediction.
    pub(crate) intervals: Option<Vec<Option<(f64, f64)>>>,
    /// Whether each named term was kept, from contenders that drop terms.
    pub(crate) kept: Option<Vec<bool>>,
    /// The model as text, or the error.
    pub(crate) text: String,
}

impl Question<'_> {
    fn samples(&self) -> impl Iterator<Item = (&[f64], f64)> {
        let points = self.points.iter().zip(self.values);
        points.flat_map(|(point, times)| times.iter().map(move |t| (point.as_slice(), *t)))
    }

    /// Strata's fit, with the named terms or with none; every repetition is a sample.
    pub(crate) fn strata(&self, named: bool) -> Answer {
        let row = |(i, (point, seconds)): (usize, (&[f64], f64))| Sample {
            seconds,
            values: point.to_vec(),
            line: i + 1,
            ..Sample::default()
        };
        let samples = samples("m", &self.inputs, self.samples().enumerate().map(row).collect());
        let terms = if named { self.terms.clone() } else { Vec::new() };
        let failed = |text: String| Answer { text, ..Answer::default() };
        let model = match fit(&samples, terms, &FitOptions::default(), &|_| None) {
            Ok(model) => model,
            Err(error) => return failed(error),
        };
        let kept = self.terms.iter().map(|term| {
            let text = term.to_string();
            model.terms.iter().any(|t| t.term == text && t.relevant && t.coefficient != 0.0)
        });
        let kept = named.then(|| kept.collect());
        let set = ModelSet { models: vec![model], ..ModelSet::default() };
        let resolved = match set.resolve() {
            Ok(resolved) => resolved,
            Err(error) => return failed(error.to_string()),
        };
        // Evaluates the formula itself, since a model returns nothing outside the measured range
        // and extrapolation is judged too.
        let Some(expr) = resolved.formula("m").map(|formula| &formula.mean) else {
            return failed("no formula".into());
        };
        let Ok(program) = Program::compile(expr, &self.inputs) else { return failed(expr.to_string()) };
        let predictions = self.tests.iter().map(|test| program.eval(test)).collect();
        let interval = |test: &Vec<f64>| {
            let p = resolved.predict("m", 1, test)?;
            let (middle, half) = (p.seconds.get(), p.half_width.get());
            Some((middle - half, middle + half))
        };
        let intervals = Some(self.tests.iter().map(interval).collect());
        Answer { predictions, intervals, kept, text: expr.to_string() }
    }

    /// Least squares over the constant and all named terms by singular values, as
    /// `numpy.linalg.lstsq`; with `relative`, every sample is weighted by the inverse of its time.
    pub(crate) fn least_squares(&self, relative: bool) -> Answer {
        self.weighted(relative, 1)
    }

    /// The relative fit with Huber's weights and the median absolute deviation as scale, by
    /// iteration: what `statsmodels.RLM(y, X).fit()` does by default, on rows divided by their
    /// times.
    pub(crate) fn rlm(&self) -> Answer {
        self.weighted(true, 50)
    }

    fn weighted(&self, relative: bool, turns: usize) -> Answer {
        let programs: Option<Vec<Program>> =
            self.terms.iter().map(|term| Program::compile(term, &self.inputs).ok()).collect();
        let Some(programs) = programs else { return Answer::default() };
        let row = |point: &[f64]| -> Vec<f64> {
            std::iter::once(1.0).chain(programs.iter().map(|p| p.eval(point))).collect()
        };
        let samples: Vec<(&[f64], f64)> = self.samples().collect();
        let weight = |time: f64| if relative { 1.0 / time } else { 1.0 };
        let rows = samples
            .iter()
            .flat_map(|(point, time)| row(point).into_iter().map(|v| v * weight(*time)).collect::<Vec<_>>());
        let matrix = DMatrix::from_row_iterator(samples.len(), programs.len() + 1, rows);
        let times = DVector::from_iterator(samples.len(), samples.iter().map(|(_, t)| t * weight(*t)));
        let limit = matrix.nrows() as f64 * f64::EPSILON;
        let mut roots = DVector::from_element(samples.len(), 1.0);
        let mut coefficients = DVector::zeros(matrix.ncols());
        for _ in 0..turns {
            let rows = DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] * roots[i]);
            let svd = rows.svd(true, true);
            let Ok(found) = svd.solve(&times.component_mul(&roots), limit * svd.singular_values.max()) else {
                return Answer::default();
            };
            coefficients = found;
            let residuals = (&times - &matrix * &coefficients).abs();
            let mut sorted: Vec<f64> = residuals.iter().copied().collect();
            sorted.sort_by(f64::total_cmp);
            let scale = (sorted[sorted.len() / 2] / 0.6745).max(f64::MIN_POSITIVE);
            roots = residuals.map(|r| (1.345 * scale / r).min(1.0).sqrt());
        }
        let predict = |test: &Vec<f64>| row(test).iter().zip(coefficients.iter()).map(|(x, c)| x * c).sum();
        Answer { predictions: self.tests.iter().map(predict).collect(), ..Answer::default() }
    }
}
