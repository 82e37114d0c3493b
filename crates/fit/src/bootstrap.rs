//! Intervals of means by the bootstrap (Efron 1979).

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// The number of bootstrap draws.
const DRAWS: usize = 2000;

/// The mean of these values; 0 if there are none.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The 95 % bootstrap interval of the mean: quantiles of the means of resamples of the same size,
/// drawn with replacement.
///
/// # Panics
/// There is no value.
#[must_use]
pub fn interval_of_mean(values: &[f64]) -> (f64, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut drawn = || values[random.random_range(0..values.len())];
    let mut means: Vec<f64> =
        (0..DRAWS).map(|_| (0..values.len()).map(|_| drawn()).sum::<f64>() / values.len() as f64).collect();
    means.sort_by(f64::total_cmp);
    (means[DRAWS / 40], means[DRAWS - 1 - DRAWS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_interval_holds_the_mean(values in prop::collection::vec(0.0..1.0_f64, 1..40)) {
            let (low, high) = interval_of_mean(&values);
            prop_assert!(low <= mean(&values) + 1e-12 && mean(&values) <= high + 1e-12);
        }
    }
}
