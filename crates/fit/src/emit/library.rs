//! The table of a library: its candidates with their parameters and times.

use strata_model::Resolved;
use strata_model::codegen::{Scope, snake};
use strata_model::expr::{self, Expr, ExprKind, rust_number};
use strata_model::set::{Library, LibraryCandidate, LibraryModels, ModelSet, SetError};

use super::function::{Functions, Subject};

/// The functions of a library's candidates and the `pub static` table over them.
pub(super) fn table(
    set: &ModelSet,
    resolved: &Resolved,
    library: &Library,
    functions: &Functions,
    digest: &str,
) -> Result<String, SetError> {
    let models = LibraryModels::new(resolved, library)?;
    let prefix = snake(&library.name);
    // Two libraries may differ in case only; the place in the set tells them apart.
    let place = set
        .libraries
        .iter()
        .take_while(|l| l.name != library.name)
        .filter(|l| snake(&l.name) == prefix)
        .count();
    let prefix = if place == 0 { prefix } else { format!("{prefix}_{}", place + 1) };
    let mut scope: Scope = functions.scope.clone();
    let mut code = String::new();
    let mut entries = String::new();
    for (index, candidate) in library.candidates.iter().enumerate() {
        let wanted = format!("{prefix}_{}", snake(&candidate.name));
        let name = scope.claim(&wanted, &["", "_seconds", "_at", "_seconds_at"]);
        let subject = subject(&models, library, candidate, index)?;
        code += &functions.emit(&name, &subject);
        code += &wrapper(&name, "", "Prediction", library, candidate);
        code += &wrapper(&name, "_seconds", "f64", library, candidate);
        let parameters: String = candidate
            .parameters
            .iter()
            .map(|p| format!("Parameter {{ name: {:?}, min: {}, max: {} }}, ", p.name, p.min, p.max))
            .collect();
        entries += &format!(
            "        Entry {{\n            name: {:?},\n            parameters: &[{}],\n            verdict: Verdict::{:?},\n            seconds: {name}_seconds_at,\n            predict: {name}_at,\n        }},\n",
            candidate.name,
            parameters.trim_end_matches(", "),
            models.verdict(index)
        );
    }
    let strings: Vec<String> = library.inputs.iter().map(|i| format!("{i:?}")).collect();
    let ranges: Vec<String> = (0..library.inputs.len()).map(|i| range(&models, library, i)).collect();
    let nodes = (0..library.candidates.len()).filter_map(|c| models.nodes(c)).max().unwrap_or(0);
    let platform = set.platform.as_ref().map_or(String::new(), ToString::to_string);
    code += &format!(
        "/// The candidates of library `{}` over {}.\npub static {}: Table = Table {{\n    library: {:?},\n    platform: {platform:?},\n    digest: {digest:?},\n    inputs: &[{}],\n    ranges: &[{}],\n    nodes: {nodes},\n    entries: &[\n{entries}    ],\n}};\n\n",
        library.name,
        if library.inputs.is_empty() {
            "no inputs".into()
        } else {
            format!("`{}`", library.inputs.join("`, `"))
        },
        prefix.to_ascii_uppercase(),
        library.name,
        strings.join(", "),
        ranges.join(", "),
    );
    Ok(if entries.is_empty() { code.replace("    entries: &[\n    ],", "    entries: &[],") } else { code })
}

/// A candidate as a model: the call of its model with its arguments.
fn subject(
    models: &LibraryModels,
    library: &Library,
    candidate: &LibraryCandidate,
    index: usize,
) -> Result<Subject, SetError> {
    let parse = |text: &String| {
        expr::parse(text).map_err(|e| SetError::Content {
            place: format!("library `{}`, candidate `{}`", library.name, candidate.name),
            message: e.message,
        })
    };
    let arguments = candidate.arguments.iter().map(parse).collect::<Result<_, _>>()?;
    let call = Expr::new(ExprKind::Call { name: candidate.model.clone(), arguments });
    let inputs = library.inputs.iter().chain(candidate.parameters.iter().map(|p| &p.name)).cloned().collect();
    Ok(Subject::candidate(
        inputs,
        models.expression(index).cloned().unwrap_or_else(|| Expr::number(f64::NAN)),
        models.checks(index).unwrap_or_default().to_vec(),
        models.ranges(index).unwrap_or_default().to_vec(),
        models.nodes(index).unwrap_or_default(),
        call,
    ))
}

/// The function that takes inputs and parameters as slices.
fn wrapper(
    name: &str,
    suffix: &str,
    result: &str,
    library: &Library,
    candidate: &LibraryCandidate,
) -> String {
    let slots =
        |letter: char, count: usize| -> Vec<String> { (0..count).map(|i| format!("{letter}{i}")).collect() };
    let (inputs, parameters) = (slots('x', library.inputs.len()), slots('k', candidate.parameters.len()));
    let arguments: String = inputs
        .iter()
        .cloned()
        .chain(parameters.iter().map(|k| format!("{k} as f64")))
        .map(|a| format!(", {a}"))
        .collect();
    format!(
        "fn {name}{suffix}_at(nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<{result}> {{\n    \
         let (&[{}], &[{}]) = (inputs, parameters) else {{ return None }};\n    \
         {name}{suffix}(nodes{arguments})\n}}\n\n",
        inputs.join(", "),
        parameters.join(", ")
    )
}

/// The range of an input in which at least one candidate predicts.
///
/// Candidates that leave the input free do not count, unless all do.
fn range(models: &LibraryModels, library: &Library, input: usize) -> String {
    let of = |c: usize| models.ranges(c).and_then(|r| r.get(input).copied());
    let bounded = (0..library.candidates.len())
        .filter_map(of)
        .filter(|(min, max)| min.is_finite() || max.is_finite())
        .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    let (min, max) = bounded.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    format!("({}, {})", rust_number(min), rust_number(max))
}
