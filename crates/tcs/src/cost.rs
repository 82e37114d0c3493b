//! Composes predictions of parts into a prediction of the whole program.
//!
//! Tasks built of predictable parts are predictable (Warfel 1996, §1.2). A time is a mean with an
//! interval and a variance, from a fitted model or from the linker's report. Programs are
//! sequences, joins, repetitions, choices, overlaps and pipelines of times. A program can also be
//! predicted with [`simulate`](crate::simulate); both agree where no wait depends on chance.

use crate::link::report::{Report, TaskReport};
use strata_select::table::Prediction;

/// A predicted time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Expected value.
    pub mean: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Variance of the mean; parts are assumed to be independent.
    pub variance: f64,
}

impl Estimate {
    /// An exact time.
    #[must_use]
    pub fn exactly(mean: f64) -> Self {
        Self { mean, low: mean, high: mean, variance: 0.0 }
    }

    /// A time with the interval ± `by`, and a standard deviation of half of `by`.
    #[must_use]
    pub fn about(mean: f64, by: f64) -> Self {
        Self { mean, low: mean - by, high: mean + by, variance: (by / 2.0).powi(2) }
    }
}

/// The composition of a program from predicted parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// A part whose time is predicted.
    Part(Estimate),
    /// Parts one after the other.
    Sequence(Vec<Cost>),
    /// Parts at once on different cells; ends with the last part.
    Join(Vec<Cost>),
    /// The same part, this many times.
    Repeat(u64, Box<Cost>),
    /// One of several parts, with weights.
    Choice(Vec<(f64, Cost)>),
    /// Parts at once on one cell, such as a send during a background receive.
    Overlap(Vec<Cost>),
    /// This many items pass through stages: the first takes the sum of all stages, each further one
    /// the slowest stage. Stages on one processor count as one stage: combine them in a
    /// [`Sequence`](Self::Sequence).
    Pipeline(u64, Vec<Cost>),
}

impl From<Prediction> for Estimate {
    /// In seconds, with the interval of the fitted model.
    fn from(prediction: Prediction) -> Self {
        let (mean, by) = (prediction.seconds.get(), prediction.half_width.get());
        let low = (mean - by).max(0.0);
        Self { mean, low, high: mean + by, variance: prediction.deviation.get().powi(2) }
    }
}

impl From<Prediction> for Cost {
    fn from(prediction: Prediction) -> Self {
        Self::Part(prediction.into())
    }
}

impl From<f64> for Cost {
    fn from(time: f64) -> Self {
        Self::Part(Estimate::exactly(time))
    }
}

impl Cost {
    /// The predicted time of the whole program.
    ///
    /// The mean of a maximum is at least the maximum of the means; this lower bound is used.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        match self {
            Self::Part(estimate) => *estimate,
            Self::Sequence(parts) => parts.iter().map(Self::estimate).fold(Estimate::default(), after),
            Self::Join(parts) | Self::Overlap(parts) => {
                parts.iter().map(Self::estimate).reduce(latest).unwrap_or_default()
            }
            Self::Repeat(times, part) => scaled(part.estimate(), *times as f64),
            Self::Choice(parts) => {
                let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
                let share = |weight: f64| if total > 0.0 { weight / total } else { 0.0 };
                let parts: Vec<(f64, Estimate)> =
                    parts.iter().map(|(weight, part)| (share(*weight), part.estimate())).collect();
                let mean: f64 = parts.iter().map(|(share, part)| share * part.mean).sum();
                let spread =
                    |(share, part): &(f64, Estimate)| share * (part.variance + (part.mean - mean).powi(2));
                Estimate {
                    mean,
                    low: parts.iter().map(|(_, part)| part.low).reduce(f64::min).unwrap_or(0.0),
                    high: parts.iter().map(|(_, part)| part.high).reduce(f64::max).unwrap_or(0.0),
                    variance: parts.iter().map(spread).sum(),
                }
            }
            Self::Pipeline(0, _) => Estimate::default(),
            Self::Pipeline(items, stages) => {
                let stages: Vec<Estimate> = stages.iter().map(Self::estimate).collect();
                let first = stages.iter().copied().fold(Estimate::default(), after);
                let slowest = stages.into_iter().reduce(latest).unwrap_or_default();
                after(first, scaled(slowest, (*items - 1) as f64))
            }
        }
    }

    /// A child's lifetime with `body` as its program: start, body, end, as the linker predicts.
    #[must_use]
    pub fn task(report: &TaskReport, body: Cost) -> Self {
        Self::Sequence(vec![report.start.unwrap_or(0.0).into(), body, report.end.unwrap_or(0.0).into()])
    }

    /// A message of `bytes` on the first connection of a set, as the linker predicts.
    #[must_use]
    pub fn message(report: &Report, task: &str, set: &str, bytes: usize) -> Option<Self> {
        let task = report.task(task)?;
        let connection = task.set(set).next()?.connections.first()?;
        let rate = connection.rate? / (report.mhz * 1e6);
        Some((connection.latency + (bytes as f64 / rate).floor()).into())
    }
}

fn after(a: Estimate, b: Estimate) -> Estimate {
    Estimate {
        mean: a.mean + b.mean,
        low: a.low + b.low,
        high: a.high + b.high,
        variance: a.variance + b.variance,
    }
}

fn latest(a: Estimate, b: Estimate) -> Estimate {
    let later = if b.mean > a.mean { b } else { a };
    Estimate { low: a.low.max(b.low), high: a.high.max(b.high), ..later }
}

/// Repetitions of one part share its error, so the standard deviation grows in proportion to their
/// number.
fn scaled(part: Estimate, by: f64) -> Estimate {
    Estimate {
        mean: by * part.mean,
        low: by * part.low,
        high: by * part.high,
        variance: by * by * part.variance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws() {
        let a = Cost::Part(Estimate::about(10.0, 2.0));
        let b = Cost::Part(Estimate::about(20.0, 5.0));
        let join = Cost::Join(vec![a.clone(), b.clone()]).estimate();
        assert_eq!((join.mean, join.low, join.high), (20.0, 15.0, 25.0));
        let choice = Cost::Choice(vec![(1.0, a.clone()), (3.0, b.clone())]).estimate();
        assert_eq!((choice.mean, choice.low, choice.high), (17.5, 8.0, 25.0));
        assert!(choice.variance > 6.25);
        let fitted = Prediction::new(2e-6, 5e-7).map(|fitted| Cost::from(fitted).estimate());
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(fitted.is_some_and(|f| near(f.low, 1.5e-6) && near(f.high, 2.5e-6) && f.variance > 0.0));
        let pipe = Cost::Pipeline(5, vec![a.clone(), b.clone()]).estimate();
        assert_eq!((pipe.mean, pipe.high), (30.0 + 4.0 * 20.0, 37.0 + 4.0 * 25.0));
        assert_eq!(Cost::Pipeline(0, vec![a.clone()]).estimate(), Estimate::default());
        assert_eq!(Cost::Choice(vec![]).estimate(), Estimate::default());
        assert_eq!(Cost::Join(vec![]).estimate(), Estimate::default());
        let twice = Cost::Repeat(2, Box::new(a.clone())).estimate();
        let both = Cost::Sequence(vec![a.clone(), a]).estimate();
        assert_eq!((twice.mean, twice.low, twice.high), (both.mean, both.low, both.high));
        assert!(twice.variance > both.variance, "the same error twice");
    }
}
