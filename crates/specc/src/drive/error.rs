//! What can go wrong between a checked spec and its samples.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use super::compiler::CodeErrors;

/// Why there are no samples.
#[derive(Debug, Error, Diagnostic)]
pub enum DriveError {
    /// What was asked for makes no sense.
    #[error("{message}")]
    Usage {
        /// What, and what would.
        message: String,
    },
    /// Code of the spec does not compile.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Code(#[from] Box<CodeErrors>),
    /// The generated program does not compile, and not because of code in the spec.
    #[error("the profiling program does not compile")]
    #[diagnostic(help("this is not the spec's fault; the compiler said:\n{output}"))]
    Build {
        /// What cargo said.
        output: String,
    },
    /// A program could not be started.
    #[error("cannot start {program}: {reason}")]
    #[diagnostic(help("{help}"))]
    Start {
        /// Which.
        program: String,
        /// What the system said.
        reason: String,
        /// The way out.
        help: String,
    },
    /// The spec or the journal to resume is at fault; the program said so.
    #[error("{message}")]
    Fault {
        /// What the program said.
        message: String,
    },
    /// The profiling program failed.
    #[error("the profiling program failed ({status}): {message}")]
    #[diagnostic(help("{help}"))]
    Run {
        /// Its exit status or signal.
        status: String,
        /// What it said last.
        message: String,
        /// What is kept and how to go on.
        help: String,
    },
    /// A file or folder cannot be used.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What was attempted.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    #[diagnostic(help("{help}"))]
    Interrupted {
        /// What is kept and how to go on.
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
            Self::Build { .. } | Self::Start { .. } | Self::Run { .. } | Self::File { .. } => 3,
            Self::Interrupted { .. } => 130,
        }
    }
}
