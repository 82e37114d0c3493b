//! Requirements and terms with the machine's names replaced by the numbers of its platform.

use std::collections::BTreeSet;

use strata_model::platform::CORES;
use strata_model::set::Named;
use strata_model::{Expr, Platform};

use crate::lang::checked::{Candidate, Model as SpecModel};

/// The number of a machine name, for the fit.
fn word(platform: Option<&Platform>, name: &str) -> Option<Expr> {
    match platform? {
        // Each node has a processor of its own.
        platform if platform.is_simulated() && name == CORES => Some(Expr::name("P")),
        platform => platform.machine(name).map(Expr::number),
    }
}

fn platform_text(platform: Option<&Platform>) -> String {
    platform.map_or("there is none".to_owned(), |platform| format!("`{platform}`"))
}

/// A requirement with numbers for names; `None` if it then always holds.
fn still_required(require: &Expr, number: &dyn Fn(&str) -> Option<Expr>) -> Option<Expr> {
    let here = require.substitute(number);
    let here = if here == *require { here } else { here.folded() };
    (here.as_number() != Some(1.0)).then_some(here)
}

/// The requirements of a model with the numbers of the platform of the samples. If the platform
/// lacks one of the numbers, the result is `None` and a failure is added.
pub(super) fn requires_here(
    model: &SpecModel,
    platform: Option<&Platform>,
    failures: &mut Vec<String>,
) -> Option<Vec<Expr>> {
    let mut unknown = None;
    let read: BTreeSet<String> = model.requires.iter().flat_map(Expr::names).collect();
    for name in read.into_iter().filter(|name| model.is_machine(name)) {
        if word(platform, &name).is_none() {
            unknown = Some(name);
        }
    }
    if let Some(name) = unknown {
        failures.push(format!(
            "model `{}`: its `require` reads `{name}`, which the samples' platform does not tell ({}); a number can \
             stand for it",
            model.name,
            platform_text(platform),
        ));
        return None;
    }
    let number = |name: &str| if model.is_machine(name) { word(platform, name) } else { None };
    Some(model.requires.iter().filter_map(|require| still_required(require, &number)).collect())
}

/// The terms of a model with the numbers of the platform of the samples. Terms that read a number
/// which the platform lacks are left out, with a warning.
pub(super) fn terms_here(
    model: &SpecModel,
    platform: Option<&Platform>,
    warnings: &mut Vec<String>,
) -> Vec<Expr> {
    let machine = |name: &str| model.is_machine(name);
    let value = |name: &str| if machine(name) { word(platform, name) } else { None };
    let mut unknown = BTreeSet::new();
    let mut terms = Vec::new();
    for term in model.terms.iter().map(|term| &term.value) {
        let names = term.names();
        let missing: Vec<&String> = names.iter().filter(|n| machine(n) && value(n).is_none()).collect();
        if !missing.is_empty() {
            unknown.extend(missing.into_iter().map(|name| format!("`{name}`")));
            continue;
        }
        let here = on_machine(term, platform, &value);
        if here.as_number() != Some(0.0) {
            terms.push(here);
        }
    }
    if !unknown.is_empty() {
        warnings.push(format!(
            "model `{}`: its terms that read {} are left out, as the samples' platform does not tell {} ({}); `knee(…)`, \
             whose place is fitted, or a number can stand for it",
            model.name,
            unknown.iter().map(String::as_str).collect::<Vec<_>>().join(" or "),
            if unknown.len() == 1 { "it" } else { "them" },
            platform_text(platform),
        ));
    }
    terms
}

/// An expression with numbers for the machine's names.
fn on_machine(expr: &Expr, platform: Option<&Platform>, value: &dyn Fn(&str) -> Option<Expr>) -> Expr {
    let here = expr.substitute(value);
    // The cost of sharing cores, `max(0, P-cores)`, is zero on a simulated machine.
    let folds = here != *expr && platform.is_some_and(Platform::is_simulated);
    if folds { here.folded() } else { here }
}

/// The names of a model with the numbers of the platform of the samples, as [`terms_here`] has them.
pub(super) fn names_here(model: &SpecModel, platform: Option<&Platform>) -> Vec<Named> {
    let value = |name: &str| if model.is_machine(name) { word(platform, name) } else { None };
    let here = |(name, expr): &(String, Expr)| Named {
        name: name.clone(),
        value: on_machine(expr, platform, &value).to_string(),
    };
    model.names.iter().map(here).collect()
}

/// The requirements of a candidate with the numbers of the platform of the samples. If the platform
/// lacks a number, the requirements never hold, and a warning is added.
pub(super) fn requires_of(
    candidate: &Candidate,
    library: &str,
    platform: Option<&Platform>,
    warnings: &mut Vec<String>,
) -> Vec<Expr> {
    let numbers = |name: &str| if candidate.machine.contains(&name) { word(platform, name) } else { None };
    let ends = candidate.parameters.iter().flat_map(|parameter| [&parameter.first, &parameter.last]);
    let read: BTreeSet<String> =
        candidate.requires.iter().chain(ends.flatten()).flat_map(Expr::names).collect();
    let unknown =
        candidate.machine.iter().find(|word| read.contains(**word) && self::word(platform, word).is_none());
    if let Some(unknown) = unknown {
        warnings.push(format!(
            "`{}` of library `{library}` cannot be chosen: it reads `{unknown}`, which the samples' platform does \
             not tell ({}); a number can stand for it",
            candidate.name,
            platform_text(platform),
        ));
    }
    let kept = |require: &&Expr| unknown.is_none() || candidate.says_processes(require);
    let here = candidate.requires.iter().filter(kept).filter_map(|require| still_required(require, &numbers));
    here.chain(unknown.map(|_| Expr::number(0.0))).collect()
}
