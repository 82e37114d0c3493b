//! What can go wrong between a checked spec and its samples.

use std::fmt::Display;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use super::compiler::CodeErrors;

/// Why there are no samples.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The options are invalid.
    #[error("{message}")]
    Usage {
        /// The invalid option, and valid ones.
        message: String,
    },
    /// Code of the spec does not compile.
    #[error(transparent)]
    Code(#[from] Box<CodeErrors>),
    /// The generated program does not compile, and not because of code in the spec.
    #[error("the profiling program does not compile")]
    Build {
        /// The output of cargo.
        output: String,
    },
    /// A program could not be started.
    #[error("cannot start {program}: {reason}")]
    Start {
        /// The program.
        program: String,
        /// The error of the operating system.
        reason: String,
        /// The remedy.
        help: String,
    },
    /// The spec or the journal to resume is at fault; the program said so.
    #[error("{message}")]
    Fault {
        /// The program's error message.
        message: String,
    },
    /// The profiling program failed.
    #[error("the profiling program failed ({status}): {message}")]
    Run {
        /// Its exit status or signal.
        status: String,
        /// Its error message: the lines from the first `error:` on.
        message: String,
        /// The files that are kept, and how to resume.
        help: String,
    },
    /// What starts jobs of MPI failed before the profiling program began.
    #[error("`{command}` ended with {status} before the profiling program began: {message}")]
    Launch {
        /// The launcher with its arguments.
        command: String,
        /// Its exit status or signal.
        status: String,
        /// What it said.
        message: String,
        /// The remedy.
        help: String,
    },
    /// A file or folder cannot be used.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The run was interrupted by a signal.
    #[error("interrupted")]
    Interrupted {
        /// The files that are kept, and how to resume.
        help: String,
    },
}

impl DriveError {
    /// The exit status that tells this apart: 1 the spec or samples are at fault, 2 wrong usage, 3
    /// the machine failed, 130 interrupted.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Code(_) | Self::Fault { .. } => 1,
            Self::Usage { .. } => 2,
            Self::Build { .. }
            | Self::Start { .. }
            | Self::Run { .. }
            | Self::Launch { .. }
            | Self::File { .. } => 3,
            Self::Interrupted { .. } => 130,
        }
    }
}

impl Diagnostic for DriveError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        match self {
            Self::Build { output } => {
                Some(Box::new(format!("this is not the spec's fault; the compiler said:\n{output}")))
            }
            Self::Start { help, .. }
            | Self::Run { help, .. }
            | Self::Launch { help, .. }
            | Self::Interrupted { help } => Some(Box::new(help)),
            Self::Usage { .. } | Self::Code(_) | Self::Fault { .. } | Self::File { .. } => None,
        }
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let Self::Code(errors) = self else { return None };
        errors.related()
    }
}
