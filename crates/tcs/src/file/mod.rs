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
pub enum FileError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no description.
    #[error("{}: no description: {why}", path.display())]
    NoDescription {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The file is no image.
    #[error("{}: no image: {why}; link the description again", path.display())]
    NoImage {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The image is not whole.
    #[error("{}: the image is torn: {found} bytes of {whole}; link the description again", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
        /// The bytes that it has.
        found: usize,
        /// The bytes that it should have.
        whole: usize,
    },
    /// The image is not what the linker wrote.
    #[error("{}: the image was changed after it was linked; link the description again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The image was linked for another description.
    #[error(
        "{}: the image is of another description: of `{application}` on {target}, digest {theirs}, where this \
         program has `{own}` on {own_target}, digest {mine}; write the description again and link it",
        path.display()
    )]
    OfAnother {
        /// The file.
        path: PathBuf,
        /// The application of the image.
        application: String,
        /// The machine that it was linked for.
        target: String,
        /// The beginning of the digest of its description.
        theirs: String,
        /// The program's own application.
        own: String,
        /// The machine of the program's own description.
        own_target: String,
        /// The beginning of the digest of that.
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
