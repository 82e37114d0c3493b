//! Locks an output folder, so that only one command at a time writes to it.

use std::fs;
use std::path::Path;

use strata_screen::Failure;

/// The name of the lock file.
const NAME: &str = ".specc-lock";

/// A locked folder, unlocked on drop.
pub struct Lock {
    _lock: strata_select::files::Lock,
}

impl Lock {
    /// Creates the folder if it is missing, and locks it.
    ///
    /// # Errors
    /// The folder cannot be created, another command has locked it, or something else than a regular
    /// file has the name of the lock.
    pub fn take(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::Machine(format!("cannot make the folder {}: {error}; name another", folder.display()))
        })?;
        let path = folder.join(NAME);
        match strata_select::files::Lock::try_take(&path).map_err(|error| Failure::file(&path, error))? {
            Some(lock) => Ok(Self { _lock: lock }),
            None => Err(Failure::Usage(format!(
                "another specc is at work in {}; wait until it has ended, or name another folder with -o",
                folder.display()
            ))),
        }
    }
}
