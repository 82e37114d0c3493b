//! A trial of fitted models: where they choose otherwise than the shipped ones, both choices are
//! timed in turn. Timings that were taken to fit say little about choices elsewhere, and a fit of a
//! few may be worse than none.

use std::vec::Vec;

use super::Point;
use crate::learn::{Confidence, Gain};

/// The most problems of a trial.
const MOST: usize = 24;

/// Shipped, fitted, fitted, shipped: a machine that slows down is no difference between them.
const TURNS: [usize; 4] = [0, 1, 1, 0];

/// The choice of the shipped models and of the fitted ones for one problem.
#[derive(Debug)]
pub(super) struct Pair {
    /// With the predicted seconds.
    pub(super) ways: [Point; 2],
    /// The least seconds of each.
    least: [f64; 2],
    timed: usize,
}

impl Pair {
    pub(super) fn new(ways: [Point; 2]) -> Self {
        Self { ways, least: [f64::INFINITY; 2], timed: 0 }
    }

    fn seconds(&self) -> f64 {
        2.0 * (self.ways[0].seconds + self.ways[1].seconds)
    }
}

/// The standard error of a ratio where there is no other to compare.
const ERROR_OF_ONE: f64 = 0.2;

/// A trial under way.
#[derive(Debug)]
pub(super) struct Trial {
    pairs: Vec<Pair>,
    /// How many timings were asked for.
    asked: usize,
}

impl Trial {
    /// Of the first pairs that are timed in `left` seconds, each in a quarter of them. The problems
    /// come in an order in which the first of them are spread over the domain.
    pub(super) fn new(pairs: Vec<Pair>, left: f64) -> Self {
        let mut sum = 0.0;
        let mut fits = |pair: &Pair| {
            let seconds = pair.seconds();
            let fits = seconds <= 0.25 * left && sum + seconds <= left;
            sum += if fits { seconds } else { 0.0 };
            fits
        };
        Self { pairs: pairs.into_iter().filter(|pair| fits(pair)).take(MOST).collect(), asked: 0 }
    }

    /// The next timing; its seconds are the predicted ones. `None`: it is done.
    pub(super) fn next(&mut self, left: f64) -> Option<Point> {
        let pair = self.pairs.get(self.asked / TURNS.len())?;
        let point = &pair.ways[TURNS[self.asked % TURNS.len()]];
        if point.seconds > left {
            return None;
        }
        self.asked += 1;
        Some(point.clone())
    }

    /// Takes the timing that was asked for last; one that is no time leaves the problem out.
    pub(super) fn took(&mut self, seconds: Option<f64>) {
        let Some(last) = self.asked.checked_sub(1) else { return };
        let Some(pair) = self.pairs.get_mut(last / TURNS.len()) else { return };
        if let Some(seconds) = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0) {
            let least = &mut pair.least[TURNS[last % TURNS.len()]];
            *least = least.min(seconds);
            pair.timed += 1;
        }
    }

    /// Whether there is nothing to time.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The problems at which both choices were timed.
    pub(super) fn timed(&self) -> usize {
        self.ratios().count()
    }

    /// Whether the fitted models' choices are [likely](Confidence::Likely) faster: by the mean logarithm
    /// of the ratio and its standard error.
    pub(super) fn is_won(&self) -> bool {
        let count = self.timed() as f64;
        let log = -self.ratios().sum::<f64>() / count;
        let square = self.ratios().map(|ratio| (ratio + log).powi(2)).sum::<f64>();
        let error = if count > 1.0 { (square / (count * (count - 1.0))).sqrt() } else { ERROR_OF_ONE };
        Gain { log, deviation: error }.suffices(Confidence::Likely)
    }

    /// The logarithms of the seconds of the fitted models' choices over those of the shipped ones.
    fn ratios(&self) -> impl Iterator<Item = f64> {
        let all = self.pairs.iter().filter(|pair| pair.timed == TURNS.len());
        all.map(|pair| (pair.least[1] / pair.least[0]).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Parameters;

    fn pairs(seconds: &[[f64; 2]]) -> Vec<Pair> {
        let point = |candidate: usize, seconds: f64| Point {
            candidate,
            nodes: 1,
            inputs: Vec::new(),
            parameters: Parameters::NONE,
            seconds,
        };
        seconds.iter().map(|[a, b]| Pair::new([point(0, *a), point(1, *b)])).collect()
    }

    fn played(seconds: &[[f64; 2]], actual: impl Fn(usize, usize) -> Option<f64>) -> Trial {
        let mut trial = Trial::new(pairs(seconds), 1.0);
        let mut asked = 0;
        while let Some(point) = trial.next(1.0) {
            trial.took(actual(asked / 4, point.candidate));
            asked += 1;
        }
        trial
    }

    #[test]
    fn the_fitted_models_win_if_their_choices_are_faster_beyond_noise() {
        let all = [[1e-3, 1e-3]; 8];
        let faster = |_, way: usize| Some([1.0, 0.9][way]);
        assert!(played(&all, faster).is_won());
        assert!(!played(&all, |_, way| Some([0.9, 1.0][way])).is_won());
        assert!(!played(&all, |_, _| Some(1.0)).is_won(), "equal: the shipped ones stay");
        let mixed = |pair: usize, way: usize| Some([1.0, [0.5, 1.9][pair % 2]][way]);
        assert!(!played(&all, mixed).is_won());
        // One problem shows much or nothing.
        assert!(!played(&all[..1], faster).is_won());
        assert!(played(&all[..1], |_, way| Some([1.0, 0.7][way])).is_won());
        assert!(!played(&[], faster).is_won());
    }

    #[test]
    fn problems_too_long_or_without_times_are_left_out() {
        let all = [[1e-3, 1e-3], [0.2, 0.1], [1e-3, 1e-3], [1e-3, 2e-3]];
        let trial = played(&all, |pair, way| (pair != 1).then_some([1.0, 0.9][way]));
        assert_eq!((trial.pairs.len(), trial.timed()), (3, 2));
        assert!(trial.is_won());
        let trial = played(&all, |_, way| [Some(f64::NAN), Some(-1.0)][way]);
        assert_eq!((trial.timed(), trial.is_won()), (0, false));
        assert!(Trial::new(pairs(&all), 0.0).next(1.0).is_none());
        assert_eq!(played(&[[1e-4, 1e-4]; 100], |_, _| Some(1.0)).timed(), MOST);
    }
}
