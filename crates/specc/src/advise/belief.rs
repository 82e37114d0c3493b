//! The uncertainty of the coefficients of one fitted model, and how one more sample lowers it.

use strata_model::set::{Kind, Mode, Model};

/// The covariance of the kept coefficients.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    terms: usize,
    /// Σ, row by row.
    covariance: Vec<f64>,
    /// V: the variance of a new sample in the weighted fit. It is s², or more if intervals must
    /// cover held-out samples; the gain promised for one more sample is then below the real one.
    noise: f64,
    /// ȳ, if the fit was relative: a row then has the weight ȳ over its time.
    mean: Option<f64>,
    /// The factor from a standard deviation to a half width.
    pub(super) t_quantile: f64,
}

impl Belief {
    /// `None` for a model that was not fitted or has no known covariance.
    pub(super) fn of(model: &Model) -> Option<Self> {
        let kept: Vec<usize> = (0..model.terms.len()).filter(|j| model.terms[*j].relevant).collect();
        if model.kind != Kind::Fitted || model.covariance.len() != model.terms.len() || kept.is_empty() {
            return None;
        }
        let covariance = kept.iter().flat_map(|i| kept.iter().map(|j| model.covariance[*i][*j])).collect();
        Some(Self {
            terms: kept.len(),
            covariance,
            noise: model.noise_variance,
            mean: (model.mode == Mode::Relative && model.mean_time > 0.0).then_some(model.mean_time),
            t_quantile: model.t_quantile,
        })
    }

    /// The row of a sample in the weighted fit. `terms` and `seconds` are the model's values there.
    pub(super) fn row(&self, terms: &[f64], seconds: f64) -> Option<Vec<f64>> {
        let weight = self.mean.map_or(1.0, |mean| mean / seconds);
        let row: Vec<f64> = terms.iter().map(|term| term * weight).collect();
        (row.len() == self.terms && row.iter().all(|value| value.is_finite())).then_some(row)
    }

    pub(super) fn variance(&self, g: &[f64]) -> f64 {
        dot(&self.times(g), g).max(0.0)
    }

    /// Σu/√(V + u'Σu). One more sample with the row u lowers g'Σg by the square of g times this
    /// vector. `None` if the root is zero or not finite.
    pub(super) fn direction(&self, u: &[f64]) -> Option<Vec<f64>> {
        let su = self.times(u);
        let scale = (self.noise + dot(&su, u)).sqrt();
        (scale > 0.0 && scale.is_finite()).then(|| su.iter().map(|v| v / scale).collect())
    }

    /// Updates the covariance for a sample with this [`direction`](Self::direction).
    pub(super) fn add(&mut self, direction: &[f64]) {
        for (row, left) in self.covariance.chunks_exact_mut(self.terms.max(1)).zip(direction) {
            row.iter_mut().zip(direction).for_each(|(c, right)| *c -= left * right);
        }
    }

    fn times(&self, g: &[f64]) -> Vec<f64> {
        self.covariance.chunks_exact(self.terms.max(1)).map(|row| dot(row, g)).collect()
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strata_fit::{FitOptions, Structure, fit_model};
    use strata_model::samples::{Column, ModelSamples, Sample};

    fn samples(rows: &[(f64, f64)]) -> ModelSamples {
        let row = |(x, y): &(f64, f64)| Sample { seconds: *y, values: vec![*x, x * x], ..Sample::default() };
        ModelSamples {
            unit: strata_model::Unit::SECONDS,
            name: "M".into(),
            columns: vec![Column::term("x"), Column::term("x^2")],
            fit: String::new(),
            rows: rows.iter().map(row).collect(),
        }
    }

    proptest! {
        /// A sample with exactly the predicted time changes no coefficient. The fit with it then
        /// has the predicted covariance, except that the noise is estimated from one sample more.
        #[test]
        fn one_more_sample_narrows_as_a_fit_with_it_does(
            errors in prop::collection::vec(-0.05f64..0.05, 8),
            at in 1.0f64..12.0,
            relative in any::<bool>(),
        ) {
            let mut rows: Vec<(f64, f64)> = (errors.iter().zip(1..))
                .map(|(error, x)| (f64::from(x), (2.0 + f64::from(x) + 0.1 * f64::from(x * x)) * (1.0 + error)))
                .collect();
            let structure = Structure {
                inputs: vec!["x".into()],
                terms: ["x", "x^2"].map(|t| strata_model::expr::parse(t).unwrap()).into(),
                ..Structure::default()
            };
            let mode = if relative { Mode::Relative } else { Mode::Absolute };
            let options = FitOptions { mode, keep_all: true, ..FitOptions::default() };
            let fit = |rows: &[(f64, f64)]| fit_model(&samples(rows), &structure, &options, &|_| None).unwrap().model;
            let before = fit(&rows);
            let mut belief = Belief::of(&before).unwrap();
            let terms_at = |x: f64| [1.0, x, x * x];
            let seconds_by = |model: &Model, x: f64| -> f64 {
                model.terms.iter().zip(terms_at(x)).map(|(t, x)| t.coefficient * x).sum()
            };
            let (terms, seconds) = (terms_at(at), seconds_by(&before, at));
            // A second sample at an existing point would not be independent.
            prop_assume!(seconds > 0.1 && at.fract() != 0.0);
            // Since Σ = s² (X'X)⁻¹, s² is the mean of g'Σg over all samples, times samples over
            // terms.
            let variance = |model: &Model, rows: &[(f64, f64)]| {
                let belief = Belief::of(model).unwrap();
                let of = |x: f64| belief.row(&terms_at(x), seconds_by(model, x)).unwrap();
                rows.iter().map(|(x, _)| belief.variance(&of(*x))).sum::<f64>() / 3.0
            };
            belief.noise = variance(&before, &rows);
            let row = belief.row(&terms, seconds).unwrap();
            let direction = belief.direction(&row).unwrap();
            belief.add(&direction);
            rows.push((at, seconds));
            let after = fit(&rows);
            // Divided by its own noise and mean time, each covariance is (X'X)⁻¹ of the same rows.
            let scale = |m: &Model| m.mean_time.powi(if relative { -2 } else { 0 });
            let (before, after_unit) = (belief.noise * scale(&before), variance(&after, &rows) * scale(&after));
            for (i, row) in after.covariance.iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    let ours = belief.covariance[3 * i + j] / before;
                    let theirs = value / after_unit;
                    let scale = (after.covariance[i][i] * after.covariance[j][j]).sqrt() / after_unit;
                    prop_assert!((ours - theirs).abs() < 1e-6 * scale, "{i} {j}: {ours} {theirs}");
                }
            }
        }
    }
}
