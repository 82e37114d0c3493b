//! The numbers that a grid holds.

use std::fmt::{Debug, Display};
use std::ops::{Add, Mul, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A value of a grid's points: `f32` or `f64`.
pub trait Value:
    sealed::Sealed
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + PartialOrd
    + Default
    + Debug
    + Display
    + Send
{
    /// The nearest value to `number`.
    #[must_use]
    fn nearest(number: f64) -> Self;

    /// As `f64`, exactly.
    #[must_use]
    fn wide(self) -> f64;

    /// The absolute value.
    #[must_use]
    fn magnitude(self) -> Self;

    /// From its bytes, the lowest first; 0 if there are too few.
    #[must_use]
    fn from_little_endian(bytes: &[u8]) -> Self;

    /// Appends its bytes, the lowest first.
    fn extend_little_endian(self, bytes: &mut Vec<u8>);
}

macro_rules! value {
    ($t:ty) => {
        impl Value for $t {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the nearest value is asked for")]
            fn nearest(number: f64) -> Self {
                number as $t
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            fn from_little_endian(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0.0, |bytes| <$t>::from_le_bytes(*bytes))
            }
            fn extend_little_endian(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}
value!(f32);
value!(f64);
