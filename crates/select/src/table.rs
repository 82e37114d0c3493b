//! Models of a library's candidates: compiled in as a [`Table`], or from elsewhere through
//! [`Source`].

pub use crate::closest::closest;
pub use crate::contrast::Contrast;
pub use crate::correction::{Axis, Correction, MAX_AXES, ROUND, interpolate, octaves, roundness};
pub use crate::math::Math;
pub use crate::model::{Compute, Fitted, MAX_TERMS, Model, Variance, fill, holds, require, spread, within};
pub use crate::parameter::{Ends, MAX_PARAMETERS, Parameter, Parameters, Root, Step, StepError};
pub use crate::quantity::{NotATime, Prediction, Seconds};
pub use crate::verdict::Verdict;

use crate::model::joined;

/// The compiled-in models of one library: functions and constants, with nothing to parse at start.
/// `specc` writes them; a handwritten one:
///
/// ```
/// use strata_select::{Library, Row, Table, table::{Domain, Entry, Model, Prediction, Verdict}};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Copying {
///     Words,
///     Pages,
/// }
///
/// static WORDS: Model = Model::Computed {
///     seconds: |_nodes, x| Some(1e-9 * x[0]),
///     predict: |nodes, x| Prediction::new(WORDS.seconds(nodes, x)?, 0.0),
/// };
/// static PAGES: Model = Model::Computed {
///     seconds: |_nodes, x| Some(2e-6 + 1e-10 * x[0]),
///     predict: |nodes, x| Prediction::new(PAGES.seconds(nodes, x)?, 0.0),
/// };
/// static TABLE: Table = Table {
///     library: "copying",
///     spec: "",
///     platform: "",
///     digest: "",
///     inputs: &["bytes"],
///     domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(8.0, 1e6)] },
///     entries: &[
///         Entry::new("words", Verdict::Unverified, 1.0, &WORDS),
///         Entry::new("pages", Verdict::Unverified, 1.0, &PAGES),
///     ],
/// };
///
/// impl Library for Copying {
///     type Rows = [Row; 2];
///     type Input = f64;
///     const TABLES: &'static [&'static Table] = &[&TABLE];
///
///     fn candidate(index: usize, _: &[i64]) -> Option<Self> {
///         [Self::Words, Self::Pages].get(index).copied()
///     }
/// }
///
/// let here = Copying::on(1);
/// assert_eq!(here.choose(100.0), Copying::Words);
/// assert_eq!(here.choose(1e5), Copying::Pages);
/// assert!(here.explain(1e9).to_string().contains("outside what was measured"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The library's name.
    pub library: &'static str,
    /// The path of the spec that the models come from; empty if unknown.
    pub spec: &'static str,
    /// The measured platform, as samples and model sets print it; empty if unknown.
    pub platform: &'static str,
    /// The digest of the model set that this was emitted from.
    pub digest: &'static str,
    /// The names of the inputs.
    pub inputs: &'static [&'static str],
    /// Where at least one candidate has a prediction.
    pub domain: Domain<'static>,
    /// The candidates, in order.
    pub entries: &'static [Entry],
}

/// One candidate of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The candidate's name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The verdict on its model.
    pub verdict: Verdict,
    /// The factor from a predicted to the expected time, at least 1. If the model's own error is
    /// large, it is √(1 + own error²), as errors are assumed log-normal with the predicted time as
    /// their median: such a model is expected to be slower than predicted.
    pub expected_ratio: f64,
    /// The model that predicts its time, from the library's inputs and then the candidate's
    /// parameters.
    pub model: &'static Model,
    /// The parameters and the gain for which it is left, if this candidate is the library's
    /// [`Incumbent`].
    pub incumbent: Option<(&'static [i64], f64)>,
    /// How the errors of its model differ between values of its parameters, if known.
    pub contrast: Option<Contrast>,
    /// Whether it competes only if nodes are processes ([`Question::processes`](crate::Question)).
    pub needs_processes: bool,
}

/// The candidate that stays unless the models predict another to be faster by a measured gain. With
/// this gain a choice by models does not lose more than this one candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Incumbent {
    /// The index of the candidate.
    pub candidate: usize,
    /// Its parameters.
    pub parameters: Parameters,
    /// The share of its expected time that another candidate must save; 1: it is always taken.
    pub gain: f64,
}

impl Entry {
    /// A candidate without parameters.
    #[must_use]
    pub const fn new(
        name: &'static str,
        verdict: Verdict,
        expected_ratio: f64,
        model: &'static Model,
    ) -> Self {
        Self {
            name,
            parameters: &[],
            verdict,
            expected_ratio,
            model,
            contrast: None,
            incumbent: None,
            needs_processes: false,
        }
    }

    /// The same with these parameters.
    #[must_use]
    pub const fn with(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// The same where errors differ between values of its parameters; see [`Contrast`].
    #[must_use]
    pub const fn contrast(self, deviation: f64, reach: f64) -> Self {
        Self { contrast: Some(Contrast { deviation, reach }), ..self }
    }

    /// The same as the library's incumbent, with these parameters, left for this gain.
    #[must_use]
    pub const fn incumbent(self, parameters: &'static [i64], gain: f64) -> Self {
        Self { incumbent: Some((parameters, gain)), ..self }
    }

    /// The same, only for nodes that are processes.
    #[must_use]
    pub const fn for_processes(self) -> Self {
        Self { needs_processes: true, ..self }
    }
}

/// The measured domain of a library's models: the least box around what its candidates cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain<'a> {
    /// The least and the greatest number of nodes.
    pub nodes: (usize, usize),
    /// The least and the greatest value of each input, infinite where unlimited.
    pub inputs: &'a [(f64, f64)],
}

impl Domain<'_> {
    /// Any number of nodes.
    pub const ANY_NODES: (usize, usize) = (1, usize::MAX);

    /// Moves a problem to the nearest measured one, NaN inputs to the least; returns its number of
    /// nodes and the distance. The distance is the sum, over all moved values, of the factor to the
    /// nearest value less one: a problem twice as large as any measured one has distance 1. Where
    /// there is no factor, as from zero, a move counts 1.
    pub fn nearest(&self, nodes: usize, inputs: &mut [f64]) -> (usize, f64) {
        let mut distance = 0.0;
        let mut move_to = |value: f64, nearest: f64| {
            if nearest != value {
                let factor = (value / nearest).max(nearest / value) - 1.0;
                distance += if factor.is_finite() && factor > 0.0 { factor } else { 1.0 };
            }
        };
        for (value, (least, greatest)) in inputs.iter_mut().zip(self.inputs) {
            let nearest = value.max(*least).min(*greatest);
            move_to(*value, nearest);
            *value = nearest;
        }
        let nearest = nodes.min(self.nodes.1).max(self.nodes.0);
        move_to(nodes as f64, nearest as f64);
        (nearest, distance)
    }
}

/// What is known of the models of a library besides times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info<'a> {
    /// Where the models were measured.
    pub domain: Domain<'a>,
    /// The measured platform, as in a [`Table`]; empty if unknown.
    pub platform: &'a str,
    /// The library's incumbent, if it has one.
    pub incumbent: Option<Incumbent>,
}

impl<'a> Info<'a> {
    /// Of models about which nothing else is known.
    #[must_use]
    pub const fn of(domain: Domain<'a>) -> Self {
        Self { domain, platform: "", incumbent: None }
    }
}

/// What is known of the model of one candidate besides times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct About {
    /// Its verdict, for the explanation only: it does not affect the choice.
    pub verdict: Verdict,
    /// The factor from its predicted to its expected time; see [`Entry::expected_ratio`].
    pub expected_ratio: f64,
    /// How its errors differ between values of its parameters; `None` if unknown: odds then count
    /// candidates only.
    pub contrast: Option<Contrast>,
    /// How many samples [correct](crate::table::Correction) its terms; `None` without a correction.
    pub corrected_by: Option<usize>,
}

impl Default for About {
    fn default() -> Self {
        Self { verdict: Verdict::Unverified, expected_ratio: 1.0, contrast: None, corrected_by: None }
    }
}

/// Models of the candidates of one library, numbered in the library's order.
///
/// Implemented by [`Table`], by `strata_model::LibraryModels` for models from a file, and by sources
/// that change the times of another one, their [`base`](Self::base).
pub trait Source {
    /// The time of a candidate in seconds; `None` outside what was measured or required. Must be
    /// fast and must not allocate: it is called for every value of the parameters.
    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64>;

    /// The same with the interval of a new measurement, for the explanation. By default without an
    /// interval.
    fn predict(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Prediction> {
        Prediction::new(self.seconds(candidate, nodes, inputs, parameters)?, 0.0)
    }

    /// The source whose times this one changes, if it does: everything else is that one's.
    fn base(&self) -> Option<&dyn Source> {
        None
    }

    /// What is known of all models. A source without a [`base`](Self::base) implements it; by
    /// default they hold nowhere, so that candidates are only ranked.
    fn info(&self) -> Info<'_> {
        let nowhere = Domain { nodes: Domain::ANY_NODES, inputs: &[] };
        self.base().map_or(Info::of(nowhere), |base| base.info())
    }

    /// What is known of the model of a candidate.
    fn about(&self, candidate: usize) -> About {
        self.base().map_or_else(About::default, |base| base.about(candidate))
    }

    /// The value of the function whose root is a parameter of the candidate
    /// ([`Root`]); `None` for a candidate without one, and outside what was measured
    /// or required.
    fn sign(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.base()?.sign(candidate, nodes, inputs, parameters)
    }

    /// The least and the greatest value of a parameter of the candidate for a problem; empty if the
    /// greatest is less. `None` if the range is as declared: the parameter has no
    /// [`ends`](crate::table::Parameter::ends). `cores`: the most cores that the range may use.
    fn range(
        &self,
        candidate: usize,
        parameter: usize,
        nodes: usize,
        cores: usize,
        inputs: &[f64],
    ) -> Option<(i64, i64)> {
        self.base()?.range(candidate, parameter, nodes, cores, inputs)
    }
}

impl Table {
    /// The table for this transport (`threads`, `mpi`) and number of nodes, among tables of one
    /// library that were calibrated on several transports and numbers of nodes. Of the transport's
    /// tables it is the one with the smallest range that covers the number, else the nearest; the
    /// first of equals. Without tables of the transport, one of another; `None` if there are none
    /// at all.
    ///
    /// A choice may still lack a model there: see [`choose_among`](crate::choose_among).
    pub fn fitting<'t>(
        tables: impl IntoIterator<Item = &'t Self>,
        transport: &str,
        nodes: usize,
    ) -> Option<&'t Self> {
        tables.into_iter().min_by_key(|table| table.apart(transport, nodes))
    }

    /// How far the table is from a transport and a number of nodes: whether it is of another
    /// transport, how far the number lies outside its range, and how wide that is.
    pub(crate) fn apart(&self, transport: &str, nodes: usize) -> (bool, usize, usize) {
        let (least, greatest) = self.domain.nodes;
        let outside = least.saturating_sub(nodes).max(nodes.saturating_sub(greatest));
        (self.platform.split(' ').next() != Some(transport), outside, greatest.saturating_sub(least))
    }

    /// A candidate's model, if the number of inputs is right.
    fn model(&self, candidate: usize, inputs: &[f64]) -> Option<&'static Model> {
        let entry = self.entries.get(candidate)?;
        (inputs.len() == self.inputs.len()).then_some(entry.model)
    }
}

impl Source for Table {
    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        let model = self.model(candidate, inputs)?;
        joined(inputs, parameters, |x| model.seconds(nodes, x))
    }

    fn predict(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Prediction> {
        let model = self.model(candidate, inputs)?;
        joined(inputs, parameters, |x| model.predict(nodes, x))
    }

    fn info(&self) -> Info<'_> {
        let is_one = |(candidate, entry): (usize, &Entry)| {
            let (parameters, gain) = entry.incumbent?;
            Some(Incumbent { candidate, parameters: Parameters::new(parameters)?, gain })
        };
        let incumbent = self.entries.iter().enumerate().find_map(is_one);
        Info { domain: self.domain, platform: self.platform, incumbent }
    }

    fn about(&self, candidate: usize) -> About {
        self.entries.get(candidate).map_or_else(About::default, |entry| About {
            verdict: entry.verdict,
            expected_ratio: entry.expected_ratio,
            contrast: entry.contrast,
            corrected_by: entry.model.corrected_by(),
        })
    }

    fn sign(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        let declared = self.entries.get(candidate)?.parameters;
        let root = declared.iter().find_map(|parameter| parameter.root)?;
        joined(inputs, parameters, |x| (root.0)(nodes, x))
    }

    fn range(
        &self,
        candidate: usize,
        parameter: usize,
        nodes: usize,
        cores: usize,
        inputs: &[f64],
    ) -> Option<(i64, i64)> {
        let parameter = self.entries.get(candidate)?.parameters.get(parameter)?;
        Some(parameter.within((parameter.ends?.0)(nodes, cores as f64, inputs)?))
    }
}
