//! From trees to a plan: everything that can be wrong with a spec beyond its grammar.
//!
//! All errors of all files are collected; an error that only follows from another one is not
//! reported. What passes can always be generated: every name is resolved, every expression
//! compiles, every piece of Rust parses.

mod calls;
mod kinds;
mod library;
mod loops;
mod machines;
mod model;
mod names;
mod options;
mod parts;
mod range;
mod rust;
mod sampling;
mod size;

use std::collections::{BTreeMap, BTreeSet};

use strata_model::Kinds;
use strata_model::expr::{Expr, Span};

pub(super) use self::names::{duplicate, name_uses, value_name};
pub(super) use self::range::bounds_of;
pub(super) use self::size::Size;

use self::calls::{Models, Signature};
use self::sampling::Effort;
use super::ast::{File, Item, Library, Name, SharedValue};
use super::checked::{CheckedSpec, Model, SpecFile};
use super::diagnostic::{CheckError, ErrorCode};

/// The stack that the Rust parser needs for the longest code that is let through to it.
pub(super) const STACK: usize = 256 << 20;

/// The names of a model: those that its file shares, and its own.
fn named(file: &File, own: Vec<(String, Expr)>) -> Vec<(String, Expr)> {
    let shared = file.items.iter().filter_map(|item| match item {
        Item::Let(SharedValue { name, value, .. }) => Some((name.text.clone(), value.clone())),
        _ => None,
    });
    shared.chain(own).filter(|(_, value)| value.as_number().is_none() && value.as_name().is_none()).collect()
}

/// Checks files that were loaded together. Errors come with the index of their file.
///
/// `complete` says whether all files could be read completely. Runs deep into the stack: see
/// [`STACK`].
pub(super) fn check(
    mut files: Vec<SpecFile>,
    trees: &[File],
    complete: bool,
) -> (CheckedSpec, Vec<(usize, CheckError)>) {
    let mut errors: Vec<(usize, CheckError)> = Vec::new();
    let (mut models, mut libraries) =
        (Models { by_name: BTreeMap::new(), all: Vec::new(), complete, twice: None }, Vec::new());
    let mut library_names = BTreeMap::new();
    for (file, tree) in trees.iter().enumerate() {
        errors.extend(tree.uses.iter().filter_map(rust::check_use).map(|error| (file, error)));
        for item in &tree.items {
            match item {
                Item::Model(model) => {
                    if let Some(&first) = models.by_name.get(model.name.text.as_str()) {
                        let first: &Signature<'_> = &models.all[first];
                        errors.push((
                            file,
                            twice("the model", &model.name, &first.model.name, file, first.file, &files),
                        ));
                        models.twice = models.twice.or(Some(&model.name.text));
                    } else {
                        models.by_name.insert(&model.name.text, models.all.len());
                    }
                    models.all.push(Signature { model, file });
                }
                Item::Library(library) => {
                    if let Some(&(first, first_file)) = library_names.get(library.name.text.as_str()) {
                        let first: &Library = first;
                        errors.push((
                            file,
                            twice("the library", &library.name, &first.name, file, first_file, &files),
                        ));
                    } else {
                        library_names.insert(library.name.text.as_str(), (library, file));
                    }
                    libraries.push((library, file));
                }
                Item::Features(line) => {
                    let found = names::duplicates("the feature", &line.features);
                    errors.extend(found.into_iter().map(|error| (file, error)));
                    files[file].features.extend(line.features.iter().cloned());
                }
                // Machines are a matter of the file; what names stand for is written out.
                Item::On(_) | Item::Let(_) | Item::Terms(_) => {}
            }
        }
    }
    errors.extend(machines::check(&mut files, trees));
    let (order, circles) = calls::order(&models);
    errors.extend(circles);
    errors.extend(calls::too_large(&models, &order));
    let competing = calls::competing(&models, libraries.iter().map(|(library, _)| *library));
    let mut effort = Effort::new();
    let mut spec =
        CheckedSpec { files, models: Vec::new(), libraries: Vec::new(), kinds: Kinds::new(), order };
    let headers = (models.all.iter().map(|one| kinds::Header::of_model(one.model, one.file)))
        .chain(libraries.iter().map(|(library, file)| kinds::Header::of_library(library, *file)));
    let of_kinds = kinds::check(headers, &models, &mut spec.kinds);
    let unknown: BTreeSet<(usize, usize)> = (of_kinds.iter())
        .filter(|(_, error)| error.code == ErrorCode::UnknownName)
        .map(|(file, error)| (*file, error.start()))
        .collect();
    errors.extend(of_kinds);
    let is_told = |file: usize, error: &CheckError| {
        error.code == ErrorCode::UnknownName && unknown.contains(&(file, error.start()))
    };
    let mut told = Told::default();
    for (index, signature) in models.all.iter().enumerate() {
        let competes = competing.contains(&index);
        let (plan, found) = model::check(signature.model, signature.file, &models, competes, &mut effort);
        let plan = plan.map(|plan| Model { names: named(&trees[signature.file], plan.names), ..plan });
        spec.models.extend(plan);
        let found = told.once(signature.file, signature.model.span, found);
        errors.extend(found.into_iter().filter(|(file, error)| !is_told(*file, error)));
    }
    for (library, file) in libraries {
        let (plan, found) = library::check(library, file, &models, &spec.models);
        spec.libraries.push(plan);
        let found = told.once(file, library.span, found);
        errors.extend(found.into_iter().filter(|(file, error)| !is_told(*file, error)));
    }
    (spec, errors)
}

/// What has been told of the members of a family, whose errors stand at the same places.
#[derive(Default)]
struct Told {
    family: Option<(usize, Span)>,
    errors: BTreeSet<(ErrorCode, usize)>,
}

impl Told {
    /// The errors of one member that no member before it had.
    fn once(&mut self, file: usize, span: Span, found: Vec<CheckError>) -> Vec<(usize, CheckError)> {
        if self.family != Some((file, span)) {
            *self = Self { family: Some((file, span)), errors: BTreeSet::new() };
        }
        let mut errors = Vec::new();
        let before = self.errors.clone();
        for error in found {
            let place = (error.code, error.start());
            self.errors.insert(place);
            if !before.contains(&place) {
                errors.push((file, error));
            }
        }
        errors
    }
}

fn twice(
    what: &str,
    name: &Name,
    first: &Name,
    file: usize,
    first_file: usize,
    files: &[SpecFile],
) -> CheckError {
    if file == first_file {
        return names::duplicate(what, name, Some(first.span));
    }
    let error = names::duplicate(what, name, None);
    match files.get(first_file) {
        Some(other) => error.help(format!(
            "the first stands in {}, line {}",
            other.name,
            other.position(first.span.start).0
        )),
        None => error,
    }
}
