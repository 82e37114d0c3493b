//! Libraries: a function of each candidate's time, and one that chooses among the candidates.

use strata_model::Resolved;
use strata_model::codegen::{Scope, one_line, snake};
use strata_model::set::{Library, LibraryCandidate, ModelSet, ParameterRange};
use strata_select::{
    Source as _,
    table::{Domain, Step},
};

use super::plain::PlainModel;

/// The most combinations of parameters that a choice may try.
const MOST: u64 = 100_000;

/// A library with its final names.
pub(super) struct PlainLibrary {
    /// The name in the set.
    pub(super) called: String,
    /// The common prefix of its names.
    pub(super) name: String,
    /// The arguments of the function that chooses, after `nodes`.
    pub(super) inputs: Vec<String>,
    /// Their names in the set.
    pub(super) of: Vec<String>,
    /// Whether each takes whole numbers only.
    pub(super) whole: Vec<bool>,
    /// The least and the greatest measured number of nodes.
    pub(super) nodes: (usize, usize),
    /// The least and the greatest measured value of each input; infinite where unlimited.
    pub(super) ranges: Vec<(f64, f64)>,
    pub(super) candidates: Vec<PlainCandidate>,
}

/// Moves a variable between the least and the greatest value, where they exist.
pub(super) type Bound<'a> = &'a dyn Fn(&str, Option<String>, Option<String>) -> String;

pub(super) struct PlainCandidate {
    /// The name in the set, on one line.
    pub(super) called: String,
    /// The name, unique in its library, in lower case.
    pub(super) name: String,
    /// The model of its time; the arguments are the library's inputs, then the parameters.
    pub(super) model: PlainModel,
    /// The variables of its parameters, and their ranges.
    pub(super) parameters: Vec<(String, ParameterRange)>,
    /// The factor from the predicted to the expected time.
    pub(super) ratio: f64,
    /// The parameters and the gain for which it is left, if it is the incumbent.
    pub(super) incumbent: Option<(Vec<i64>, f64)>,
}

impl PlainLibrary {
    /// The number of nodes and the inputs, moved to the nearest measured values: each variable with
    /// `bound(variable, least, greatest)`, of which either limit may be missing.
    pub(super) fn nearest(&self, bound: Bound<'_>) -> Vec<(String, String)> {
        let (least, greatest) = self.nodes;
        let most = (greatest <= u32::MAX as usize).then(|| greatest.to_string());
        let number = |value: f64| value.is_finite().then(|| format!("{value:?}"));
        let nodes = ("nodes".to_owned(), bound("nodes", Some(least.to_string()), most));
        let inputs = self.inputs.iter().zip(&self.ranges);
        let inputs = inputs.map(|(input, (least, greatest))| {
            (input.clone(), bound(input, number(*least), number(*greatest)))
        });
        std::iter::once(nodes).chain(inputs).collect()
    }

    pub(super) fn combinations(&self) -> u64 {
        let count = |(_, range): &(String, ParameterRange)| Loop::new(range).count();
        let of_one = |candidate: &PlainCandidate| {
            candidate.parameters.iter().map(count).fold(1_u64, u64::saturating_mul)
        };
        self.candidates.iter().map(of_one).fold(0, u64::saturating_add)
    }

    /// The variables of all parameters; candidates share those of one name.
    pub(super) fn parameters(&self) -> Vec<&str> {
        let all = self.candidates.iter().flat_map(|candidate| &candidate.parameters);
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in all {
            if !names.contains(&&**name) {
                names.push(name);
            }
        }
        names
    }

    /// Why no choosing function can be emitted, if so.
    pub(super) fn refused(&self) -> Option<String> {
        let root = |(name, range): &(String, ParameterRange)| range.root.is_some().then(|| name.clone());
        if let Some(name) = self.candidates.iter().flat_map(|one| &one.parameters).find_map(root) {
            let called = &self.called;
            return Some(format!(
                "There is no choice for library `{called}`: `{name}` is a root, which only Rust searches."
            ));
        }
        let many = self.combinations();
        (many > MOST).then(|| {
            format!(
                "There is no choice for library `{}`: its candidates have {many} combinations of parameters, and {MOST} \
                 are tried at most.",
                self.called
            )
        })
    }
}

impl PlainCandidate {
    /// The arguments of its functions: the inputs, then the parameters as `spell` writes them.
    pub(super) fn arguments(&self, inputs: &[String], spell: &dyn Fn(usize, &str) -> String) -> Vec<String> {
        let parameters = self.parameters.iter().enumerate().map(|(k, (name, _))| spell(k, name));
        inputs.iter().cloned().chain(parameters).collect()
    }
}

/// The values of a parameter, as a loop runs over them.
pub(super) struct Loop {
    pub(super) first: i64,
    pub(super) last: i64,
    /// `+` or `*`, and the amount.
    pub(super) step: (char, i64),
}

impl Loop {
    /// Parameters are `f64` numbers in models; this is the greatest of its consecutive whole
    /// numbers.
    const LAST: i64 = 1 << 53;

    pub(super) fn new(range: &ParameterRange) -> Self {
        let last = range.max.min(Self::LAST);
        // A step that yields no second value becomes one beyond the last.
        let once = ('+', (last - range.min.max(-Self::LAST)).max(0) + 1);
        let step = match range.step {
            Step::Add(by) if (1..=Self::LAST).contains(&by) => ('+', by),
            Step::Multiply(by) if (2..=512).contains(&by) && range.min >= 1 => ('*', by),
            _ => once,
        };
        Self { first: range.min.max(-Self::LAST), last, step }
    }

    fn count(&self) -> u64 {
        let (first, last) = (self.first as f64, self.last as f64);
        let steps = match self.step {
            _ if self.first > self.last => return 0,
            ('+', by) => (last - first) / by as f64,
            (_, by) => (last / first).log2() / (by as f64).log2(),
        };
        steps as u64 + 1
    }
}

/// The libraries of a set that have candidates.
pub(super) fn libraries(set: &ModelSet, resolved: &Resolved, scope: &mut Scope) -> Vec<PlainLibrary> {
    let one = |library: &Library| {
        let models = resolved.library(&library.name)?;
        let name = scope.claim(&snake(&library.name), &["_choice", "_candidate", "_choose", "_name"]);
        let mut locals = scope.clone();
        let own = ["best", "least", "choice", "half_width", "candidate", "parameters", "covered", "asked"];
        for taken in own {
            locals.claim(taken, &[""]);
        }
        let inputs = library.inputs.iter().map(|input| locals.claim(&snake(input), &[""])).collect();
        let mut names = Scope::default();
        let mut candidate = |(place, declared): (usize, &LibraryCandidate)| {
            let mut locals = locals.clone();
            let formula = models.formula(place)?.clone();
            let own = names.claim(&snake(&declared.name), &[""]);
            let doc = [
                format!("The time of candidate {} of library {}", declared.name, library.name),
                format!("what model {} is valid for", declared.model),
            ];
            let function = PlainModel::claim(&format!("{name}_{own}"), &formula, scope);
            let model = PlainModel::new(function, doc, formula, scope);
            let parameters = declared.parameters.iter();
            Some(PlainCandidate {
                called: one_line(&declared.name),
                name: own,
                model,
                parameters: parameters
                    .map(|range| (locals.claim(&snake(&range.name), &[""]), range.clone()))
                    .collect(),
                ratio: models.about(place).expected_ratio,
                incumbent: (library.incumbent.as_ref())
                    .filter(|one| one.candidate == declared.name)
                    .map(|one| (one.parameters.clone(), one.gain)),
            })
        };
        let candidates: Vec<PlainCandidate> =
            library.candidates.iter().enumerate().filter_map(&mut candidate).collect();
        let Domain { nodes, inputs: ranges } = models.info().domain;
        let (called, ranges) = (one_line(&library.name), ranges.to_vec());
        let whole = library.inputs.iter().map(|input| models.takes_whole(set, input)).collect();
        let of = library.inputs.clone();
        Some(PlainLibrary { called, name, inputs, of, whole, nodes, ranges, candidates })
    };
    set.libraries.iter().filter(|library| !library.candidates.is_empty()).filter_map(one).collect()
}
