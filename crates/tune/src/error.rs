//! What can go wrong.

use std::fmt;
use std::path::PathBuf;

/// Why a tuner cannot start, agree or save.
///
/// `Debug` prints the same sentence as `Display`, because it is what Rust prints of an error that
/// `main` returns.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// `STRATA_TUNE` has a wrong value.
    #[error("STRATA_TUNE={value}: {reason}; set off, record, tune, record:FILE, tune:FILE or use:FILE")]
    Setting {
        /// The value.
        value: String,
        /// The fault.
        reason: String,
    },
    /// An option is out of its range.
    #[error("{name} = {value}: {reason}")]
    Option {
        /// The option.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        reason: &'static str,
    },
    /// There is nowhere to keep what is found.
    #[error(
        "there is no cache folder to keep what is found in: set XDG_CACHE_HOME or HOME, or STRATA_TUNE=tune:FILE"
    )]
    NoFolder,
    /// The file that `use:FILE` names cannot be read.
    #[error("cannot read {}: {source}; a run with STRATA_TUNE=tune:FILE writes one", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is not what a tuner writes, or not whole.
    #[error("{}: {reason}; a program whose STRATA_TUNE names it ignores it and begins anew", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The fault.
        reason: String,
    },
    /// What was found cannot be written.
    #[error("{source}; STRATA_TUNE=tune:FILE names another file")]
    Write {
        /// What the system says, with the file.
        source: std::io::Error,
    },
    /// The nodes of a team run through different call sites, so they cannot tune alike.
    #[error("{0}")]
    SitesDiffer(String),
}

impl fmt::Debug for TuneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
