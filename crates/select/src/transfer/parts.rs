//! What a model is made of: the contributions of its coefficients.

use crate::{
    choice::MAX_INPUTS,
    normal,
    table::{Model, Variance},
};

impl Model {
    /// The model whose coefficients predict: behind computed inputs and corrections. `None`:
    /// unknown.
    pub(super) fn base(&'static self) -> Option<&'static Self> {
        match self {
            Self::Fitted(_) | Self::Computed { .. } => Some(self),
            Self::Of(model, _) | Self::Corrected(model, _) => model.base(),
            Self::Unknown => None,
        }
    }

    /// How many coefficients have a scale of their own; a computed model has one for its time.
    pub(super) fn unknowns(&self) -> usize {
        match self {
            Self::Fitted(fitted) => fitted.coefficients.len(),
            Self::Computed { .. } => 1,
            Self::Of(model, _) | Self::Corrected(model, _) => model.unknowns(),
            Self::Unknown => 0,
        }
    }

    /// Writes the contribution of each coefficient, in seconds, and returns how many they are and
    /// the factor of a correction: the time is the factor times their sum.
    pub(super) fn parts(&self, nodes: usize, x: &[f64], to: &mut [f64]) -> Option<(usize, f64)> {
        match self {
            Self::Fitted(fitted) => {
                let count = (fitted.terms)(nodes, x, to)?;
                let terms = to.get_mut(..count).filter(|_| count == fitted.coefficients.len())?;
                terms.iter_mut().zip(fitted.coefficients).for_each(|(term, c)| *term *= c);
                Some((count, 1.0))
            }
            Self::Of(model, arguments) => {
                let mut inputs = [0.0; MAX_INPUTS];
                let count = arguments(nodes, x, &mut inputs)?;
                model.parts(nodes, inputs.get(..count)?, to)
            }
            Self::Corrected(model, correction) => {
                let (count, factor) = model.parts(nodes, x, to)?;
                Some((count, factor * correction.factor(x)))
            }
            Self::Computed { seconds, .. } => {
                *to.first_mut()? = seconds(nodes, x)?;
                Some((1, 1.0))
            }
            Self::Unknown => None,
        }
    }

    /// The model's own error and the noise of a measurement, as relative variances.
    pub(super) fn variances(&self, nodes: usize, x: &[f64], seconds: f64) -> Option<(f64, f64)> {
        let relative = |variance| match variance {
            Variance::Relative(share) => share,
            Variance::Absolute(square) => square / (seconds * seconds),
        };
        // An absolute variance would make the shortest times worthless.
        let some = |share: f64| if share.is_finite() { share.clamp(0.0, 0.25) } else { 0.25 };
        match self {
            Self::Fitted(fitted) => Some((some(relative(fitted.own)), some(relative(fitted.noise)))),
            Self::Of(model, arguments) => {
                let mut inputs = [0.0; MAX_INPUTS];
                let count = arguments(nodes, x, &mut inputs)?;
                model.variances(nodes, inputs.get(..count)?, seconds)
            }
            Self::Corrected(model, _) => model.variances(nodes, x, seconds),
            Self::Computed { predict, .. } => {
                let found = predict(nodes, x)?;
                let share = |part: f64| some((part / found.seconds.get()).powi(2));
                Some((share(found.deviation.get()), share(found.half_width.get() / normal::HALF_WIDTH)))
            }
            Self::Unknown => None,
        }
    }
}
