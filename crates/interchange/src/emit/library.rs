//! Libraries: a function of the time of each candidate, and one that chooses among them.

use strata_model::Resolved;
use strata_model::codegen::{Scope, one_line, snake};
use strata_model::set::{Library, LibraryCandidate, ModelSet, ParameterRange};
use strata_select::{Domain, Source as _, Step};

use super::plain::PlainModel;

/// As many combinations of parameters as a choice may try.
const MOST: u64 = 100_000;

/// A library with its final names.
pub(super) struct PlainLibrary {
    /// The name in the set.
    pub(super) called: String,
    /// The name that all of its names begin with.
    pub(super) name: String,
    /// The arguments of the function that chooses, after `nodes`.
    pub(super) inputs: Vec<String>,
    /// The least and greatest number of nodes that was measured.
    nodes: (usize, usize),
    /// The least and greatest value of each input that was measured; infinite where unlimited.
    ranges: Vec<(f64, f64)>,
    pub(super) candidates: Vec<PlainCandidate>,
}

/// Moves a variable between the least and the greatest value, where there are such.
pub(super) type Bound<'a> = &'a dyn Fn(&str, Option<String>, Option<String>) -> String;

/// One candidate.
pub(super) struct PlainCandidate {
    /// The name in the set, on one line.
    pub(super) called: String,
    /// The name, unique in its library, in lower case.
    pub(super) name: String,
    /// Its time; its arguments are the library's inputs, then the parameters.
    pub(super) model: PlainModel,
    /// The variables of its parameters, and what they range over.
    pub(super) parameters: Vec<(String, ParameterRange)>,
    /// By what its time is multiplied where candidates compete.
    pub(super) ratio: f64,
    /// Where it is the incumbent: its parameters, and the gain for which it is left.
    pub(super) incumbent: Option<(Vec<i64>, f64)>,
}

impl PlainLibrary {
    /// The number of nodes and the inputs, moved to the nearest that were measured where they are
    /// outside: each variable with `bound(variable, least, greatest)`, of which either may be
    /// missing.
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

    /// How many combinations of parameters a choice tries.
    pub(super) fn combinations(&self) -> u64 {
        let count = |(_, range): &(String, ParameterRange)| Loop::new(range).count();
        let of_one = |candidate: &PlainCandidate| {
            candidate.parameters.iter().map(count).fold(1_u64, u64::saturating_mul)
        };
        self.candidates.iter().map(of_one).fold(0, u64::saturating_add)
    }

    /// The most parameters that a candidate has.
    pub(super) fn parameters(&self) -> usize {
        self.candidates.iter().map(|candidate| candidate.parameters.len()).max().unwrap_or(0)
    }

    /// Why there is no function that chooses, if there is none.
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
    /// `+` or `*`, and by how much.
    pub(super) step: (char, i64),
}

impl Loop {
    /// Parameters are numbers of `f64` in models: beyond its whole numbers there is none.
    const LAST: i64 = 1 << 53;

    pub(super) fn new(range: &ParameterRange) -> Self {
        let last = range.max.min(Self::LAST);
        // Other steps have no second value.
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
        for taken in ["best", "least", "choice", "half_width", "candidate", "parameters", "covered", "asked"]
        {
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
                ratio: models.expected_ratio(place),
                incumbent: (library.incumbent.as_ref())
                    .filter(|one| one.candidate == declared.name)
                    .map(|one| (one.parameters.clone(), one.gain)),
            })
        };
        let candidates: Vec<PlainCandidate> =
            library.candidates.iter().enumerate().filter_map(&mut candidate).collect();
        let Domain { nodes, inputs: ranges } = models.domain();
        let (called, ranges) = (one_line(&library.name), ranges.to_vec());
        Some(PlainLibrary { called, name, inputs, nodes, ranges, candidates })
    };
    set.libraries.iter().filter(|library| !library.candidates.is_empty()).filter_map(one).collect()
}
