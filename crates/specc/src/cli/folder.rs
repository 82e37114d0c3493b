//! Locks an output folder, so that one command at a time writes to it.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use strata_screen::Failure;

/// The name of the file that is locked.
const NAME: &str = ".specc-lock";

/// A locked folder; unlocked when this is dropped. The operating system releases the lock of a
/// process that was killed. The lock file itself stays, which does no harm.
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// Makes the folder where it is missing, and locks it.
    ///
    /// # Errors
    /// The folder cannot be made, or another command is at work in it.
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
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => Ok(Self { _file: None }),
        }
    }
}
