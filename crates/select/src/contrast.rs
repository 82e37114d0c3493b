//! How far predictions of two values of one parameter err apart.

/// By how much the errors of a model differ between two values of a candidate's parameters at the
/// same input. Errors that all values share do not count: they do not affect which value is taken.
///
/// The error of the logarithm of the ratio of two times is normal with the variance
/// `deviation²·(1 − exp(−h/reach))`, where `h` is the distance of the two values in
/// [`octaves`](crate::octaves), as a share of the parameter's whole range. So neighbouring values
/// err nearly alike.
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
