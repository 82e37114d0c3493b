//! The models that matter at a site. A candidate need not be measured there if its `require` allows
//! no choice on that number of nodes, or if it needs processes and the nodes are not.

use std::collections::BTreeSet;

use strata_model::count;
use strata_model::expr::{Expr, Program, RESERVED, holds, node_values};

use super::Site;
use crate::lang::checked::{Candidate, CheckedSpec, Model, ModelKind, Parameter};
use crate::lang::machine::with_numbers;
use crate::lang::parameter_range::Numbers;

/// The models that a prediction at `site` may need: those of the candidates that can be chosen
/// there, those outside all libraries, and the callees of both. A model whose requirements fail
/// everywhere at `site` is left out.
#[must_use]
pub fn competing(spec: &CheckedSpec, site: impl Into<Site>) -> BTreeSet<&str> {
    let site = site.into();
    let candidates = || spec.libraries.iter().flat_map(|library| &library.candidates);
    let of_libraries = spec.with_callees(candidates().flat_map(|one| spec.models_of(one)).collect());
    let possible = candidates().filter(|candidate| kept_out(candidate, &site).is_none());
    let mut roots: Vec<usize> = possible.flat_map(|one| spec.models_of(one)).collect();
    roots.extend((0..spec.models.len()).filter(|model| !of_libraries.contains(model)));
    let models = spec.with_callees(roots).into_iter().map(|model| &spec.models[model]);
    models.filter(|model| excluded_model(model, &site).is_none()).map(|m| m.name.as_str()).collect()
}

/// The greatest number of nodes that a message proposes.
const MOST_NODES: usize = 65_536;

/// Whether any model is to be measured at `site`.
///
/// # Errors
/// A line for each measured model with the reason for leaving it out, then the least number of
/// nodes at which one is measured, if there is one.
pub fn measurable(spec: &CheckedSpec, site: impl Into<Site>) -> Result<(), String> {
    let site = site.into();
    let measured = || spec.models.iter().filter(|model| matches!(model.kind, ModelKind::Measured(_)));
    let some = |nodes| {
        let needed = competing(spec, site.with_nodes(nodes));
        measured().any(|model| needed.contains(model.name.as_str()))
    };
    if measured().next().is_none() || some(site.nodes()) {
        return Ok(());
    }
    let mut lines: Vec<String> = measured().map(|model| not_measured(spec, &model.name, &site)).collect();
    let powers = std::iter::successors(Some(1_usize), |nodes| Some(nodes * 2));
    let near = (1..=64).chain(powers.skip(7).take_while(|nodes| *nodes <= MOST_NODES));
    lines.push(match near.into_iter().find(|nodes| some(*nodes)) {
        Some(enough) => format!("nothing is left to measure; `--nodes {enough}` would measure some of it"),
        None => "nothing is left to measure: change what the candidates require".to_owned(),
    });
    Err(lines.join("\n"))
}

/// The message that a model is left out at `site`, with the reason.
pub(super) fn not_measured(spec: &CheckedSpec, model: &str, site: &Site) -> String {
    let reasons = not_competing(spec, model, site.clone());
    format!("model {model} is not measured on {}: {reasons}", count(site.nodes(), "node", "nodes"))
}

/// The reason why a model does not matter at `site`, as text: its requirements, or its candidates'.
#[must_use]
pub fn not_competing(spec: &CheckedSpec, model: &str, site: impl Into<Site>) -> String {
    let site = site.into();
    let mut reasons = Vec::new();
    if let Some(require) = spec.model(model).and_then(|model| excluded_model(model, &site)) {
        reasons.push(format!("it requires {require}"));
    }
    for library in &spec.libraries {
        for candidate in &library.candidates {
            let calls = spec.with_callees(spec.models_of(candidate));
            if let Some(reason) = kept_out(candidate, &site)
                && calls.iter().any(|called| spec.models[*called].name == model)
            {
                reasons.push(format!("`{}` of library `{}` {reason}", candidate.name, library.name));
            }
        }
    }
    reasons.join(", ")
}

/// The reason why no problem at `site` can use a candidate, as text to follow its name: a
/// requirement, or a parameter without a value.
fn kept_out(candidate: &Candidate, site: &Site) -> Option<String> {
    let processes = |require: &&Expr| candidate.says_processes(require);
    let missing = candidate.requires.iter().filter(|_| !site.has_processes()).find(processes);
    let number = |name: &str| site.number(name);
    let numbers = candidate.numbers(&number);
    let require = missing.or_else(|| excluded(&candidate.requires, site.nodes(), &numbers));
    let nodes = |name: &str| Some(node_values(site.nodes())[RESERVED.iter().position(|word| *word == name)?]);
    let empty = |parameter: &&Parameter| {
        let (min, max) = parameter.bounds_on(&|name| nodes(name).or_else(|| numbers(name)));
        min > max
    };
    require.map(|require| format!("requires {require}")).or_else(|| {
        let parameter = candidate.parameters.iter().find(empty)?;
        Some(format!("has no value of `{}` in {} here", parameter.name, parameter.range()))
    })
}

/// The first such requirement of a model.
fn excluded_model<'m>(model: &'m Model, site: &Site) -> Option<&'m Expr> {
    let number = |name: &str| if model.is_machine(name) { site.number(name) } else { None };
    excluded(&model.requires, site.nodes(), &number)
}

/// The first requirement that fails for every problem on `nodes` nodes: it reads only the number of
/// nodes and the machine.
fn excluded<'e>(requires: &'e [Expr], nodes: usize, numbers: Numbers<'_>) -> Option<&'e Expr> {
    let fails = |require: &&Expr| {
        // A requirement that reads an input or a parameter does not compile.
        let program = Program::compile(&with_numbers(require, numbers), &RESERVED);
        program.is_ok_and(|program| !holds(program.eval(&node_values(nodes))))
    };
    requires.iter().find(fails)
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

    #[test]
    fn what_needs_processes_does_not_matter_where_nodes_are_threads() {
        let text = "model Put(n) { for n in 1..=9 task { () } }
            model Post(n) { for n in 1..=9 task { () } }
            model Fork(n) { for n in 1..=9 task { () } }
            library send(n) { candidate put = Put(n) candidate post = Post(n) require processes }
            library fork(processes) { candidate fork = Fork(processes) require processes }";
        let spec = crate::lang::load("work.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let on = |transport: &str| {
            let text = format!("{transport} nodes=2 cores=2 cpu=\"\" cache=\"\" os=linux arch=x86_64");
            competing(&spec, text.parse::<strata_model::Platform>().unwrap()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(on("mpi"), ["Fork", "Post", "Put"]);
        for threads in ["threads", "sim:cm5"] {
            assert_eq!(on(threads), ["Fork", "Put"], "an input's name goes before");
        }
        assert_eq!(not_competing(&spec, "Post", 2), "`post` of library `send` requires processes");
    }

    #[test]
    fn a_model_that_holds_nowhere_on_a_number_of_nodes_is_left_out_there() {
        let text = "model Any(n) { for n in 1..=9 task { () } }
            model Even(n) { for n in 1..=9 task { () } require P % 2 == 0 }";
        let spec = crate::lang::load("work.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        assert_eq!(competing(&spec, 3).into_iter().collect::<Vec<_>>(), ["Any"]);
        assert_eq!(competing(&spec, 4).len(), 2);
        assert_eq!(not_competing(&spec, "Even", 3), "it requires P%2==0");
    }

    #[test]
    fn nothing_to_measure_names_the_nodes_that_would_mend_it() {
        let spec = |require: &str| {
            let text = format!(
                "model Many(n) {{ for n in 1..=9 task {{ () }} }}
                 library work(n) {{ candidate many = Many(n) require {require} }}"
            );
            crate::lang::load("work.spec", &text).unwrap_or_else(|e| panic!("{}", e.render(false)))
        };
        let eight = spec("P >= 8");
        assert_eq!(measurable(&eight, 8), Ok(()));
        let fault = measurable(&eight, 2).unwrap_err();
        assert!(fault.starts_with("model Many is not measured on 2 nodes: `many`"), "{fault}");
        assert!(fault.ends_with("`--nodes 8` would measure some of it"), "{fault}");
        assert!(measurable(&spec("P >= 1000"), 2).unwrap_err().contains("`--nodes 1024`"));
        assert!(measurable(&spec("P >= 70_000"), 2).unwrap_err().ends_with("what the candidates require"));
    }
}
