//! The sources of the code that a spec measures, as one hash.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use strata_model::sha256_hex;

use super::dependencies::{HARNESS, RUNTIME};
use super::{EmitError, Measured, Model, ModelKind, Workspace, crates, relative, relative_to};
use crate::lang::plan::CheckedSpec;

/// The hash of the sources that a spec measures: of the package that it belongs to and of the
/// packages in folders that its code names, the manifest, `build.rs` and all of `src`. It changes
/// with any of these files, and with no other, such as dependencies from a registry.
///
/// # Errors
/// Cargo cannot read the workspace, or it has no crate that the spec names.
pub fn code_hash(spec: &CheckedSpec, features: &[String]) -> Result<String, EmitError> {
    let first = spec.files.first().map(|file| PathBuf::from(&file.name)).unwrap_or_default();
    let workspace = Workspace::containing(&first, features)?;
    let paths: Vec<String> =
        spec.files.iter().map(|file| relative(Path::new(&file.name), workspace.root())).collect();
    let measured: Vec<(&Model, &Measured)> = spec
        .models
        .iter()
        .filter_map(|model| match &model.kind {
            ModelKind::Measured(measured) => Some((model, measured)),
            ModelKind::Unmeasured | ModelKind::Factored(_) => None,
        })
        .collect();
    let mut named = crates(spec, &measured, &paths, &workspace)?;
    // They measure, and are measured by no spec but those that say so.
    for own in [RUNTIME, HARNESS] {
        let is_used = |text: &String| super::crate_of_use(text).as_deref() == Some(own);
        if !spec.files.iter().flat_map(|file| &file.uses).any(|used| is_used(&used.text)) {
            named.remove(own);
        }
    }
    let mut folders: BTreeSet<PathBuf> = workspace.folders(&named);
    folders.insert(workspace.folder().to_owned());
    let root = workspace.root();
    let mut lines: Vec<String> = Vec::new();
    for folder in folders {
        let mut files = Vec::new();
        collect(&folder.join("src"), &mut files);
        if !files.is_empty() {
            files.extend(["Cargo.toml", "build.rs"].map(|name| folder.join(name)));
        }
        for file in files {
            // A file that is not there is no source.
            let Ok(bytes) = std::fs::read(&file) else { continue };
            lines.push(format!("{} {}\n", relative_to(&file, root), sha256_hex(&bytes)));
        }
    }
    lines.sort_unstable();
    Ok(sha256_hex(lines.concat().as_bytes()))
}

/// All files in a folder and those within.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, files),
            Ok(_) => files.push(path),
            Err(_) => {}
        }
    }
}
