//! Sums and dot products carried in twice the working precision.
//!
//! A residual is a small difference of large numbers. In plain doubles it is mostly rounding, and
//! refinement with it would have no effect; every residual here therefore includes the rounding
//! errors of its products and sums.
//!
//! Source: Dekker, *A floating-point technique for extending the available precision* (1971);
//! Ogita, Rump and Oishi, *Accurate sum and dot product* (2005), algorithm Dot2.

/// A partial sum: the rounded value and its rounding error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    value: f64,
    lost: f64,
}

impl Sum {
    /// Adds one number.
    pub(crate) fn add(&mut self, x: f64) {
        let sum = self.value + x;
        let part = sum - self.value;
        self.lost += (self.value - (sum - part)) + (x - part);
        self.value = sum;
    }

    /// Adds the product of two numbers, with the rounding of the product.
    pub(crate) fn add_product(&mut self, x: f64, y: f64) {
        let product = x * y;
        self.lost += x.mul_add(y, -product);
        self.add(product);
    }

    /// The sum, rounded once.
    pub(crate) fn get(self) -> f64 {
        // Beside an infinity the rounding error is NaN.
        if self.lost.is_finite() { self.value + self.lost } else { self.value }
    }
}

/// The sum of `values`, rounded about once for any number of them.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = Sum::default();
    for value in values {
        total.add(value);
    }
    total.get()
}

/// The dot product of two equally long sequences, rounded about once.
pub(crate) fn dot<'a>(x: impl IntoIterator<Item = &'a f64>, y: impl IntoIterator<Item = &'a f64>) -> f64 {
    let mut total = Sum::default();
    for (x, y) in x.into_iter().zip(y) {
        total.add_product(*x, *y);
    }
    total.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        assert_eq!(sum([1e16, 1.0, -1e16]), 1.0);
        assert_eq!(dot(&[1e8, 1.0, 1e8], &[1e8, 0.5, -1e8]), 0.5);
    }
}
