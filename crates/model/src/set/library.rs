//! The models of a library's candidates, evaluated from a model set.
//!
//! A candidate is a model of a model: its time is that of the named model, with arguments computed
//! from the library's inputs and the candidate's parameters. A library can therefore use a file
//! calibrated on this machine instead of the compiled-in [`Table`](strata_select::Table).

use std::sync::Arc;

use super::check::{check_name, check_names, content, parse};
use super::compiled::{Compiled, MAX_INPUTS, Models};
use super::ends::Ends;
use super::inline::{Check, FitSpread, Formula, Inliner};
use super::{Library, LibraryCandidate, ModelSet, Nodes, ParameterRange, SetError};
use crate::expr::{Expr, ExprKind};
use crate::platform::PROCESSES;
use crate::{Platform, Prediction};
use strata_select::{
    Source,
    table::{About, Domain, Incumbent, Info, MAX_PARAMETERS, Parameters, Step},
};

impl Library {
    /// Whether a candidate competes only where nodes are processes: [`PROCESSES`] is one of its
    /// requirements, and no input or parameter has that name.
    #[must_use]
    pub fn needs_processes(&self, candidate: &LibraryCandidate) -> bool {
        let names = self.inputs.iter().chain(candidate.parameters.iter().map(|parameter| &parameter.name));
        candidate.requires.iter().any(|text| text == PROCESSES)
            && !names.into_iter().any(|name| name == PROCESSES)
    }
}

/// The candidates of one library, ready to predict.
///
/// ```
/// use strata_model::ModelSet;
/// use strata_select::{Question, Row, choose_among, table::Parameter};
///
/// let text = std::fs::read_to_string("../../examples/own-library/models/models.toml")?;
/// let models = ModelSet::read(&text)?.resolve()?;
/// let matmul = models.library("matmul").ok_or("the set has no such library")?;
/// const SIDE: &[Parameter] = &[Parameter::new("b", 8, 128).times(2)];
/// let rows = [Row::new("naive", &[]), Row::new("transposed", &[]), Row::new("blocked", SIDE)];
/// let choice = choose_among(("matmul", "matmul.spec"), rows, matmul, Question::new(1, &[300.0]), &|_| true)?;
/// assert_eq!(Some(choice.index), matmul.candidate("blocked"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LibraryModels {
    library: Library,
    pub(super) models: Arc<[Compiled]>,
    pub(super) candidates: Vec<Compiled>,
    /// The function whose root is a parameter, for each candidate that has one.
    roots: Vec<Option<Compiled>>,
    /// The ranges of the parameters of each candidate that are not constant.
    ends: Vec<Vec<Option<Ends>>>,
    /// The box around the ranges of the candidates, a side for each input.
    ranges: Vec<(f64, f64)>,
}

/// The range of an input in which at least one candidate predicts.
///
/// Candidates without a range of the input do not count, unless all are without.
fn box_side(candidates: &[Compiled], input: usize) -> (f64, f64) {
    let ranges = candidates.iter().filter_map(|candidate| candidate.formula.ranges.get(input).copied());
    ranges
        .filter(|(min, max)| min.is_finite() || max.is_finite())
        .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
        .unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
}

impl LibraryModels {
    /// Compiles the candidates of `library` over the models of its set.
    ///
    /// # Errors
    /// As [`ModelSet::resolve`](super::ModelSet::resolve), for this library.
    pub(super) fn new(
        models: &Models,
        library: &Library,
        platform: Option<&Platform>,
    ) -> Result<Self, SetError> {
        let place = format!("library `{}`", library.name);
        check_name(&place, &library.name)?;
        check_names(&place, library.inputs.iter())?;
        check_names(&place, library.candidates.iter().map(|candidate| &candidate.name))?;
        let all = || library.candidates.iter();
        let (mut candidates, mut ends) = (Vec::new(), Vec::new());
        for candidate in all() {
            let own = Ends::of(library, candidate, platform)?;
            candidates.push(compile(models, (library, candidate), &own, platform)?);
            ends.push(own);
        }
        let roots = all().map(|candidate| root(models, library, candidate)).collect::<Result<_, _>>()?;
        let ranges = (0..library.inputs.len()).map(|input| box_side(&candidates, input)).collect();
        if let Some(incumbent) = &library.incumbent {
            let is_one = |one: &&LibraryCandidate| one.name == incumbent.candidate;
            let Some(known) = all().find(is_one) else {
                return content(&place, format!("its incumbent `{}` is no candidate", incumbent.candidate));
            };
            if known.parameters.len() != incumbent.parameters.len() {
                let count = known.parameters.len();
                return content(&place, format!("its incumbent `{}` has {count} parameters", known.name));
            }
        }
        Ok(Self {
            library: library.clone(),
            models: Arc::clone(&models.compiled),
            candidates,
            roots,
            ends,
            ranges,
        })
    }

    /// The library's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.library.name
    }

    /// The names of the inputs.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        &self.library.inputs
    }

    /// Whether an input takes whole numbers only: every model of the set that takes the input
    /// unchanged does or, if there is no such model, the ends of its range are whole.
    #[must_use]
    pub fn takes_whole(&self, set: &ModelSet, name: &str) -> bool {
        let given = self.candidates().iter().filter_map(|candidate| {
            let model = set.model(&candidate.model)?;
            let place = candidate.arguments.iter().position(|argument| argument == name)?;
            Some(model.inputs.get(place)?.integer)
        });
        let given: Vec<bool> = given.collect();
        let ends = || {
            let input = self.inputs().iter().position(|input| input == name)?;
            self.ranges.get(input).map(|(low, high)| low.fract() == 0.0 && high.fract() == 0.0)
        };
        if given.is_empty() { ends().unwrap_or(false) } else { given.into_iter().all(|integer| integer) }
    }

    /// The candidates as the set declares them.
    #[must_use]
    pub fn candidates(&self) -> &[LibraryCandidate] {
        &self.library.candidates
    }

    /// Groups of candidates whose results are the same to the bit.
    #[must_use]
    pub fn equal(&self) -> &[Vec<String>] {
        &self.library.equal
    }

    /// The place of the candidate of this name.
    #[must_use]
    pub fn candidate(&self, name: &str) -> Option<usize> {
        self.library.candidates.iter().position(|candidate| candidate.name == name)
    }

    /// The parameters of a candidate.
    #[must_use]
    pub fn parameters(&self, candidate: usize) -> &[ParameterRange] {
        self.library.candidates.get(candidate).map_or(&[], |candidate| &candidate.parameters)
    }

    /// The formula of a candidate's predictions; its inputs are those of the library, then the
    /// candidate's parameters.
    #[must_use]
    pub fn formula(&self, candidate: usize) -> Option<&Formula> {
        Some(&self.candidates.get(candidate)?.formula)
    }

    /// The ends of a parameter's range, if it is not constant.
    #[must_use]
    pub fn ends(&self, candidate: usize, parameter: usize) -> Option<&Ends> {
        self.ends.get(candidate)?.get(parameter)?.as_ref()
    }

    /// The formula of the function whose root is a parameter of the candidate, if there is one.
    #[must_use]
    pub fn root(&self, candidate: usize) -> Option<&Formula> {
        Some(&self.roots.get(candidate)?.as_ref()?.formula)
    }
}

/// A candidate's verdict is the worst of the models of its time. No method allocates.
impl Source for LibraryModels {
    fn info(&self) -> Info<'_> {
        // Candidates for any number of nodes do not count, unless all candidates are such.
        let nodes = self.candidates.iter().map(|candidate| candidate.formula.nodes);
        let limited = nodes.filter(|nodes| *nodes != Nodes::ANY).map(|nodes| (nodes.min, nodes.max));
        let nodes = limited.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let domain = Domain { nodes: nodes.unwrap_or(Domain::ANY_NODES), inputs: &self.ranges };
        let incumbent = self.library.incumbent.as_ref().and_then(|found| {
            let (candidate, gain) = (self.candidate(&found.candidate)?, found.gain);
            Some(Incumbent { candidate, parameters: Parameters::new(&found.parameters)?, gain })
        });
        Info { incumbent, ..Info::of(domain) }
    }

    fn about(&self, candidate: usize) -> About {
        self.formula(candidate).map_or_else(About::default, |formula| About {
            verdict: formula.verdict,
            expected_ratio: expected_ratio(formula.own_error),
            contrast: formula.contrast,
            corrected_by: formula.correction.as_ref().map(|correction| correction.table.samples),
        })
    }

    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        if inputs.len() != self.library.inputs.len() {
            return None;
        }
        self.candidates.get(candidate)?.seconds(nodes, inputs, parameters)
    }

    fn sign(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        let root = self.roots.get(candidate)?.as_ref()?;
        if inputs.len() != self.library.inputs.len() {
            return None;
        }
        root.value(nodes, inputs, parameters)
    }

    fn range(
        &self,
        candidate: usize,
        parameter: usize,
        nodes: usize,
        cores: usize,
        inputs: &[f64],
    ) -> Option<(i64, i64)> {
        self.ends(candidate, parameter)?.range(nodes, cores, inputs)
    }

    fn predict(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Prediction> {
        if inputs.len() != self.library.inputs.len() {
            return None;
        }
        let mut values = [0.0; MAX_INPUTS];
        let count = inputs.len() + parameters.len();
        let all = inputs.iter().copied().chain(parameters.iter().map(|value| *value as f64));
        for (value, given) in values.get_mut(..count)?.iter_mut().zip(all) {
            *value = given;
        }
        self.candidates.get(candidate)?.predict(&self.models, nodes, values.get(..count)?)
    }
}

/// Up to this value an own error, estimated from some twenty samples, is too uncertain to matter.
const MODEST: f64 = 0.2;

/// The factor from a model's predicted times to the expected ones; see
/// [`Entry::expected_ratio`](strata_select::table::Entry). A modest own error gives 1.
#[must_use]
pub fn expected_ratio(own_error: f64) -> f64 {
    (1.0 + (own_error * own_error - MODEST * MODEST).max(0.0)).sqrt()
}

fn compile(
    models: &Models,
    (library, candidate): (&Library, &LibraryCandidate),
    ends: &[Option<Ends>],
    platform: Option<&Platform>,
) -> Result<Compiled, SetError> {
    let place = format!("library `{}`, candidate `{}`", library.name, candidate.name);
    let names = library.inputs.iter().chain(candidate.parameters.iter().map(|parameter| &parameter.name));
    check_names(&place, names)?;
    if candidate.parameters.len() > MAX_PARAMETERS {
        let count = candidate.parameters.len();
        return content(&place, format!("{count} parameters are too many, {MAX_PARAMETERS} are possible"));
    }
    for parameter in &candidate.parameters {
        let ParameterRange { name, min, max, step, root, .. } = parameter;
        if min > max && parameter.is_constant() {
            return content(&place, format!("the range of `{name}`, {min}..={max}, is empty"));
        }
        if let (Step::Multiply(_), true) = (step, *min < 1) {
            return content(
                &place,
                format!("the range of `{name}` must begin at 1 or above to be multiplied"),
            );
        }
        if root.is_some() && *step != Step::ONE {
            return content(&place, format!("`{name}` is a root, so it has no step"));
        }
    }
    if candidate.parameters.iter().filter(|parameter| parameter.root.is_some()).count() > 1 {
        return content(&place, "only one parameter can be a root".to_owned());
    }
    let arguments = candidate.arguments.iter().map(|text| parse(&place, "the argument", text));
    let kind =
        ExprKind::Call { name: candidate.model.clone(), arguments: arguments.collect::<Result<_, _>>()? };
    let call = Expr::new(kind);
    let mut inliner = Inliner::new(&place, &models.inlined, Nodes::ANY);
    let mean = inliner.inline(&call)?;
    let correction = inliner.take_correction(Some(&candidate.model))?;
    let needs_processes = library.needs_processes(candidate);
    for text in candidate.requires.iter().filter(|text| !(needs_processes && *text == PROCESSES)) {
        let condition = inliner.inline(&parse(&place, "the requirement", text)?)?;
        inliner.check(Check::Require(condition));
    }
    if needs_processes && !platform.is_some_and(Platform::has_processes) {
        inliner.check(Check::Require(Expr::number(0.0)));
    }
    ends.iter().flatten().flat_map(Ends::conditions).for_each(|one| inliner.check(Check::Require(one)));
    let contrast = models.inlined.get(&candidate.model).and_then(|model| model.contrast);
    let formula = formula((library, candidate), mean, call, &mut inliner)?;
    let index = |name: &str| models.index.get(name).copied();
    Compiled::new(Formula { correction, contrast, ..formula }, &place, &index)
}

/// The function whose root is a parameter of the candidate.
fn root(
    models: &Models,
    library: &Library,
    candidate: &LibraryCandidate,
) -> Result<Option<Compiled>, SetError> {
    let place = format!("library `{}`, candidate `{}`", library.name, candidate.name);
    let Some(text) = candidate.parameters.iter().find_map(|parameter| parameter.root.as_ref()) else {
        return Ok(None);
    };
    let mut inliner = Inliner::new(&place, &models.inlined, Nodes::ANY);
    let written = parse(&place, "the root", text)?;
    let mean = inliner.inline(&written)?;
    let formula = formula((library, candidate), mean, written, &mut inliner)?;
    Compiled::new(formula, &place, &|name| models.index.get(name).copied()).map(Some)
}

/// A function of the library's inputs and the candidate's parameters: `mean` is `outer` with its
/// calls inlined.
fn formula(
    (library, candidate): (&Library, &LibraryCandidate),
    mean: Expr,
    outer: Expr,
    inliner: &mut Inliner<'_>,
) -> Result<Formula, SetError> {
    inliner.take_correction(None)?;
    let names = library.inputs.iter().chain(candidate.parameters.iter().map(|parameter| &parameter.name));
    let everything = (f64::NEG_INFINITY, f64::INFINITY);
    let parameters =
        candidate.parameters.iter().map(|parameter| (parameter.min as f64, parameter.max as f64));
    Ok(Formula {
        inputs: names.cloned().collect(),
        ranges: library.inputs.iter().map(|_| everything).chain(parameters).collect(),
        mean,
        correction: None,
        contrast: None,
        outer,
        terms: Vec::new(),
        coefficients: Vec::new(),
        fit: FitSpread::default(),
        nodes: inliner.nodes,
        cost: inliner.cost,
        chain: inliner.chain,
        verdict: inliner.verdict.unwrap_or_default(),
        own_error: inliner.own_error,
        checks: std::mem::take(&mut inliner.checks),
    })
}
