//! Models of copies of this machine, from the file that `STRATA_MODELS` names or from the user's
//! cache folder, where `specc calibrate specs/copy --install` puts them.

use std::path::{Path, PathBuf};
use std::sync::Once;

use strata_copy::{FromFile, LIBRARIES, install_from_file};
use strata_model::{ModelSet, Platform, installed_models};
use strata_select::say;

/// Lets copies of this process choose by models of this machine where there are some. Once: what a
/// file holds later counts in the next process.
///
/// A copy cannot fail, so that models of another machine, or a file that cannot be read, are said
/// on standard error and left out. Choices of copies are a node's own: nodes may have other files.
pub(crate) fn read_models(named: Option<&str>, here: &Platform) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (found, notes) = find(named.map(Path::new), here, &|library| {
            // Copies of one node, and exchanges of two.
            let nodes = if library.starts_with("copy_exchange") { 2 } else { 1 };
            let on = Platform { transport: "threads".to_owned(), nodes, ..here.clone() };
            installed_models(&on, library)
        });
        notes.iter().for_each(|note| say!("strata: {note}"));
        if found.iter().any(Option::is_some) {
            // A program that has installed models itself goes on with those.
            let _ = install_from_file(found);
        }
    });
}

/// What the named file has of the libraries of copies, else what is installed; and what was left
/// out, and why.
fn find(
    named: Option<&Path>,
    here: &Platform,
    installed: &dyn Fn(&str) -> Option<PathBuf>,
) -> ([Option<FromFile>; LIBRARIES.len()], Vec<String>) {
    let mut notes = Vec::new();
    let mut note = |path: &Path, reason: String| {
        let text = format!("{}: {reason}; copies are chosen without these models", path.display());
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    let set = named.and_then(|path| read(path).map_err(|reason| note(path, reason)).ok());
    let found = LIBRARIES.map(|library| {
        let take = |set: &ModelSet, path: &Path, note: &mut dyn FnMut(&Path, String)| {
            of(set, library, here).map_err(|reason| note(path, reason)).ok().flatten()
        };
        if let (Some(set), Some(path)) = (&set, named)
            && let Some(models) = take(set, path, &mut note)
        {
            return Some(models);
        }
        let path = installed(library)?;
        match read(&path) {
            Ok(set) => take(&set, &path, &mut note),
            Err(reason) => {
                note(&path, reason);
                None
            }
        }
    });
    (found, notes)
}

fn read(path: &Path) -> Result<ModelSet, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    ModelSet::read(&text).map_err(|error| error.to_string())
}

/// The models of a library of copies, if the set has it and is of this machine.
fn of(set: &ModelSet, library: &str, here: &Platform) -> Result<Option<FromFile>, String> {
    if set.library(library).is_none() {
        return Ok(None);
    }
    if let Some(platform) = &set.platform {
        let (transport, nodes) = (here.transport.clone(), here.nodes);
        let there = Platform { transport, nodes, ..platform.clone() };
        if let Some(difference) = there.difference(here) {
            return Err(format!("its models of copies are of another machine: {difference}"));
        }
    }
    let resolved = set.resolve().map_err(|error| error.to_string())?;
    Ok(resolved.library(library).map(|models| FromFile {
        candidates: models.candidates().iter().map(|candidate| candidate.name.clone()).collect(),
        inputs: models.inputs().len(),
        models: Box::new(models.clone()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPIES: &str = include_str!("../../../models/epyc-2core-threads1/copy/models.toml");
    const EXCHANGES: &str = include_str!("../../../models/epyc-2core-threads2/copy-exchange/models.toml");

    const BLOCKS: &str = include_str!("../../../models/epyc-2core-threads1/copy-strided/models.toml");

    fn there() -> Platform {
        let platform = ModelSet::read(COPIES).unwrap().platform.unwrap();
        // Whatever the nodes of the job are.
        Platform { transport: "mpi".to_owned(), nodes: 5, ..platform }
    }

    #[test]
    fn a_named_file_goes_before_what_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let [copies, exchanges] = ["copies.toml", "exchanges.toml"].map(|name| folder.path().join(name));
        std::fs::write(&copies, COPIES).unwrap();
        std::fs::write(&exchanges, EXCHANGES).unwrap();
        let of_situations = |known: std::ops::Range<usize>| std::array::from_fn(|at| known.contains(&at));
        let none: &dyn Fn(&str) -> Option<PathBuf> = &|_| None;
        let known = |found: &[Option<FromFile>; LIBRARIES.len()]| found.each_ref().map(Option::is_some);

        let (found, notes) = find(Some(&copies), &there(), none);
        assert_eq!((known(&found), notes.len()), (of_situations(0..4), 0));
        let hot = found[0].as_ref().unwrap();
        assert_eq!(hot.inputs, 2);
        assert!(hot.candidates.contains(&"memcpy".to_owned()) && hot.candidates.len() > 2);
        assert!(hot.models.predict(0, 1, &[100_000.0, 0.0], &[]).is_some());

        // What the named file lacks is taken from what is installed.
        let installed = |library: &str| library.starts_with("copy_exchange").then(|| exchanges.clone());
        let (found, notes) = find(Some(&copies), &there(), &installed);
        assert_eq!((known(&found), notes.len()), (of_situations(0..6), 0));
        assert_eq!(found[4].as_ref().unwrap().inputs, 1);
        let (found, _) = find(None, &there(), &installed);
        assert_eq!(known(&found), of_situations(4..6));
        // Movers of blocks, as routines.
        let blocks = folder.path().join("blocks.toml");
        std::fs::write(&blocks, BLOCKS).unwrap();
        assert_eq!(known(&find(Some(&blocks), &there(), none).0), of_situations(6..10));
    }

    #[test]
    fn what_does_not_fit_is_left_out_with_a_word() {
        let folder = tempfile::tempdir().unwrap();
        let copies = folder.path().join("copies.toml");
        std::fs::write(&copies, COPIES).unwrap();
        let other = Platform { cpu: "another".to_owned(), ..there() };
        let (found, notes) = find(Some(&copies), &other, &|_| None);
        assert!(found.iter().all(Option::is_none));
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("the processor differs"), "{notes:?}");

        let (found, notes) = find(Some(&folder.path().join("nothing.toml")), &there(), &|_| None);
        assert!(found.iter().all(Option::is_none) && notes.len() == 1, "{notes:?}");
        std::fs::write(&copies, "no model set").unwrap();
        let (found, notes) = find(None, &there(), &|_| Some(copies.clone()));
        assert!(found.iter().all(Option::is_none) && notes.len() == 1, "{notes:?}");
    }
}
