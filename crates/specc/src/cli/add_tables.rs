//! `calibrate --add`: adds the models of this machine to those of others in a Rust file that a
//! program compiles in.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use strata_fit::emit::{self, AddError};
use strata_model::{ModelSet, count};
use strata_screen::{Failure, tell};

use super::args::Add;
use super::measure;
use super::model_files::{self, SELECT};
use crate::lang::CheckedSpec;

/// A Rust file with the models of several machines.
pub(super) struct Tables {
    path: PathBuf,
    /// How the program that compiles it in imports the crate that chooses.
    select: String,
    /// The file's text; `None` if the file does not exist yet.
    text: Option<String>,
}

impl Tables {
    /// The file given by `--add`, if any. Errors that adding would meet after the measurement are
    /// found here.
    pub(super) fn at(add: &Add, spec: &CheckedSpec) -> Result<Option<Self>, Failure> {
        let Some(named) = &add.to else { return Ok(None) };
        if spec.libraries.is_empty() {
            let why = "--add: the spec has no library, so that no program chooses by its models";
            return Err(Failure::Usage(why.to_owned()));
        }
        let path = if named.is_dir() { named.join("models.rs") } else { named.clone() };
        if path.extension().is_none_or(|extension| extension != "rs") {
            let why = format!("--add: {} is neither a folder nor a file of Rust, `*.rs`", path.display());
            return Err(Failure::Usage(why));
        }
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::file(&path, error)),
        };
        let select = model_files::select_path(Path::new(&spec.files[0].name));
        let text = text.map(|text: String| text.replace(&select, SELECT));
        let tables = Self { path, text, select };
        match &tables.text {
            Some(text) if !emit::is_generated(text) => Err(tables.refused(&AddError::Foreign)),
            Some(text) if emit::is_old(text) => Err(tables.refused(&AddError::Old)),
            _ => Ok(Some(tables)),
        }
    }

    /// Adds a set to the file.
    pub(super) fn add(&self, set: &ModelSet) -> Result<(), Failure> {
        let shown = self.path.display();
        let Some(text) = &self.text else {
            let text = emit::rust(std::slice::from_ref(set)).map_err(|e| self.refused(&AddError::Set(e)))?;
            measure::write(&self.path, &text.replace(SELECT, &self.select))?;
            tell!("wrote {shown}, with the models of this machine");
            return Ok(());
        };
        let added = emit::add(text, set).map_err(|error| self.refused(&error))?;
        measure::write(&self.path, &added.text.replace(SELECT, &self.select))?;
        let done = if added.replaced {
            "replaced this machine's models in"
        } else {
            "added this machine's models to"
        };
        let platforms = count(added.platforms, "platform", "platforms");
        tell!("{done} {shown}, which has those of {platforms}");
        if added.other_spec {
            tell!(
                "warning: some models in {shown} were measured by another text of the spec: calibrate with `--add` on \
                 their machines, too"
            );
        }
        Ok(())
    }

    /// The error for a file that cannot be changed, with the way out.
    fn refused(&self, error: &AddError) -> Failure {
        let shown = self.path.display();
        let way = match error {
            AddError::Foreign => {
                "name another file, or write one of the model sets of all machines: `specc export a/models.toml \
                 b/models.toml --to models`"
            }
            AddError::Old => {
                "write it anew: `specc export MODELS.toml… --to models -o FILE`, from the model sets of all \
                 machines, or move the file away and calibrate on each with `--add`"
            }
            AddError::Unlike(_) => {
                "move the file away, and calibrate with `--add` on each machine by the same spec and `specc`"
            }
            AddError::Nowhere | AddError::Set(_) => "calibrate again",
        };
        Failure::Usage(format!("--add: {shown}: {error}; {way}"))
    }
}
