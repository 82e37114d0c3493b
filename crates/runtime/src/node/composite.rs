//! Composite reductions (Brewer, manual, §5): statistics of one number a node.
//!
//! Every node receives all numbers and computes the same from them in the same order, so results
//! are equal to the last bit. That moves 8 bytes a node, and avoids the overflow and the
//! cancellation of sums of squares.

use super::Node;
use crate::number::Number;
use std::cmp::Ordering;

impl Node {
    /// The mean of every node's `value`.
    ///
    /// Computed in `f64` without overflow; a NaN on any node makes it a NaN.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn average<T: Number>(&mut self, value: T) -> f64 {
        let values = self.gather_numbers(value);
        mean(&values)
    }

    /// The sample variance of every node's `value`: the sum of the squared deviations from the mean
    /// over `size() - 1`; 0 on one node. Computed in `f64` as [`average`](Self::average).
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn sample_variance<T: Number>(&mut self, value: T) -> f64 {
        let values = self.gather_numbers(value);
        if values.len() < 2 {
            return 0.0;
        }
        let mean = mean(&values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
    }

    /// The median of every node's `value`; of an even number of nodes, the lower of the two in the
    /// middle. A NaN on any node makes it a NaN.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn median<T: Number>(&mut self, value: T) -> T {
        let mut values = self.all_gather(&[value]);
        if let Some(nan) = values.iter().find(|value| value.partial_order(value).is_none()) {
            return *nan;
        }
        let middle = (values.len() - 1) / 2;
        let (_, median, _) =
            values.select_nth_unstable_by(middle, |a, b| a.partial_order(b).unwrap_or(Ordering::Equal));
        *median
    }

    #[track_caller]
    fn gather_numbers<T: Number>(&mut self, value: T) -> Vec<f64> {
        self.all_gather(&[value]).into_iter().map(T::to_f64).collect()
    }
}

/// Scaled first: the sum of numbers near the largest would overflow.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    if sum.is_finite() { sum / n } else { values.iter().map(|value| value / n).sum() }
}
