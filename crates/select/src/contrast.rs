//! How far the errors of predictions for two values of one parameter differ.

/// By how much the errors of a model differ between two values of a candidate's parameters at the
/// same input. Errors that all values share do not count: they do not affect the chosen value.
///
/// The logarithm of the ratio of two times has a normal error with the variance `deviation²·(1 −
/// exp(−h/reach))`, where `h` is the distance of the two values in [`octaves`](crate::table::octaves), as
/// a share of the parameter's whole range. Errors of neighbouring values are therefore nearly
/// equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The standard deviation for values far apart, relative to the time.
    pub deviation: f64,
    /// The distance at which the variance is 63 % of its greatest.
    pub reach: f64,
}

impl Contrast {
    /// The correlation of the errors at this distance.
    #[cfg(feature = "std")]
    pub(crate) fn correlation(&self, distance: f64) -> f64 {
        if self.reach > 0.0 { (-distance / self.reach).exp() } else { f64::from(u8::from(distance == 0.0)) }
    }
}
