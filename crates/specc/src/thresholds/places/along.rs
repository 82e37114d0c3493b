//! The choice along one input, with the others held.

use std::cell::RefCell;

use super::segments::{Choices, State};
use crate::competition::Competition;
use strata_select::table::roundness;

/// The number of values tried before the bisection.
const TRIED: usize = 64;
/// Bisection ends when the relative distance of its two values is below this.
const NEAR: f64 = 1e-4;

/// The range of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether it takes whole numbers only.
    pub(crate) whole: bool,
    pub(crate) takes: Takes,
}

/// Which values of a range are followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Takes {
    All,
    /// All but round values, where these have predictions of their own.
    Beside,
    /// Powers of two.
    Powers,
}

impl Scale {
    /// Whether values are spread by their logarithms.
    pub(crate) fn is_wide(&self) -> bool {
        self.low > 0.0 && self.high >= 4.0 * self.low
    }

    /// The width of the range in octaves; below one for a narrow range.
    pub(super) fn width(&self) -> f64 {
        let low = self.low.max(1.0);
        if self.high <= self.low { 0.0 } else { (self.high.max(low) / low).log2().max(1e-9) }
    }

    /// The value at this share of the range.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let Self { low, high, .. } = *self;
        let value = if self.is_wide() { low * (high / low).powf(share) } else { low + share * (high - low) };
        let value = if self.whole { value.round() } else { value };
        self.taken(value.clamp(low, high))
    }

    /// The value of those that are followed which stands for this one of the range.
    fn taken(&self, value: f64) -> f64 {
        let power = value.log2().round().exp2();
        let tried = match self.takes {
            Takes::Beside if roundness(value) > 0.0 => [value + 1.0, value - 1.0, value],
            Takes::Powers => [power, 0.5 * power, 2.0 * power],
            _ => [value; 3],
        };
        tried.into_iter().find(|tried| (self.low..=self.high).contains(tried)).unwrap_or(value)
    }

    /// The share of the range that lies between two values.
    pub(crate) fn share(&self, from: f64, to: f64) -> f64 {
        let whole = if self.is_wide() { (self.high / self.low).ln() } else { self.high - self.low };
        let part = if self.is_wide() { (to / from).ln() } else { to - from };
        if whole > 0.0 { part / whole } else { 1.0 }
    }

    pub(super) fn middle(&self) -> f64 {
        self.at(0.5)
    }

    /// Up to this many values from end to end, rising.
    pub(crate) fn spread(&self, most: usize) -> Vec<f64> {
        let last = most.saturating_sub(1).max(1) as f64;
        let mut values: Vec<f64> = (0..most).map(|place| self.at(place as f64 / last)).collect();
        values.dedup();
        values
    }

    /// All values if they are few; else the ends and one or two between them, powers of two if
    /// there are some.
    pub(super) fn some(&self, most: usize) -> Vec<f64> {
        if self.whole && self.high - self.low < most as f64 {
            return (0..most).map(|n| self.low + n as f64).filter(|value| *value <= self.high).collect();
        }
        let count = if self.width() > 8.0 { most } else { most.min(3) };
        let mut values = self.spread(count);
        for value in &mut values {
            let power = self.taken(value.log2().round().exp2());
            if self.is_wide()
                && *value > self.low
                && *value < self.high
                && power > self.low
                && power < self.high
            {
                *value = power;
            }
        }
        values.dedup();
        values
    }
}

/// Follows a competition along one input.
pub(super) struct Along<'a> {
    competition: &'a Competition,
    inputs: RefCell<Vec<f64>>,
    input: usize,
    scale: Scale,
}

impl<'a> Along<'a> {
    pub(super) fn new(competition: &'a Competition, inputs: Vec<f64>, input: usize, scale: Scale) -> Self {
        Self { competition, inputs: RefCell::new(inputs), input, scale }
    }

    fn with<T>(&self, value: f64, ask: impl FnOnce(&[f64]) -> T) -> T {
        let mut inputs = self.inputs.borrow_mut();
        inputs[self.input] = value;
        ask(&inputs)
    }
}

impl Choices for Along<'_> {
    fn state(&self, value: f64) -> Result<State, String> {
        self.with(value, |inputs| {
            let choice = self.competition.choose(inputs, None).map_err(|error| error.to_string())?;
            let taken = choice.parameters.to_vec();
            let mut tied = self.competition.tied(inputs, &choice);
            if tied.len() != taken.len() {
                tied = taken.iter().map(|value| (*value, *value)).collect();
            }
            let beyond = choice.predicted.is_none().then(|| choice.reason().to_string());
            Ok(State { candidate: choice.index, taken, tied, beyond })
        })
    }

    fn seconds(&self, value: f64, candidate: usize, parameters: &[i64]) -> Option<f64> {
        self.with(value, |inputs| self.competition.expected(candidate, inputs, parameters))
    }

    fn fastest(&self, value: f64) -> Option<f64> {
        self.with(value, |inputs| {
            let choice = self.competition.choose(inputs, None).ok()?;
            Some(self.competition.odds(inputs, &choice)?.fastest)
        })
    }

    fn tried(&self) -> Vec<f64> {
        self.scale.spread(TRIED)
    }

    fn between(&self, low: f64, high: f64) -> Option<f64> {
        let Scale { whole, .. } = self.scale;
        let near = if self.scale.is_wide() {
            high / low < 1.0 + NEAR
        } else {
            high - low < NEAR * (self.scale.high - self.scale.low)
        };
        if near || whole && high - low <= 1.0 {
            return None;
        }
        let middle = if self.scale.is_wide() { (low * high).sqrt() } else { 0.5 * (low + high) };
        let middle = self.scale.taken(if whole { middle.round() } else { middle });
        (low < middle && middle < high).then_some(middle)
    }

    fn share(&self, from: f64, to: f64) -> f64 {
        self.scale.share(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, Takes};

    #[test]
    fn values_of_a_range_are_all_of_a_few_and_else_its_ends_and_powers_between() {
        let some = |low, high, whole| Scale { low, high, whole, takes: Takes::All }.some(4);
        assert_eq!(some(1.0, 4.0, true), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(some(7.0, 7.0, true), [7.0]);
        assert_eq!(some(8.0, 64.0, true), [8.0, 32.0, 64.0]);
        assert_eq!(some(1.0, 1e6, true), [1.0, 128.0, 8192.0, 1e6]);
        assert_eq!(some(0.0, 10.0, true), [0.0, 5.0, 10.0]);
        assert_eq!(some(0.25, 0.5, false), [0.25, 0.375, 0.5]);
    }

    #[test]
    fn where_round_values_choose_by_themselves_they_are_followed_alone() {
        let values = |takes| Scale { low: 60.0, high: 1024.0, whole: true, takes }.spread(400);
        assert!(values(Takes::All).contains(&128.0));
        assert!(values(Takes::Beside).iter().all(|n| n % 64.0 != 0.0) && values(Takes::Beside).len() > 200);
        assert_eq!(values(Takes::Powers), [64.0, 128.0, 256.0, 512.0, 1024.0]);
        let last = Scale { low: 16.0, high: 1000.0, whole: true, takes: Takes::Powers }.at(1.0);
        assert_eq!(last, 512.0, "1,000 is no power of two, and 1,024 is outside");
    }
}
