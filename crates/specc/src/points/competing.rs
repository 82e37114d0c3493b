//! Which models matter on a number of nodes: a candidate whose `require` allows no choice there
//! need not be measured there.

use std::collections::BTreeSet;

use strata_model::expr::{Expr, Program, RESERVED, holds, node_values};

use crate::lang::plan::{Candidate, CheckedSpec, ModelKind};

/// The models that a prediction on `nodes` nodes may need: those of the candidates that can be
/// chosen there, those that no candidate comes from, and all that these call.
#[must_use]
pub fn competing(spec: &CheckedSpec, nodes: usize) -> BTreeSet<&str> {
    let candidates = || spec.libraries.iter().flat_map(|library| &library.candidates);
    let names = |candidates: Vec<&Candidate>| candidates.iter().map(|one| one.model).collect();
    let of_libraries = with_callees(spec, names(candidates().collect()));
    let mut roots: Vec<usize> =
        names(candidates().filter(|candidate| excluded(candidate, nodes).is_none()).collect());
    roots.extend((0..spec.models.len()).filter(|model| !of_libraries.contains(model)));
    with_callees(spec, roots).into_iter().map(|model| spec.models[model].name.as_str()).collect()
}

/// Why a model does not matter on `nodes` nodes, in words: its candidates and what they require.
#[must_use]
pub fn not_competing(spec: &CheckedSpec, model: &str, nodes: usize) -> String {
    let mut reasons = Vec::new();
    for library in &spec.libraries {
        for candidate in &library.candidates {
            let calls = with_callees(spec, vec![candidate.model]);
            if let Some(require) = excluded(candidate, nodes)
                && calls.iter().any(|called| spec.models[*called].name == model)
            {
                reasons
                    .push(format!("`{}` of library `{}` requires {require}", candidate.name, library.name));
            }
        }
    }
    reasons.join(", ")
}

/// The first requirement of a candidate that no problem on `nodes` nodes fulfils: one that reads
/// nothing but the number of nodes, and does not hold.
fn excluded(candidate: &Candidate, nodes: usize) -> Option<&Expr> {
    let fails = |require: &&Expr| {
        // Does not compile where it reads an input or a parameter.
        let program = Program::compile(require, &RESERVED);
        program.is_ok_and(|program| !holds(program.eval(&node_values(nodes))))
    };
    candidate.requires.iter().find(fails)
}

/// These models and all that they call, directly or not.
fn with_callees(spec: &CheckedSpec, mut open: Vec<usize>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    while let Some(index) = open.pop() {
        if !found.insert(index) {
            continue;
        }
        let model = &spec.models[index];
        let formula = match &model.kind {
            ModelKind::Factored(expression) => Some(expression),
            ModelKind::Measured(_) | ModelKind::Unmeasured => None,
        };
        let all =
            formula.into_iter().chain(model.terms.iter().map(|term| &term.value)).chain(&model.requires);
        let calls = all.flat_map(Expr::calls);
        open.extend(calls.filter_map(|name| spec.models.iter().position(|other| other.name == name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "
        model Few(n) { for n in 1..=9 task { () } }
        model Many(n) { for n in 1..=9 task { () } }
        model Part(n) { for n in 1..=9 task { () } }
        model Both(n) = Part(n) + 2*Many(n)
        model Alone(n) { for n in 1..=9 task { () } }
        library work(n) {
            candidate few = Few(n) require n >= 2
            candidate many = Many(n) require P >= 8
            candidate both = Both(n) require logP >= 4 require n >= 3
        }";

    #[test]
    fn what_cannot_be_chosen_on_a_number_of_nodes_does_not_matter_there() {
        let spec = crate::lang::load("work.spec", SPEC).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let on = |nodes| competing(&spec, nodes).into_iter().collect::<Vec<_>>();
        assert_eq!(on(1), ["Alone", "Few"]);
        assert_eq!(on(8), ["Alone", "Few", "Many"]);
        assert_eq!(on(16), ["Alone", "Both", "Few", "Many", "Part"]);
        let why = not_competing(&spec, "Many", 2);
        assert_eq!(why, "`many` of library `work` requires P>=8, `both` of library `work` requires logP>=4");
        assert_eq!(not_competing(&spec, "Few", 2), "");
    }
}
