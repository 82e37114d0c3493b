//! The inputs of a model that a choice sets: the parameters of its candidates.

use std::collections::BTreeSet;

use strata_model::Expr;

use crate::lang::checked::{CheckedSpec, ModelKind};

/// The inputs of a model, given by its index in the spec, that are parameters in every candidate
/// that uses it. Empty in the unclear cases: another model calls it, an argument mixes a parameter
/// with inputs, a parameter is a root, or an input is a parameter in one candidate and an input in
/// another.
pub(crate) fn of(spec: &CheckedSpec, model: usize) -> Vec<String> {
    let name = &spec.models[model].name;
    let called = |expr: &Expr| expr.calls().contains(name);
    let factored = |kind: &ModelKind| matches!(kind, ModelKind::Factored(expression) if called(expression));
    let by_models = spec.models.iter().any(|other| {
        factored(&other.kind)
            || other.terms.iter().any(|term| called(&term.value))
            || other.requires.iter().any(called)
    });
    let candidates = || spec.libraries.iter().flat_map(|library| &library.candidates);
    let by_candidates = candidates().any(|candidate| {
        let roots = candidate.parameters.iter().filter_map(|parameter| parameter.root.as_ref());
        candidate.arguments.iter().chain(&candidate.requires).chain(roots).any(called)
    });
    if by_models || by_candidates {
        return Vec::new();
    }
    let (mut chosen, mut given) = (BTreeSet::new(), BTreeSet::new());
    for library in &spec.libraries {
        for candidate in library.candidates.iter().filter(|candidate| candidate.model == model) {
            for (place, argument) in candidate.arguments.iter().enumerate() {
                let names = argument.names();
                let mut parameters = candidate.parameters.iter().filter(|p| names.contains(&p.name));
                let input = library.inputs.iter().any(|input| names.contains(input));
                match parameters.next() {
                    Some(first) => {
                        if input || first.root.is_some() || parameters.any(|p| p.root.is_some()) {
                            return Vec::new();
                        }
                        chosen.insert(place);
                    }
                    None if input => {
                        given.insert(place);
                    }
                    None => {}
                }
            }
        }
    }
    if chosen.intersection(&given).next().is_some() {
        return Vec::new();
    }
    let inputs = spec.models[model].inputs.iter().enumerate();
    inputs.filter(|(place, _)| chosen.contains(place)).map(|(_, input)| input.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn an_input_is_a_parameter_where_candidates_choose_it() {
        let models =
            "model M(n, b, c) { for n in 1..=9 for b in 1..=3 for c in 1..=2 task { } terms n, b, c }";
        let found =
            |rest: &str| of(&crate::lang::load("spec", &format!("{models}\n{rest}")).unwrap(), 0).join(" ");
        let library = |candidates: &str| found(&format!("library l(n) {{ {candidates} }}"));
        assert_eq!(library("candidate a = M(n, b, c) for b in 1..=3, c in 1..=2"), "b c");
        assert_eq!(library("candidate a = M(n, 2^w, 1) for w in 0..=1"), "b");
        assert_eq!(library("candidate a = M(n, b, 1) for b in 1..=3 candidate d = M(n, 2, 1)"), "b");
        assert_eq!(library("candidate a = M(n, b, 1) for b in 1..=3 candidate d = M(2, n, 1)"), "");
        assert_eq!(library("candidate a = M(n/b, b, 1) for b in 1..=3"), "");
        assert_eq!(found(""), "");
        let factored =
            "model F(n) = M(n, 2, 1)+1e-9 library l(n) { candidate a = M(n, b, 1) for b in 1..=3 }";
        assert_eq!(found(factored), "");
    }
}
