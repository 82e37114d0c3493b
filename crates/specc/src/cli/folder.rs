//! Locks an output folder, so that only one command at a time writes to it.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use strata_screen::Failure;

/// The name of the lock file.
const NAME: &str = ".specc-lock";

/// A locked folder, unlocked on drop. If the process is killed, the operating system releases the
/// lock. The lock file stays, which does no harm.
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// Creates the folder if it is missing, and locks it.
    ///
    /// # Errors
    /// The folder cannot be created, or another command has locked it.
    pub fn take(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        let path = folder.join(NAME);
        let file = File::create(&path).map_err(|error| Failure::file(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(Failure::Usage(format!(
                "another specc is at work in {}; wait until it has ended, or name another folder with -o",
                folder.display()
            ))),
            // Some file systems do not support locks.
            Err(TryLockError::Error(_)) => Ok(Self { _file: None }),
        }
    }
}
