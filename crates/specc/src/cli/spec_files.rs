//! Loading spec files, and the commands that need only these: `check` and `emit --expand`.

use std::path::PathBuf;

use serde_json::json;
use strata_fit::emit::renamed as renamed_in_rust;
use strata_model::{count, write_atomically};
use strata_screen::{Failure, print, tell};

use crate::lang::checked::Library;
use crate::lang::{self, CheckErrors, CheckedSpec};

impl From<CheckErrors> for Failure {
    fn from(errors: CheckErrors) -> Self {
        Self::Fault(errors.render_for_terminal())
    }
}

/// Reads and checks spec files, and folders of them, together.
pub(super) fn load(paths: &[PathBuf]) -> Result<CheckedSpec, Failure> {
    let spec = lang::load_paths(paths)?;
    renamed(&spec).iter().for_each(|warning| tell!("warning: {warning}"));
    Ok(spec)
}

/// A message for each library and candidate that cannot have its own name in Rust.
fn renamed(spec: &CheckedSpec) -> Vec<String> {
    let told = |file: usize, at: usize, (name, claimed): (&str, String)| {
        let file = &spec.files[file];
        format!(
            "{}:{}: `{name}` is `{claimed}` in Rust, where its name is taken; choose another name",
            file.name,
            file.position(at).0
        )
    };
    let mut all = Vec::new();
    // A library without candidates has no type.
    let typed: Vec<&Library> = spec.libraries.iter().filter(|one| !one.candidates.is_empty()).collect();
    for found in renamed_in_rust(typed.iter().map(|one| &*one.name)) {
        all.extend(
            typed.iter().find(|one| one.name == found.0).map(|one| told(one.file, one.span.start, found)),
        );
    }
    for library in typed {
        for found in renamed_in_rust(library.candidates.iter().map(|one| &*one.name)) {
            let place = library.candidates.iter().find(|one| one.name == found.0);
            all.extend(place.map(|one| told(library.file, one.span.start, found)));
        }
    }
    all
}

/// `specc check`.
pub(super) fn check(paths: &[PathBuf], as_json: bool) -> Result<(), Failure> {
    let spec = load(paths)?;
    if as_json {
        let files: Vec<_> = spec.files.iter().map(|f| &f.name).collect();
        let models: Vec<_> = spec.models.iter().map(|m| &m.name).collect();
        let libraries: Vec<_> = spec.libraries.iter().map(|l| &l.name).collect();
        print(json!({ "files": files, "models": models, "libraries": libraries }))?;
    } else {
        print(format_args!(
            "{}, {}, {}",
            count(spec.files.len(), "file", "files"),
            count(spec.models.len(), "model", "models"),
            count(spec.libraries.len(), "library", "libraries")
        ))?;
    }
    Ok(())
}

/// `specc emit --expand`.
pub(super) fn expand(paths: &[PathBuf]) -> Result<(), Failure> {
    print(load(paths)?.written_out().trim_end())
}

/// `specc check --fmt` and `--formatted`.
pub(super) fn format(paths: &[PathBuf], only_check: bool) -> Result<(), Failure> {
    let mut faults = String::new();
    for path in paths {
        for file in lang::find_specs(path)? {
            let name = file.display().to_string();
            let text = lang::read_spec(&file)?;
            match lang::format(&name, &text) {
                Err(errors) => faults.push_str(&errors.render_for_terminal()),
                Ok(formatted) if formatted == text => {}
                Ok(_) if only_check => {
                    faults.push_str(&format!("{name} is not formatted; run `specc check --fmt {name}`\n"));
                }
                Ok(formatted) => {
                    write_atomically(&file, |out| out.write_all(formatted.as_bytes()))
                        .map_err(|e| Failure::Machine(e.to_string()))?;
                    tell!("formatted {name}");
                }
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::Fault(faults)) }
}
