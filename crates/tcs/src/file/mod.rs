//! Descriptions and images as files, so that the linker can be a step before a job.
//!
//! A program writes its [`Description`]; `strata-link` checks and links it, and writes an image.
//! The job loads the image, which is refused unless it is whole and of the program's own
//! description.

mod description;
mod image;

pub use description::Description;

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a description or an image cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The file is no description.
    #[error("{}: no description: {why}", path.display())]
    NoDescription { path: PathBuf, why: String },
    /// The file is no image.
    #[error("{}: no image: {why}; link the description again", path.display())]
    NoImage { path: PathBuf, why: String },
    /// The image is not whole.
    #[error("{}: the image is torn: {found} bytes of {whole}; link the description again", path.display())]
    Torn { path: PathBuf, found: usize, whole: usize },
    /// The image is not what the linker wrote.
    #[error("{}: the image was changed after it was linked; link the description again", path.display())]
    Changed { path: PathBuf },
    /// The image was linked for another description.
    #[error(
        "{}: the image is of another description: of `{application}` on {target}, digest {theirs}, where this \
         program has `{own}` on {own_target}, digest {mine}; write the description again and link it",
        path.display()
    )]
    OfAnother {
        path: PathBuf,
        application: String,
        target: String,
        theirs: String,
        own: String,
        own_target: String,
        mine: String,
    },
}

impl From<FileError> for strata_runtime::Error {
    fn from(error: FileError) -> Self {
        Self::program(error)
    }
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> FileError + '_ {
    |source| FileError::File { path: path.to_owned(), source }
}
