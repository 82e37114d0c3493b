//! From names and texts to a checked spec.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::NamedSource;

use super::ast::File;
use super::check;
use super::checked::{CheckedSpec, SpecFile};
use super::diagnostic::{CheckError, CheckErrors};
use super::expand::expand;
use super::parse::parse;

/// The length limit of a file, which keeps positions and the text of errors cheap.
const MAX_FILE: usize = 16 << 20;

/// Checks one spec.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(name: &str, text: &str) -> Result<CheckedSpec, CheckErrors> {
    load_all(&[(name, text)])
}

/// Checks specs that belong together: each sees the models of all.
///
/// # Errors
/// Everything that is wrong with all of them, by file and place.
pub fn load_all(files: &[(&str, &str)]) -> Result<CheckedSpec, CheckErrors> {
    let work = || load_here(files);
    let thread = std::thread::Builder::new().name("check".to_owned()).stack_size(check::STACK);
    let joined = std::thread::scope(|scope| match thread.spawn_scoped(scope, work) {
        Ok(handle) => handle
            .join()
            .map_err(|_| "the checker failed; please report the spec that made it fail".to_owned()),
        Err(error) => Err(format!("cannot start the checker: {error}")),
    });
    joined.unwrap_or_else(|message| {
        Err(CheckErrors::new(vec![CheckError::of_file(message, "try again with fewer files")]))
    })
}

fn load_here(files: &[(&str, &str)]) -> Result<CheckedSpec, CheckErrors> {
    let mut errors: Vec<(usize, CheckError)> = Vec::new();
    let mut trees: Vec<File> = Vec::new();
    // What a name reads that its reader does not have is told once, where both are known.
    let mut told: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (at, (name, text)) in files.iter().enumerate() {
        let long = too_long(name, text);
        let parsed = parse(if long.is_some() { "" } else { text });
        errors.extend(long.map(|error| (at, error)));
        errors.extend(parsed.errors.into_iter().map(|error| (at, error)));
        let (tree, found) = expand(&parsed.file);
        told.extend(found.iter().flat_map(|error| &error.labels).map(|(span, _)| (at, span.start)));
        errors.extend(found.into_iter().map(|error| (at, error)));
        trees.push(tree);
    }
    let complete = errors.is_empty();
    let sources = files.iter().zip(&trees).map(|((name, text), tree)| SpecFile {
        name: (*name).to_owned(),
        text: Arc::from(*text),
        docs: tree.docs.clone(),
        uses: tree.uses.clone(),
        features: Vec::new(),
        on: Vec::new(),
    });
    let (spec, found) = check::check(sources.collect(), &trees, complete);
    errors.extend(found.into_iter().filter(|(file, error)| !told.contains(&(*file, error.start()))));
    if errors.is_empty() { Ok(spec) } else { Err(sorted(errors, files)) }
}

/// The error for a file that is too long.
pub(super) fn too_long(name: &str, text: &str) -> Option<CheckError> {
    let message = format!("{name} is longer than {} MB", MAX_FILE >> 20);
    (text.len() > MAX_FILE).then(|| CheckError::of_file(message, "split it into several files of one folder"))
}

/// Errors with their sources, by file and place.
pub(super) fn sorted(mut errors: Vec<(usize, CheckError)>, files: &[(&str, &str)]) -> CheckErrors {
    errors.sort_by_key(|(file, error)| (*file, error.start()));
    let sources: Vec<Arc<NamedSource<String>>> = files
        .iter()
        .map(|(name, text)| Arc::new(NamedSource::new(name, text.replace('\u{1b}', "?"))))
        .collect();
    let located = errors.into_iter().map(|(file, error)| match sources.get(file) {
        Some(source) if !error.labels.is_empty() => error.within(source),
        _ => error,
    });
    CheckErrors::new(located.collect())
}

/// Reads a spec file.
///
/// # Errors
/// It cannot be read, or is not UTF-8: the error names the first bad byte's line.
pub fn read_spec(path: &Path) -> Result<String, CheckErrors> {
    let fail = |message: String, help: &str| CheckErrors::new(vec![CheckError::of_file(message, help)]);
    let bytes = std::fs::read(path)
        .map_err(|error| fail(format!("cannot read {}: {error}", path.display()), "is the path right?"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let message = format!("{}, line {line}: byte {at} is not UTF-8", path.display());
        fail(message, "save the file as UTF-8")
    })
}

/// The spec files that a path means: itself, or all `*.spec` files of a folder, by name.
///
/// # Errors
/// The path does not exist, or is a folder without spec files.
pub fn find_specs(path: &Path) -> Result<Vec<PathBuf>, CheckErrors> {
    let fail = |message: String, help: &str| CheckErrors::new(vec![CheckError::of_file(message, help)]);
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| {
        fail(format!("cannot read the folder {}: {error}", path.display()), "is the path right?")
    })?;
    let is_spec =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "spec") && path.is_file();
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_spec).collect();
    found.sort();
    if found.is_empty() {
        return Err(fail(
            format!("the folder {} has no file *.spec", path.display()),
            "name a spec file or its folder",
        ));
    }
    Ok(found)
}

/// Reads and checks spec files and folders of them, together; files are named by their paths as
/// given.
///
/// # Errors
/// As [`find_specs`], [`read_spec`] and [`load_all`].
pub fn load_paths(paths: &[PathBuf]) -> Result<CheckedSpec, CheckErrors> {
    let mut texts = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        match find_specs(path) {
            Ok(files) => {
                for file in files {
                    match read_spec(&file) {
                        Ok(text) => texts.push((file.display().to_string(), text)),
                        Err(error) => errors.extend(error.into_errors()),
                    }
                }
            }
            Err(error) => errors.extend(error.into_errors()),
        }
    }
    if !errors.is_empty() {
        return Err(CheckErrors::new(errors));
    }
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    load_all(&files)
}
