//! Mathematical functions for emitted models where there is no `std`.

/// The functions of `f64` that emitted models call and `core` lacks; implemented by the feature
/// `libm`.
///
/// With `std` the methods of `f64` itself take precedence over those of this trait.
pub trait Math {
    /// The least whole number that is not less.
    fn ceil(self) -> Self;
    /// The greatest whole number that is not greater.
    fn floor(self) -> Self;
    /// Two to this power.
    fn exp2(self) -> Self;
    /// *e* to this power.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The logarithm to base 2.
    fn log2(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// This to the power `exponent`.
    fn powf(self, exponent: f64) -> Self;
    /// This to the power `exponent`.
    fn powi(self, exponent: i32) -> Self;
}

#[cfg(feature = "libm")]
impl Math for f64 {
    fn ceil(self) -> f64 {
        libm::ceil(self)
    }
    fn floor(self) -> f64 {
        libm::floor(self)
    }
    fn exp2(self) -> f64 {
        libm::exp2(self)
    }
    fn exp(self) -> f64 {
        libm::exp(self)
    }
    fn ln(self) -> f64 {
        libm::log(self)
    }
    fn log2(self) -> f64 {
        libm::log2(self)
    }
    fn sqrt(self) -> f64 {
        libm::sqrt(self)
    }
    fn powf(self, exponent: f64) -> f64 {
        libm::pow(self, exponent)
    }
    fn powi(self, exponent: i32) -> f64 {
        libm::pow(self, f64::from(exponent))
    }
}
