//! How sure a choice is, from the intervals of the candidates' predictions.

use core::fmt;

#[cfg(not(feature = "std"))]
use crate::table::Math as _;
#[cfg(feature = "std")]
use crate::{
    Choice, Row, Source,
    choice::{MAX_INPUTS, Outcome},
    values::Values,
};
use crate::{
    normal,
    table::{Prediction, Seconds},
};

/// Steps of the integrals over time; their error is far below the effect of the deviations.
const STEPS: usize = 2000;

/// The integrals run over so many deviations to either side; the rest is below 1e-14.
const TAIL: f64 = 8.0;

/// How sure a choice is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// The probability that the chosen candidate is the fastest, from 0 to 1.
    pub fastest: f64,
    /// The expected excess of its time over that of the fastest candidate, in seconds: the gain if
    /// the fastest were always known.
    pub loss: f64,
}

impl fmt::Display for Odds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loss = Seconds::new(self.loss).unwrap_or_default();
        write!(f, "the fastest with a probability of {:.0} %; expected loss {loss}", 100.0 * self.fastest)
    }
}

/// The odds of choosing candidate `chosen` among those predicted. `None` if it has no prediction.
///
/// True times are assumed independent and log-normal, as they are positive and models err by
/// factors, with the mean and the [deviation](Prediction::deviation) of each prediction. Without
/// deviations the probability is 0 or 1.
///
/// ```
/// use strata_select::{table::Prediction, choice::odds};
///
/// let predicted = [(1.0e-6, 0.2e-6), (1.1e-6, 0.2e-6)].map(|(s, w)| Prediction::new(s, w).unwrap());
/// let sure = odds(&predicted, 0).unwrap();
/// assert!(sure.fastest > 0.7 && sure.fastest < 0.8);
/// assert!(sure.loss < 0.03e-6, "a wrong choice costs little: they are nearly equal");
/// ```
#[must_use]
pub fn odds(predicted: &[Prediction], chosen: usize) -> Option<Odds> {
    let times = || predicted.iter().map(LogNormal::of);
    let prediction = predicted.get(chosen)?;
    let own = LogNormal::of(prediction);
    let others = || times().enumerate().filter(|(i, _)| *i != chosen).map(|(_, time)| time);
    let fastest = if own.deviation > 0.0 {
        let (low, high) = (own.edge(-TAIL), own.edge(TAIL));
        integral(low, high, others, |t| own.density(t))
    } else {
        others().map(|time| time.chance_after(own.mean)).product()
    };
    // The expected least time is the lower bound `low` plus the integral, from there on, of the
    // probability that all times are still greater.
    let low = times().map(|time| time.edge(-TAIL)).fold(f64::INFINITY, f64::min);
    let high = times().map(|time| time.edge(TAIL)).fold(f64::INFINITY, f64::min).max(low);
    let least = low.exp() + integral(low, high, times, f64::exp);
    Some(Odds { fastest: fastest.clamp(0.0, 1.0), loss: (prediction.seconds.get() - least).max(0.0) })
}

#[cfg(feature = "std")]
impl<R: AsRef<[Row]>> Choice<R> {
    /// The odds of the taken candidate against all others with a prediction by these models for
    /// this problem, each with its best parameters. Outside the measured range they are those of
    /// the [nearest](crate::table::Domain::nearest) measured problem, with every deviation widened by the
    /// [distance](Choice::distance). `None` without a prediction, and for a pinned choice.
    ///
    /// If the [contrast](crate::table::About::contrast) of the taken candidate is known, the values of its
    /// parameters compete too: the choice is right if no other value is faster by more than 3 %,
    /// and the expected loss includes the saving of the best value.
    ///
    /// This takes some 100 µs, and a millisecond with parameters: use it for explanations, not for
    /// every choice.
    pub fn odds<S: Source + ?Sized>(&self, source: &S, nodes: usize, inputs: &[f64]) -> Option<Odds> {
        let mut nearest = [0.0; MAX_INPUTS];
        let nearest = nearest.get_mut(..inputs.len())?;
        nearest.copy_from_slice(inputs);
        let (nodes, _) = source.info().domain.nearest(nodes, nearest);
        let predict = |candidate, parameters: &[i64]| {
            source
                .predict(candidate, nodes, nearest, parameters)?
                .times(source.about(candidate).expected_ratio)
        };
        let mut chosen = None;
        let mut predicted = std::vec::Vec::new();
        for (candidate, row) in self.rows.as_ref().iter().enumerate() {
            let parameters = match row.outcome {
                Outcome::Taken if !self.pinned => self.parameters,
                Outcome::Slower(_, parameters) => parameters,
                _ => continue,
            };
            let Some(found) = predict(candidate, &parameters) else { continue };
            if candidate == self.index {
                chosen = Some(predicted.len());
            }
            let widened = found.deviation.get().hypot(found.seconds.get() * self.distance);
            predicted.push(found.with_deviation(widened)?);
        }
        let odds = odds(&predicted, chosen?)?;
        let seconds = predicted.get(chosen?)?.seconds.get();
        Some(self.values(source, nodes, nearest)?.odds(odds, seconds, self.distance))
    }

    /// For each parameter of the taken candidate, the least and the greatest of the values around
    /// the taken one that tie with it: their predicted times exceed its time by less than 1 %, or
    /// by less than the standard deviation of the difference. `None` if the
    /// [contrast](crate::table::About::contrast) is unknown, and for a pinned choice.
    pub fn tied<S: Source + ?Sized>(
        &self,
        source: &S,
        nodes: usize,
        inputs: &[f64],
    ) -> Option<std::vec::Vec<(i64, i64)>> {
        let mut nearest = [0.0; MAX_INPUTS];
        let nearest = nearest.get_mut(..inputs.len())?;
        nearest.copy_from_slice(inputs);
        let (nodes, _) = source.info().domain.nearest(nodes, nearest);
        if self.pinned { None } else { self.values(source, nodes, nearest)?.tied() }
    }

    /// The values that tie, as text; `None` without ties.
    #[must_use]
    pub fn ties_text(&self, tied: &[(i64, i64)]) -> Option<std::string::String> {
        let mut text = std::string::String::new();
        for (parameter, (from, to)) in self.declared(self.index).iter().zip(tied).filter(|(_, r)| r.0 != r.1)
        {
            text += if text.is_empty() { "as fast as can be told: " } else { ", " };
            text += &std::format!("{} = {from}..{to}", parameter.name);
        }
        (!text.is_empty()).then_some(text)
    }

    /// The values of the taken candidate's parameters for a problem inside the measured range.
    fn values<'a, S: Source + ?Sized>(
        &'a self,
        source: &'a S,
        nodes: usize,
        inputs: &[f64],
    ) -> Option<Values<'a, S>> {
        let mut all = [0.0; MAX_INPUTS];
        all.get_mut(..inputs.len())?.copy_from_slice(inputs);
        let (candidate, declared) = (self.index, self.declared(self.index));
        let (inputs, count, taken) = (all, inputs.len(), self.parameters);
        Some(Values { source, candidate, nodes, inputs, count, declared, taken })
    }
}

/// The distribution of the logarithm of an uncertain time.
struct LogNormal {
    mean: f64,
    deviation: f64,
}

impl LogNormal {
    fn of(prediction: &Prediction) -> Self {
        let seconds = prediction.seconds.get().max(f64::MIN_POSITIVE);
        let relative = prediction.deviation.get() / seconds;
        // Limited, because a time of zero with a deviation has an infinite relative deviation.
        let variance = (1.0 + (relative * relative).min(1e6)).ln();
        Self { mean: seconds.ln() - 0.5 * variance, deviation: variance.sqrt() }
    }

    /// The logarithm at so many deviations from the mean.
    fn edge(&self, deviations: f64) -> f64 {
        self.mean + deviations * self.deviation
    }

    fn density(&self, t: f64) -> f64 {
        normal::density((t - self.mean) / self.deviation) / self.deviation
    }

    /// The probability of a time above the one whose logarithm is `t`; one half for an exact, equal
    /// time.
    fn chance_after(&self, t: f64) -> f64 {
        if self.deviation > 0.0 {
            normal::above((t - self.mean) / self.deviation)
        } else if t == self.mean {
            0.5
        } else {
            f64::from(u8::from(t < self.mean))
        }
    }
}

/// Integrates, by the midpoint rule, `weight` times the probability that all `times` are later.
/// Those that surely are take no part.
fn integral<I: Iterator<Item = LogNormal>>(
    low: f64,
    high: f64,
    times: impl Fn() -> I,
    weight: impl Fn(f64) -> f64,
) -> f64 {
    /// Steps for which the distribution of each time is found once.
    const AT_ONCE: usize = 50;
    let step = (high - low) / STEPS as f64;
    let mut sum = 0.0;
    for first in (0..STEPS).step_by(AT_ONCE) {
        let at: [f64; AT_ONCE] = core::array::from_fn(|i| low + ((first + i) as f64 + 0.5) * step);
        let mut later = [1.0; AT_ONCE];
        for time in times().filter(|time| time.edge(-TAIL) < high) {
            later.iter_mut().zip(at).for_each(|(later, t)| *later *= time.chance_after(t));
        }
        sum += later.iter().zip(at).map(|(later, t)| weight(t) * later).sum::<f64>();
    }
    sum * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(mean: f64, deviation: f64) -> Prediction {
        Prediction::new(mean, 0.0).unwrap().with_deviation(deviation).unwrap()
    }

    fn predictions(times: &[(f64, f64)]) -> Vec<Prediction> {
        times.iter().map(|(mean, half)| time(*mean, *half)).collect()
    }

    #[test]
    fn two_alike_are_a_toss_and_cost_what_theory_says() {
        // E[min] of two equal log-normals of mean m and log-deviation s is m erfc(s/2).
        for relative in [0.01_f64, 0.1, 1.0] {
            let odds = odds(&predictions(&[(10.0, 10.0 * relative), (10.0, 10.0 * relative)]), 0).unwrap();
            let deviation = (relative * relative).ln_1p().sqrt();
            let loss = 10.0 * (1.0 - normal::erfc(deviation / 2.0));
            assert!((odds.fastest - 0.5).abs() < 1e-6, "{odds:?}");
            assert!((odds.loss - loss).abs() < 1e-3 * loss, "{odds:?}, not {loss}");
        }
    }

    #[test]
    fn what_is_known_exactly_is_certain() {
        let all = predictions(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]);
        assert_eq!(odds(&all, 0).unwrap().fastest, 1.0);
        assert!(odds(&all, 0).unwrap().loss < 1e-3);
        let second = odds(&all, 1).unwrap();
        assert_eq!(second.fastest, 0.0);
        assert!((second.loss - 1.0).abs() < 1e-3, "{second:?}");
        assert_eq!(odds(&all, 3), None);
        assert_eq!(odds(&[], 0), None);
    }

    proptest! {
        #[test]
        fn the_chances_of_all_add_up_and_the_surest_loses_least(
            times in prop::collection::vec((1e-6f64..1e-3, 1e-7f64..1e-4), 1..5),
        ) {
            let all = predictions(&times);
            let each: Vec<Odds> = (0..all.len()).map(|i| odds(&all, i).unwrap()).collect();
            let total: f64 = each.iter().map(|odds| odds.fastest).sum();
            prop_assert!((total - 1.0).abs() < 0.01, "{total}");
            let with_slower = predictions(&[&times[..], &[(1e12, 1.0)]].concat());
            prop_assert_eq!(odds(&with_slower, 0), odds(&all, 0));
            let shortest = (0..all.len()).min_by(|a, b| times[*a].0.total_cmp(&times[*b].0)).unwrap();
            prop_assert!(each.iter().all(|odds| odds.loss >= each[shortest].loss - 1e-12));
        }
    }
}
