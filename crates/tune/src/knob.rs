//! Knobs: named sets of options.

use std::fmt::Display;

/// A choice: a default, and other values.
///
/// ```
/// use strata_tune::Knob;
/// let tile = Knob::new("tile", 32, [8, 16, 64, 128]);
/// assert_eq!((tile.len(), *tile.default_value()), (5, 32));
/// ```
#[derive(Clone, Debug)]
pub struct Knob<T> {
    name: &'static str,
    values: Vec<T>,
    labels: Vec<String>,
    prior: Vec<f64>,
}

/// The most options of a knob; further options are left out.
const MOST: usize = u16::MAX as usize;

impl<T: Display> Knob<T> {
    /// A knob whose option names are their printed values. Only the first 65,535 options count.
    #[must_use]
    pub fn new(name: &'static str, default: T, others: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<T> = std::iter::once(default).chain(others).take(MOST).collect();
        let labels = values.iter().map(T::to_string).collect();
        Self { name, values, labels, prior: Vec::new() }
    }
}

impl<T> Knob<T> {
    /// A knob whose options have names, such as functions.
    #[must_use]
    pub fn named(
        name: &'static str,
        default: (&str, T),
        others: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Self {
        let (mut labels, mut values) = (vec![default.0.to_owned()], vec![default.1]);
        for (label, value) in others.into_iter().take(MOST - 1) {
            labels.push(label.to_owned());
            values.push(value);
        }
        Self { name, values, labels, prior: Vec::new() }
    }

    /// Sets the predicted cost of each option, in any unit; the search then begins with the
    /// cheapest. Values that are not positive and finite mean that the model has no prediction; one
    /// such value disables the predictions of the whole knob.
    #[must_use]
    pub fn predicted(mut self, cost: impl Fn(&T) -> f64) -> Self {
        let costs: Vec<f64> = self.values.iter().map(cost).collect();
        self.prior =
            if costs.iter().all(|cost| cost.is_finite() && *cost > 0.0) { costs } else { Vec::new() };
        self
    }

    /// Its name.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The number of options, at least 1.
    #[must_use]
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u16 {
        self.values.len() as u16
    }

    /// The value of an option; the default if there is no such option.
    #[must_use]
    #[inline]
    pub fn value(&self, option: u16) -> &T {
        self.values.get(usize::from(option)).unwrap_or(&self.values[0])
    }

    /// The value used unless a better one is known.
    #[must_use]
    #[inline]
    pub fn default_value(&self) -> &T {
        &self.values[0]
    }

    pub(crate) fn describe(&self) -> (Vec<String>, Vec<f64>) {
        (self.labels.clone(), self.prior.clone())
    }
}
