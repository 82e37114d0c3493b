//! Models as data: numbers in static memory, a function for the terms of each, and one way to
//! evaluate them.

#[cfg(not(feature = "std"))]
use crate::table::Math as _;
use crate::{
    choice::MAX_INPUTS,
    table::{Correction, MAX_PARAMETERS, Prediction, Seconds},
};

/// The most terms of a [`Fitted`] model.
pub const MAX_TERMS: usize = 64;

/// The most inputs and parameters of a candidate together.
const MAX_VALUES: usize = MAX_INPUTS + MAX_PARAMETERS;

/// Computes values for a number of nodes and the inputs `x`, writes them to the front of `to`, and
/// returns how many they are. `None` outside the measured range, where a requirement fails, and if
/// `to` is too short.
pub type Compute = fn(nodes: usize, x: &[f64], to: &mut [f64]) -> Option<usize>;

/// How the time of an implementation is predicted.
///
/// ```
/// use strata_select::table::{Fitted, Model, Variance, fill, require, within};
///
/// /// 2 µs and 0.1 ns a byte, measured on up to 1 MB, with a standard deviation of 5 %.
/// static COPY: Model = Model::Fitted(Fitted {
///     terms: |_nodes, x, to| {
///         let &[bytes] = x else { return None };
///         require(within(bytes, 0.0, 1e6))?;
///         fill(to, &[1.0, bytes])
///     },
///     coefficients: &[2e-6, 1e-10],
///     quantile: 1.96,
///     noise: Variance::Relative(0.0025),
///     own: Variance::Relative(0.0),
///     factor: &[],
/// });
///
/// assert_eq!(COPY.seconds(1, &[1e4]), Some(3e-6));
/// assert_eq!(COPY.predict(1, &[1e4]).unwrap().to_string(), "3.00 µs ± 294 ns");
/// assert_eq!(COPY.seconds(1, &[1e7]), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// A sum of terms, fitted to samples.
    Fitted(Fitted),
    /// The time of another model at computed inputs.
    Of(&'static Model, Compute),
    /// Another model of the same inputs, times a factor.
    Corrected(&'static Model, Correction<'static>),
    /// Functions compute it from several other models.
    Computed {
        /// The time in seconds; `None` outside what was measured or required.
        seconds: fn(nodes: usize, x: &[f64]) -> Option<f64>,
        /// The same with the interval of a new measurement.
        predict: fn(nodes: usize, x: &[f64]) -> Option<Prediction>,
    },
    /// Unknown: there was no measurement, or no possible fit. It predicts nothing.
    Unknown,
}

/// A sum of terms with coefficients, and the data of its interval.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    /// Computes the terms.
    pub terms: Compute,
    /// In seconds per unit of each term; at most [`MAX_TERMS`].
    pub coefficients: &'static [f64],
    /// The quantile of Student's t by which standard errors become half widths.
    pub quantile: f64,
    /// The variance of one measurement about its prediction, s².
    pub noise: Variance,
    /// The variance of the true mean about its prediction, without that of the coefficients: the
    /// model's own error, or the noise if the two could not be separated.
    pub own: Variance,
    /// The Cholesky factor of the coefficients' covariance, its lower triangle column by column;
    /// empty if unknown. Stored instead of the covariance, because its squares cannot become
    /// negative by rounding.
    pub factor: &'static [f32],
}

/// A variance, of a predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variance {
    /// In s², for any time.
    Absolute(f64),
    /// In proportion to the square of the time.
    Relative(f64),
}

impl Variance {
    #[cfg(any(feature = "std", feature = "libm"))]
    fn at(self, seconds: f64) -> f64 {
        match self {
            Self::Absolute(variance) => variance,
            Self::Relative(share) => share * seconds * seconds,
        }
    }
}

impl Model {
    /// The time in seconds for a number of nodes and the inputs `x`; `None` outside what was
    /// measured or required, for another number of inputs, and if the result is not a time.
    #[must_use]
    pub fn seconds(&self, nodes: usize, x: &[f64]) -> Option<f64> {
        match self {
            Self::Fitted(fitted) => fitted.with_terms(nodes, x, |_, seconds| Some(seconds)),
            Self::Of(model, arguments) => {
                let mut to = [0.0; MAX_INPUTS];
                let count = arguments(nodes, x, &mut to)?;
                model.seconds(nodes, to.get(..count)?)
            }
            Self::Corrected(model, correction) => {
                Some(Seconds::new(model.seconds(nodes, x)? * correction.factor(x))?.get())
            }
            Self::Computed { seconds, .. } => seconds(nodes, x),
            Self::Unknown => None,
        }
    }

    /// The same with the interval of a new measurement; without `std` and `libm` only the time.
    #[must_use]
    pub fn predict(&self, nodes: usize, x: &[f64]) -> Option<Prediction> {
        match self {
            Self::Fitted(fitted) => {
                fitted.with_terms(nodes, x, |terms, seconds| fitted.interval(terms, seconds))
            }
            Self::Of(model, arguments) => {
                let mut to = [0.0; MAX_INPUTS];
                let count = arguments(nodes, x, &mut to)?;
                model.predict(nodes, to.get(..count)?)
            }
            Self::Corrected(model, correction) => model.predict(nodes, x)?.times(correction.factor(x)),
            Self::Computed { predict, .. } => predict(nodes, x),
            Self::Unknown => None,
        }
    }

    /// How many samples corrected the terms; `None` for a model without a correction.
    #[must_use]
    pub fn corrected_by(&self) -> Option<usize> {
        match self {
            Self::Of(model, _) => model.corrected_by(),
            Self::Corrected(_, correction) => Some(correction.samples),
            Self::Fitted(_) | Self::Computed { .. } | Self::Unknown => None,
        }
    }
}

impl Fitted {
    /// Computes the terms and their sum, if that is a time, in a buffer of about their number:
    /// clearing a buffer for the most terms takes longer than computing a few.
    fn with_terms<T>(
        &self,
        nodes: usize,
        x: &[f64],
        then: impl FnOnce(&[f64], f64) -> Option<T>,
    ) -> Option<T> {
        match self.coefficients.len() {
            0..=4 => self.in_buffer::<4, T>(nodes, x, then),
            5..=8 => self.in_buffer::<8, T>(nodes, x, then),
            9..=24 => self.in_buffer::<24, T>(nodes, x, then),
            _ => self.in_buffer::<MAX_TERMS, T>(nodes, x, then),
        }
    }

    #[inline]
    fn in_buffer<const N: usize, T>(
        &self,
        nodes: usize,
        x: &[f64],
        then: impl FnOnce(&[f64], f64) -> Option<T>,
    ) -> Option<T> {
        let mut to = [0.0; N];
        let count = (self.terms)(nodes, x, &mut to)?;
        let terms = to.get(..count)?;
        if count != self.coefficients.len() {
            return None;
        }
        // In the order of the interpreter of model files, so that the sums have the same bits.
        let sum: f64 =
            self.coefficients.iter().zip(terms).map(|(coefficient, term)| coefficient * term).sum();
        then(terms, Seconds::new(sum)?.get())
    }

    /// The squares of the half width, t² (x'Σx + noise), and of the deviation, x'Σx + the model's
    /// own error, where x'Σx = |L'x|².
    #[cfg(any(feature = "std", feature = "libm"))]
    fn interval(&self, terms: &[f64], seconds: f64) -> Option<Prediction> {
        let mut from_fit = 0.0;
        let mut rest = self.factor;
        for place in 0..terms.len() {
            let below = &terms[place..];
            let Some((column, later)) = rest.split_at_checked(below.len()) else { break };
            let part: f64 = column.iter().zip(below).map(|(l, x)| f64::from(*l) * x).sum();
            from_fit += part * part;
            rest = later;
        }
        let square = self.quantile * self.quantile * (from_fit + self.noise.at(seconds));
        let deviation = from_fit + self.own.at(seconds);
        Prediction::new(seconds, square.sqrt())?.with_deviation(deviation.sqrt())
    }

    /// There is no square root without `std` and `libm`.
    #[cfg(not(any(feature = "std", feature = "libm")))]
    fn interval(&self, _terms: &[f64], seconds: f64) -> Option<Prediction> {
        Prediction::new(seconds, 0.0)
    }
}

/// Calls `then` with a candidate's inputs and parameters as the inputs of its model.
#[inline]
pub(crate) fn joined<T>(
    inputs: &[f64],
    parameters: &[i64],
    then: impl FnOnce(&[f64]) -> Option<T>,
) -> Option<T> {
    if parameters.is_empty() {
        return then(inputs);
    }
    // Clearing a buffer for the most values would take as long as a model of few terms.
    match inputs.len() + parameters.len() {
        0..=4 => then(in_one(&mut [0.0; 4], inputs, parameters)?),
        _ => then(in_one(&mut [0.0; MAX_VALUES], inputs, parameters)?),
    }
}

/// The inputs, then the parameters, at the front of `all`.
#[inline]
fn in_one<'a, const N: usize>(
    all: &'a mut [f64; N],
    inputs: &[f64],
    parameters: &[i64],
) -> Option<&'a [f64]> {
    let all = all.get_mut(..inputs.len() + parameters.len())?;
    let (first, last) = all.split_at_mut(inputs.len());
    for (place, input) in first.iter_mut().zip(inputs) {
        *place = *input;
    }
    for (place, parameter) in last.iter_mut().zip(parameters) {
        *place = *parameter as f64;
    }
    Some(all)
}

/// Writes `values` to the front of `to`, as a [`Compute`] does.
#[inline]
pub fn fill<const N: usize>(to: &mut [f64], values: &[f64; N]) -> Option<usize> {
    to.get_mut(..N)?.copy_from_slice(values);
    Some(N)
}

/// `None` unless the condition holds, for use with `?`.
#[inline]
#[must_use]
pub fn require(condition: bool) -> Option<()> {
    condition.then_some(())
}

/// Whether a value is in the range that was measured; false for NaN.
#[inline]
#[must_use]
pub fn within(value: f64, min: f64, max: f64) -> bool {
    min <= value && value <= max
}

/// The variance that a deviation of one called model causes in the time of a model that calls it:
/// the square of half the difference of the times with the call's result moved by `by` up and down.
#[inline]
#[must_use]
pub fn spread(shifted: impl Fn(f64) -> f64, by: f64) -> f64 {
    let difference = (shifted(by) - shifted(-by)) / 2.0;
    if difference.is_finite() { difference * difference } else { 0.0 }
}

/// Whether a value counts as true: neither zero nor NaN. A `require` that cannot be computed does
/// not hold.
#[must_use]
#[inline]
pub fn holds(value: f64) -> bool {
    value.abs() > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn sum(terms: Compute, coefficients: &'static [f64], factor: &'static [f32]) -> Model {
        let (noise, own) = (Variance::Absolute(0.0), Variance::Absolute(0.0));
        Model::Fitted(Fitted { terms, coefficients, quantile: 2.0, noise, own, factor })
    }

    #[test]
    fn what_is_no_time_or_does_not_fit_is_nothing() {
        let constant = |value: &'static [f64]| sum(|_, _, to| fill(to, &[1.0]), value, &[]);
        assert_eq!(constant(&[2.0]).seconds(1, &[]), Some(2.0));
        for bad in [&[-1.0][..], &[f64::NAN], &[f64::INFINITY], &[], &[1.0, 2.0]] {
            let bad: &'static [f64] = Box::leak(bad.to_vec().into_boxed_slice());
            assert_eq!((constant(bad).seconds(1, &[]), constant(bad).predict(1, &[])), (None, None));
        }
        // One term more than the buffer holds.
        let many = sum(|_, _, to| fill(to, &[1.0; MAX_TERMS + 1]), &[1.0; MAX_TERMS + 1], &[]);
        assert_eq!(many.seconds(1, &[]), None);
        let most = sum(|_, _, to| fill(to, &[1.0; MAX_TERMS]), &[1.0; MAX_TERMS], &[]);
        assert_eq!(most.seconds(1, &[]), Some(64.0));
        assert_eq!(Model::Unknown.predict(1, &[]).or(Model::Unknown.predict(1, &[1.0])), None);
        assert_eq!(joined(&[0.0; MAX_VALUES], &[1], |_| Some(())), None);
    }

    proptest! {
        /// For the covariance [[a², ab], [ab, b² + c²]], whose factor is a, b, c.
        #[test]
        fn the_interval_is_that_of_the_covariance(
            (a, b, c) in (0.0_f32..2.0, -2.0_f32..2.0, 0.0_f32..2.0),
            x in -3.0_f64..3.0,
        ) {
            let factor: &'static [f32] = Box::leak(Box::new([a, b, c]));
            let model = sum(|_, x, to| fill(to, &[1.0, x[0]]), &[10.0, 1.0], factor);
            let [a, b, c] = [a, b, c].map(f64::from);
            let variance = a * a + 2.0 * a * b * x + (b * b + c * c) * x * x;
            let predicted = model.predict(1, &[x]).unwrap();
            prop_assert_eq!(predicted.seconds.get(), 10.0 + x);
            prop_assert!((predicted.deviation.get() - variance.max(0.0).sqrt()).abs() < 1e-7);
            prop_assert!((predicted.half_width.get() - 2.0 * variance.max(0.0).sqrt()).abs() < 2e-7);
        }
    }
}
