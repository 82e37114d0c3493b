//! Costs that are known, and models that are fitted to timings of them.

use chacha20::ChaCha8Rng;
use rand::RngExt;
use strata_fit::{FitOptions, Lookup, Structure, fit_model};
use strata_model::expr::{Expr, parse};
use strata_model::samples::{Column, ModelSamples, Sample};
use strata_model::set::Model;
use strata_model::{Program, Unit};
use strata_select::normal;

/// A sum of terms with coefficients, in seconds.
#[derive(Clone, Debug)]
pub struct Cost(pub Vec<(f64, String, Program)>);

impl Cost {
    /// These terms over these inputs, with coefficients as `of` gives them for a compiled term. What
    /// cannot be read is left out.
    pub fn of<T: AsRef<str>>(
        terms: impl IntoIterator<Item = T>,
        inputs: &[&str],
        mut of: impl FnMut(&str, &Program) -> f64,
    ) -> Self {
        let term = |text: T| {
            let program = Program::compile(&parse(text.as_ref()).ok()?, inputs).ok()?;
            Some((of(text.as_ref(), &program), text.as_ref().to_owned(), program))
        };
        Self(terms.into_iter().filter_map(term).collect())
    }

    /// The cost at a point.
    pub fn at(&self, point: &[f64]) -> f64 {
        self.0.iter().map(|(coefficient, _, term)| coefficient * term.eval(point)).sum()
    }
}

/// A number of the standard normal distribution: Box and Muller (1958).
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    normal::draw(rng.random_range(0.0..1.0), rng.random_range(0.0..1.0))
}

/// A whole number whose logarithm is uniformly distributed.
pub fn whole(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    (low * (high / low).powf(rng.random_range(0.0..1.0))).round().clamp(low, high)
}

/// All points of a grid, from the values of each input.
pub fn grid(values: impl IntoIterator<Item = Vec<f64>>) -> Vec<Vec<f64>> {
    values.into_iter().fold(vec![Vec::new()], |points: Vec<Vec<f64>>, values| {
        points.iter().flat_map(|p| values.iter().map(move |v| [p.as_slice(), &[*v]].concat())).collect()
    })
}

/// The median, with the values in order after.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Samples of times over these inputs.
pub fn samples(name: &str, inputs: &[&str], rows: Vec<Sample>) -> ModelSamples {
    let columns = inputs.iter().map(|input| Column::input(*input)).collect();
    ModelSamples { name: name.to_owned(), columns, unit: Unit::SECONDS, fit: String::new(), rows }
}

/// A model of samples with these terms, or with what a search finds.
///
/// # Errors
/// Nothing fits.
pub fn fit(
    samples: &ModelSamples,
    terms: Vec<Expr>,
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Model, String> {
    let inputs = samples.columns.iter().map(|column| column.text.clone()).collect();
    let structure = Structure { inputs, terms, ..Structure::default() };
    let fitted = fit_model(samples, &structure, options, lookup);
    Ok(fitted.map_err(|error| format!("{}: {error}", samples.name))?.model)
}

/// Expressions from texts.
///
/// # Errors
/// One cannot be read.
pub fn expressions<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Vec<Expr>, String> {
    let read = |text: T| parse(text.as_ref()).map_err(|error| format!("{error:?}"));
    texts.into_iter().map(read).collect()
}
