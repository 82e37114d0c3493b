//! The table of a library: its candidates with their parameters and times.

use strata_model::codegen::{Scope, snake};
use strata_model::expr::rust_number;
use strata_model::set::{Formula, Library, LibraryCandidate, LibraryModels, ModelSet, SetError};

use super::function::{Functions, Subject};
use super::typed;
use strata_select::{Domain, Source as _, Step};

/// The functions of a library's candidates and the `pub static` table over them.
pub(super) fn table(
    set: &ModelSet,
    (library, models): (&Library, &LibraryModels),
    functions: &Functions<'_>,
    digest: &str,
) -> Result<String, SetError> {
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
        let called = match (models.formula(index), functions.of(&candidate.model)) {
            (Some(formula), Some((function, model))) if same(formula, model) => function,
            (Some(formula), _) => {
                code += &functions.emit(&name, &Subject::candidate(formula));
                &name
            }
            (None, _) => &name,
        };
        for (suffix, result) in [("", "Prediction"), ("_seconds", "f64")] {
            code += &wrapper(
                (&format!("{name}{suffix}"), &format!("{called}{suffix}")),
                result,
                library,
                candidate,
            );
        }
        let root = models.root(index).map(|formula| {
            let root = scope.claim(&format!("{name}_root"), &["", "_at"]);
            code += &Functions::signed(&root, &Subject::candidate(formula));
            code += &wrapper((&root, &root), "f64", library, candidate);
            format!(".root(Root({root}_at))")
        });
        let parameters: String = candidate
            .parameters
            .iter()
            .map(|p| {
                let step = match p.step {
                    Step::ONE => String::new(),
                    Step::Add(by) => format!(".plus({by})"),
                    Step::Multiply(by) => format!(".times({by})"),
                };
                let root = root.as_deref().filter(|_| p.root.is_some()).unwrap_or_default();
                format!("Parameter::new({:?}, {}, {}){step}{root}, ", p.name, p.min, p.max)
            })
            .collect();
        entries += &format!(
            "        Entry {{\n            name: {:?},\n            parameters: &[{}],\n            verdict: Verdict::{:?},\n            expected_ratio: {:?},\n            seconds: {name}_seconds_at,\n            predict: {name}_at,\n        }},\n",
            candidate.name,
            parameters.trim_end_matches(", "),
            models.verdict(index),
            models.expected_ratio(index)
        );
    }
    let strings: Vec<String> = library.inputs.iter().map(|i| format!("{i:?}")).collect();
    let domain = models.domain();
    let ranges =
        domain.inputs.iter().map(|(min, max)| format!("({}, {})", rust_number(*min), rust_number(*max)));
    let nodes = match domain.nodes {
        Domain::ANY_NODES => "Domain::ANY_NODES".into(),
        (min, max) => format!("({min}, {max})"),
    };
    let platform = set.platform.as_ref().map_or(String::new(), ToString::to_string);
    code += &format!(
        "/// The candidates of library `{}` over {}.\npub static {}: Table = Table {{\n    library: {:?},\n    spec: {:?},\n    platform: {platform:?},\n    digest: {digest:?},\n    inputs: &[{}],\n    domain: Domain {{ nodes: {nodes}, inputs: &[{}] }},\n    entries: &[\n{entries}    ],\n}};\n\n",
        library.name,
        if library.inputs.is_empty() {
            "no inputs".into()
        } else {
            format!("`{}`", library.inputs.join("`, `"))
        },
        prefix.to_ascii_uppercase(),
        library.name,
        set.spec.as_ref().map_or("", |spec| &spec.path),
        strings.join(", "),
        ranges.collect::<Vec<_>>().join(", "),
    );
    code += &typed::library(set, library, &prefix.to_ascii_uppercase())?;
    Ok(if entries.is_empty() { code.replace("    entries: &[\n    ],", "    entries: &[],") } else { code })
}

/// Whether two formulas compute the same of arguments in the same order.
fn same(a: &Formula, b: &Formula) -> bool {
    (&a.inputs, &a.ranges, &a.mean, &a.checks, a.nodes) == (&b.inputs, &b.ranges, &b.mean, &b.checks, b.nodes)
}

/// The function that takes inputs and parameters as slices, and the one that it calls.
fn wrapper(
    (name, called): (&str, &str),
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
        "fn {name}_at(nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<{result}> {{\n    \
         let (&[{}], &[{}]) = (inputs, parameters) else {{ return None }};\n    \
         {called}(nodes{arguments})\n}}\n\n",
        inputs.join(", "),
        parameters.join(", ")
    )
}
