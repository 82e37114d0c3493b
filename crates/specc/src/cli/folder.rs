//! An output folder is one command's at a time.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use super::failure::Failure;

/// The name of the file that is locked.
const NAME: &str = ".specc-lock";

/// The right to write to a folder, until it is dropped. The system takes it back from a command
/// that was killed; the file itself stays and means nothing.
pub(super) struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// Makes the folder where it is missing, and locks it.
    ///
    /// # Errors
    /// The folder cannot be made, or another command is at work in it.
    pub(super) fn take(folder: &Path) -> Result<Self, Failure> {
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
