//! The candidates of a library in a model set, in the form that a selector takes.
//!
//! Programs compile their candidates in. Here the candidates come from a file, so their names and
//! parameters are leaked to become `'static`, once for each library of a run.

use strata_model::set::{
    Formula, LibraryCandidate, LibraryModels, Sensitivity, SetError, Verdict, reads_round,
};
use strata_model::{Kinds, ModelSet, did_you_mean};
use strata_select::{
    ChooseError, Odds, Pin, Question, Row, Source as _, choice::Outcome, choose_among, table::Prediction,
};

/// The requirement of a candidate that the limits of its spec leave out.
pub(crate) const NEVER: &str = "0";

pub(crate) fn is_left_out(candidate: &LibraryCandidate) -> bool {
    candidate.requires.iter().any(|one| one == NEVER)
}

/// The candidates of a library that were left out.
fn left_out(set: &ModelSet, library: &str) -> Vec<usize> {
    let library = set.libraries.iter().find(|one| one.name == library);
    let candidates = library.map_or(&[][..], |library| &library.candidates).iter().enumerate();
    candidates.filter(|(_, one)| is_left_out(one)).map(|(place, _)| place).collect()
}

/// A choice among the candidates of a model file.
pub type Choice = strata_select::Choice<Vec<Row>>;

/// A library's candidates over one model set.
pub struct Competition {
    models: LibraryModels,
    name: &'static str,
    spec: &'static str,
    rows: Vec<Row>,
    nodes: usize,
    /// The candidates that compete; empty for all.
    among: Vec<usize>,
    /// Those that the limits of the spec leave out.
    left_out: Vec<usize>,
    /// For each input, whether it takes whole numbers only.
    whole: Vec<bool>,
    /// For each input, whether round values have predictions of their own.
    round: Vec<bool>,
    /// The inputs that are one of a few names.
    kinds: Kinds,
}

impl Competition {
    /// The library `name` of `set`, on the nodes that the set was measured on.
    ///
    /// The set is invalid, or it has no such library.
    pub fn new(set: &ModelSet, name: &str) -> Result<Self, SetError> {
        let resolved = set.resolve()?;
        let models = resolved.library(name).cloned().ok_or_else(|| SetError::Content {
            place: format!("library `{name}`"),
            message: "the set has no such library".into(),
        })?;
        let declared = |candidate| {
            let all = models.parameters(candidate).iter();
            &*all.map(|p| p.declared(leak(&p.name))).collect::<Vec<_>>().leak()
        };
        let candidates = models.candidates().iter().enumerate();
        let rows = candidates.map(|(place, c)| Row::new(leak(&c.name), declared(place))).collect();
        let spec = set.spec.as_ref().map_or("", |spec| leak(&spec.path));
        let is_whole = |input: &String| set.kinds.contains_key(input) || models.takes_whole(set, input);
        let whole = models.inputs().iter().map(is_whole).collect();
        let round = models.inputs().iter().map(|input| tests_round(&models, input)).collect();
        Ok(Self {
            name: leak(name),
            spec,
            rows,
            nodes: set.nodes(),
            among: Vec::new(),
            left_out: left_out(set, name),
            whole,
            round,
            kinds: set.kinds.clone(),
            models,
        })
    }

    /// The same competition on this number of nodes, if one is given.
    pub fn on(mut self, nodes: Option<usize>) -> Self {
        self.nodes = nodes.unwrap_or(self.nodes);
        self
    }

    /// The same competition among the candidates whose results equal those of `name`, if it is given.
    ///
    /// # Errors
    /// The models do not say which those are, or the limits of the spec leave none of them.
    pub fn equal_to(mut self, name: Option<&str>) -> Result<Self, String> {
        let Some(name) = name else { return Ok(self) };
        let has = |group: &&Vec<String>| group.iter().any(|one| one == name);
        let group = self.models.equal().iter().find(has).ok_or_else(|| {
            let meant = did_you_mean(name, self.models.equal().iter().flatten().map(String::as_str));
            format!(
                "`{}`: its spec does not say what equals `{name}`, as by `equal {{{name}, other}}`{meant}",
                self.name
            )
        })?;
        self.among = group.iter().filter_map(|one| self.models.candidate(one)).collect();
        if self.among.iter().all(|one| self.left_out.contains(one)) {
            return Err(format!(
                "`{}`: the limits of its spec leave none of {}; allow more `ways` or another `slowdown`",
                self.name,
                group.join(", ")
            ));
        }
        Ok(self)
    }

    /// The library's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its inputs.
    pub fn inputs(&self) -> &[String] {
        self.models.inputs()
    }

    /// The candidates whose model, or one that it calls, failed verification.
    pub fn failed(&self) -> Vec<&'static str> {
        let is_failed = |place: usize| self.models.about(place).verdict == Verdict::Failed;
        let rows = self.rows.iter().enumerate();
        rows.filter(|(place, _)| is_failed(*place)).map(|(_, row)| row.name).collect()
    }

    /// The candidates that the limits of the spec (`ways`, `slowdown`) leave out.
    pub fn left_out(&self) -> Vec<&'static str> {
        self.left_out.iter().filter_map(|place| Some(self.rows.get(*place)?.name)).collect()
    }

    /// Its candidates: names and parameters.
    pub fn candidates(&self) -> &[Row] {
        &self.rows
    }

    /// The nodes that the predictions are for.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The range of an input in which at least one candidate has a prediction; infinite if no model
    /// limits it.
    pub fn range(&self, input: usize) -> (f64, f64) {
        self.models.info().domain.inputs.get(input).copied().unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
    }

    /// Whether an input takes whole numbers only.
    pub fn is_whole(&self, input: usize) -> bool {
        self.whole.get(input).is_some_and(|whole| *whole)
    }

    /// Whether an input's round values, multiples of 64, have predictions of their own.
    pub fn is_round(&self, input: usize) -> bool {
        self.round.get(input).is_some_and(|round| *round)
    }

    /// The inputs that are one of a few names.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The names of the inputs whose round values have predictions of their own.
    pub fn round_inputs(&self) -> impl Iterator<Item = &str> {
        let inputs = self.inputs().iter().enumerate();
        inputs.filter(|(place, _)| self.is_round(*place)).map(|(_, name)| name.as_str())
    }

    /// The incumbent (the choice kept unless another promises a gain): candidate, parameters, gain.
    pub fn incumbent(&self) -> Option<(usize, Vec<i64>, f64)> {
        self.models.info().incumbent.map(|one| (one.candidate, one.parameters.to_vec(), one.gain))
    }

    /// The declaration of a candidate in the set.
    pub fn declared(&self, candidate: usize) -> Option<&LibraryCandidate> {
        self.models.candidates().get(candidate)
    }

    /// The odds that a choice is right; see [`Choice::odds`](strata_select::Choice::odds).
    pub fn odds(&self, inputs: &[f64], choice: &Choice) -> Option<Odds> {
        choice.odds(&self.models, self.nodes, inputs)
    }

    /// For each parameter, the lowest and highest value that tie with the chosen one; empty where
    /// that is not known. See [`Choice::tied`](strata_select::Choice::tied).
    pub fn tied(&self, inputs: &[f64], choice: &Choice) -> Vec<(i64, i64)> {
        choice.tied(&self.models, self.nodes, inputs).unwrap_or_default()
    }

    /// The prediction of a candidate as a formula over the inputs and its parameters.
    pub fn formula(&self, candidate: usize) -> Option<&Formula> {
        self.models.formula(candidate)
    }

    /// The derivatives of a candidate's prediction by the coefficients of the models; `None` if it
    /// has no prediction.
    pub fn sensitivity(&self, candidate: usize, inputs: &[f64], parameters: &[i64]) -> Option<Sensitivity> {
        self.models.sensitivity(candidate, self.nodes, inputs, parameters)
    }

    /// The prediction of each candidate there, with its best parameters; `None` for a candidate
    /// that does not apply or whose model does not cover the point.
    pub fn predictions(&self, inputs: &[f64]) -> Vec<Option<Prediction>> {
        let Ok(choice) = self.choose(inputs, None) else { return vec![None; self.rows.len()] };
        let predict = |(candidate, (_, outcome))| {
            let parameters = match outcome {
                Outcome::Taken => choice.parameters,
                Outcome::Slower(_, parameters) => parameters,
                _ => return None,
            };
            self.models.predict(candidate, self.nodes, inputs, &parameters)
        };
        choice.outcomes().enumerate().map(predict).collect()
    }

    /// The time by which a candidate with these parameters is ranked.
    pub fn expected(&self, candidate: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        let seconds = self.models.seconds(candidate, self.nodes, inputs, parameters)?;
        Some(seconds * self.models.about(candidate).expected_ratio)
    }

    /// The prediction of a candidate with these parameters, where its model covers the point.
    pub fn prediction(&self, candidate: usize, inputs: &[f64], parameters: &[i64]) -> Option<Prediction> {
        self.models.predict(candidate, self.nodes, inputs, parameters)
    }

    /// The model of a candidate and, for each input of that model, the index of the library's input
    /// passed to it; `None` for an argument that is computed or is a parameter.
    pub fn arguments(&self, candidate: usize) -> Option<(&str, Vec<Option<usize>>)> {
        let candidate = self.models.candidates().get(candidate)?;
        let place = |text: &String| self.inputs().iter().position(|input| input == text);
        Some((&candidate.model, candidate.arguments.iter().map(place).collect()))
    }

    /// Chooses among the candidates. Outside the measured range the nearest measured point decides.
    ///
    /// # Errors
    /// See [`Fault`](strata_select::choice::Fault).
    pub fn choose<'p>(
        &self,
        inputs: &[f64],
        pin: Option<Pin<'p>>,
    ) -> Result<Choice, ChooseError<'p, Vec<Row>>> {
        let question = Question { pin, ..Question::new(self.nodes, inputs) };
        choose_among((self.name, self.spec), self.rows.clone(), &self.models, question, &|index| {
            self.among.is_empty() || self.among.contains(&index)
        })
    }
}

fn leak(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

/// Whether a term or a correction of a candidate tests whether this input is round.
fn tests_round(models: &LibraryModels, input: &str) -> bool {
    (0..models.candidates().len()).filter_map(|place| models.formula(place)).any(|formula| {
        let at = formula.correction.iter().flat_map(|correction| &correction.at);
        at.chain([&formula.mean]).any(|expr| reads_round(&expr.to_string(), input))
    })
}
