//! The models of an application over the primitives of another machine (Brewer 1994, §8.1.1).
//!
//! A factored model counts the primitives that a program uses, so it holds wherever these were
//! measured. A hybrid one keeps its coefficients, which are of the machine on which the application
//! was measured: §8.1.3 leaves them at the values of "some calibrated platform".

use std::collections::BTreeMap;

use strata_model::expr::parse;
use strata_model::set::{Kind, Model};
use strata_model::{ModelSet, did_you_mean};

/// A set of models, with what messages call it.
pub type Named = (String, ModelSet);

/// `application` with each primitive on which the models `roots` stand, a measured model that calls
/// no other, as the first of `machines` has it that has it; the platform is that of the first.
///
/// # Errors
/// A primitive that none has, or that has other inputs or another unit there; a root that is itself
/// a primitive.
pub fn over(application: &Named, roots: &[&str], machines: &[Named]) -> Result<ModelSet, String> {
    let (own, set) = application;
    let places = || machines.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(", ");
    let mut all: BTreeMap<String, Model> =
        set.models.iter().map(|model| (model.name.clone(), model.clone())).collect();
    // Names with the machine whose model calls them; none: the application's.
    let mut open: Vec<(String, Option<usize>)> =
        roots.iter().rev().map(|name| ((*name).to_owned(), None)).collect();
    let mut seen: BTreeMap<String, Option<usize>> = BTreeMap::new();
    while let Some((name, caller)) = open.pop() {
        let here = set.model(&name);
        let composed =
            |model: &&Model| matches!(model.kind, Kind::Factored { .. }) || !calls(model).is_empty();
        let mut from = None;
        let model = if let Some(model) = here.filter(composed).filter(|_| caller.is_none()) {
            model
        } else if roots.contains(&name.as_str()) {
            return Err(format!(
                "{own}: `{name}` stands on no other model, so nothing of it is of {}",
                places()
            ));
        } else {
            let has =
                |at: &usize| machines[*at].1.model(&name).is_some_and(|model| model.kind != Kind::Unmeasured);
            let at = caller.into_iter().chain(0..machines.len()).find(has).ok_or_else(|| {
                let names = machines.iter().flat_map(|(_, set)| &set.models).map(|model| model.name.as_str());
                format!(
                    "{}: no measured model `{name}`{}, on which `{}` of {own} stands: measure the specs of its \
                     primitives there, or name a further set by `--models`",
                    places(),
                    did_you_mean(&name, names),
                    roots.join("`, `")
                )
            })?;
            from = Some(at);
            let (path, set) = &machines[at];
            let Some(model) = set.model(&name) else { continue };
            if let Some(other) = here.filter(|other| !alike(other, model)) {
                return Err(format!(
                    "{path}: `{name}({})` in {} is not `{name}({})` in {} of {own}: measure both by one spec",
                    inputs(model),
                    model.unit.name(),
                    inputs(other),
                    other.unit.name()
                ));
            }
            model
        };
        if let Some(before) = seen.get(&name) {
            if *before != from {
                return Err(format!("{own} and {} each have a model `{name}`: rename one", places()));
            }
            continue;
        }
        seen.insert(name.clone(), from);
        open.extend(calls(model).into_iter().map(|called| (called, from)));
        all.insert(name, model.clone());
    }
    let mut models: Vec<Model> = set.models.iter().filter_map(|model| all.remove(&model.name)).collect();
    models.extend(all.into_values());
    let platform = machines.first().and_then(|(_, set)| set.platform.clone());
    Ok(ModelSet { models, platform, ..set.clone() })
}

fn inputs(model: &Model) -> String {
    model.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn alike(one: &Model, other: &Model) -> bool {
    inputs(one) == inputs(other) && one.unit == other.unit
}

/// The names of the models that a model calls; a text that is none calls none: it is refused later.
fn calls(model: &Model) -> Vec<String> {
    let expression = match &model.kind {
        Kind::Factored { expression } => Some(expression.as_str()),
        _ => None,
    };
    let terms = model.terms.iter().filter(|term| term.relevant).map(|term| term.term.as_str());
    let texts = terms.chain(expression).chain(model.requires.iter().map(String::as_str));
    texts.filter_map(|text| parse(text).ok()).flat_map(|expr| expr.calls()).collect()
}
