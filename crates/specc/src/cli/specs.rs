//! Loading spec files, and the commands that need only these: `check` and `fmt`.

use std::path::PathBuf;

use serde_json::json;
use strata_model::{count, write_atomically};
use strata_screen::{Failure, print, tell};

use crate::lang::{self, CheckErrors, CheckedSpec};

impl From<CheckErrors> for Failure {
    fn from(errors: CheckErrors) -> Self {
        Self::Fault(errors.render_for_terminal())
    }
}

/// Reads and checks spec files, and folders of them, together.
pub(super) fn load(paths: &[PathBuf]) -> Result<CheckedSpec, Failure> {
    Ok(lang::load_paths(paths)?)
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

/// `specc fmt`.
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
                    faults.push_str(&format!("{name} is not formatted; run `specc fmt {name}`\n"));
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
