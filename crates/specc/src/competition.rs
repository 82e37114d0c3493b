//! The candidates of a library in a model set, as a selector wants them.
//!
//! Programs compile their candidates in; here they come from a file, so names and parameters become static by being
//! leaked, once for each library of a run.

use strata_model::select::{self, Candidate, Choice, ChooseError, Odds, Outcome, Parameter, Pin};
use strata_model::set::{LibraryModels, Sensitivity, SetError, Verdict};
use strata_model::{ModelSet, Prediction};

/// A library's candidates over one model set.
pub struct Competition {
    models: LibraryModels,
    name: &'static str,
    names: Vec<&'static str>,
    parameters: Vec<&'static [Parameter]>,
    nodes: usize,
}

/// A candidate: the index of its models.
struct Entry<'a> {
    of: &'a Competition,
    index: usize,
}

impl Candidate<[f64], ()> for Entry<'_> {
    fn name(&self) -> &'static str {
        self.of.names[self.index]
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.of.parameters[self.index]
    }

    fn seconds(&self, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.of.models.seconds(self.index, self.of.nodes, inputs, parameters)
    }

    fn predict(&self, inputs: &[f64], parameters: &[i64]) -> Option<Prediction> {
        self.of.models.predict(self.index, self.of.nodes, inputs, parameters)
    }

    fn verdict(&self, _: &[f64]) -> Verdict {
        self.of.models.verdict(self.index)
    }

    fn run(&self, (): (), _: &[i64]) {}
}

impl Competition {
    /// The library `name` of `set`, on the nodes that the set was measured on.
    ///
    /// # Errors
    /// What is wrong with the set, or that it has no such library.
    pub fn new(set: &ModelSet, name: &str) -> Result<Self, SetError> {
        let resolved = set.resolve()?;
        let models = resolved.library(name).cloned().ok_or_else(|| SetError::Content {
            place: format!("library `{name}`"),
            message: "the set has no such library".into(),
        })?;
        let names = models.candidates().iter().map(|c| leak(&c.name)).collect();
        let parameters = (0..models.candidates().len())
            .map(|c| {
                let all = models.parameters(c).iter();
                &*all
                    .map(|p| Parameter { name: leak(&p.name), min: p.min, max: p.max })
                    .collect::<Vec<_>>()
                    .leak()
            })
            .collect();
        let measured = set.models.iter().map(|m| m.nodes).max().unwrap_or(0);
        let nodes = set.platform.as_ref().map_or(measured, |p| p.nodes).max(1);
        Ok(Self { name: leak(name), names, parameters, nodes, models })
    }

    /// The library's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its inputs.
    pub fn inputs(&self) -> &[String] {
        self.models.inputs()
    }

    /// The names of its candidates.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The parameters of a candidate.
    pub fn parameters(&self, candidate: usize) -> &'static [Parameter] {
        self.parameters[candidate]
    }

    /// The nodes that the predictions are for.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The range of an input in which at least one candidate predicts; infinite where nothing limits it.
    pub fn range(&self, input: usize) -> (f64, f64) {
        let ranges = (0..self.names.len()).filter_map(|c| self.models.ranges(c)?.get(input).copied());
        ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (l, h)| (low.min(l), high.max(h)))
    }

    /// How sure a choice is: the odds of the taken candidate against all others that predict anything here, each with the
    /// parameters that are best for it. `None` where nothing is predicted.
    pub fn odds(&self, inputs: &[f64], choice: &Choice) -> Option<Odds> {
        let predict =
            |candidate, parameters: &[i64]| self.models.predict(candidate, self.nodes, inputs, parameters);
        let mut chosen = None;
        let mut predicted = Vec::new();
        for (candidate, (_, outcome)) in choice.outcomes().enumerate() {
            let prediction = match outcome {
                Outcome::Taken => choice.predicted,
                Outcome::Slower(_, parameters) => predict(candidate, &parameters),
                // What a failed model says counts for nothing.
                _ => None,
            };
            if let Some(prediction) = prediction {
                if outcome == Outcome::Taken {
                    chosen = Some(predicted.len());
                }
                predicted.push(prediction);
            }
        }
        select::odds(&predicted, chosen?)
    }

    /// How a candidate's prediction follows the coefficients of the models; `None` where it predicts nothing.
    pub fn sensitivity(&self, candidate: usize, inputs: &[f64], parameters: &[i64]) -> Option<Sensitivity> {
        self.models.sensitivity(candidate, self.nodes, inputs, parameters)
    }

    /// Chooses among the candidates.
    ///
    /// # Errors
    /// As [`select::choose`].
    pub fn choose(&self, inputs: &[f64], pin: Option<&Pin>) -> Result<Choice, ChooseError> {
        let entries: Vec<Entry<'_>> = (0..self.names.len()).map(|index| Entry { of: self, index }).collect();
        let candidates: Vec<&dyn Candidate<[f64], ()>> = entries.iter().map(|e| e as _).collect();
        select::choose(self.name, &candidates, inputs, pin)
    }
}

fn leak(text: &str) -> &'static str {
    String::leak(text.to_owned())
}
