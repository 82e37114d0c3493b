//! Errors of the tuner.

use std::fmt;
use std::path::PathBuf;

/// Why a tuner cannot start, agree or save.
///
/// `Debug` prints the same sentence as `Display`, because Rust prints the `Debug` form of an error
/// returned by `main`.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum TuneError {
    /// `STRATA_TUNE` has a wrong value.
    #[error("STRATA_TUNE={value}: {reason}; set off, record, tune, record:FILE, tune:FILE or use:FILE")]
    Setting { value: String, reason: String },
    /// An option is outside its range.
    #[error("{name} = {value}: {reason}")]
    Option { name: &'static str, value: f64, reason: &'static str },
    /// There is no folder for results.
    #[error(
        "there is no cache folder to keep what is found in: set XDG_CACHE_HOME or HOME, or STRATA_TUNE=tune:FILE"
    )]
    NoFolder,
    /// The file that `use:FILE` names cannot be read.
    #[error("cannot read {}: {source}; a run with STRATA_TUNE=tune:FILE writes one", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    /// A file is not a tuner's, or is incomplete.
    #[error("{}: {reason}; a program whose STRATA_TUNE names it ignores it and begins anew", file.display())]
    File { file: PathBuf, reason: String },
    /// The results cannot be written.
    #[error("{source}; STRATA_TUNE=tune:FILE names another file")]
    Write {
        /// The system's error, with the file.
        source: std::io::Error,
    },
    /// The nodes of a team have different call sites, so they cannot tune alike.
    #[error("{0}")]
    SitesDiffer(String),
}

impl fmt::Debug for TuneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
