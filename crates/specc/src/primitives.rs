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

/// Of `application` the models on which its models `roots` stand, with each primitive, a measured
/// model that calls no other, as the first of `machines` has it that has it; the platform is that of
/// the first.
///
/// # Errors
/// A primitive that none has, or that has other inputs or another unit there; a root that is itself
/// a primitive.
pub fn over(application: &Named, roots: &[&str], machines: &[Named]) -> Result<ModelSet, String> {
    let (own, set) = application;
    let places = || machines.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(", ");
    let mut all: BTreeMap<String, (Option<usize>, Model)> = BTreeMap::new();
    // Names with the machine whose model calls them; none: the application's.
    let mut open: Vec<(String, Option<usize>)> =
        roots.iter().rev().map(|name| ((*name).to_owned(), None)).collect();
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
            let (path, there) = &machines[at];
            let Some(model) = there.model(&name) else { continue };
            let differs = |other: &&Model| {
                // A name's number is its place in the list of its set.
                let kinds = other.inputs.iter().any(|x| set.kinds.get(&x.name) != there.kinds.get(&x.name));
                kinds || inputs(other) != inputs(model) || other.unit != model.unit
            };
            if let Some(other) = here.filter(differs) {
                return Err(format!(
                    "{path}: `{name}({})` in {} is not `{name}({})` in {} of {own}, or its inputs have \
                     other names: measure both by one spec",
                    inputs(model),
                    model.unit.name(),
                    inputs(other),
                    other.unit.name()
                ));
            }
            model
        };
        match all.get(&name) {
            Some((before, _)) if *before == from => {}
            Some(_) => return Err(format!("{own} and {} each have a model `{name}`: rename one", places())),
            None => {
                open.extend(calls(model).into_iter().map(|called| (called, from)));
                all.insert(name, (from, model.clone()));
            }
        }
    }
    // The others may be of other numbers of nodes.
    let libraries = set.libraries.iter().filter(|library| {
        let mut candidates = library.candidates.iter();
        candidates.all(|candidate| roots.contains(&candidate.model.as_str()))
    });
    Ok(ModelSet {
        libraries: libraries.cloned().collect(),
        models: all.into_values().map(|(_, model)| model).collect(),
        platform: machines.first().and_then(|(_, set)| set.platform.clone()),
        ..set.clone()
    })
}

fn inputs(model: &Model) -> String {
    model.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ")
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
