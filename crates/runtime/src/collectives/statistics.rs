//! Composite reductions (Brewer, manual, §5): statistics of one number a node.
//!
//! Sums are reductions, which a control network combines if there is one; they are in rank order,
//! so results are equal to the last bit. The variance is a second reduction, of the squared
//! deviations, which avoids the cancellation of sums of squares. For the median every node receives
//! all numbers.

use crate::node::Node;
use crate::number::Number;
use std::cmp::Ordering;

impl Node {
    /// The mean of every node's `value`.
    ///
    /// Computed in `f64` without overflow; NaN if any node's value is.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn average<T: Number>(&mut self, value: T) -> f64 {
        self.mean(value.to_f64())
    }

    /// The sample variance of every node's `value`: the sum of the squared deviations from the mean
    /// over `size() - 1`; 0 on one node. Computed in `f64` as [`average`](Self::average).
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn sample_variance<T: Number>(&mut self, value: T) -> f64 {
        let value = value.to_f64();
        let mean = self.mean(value);
        if self.size() < 2 {
            return 0.0;
        }
        self.reduce_add((value - mean).powi(2)) / (self.size() - 1) as f64
    }

    /// The median of every node's `value`; of an even number of nodes, the lower of the two in the
    /// middle. NaN if any node's value is.
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

    /// The mean; values are scaled first if the sum of numbers near the largest would overflow.
    #[track_caller]
    fn mean(&mut self, value: f64) -> f64 {
        let n = self.size() as f64;
        let sum = self.reduce_add(value);
        // The test has the same result on all nodes.
        if sum.is_finite() { sum / n } else { self.reduce_add(value / n) }
    }
}
