//! The derivatives of a prediction by the coefficients of its fitted models.
//!
//! With the coefficients' covariance they give the uncertainty of a prediction, the correlation of
//! two predictions, and the effect of one more sample on both. `specc advise` needs these.

use super::compiled::{Compiled, MAX_VALUES};
use super::{LibraryModels, Resolved};
use crate::Seconds;
use crate::expr::{RESERVED, node_values};

/// Finite differences move the result of a call by this share of itself.
const STEP: f64 = 1e-4;

/// The derivatives of a prediction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensitivity {
    /// The predicted time, s.
    pub seconds: f64,
    /// For each fitted model that takes part, its [place](Resolved::place) and the derivative of
    /// the time by the coefficient of each of its kept terms, in order; a derivative has the unit
    /// of the term. Each model occurs once.
    pub parts: Vec<(usize, Vec<f64>)>,
}

impl Sensitivity {
    /// The derivatives by the coefficients of one model; `None` if it takes no part.
    #[must_use]
    pub fn part(&self, place: usize) -> Option<&[f64]> {
        self.parts.iter().find(|(model, _)| *model == place).map(|(_, part)| part.as_slice())
    }

    /// With the predicted time; `None` if it is none.
    fn predicting(mut self, seconds: f64) -> Option<Self> {
        self.seconds = Seconds::new(seconds)?.get();
        Some(self)
    }

    fn add(&mut self, place: usize, factor: f64, terms: impl Iterator<Item = f64>) {
        if let Some((_, part)) = self.parts.iter_mut().find(|(model, _)| *model == place) {
            part.iter_mut().zip(terms).for_each(|(sum, term)| *sum += factor * term);
        } else {
            self.parts.push((place, terms.map(|term| factor * term).collect()));
        }
    }
}

impl Resolved {
    /// The number of a model in a [`Sensitivity`]; `None` for one that does not exist.
    #[must_use]
    pub fn place(&self, model: &str) -> Option<usize> {
        self.models.index.get(model).copied()
    }

    /// The derivatives of a model's prediction: for a fitted model the values of its terms, and by
    /// finite differences the contributions of the models that it calls. `None` if
    /// [`predict`](Self::predict) is `None`.
    #[must_use]
    pub fn sensitivity(&self, model: &str, nodes: usize, inputs: &[f64]) -> Option<Sensitivity> {
        let place = self.place(model)?;
        let mut found = Sensitivity::default();
        let models = &self.models.compiled;
        let seconds = models.get(place)?.add_to(&mut found, models, Some(place), nodes, inputs, 1.0)?;
        found.predicting(seconds)
    }
}

impl LibraryModels {
    /// The derivatives of a candidate's prediction. `None` if the prediction is.
    #[must_use]
    pub fn sensitivity(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Sensitivity> {
        if inputs.len() != self.inputs().len() {
            return None;
        }
        let values: Vec<f64> = inputs.iter().copied().chain(parameters.iter().map(|p| *p as f64)).collect();
        let mut found = Sensitivity::default();
        let candidate = self.candidates.get(candidate)?;
        let seconds = candidate.add_to(&mut found, &self.models, None, nodes, &values, 1.0)?;
        found.predicting(seconds)
    }
}

impl Compiled {
    /// Adds `factor` times the derivatives of this model and returns what it predicts, of any sign. `own`: its place,
    /// unless it is a candidate.
    fn add_to(
        &self,
        sum: &mut Sensitivity,
        models: &[Self],
        own: Option<usize>,
        nodes: usize,
        inputs: &[f64],
        factor: f64,
    ) -> Option<f64> {
        let amount = self.value(nodes, inputs, &[])?;
        let mut values = [0.0; MAX_VALUES];
        let known = inputs.len() + RESERVED.len();
        values.get_mut(..inputs.len())?.copy_from_slice(inputs);
        values.get_mut(inputs.len()..known)?.copy_from_slice(&node_values(nodes));
        let calls = &self.spread.calls;
        for (number, call) in calls.iter().enumerate() {
            let place = known + number;
            values[place] = call.with_arguments(values.get(..place)?, |arguments| {
                // A called model may have any sign.
                models.get(call.model)?.value(nodes, arguments, &[])
            })?;
        }
        let all = values.get(..known + calls.len())?;
        let factor = factor * self.correction(nodes, inputs)?;
        if let Some(own) = own.filter(|_| !self.spread.terms.is_empty()) {
            sum.add(own, factor, self.spread.terms.iter().map(|term| term.eval(all)));
        }
        for (number, call) in calls.iter().enumerate() {
            let place = known + number;
            let step = STEP * values[place].abs().max(f64::MIN_POSITIVE / STEP);
            let shifted = |by: f64| self.with_shift(models, nodes, values, known, number, by);
            let slope = (shifted(step) - shifted(-step)) / (2.0 * step);
            // At the edge of another call's range there is no difference; the interval omits it
            // too.
            if slope.is_finite() && slope != 0.0 {
                call.with_arguments(values.get(..place)?, |arguments| {
                    models.get(call.model)?.add_to(
                        sum,
                        models,
                        Some(call.model),
                        nodes,
                        arguments,
                        factor * slope,
                    )
                })?;
            }
        }
        Some(amount)
    }
}
