//! How a command ends when it does not succeed: the message and the exit status that `--help`
//! promises.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::tell;

/// Why a command failed; each kind has an exit status of its own.
#[derive(Debug)]
pub enum Failure {
    /// The spec, the samples or the fit is at fault: exit status 1.
    Fault(String),
    /// The command was used wrongly: exit status 2.
    Usage(String),
    /// The machine failed, or a program that was started on it: exit status 3.
    Machine(String),
    /// A stage failed that has its own status, with its message.
    Stage(u8, String),
}

/// Prints a result on standard output, without the styles in it where that is no terminal or has
/// none (`NO_COLOR`, `CLICOLOR`, `TERM`). Whoever reads it may stop reading: `specc show … | head`
/// is no failure.
///
/// # Errors
/// Standard output cannot be written, for another reason.
pub fn print(text: impl fmt::Display) -> Result<(), Failure> {
    match writeln!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Machine(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

impl Failure {
    /// A file that cannot be read or written.
    #[must_use]
    pub fn file(path: &Path, error: impl fmt::Display) -> Self {
        Self::Machine(format!("{}: {error}", path.display()))
    }

    /// Says the message of this program on standard error and gives the exit status.
    #[must_use]
    pub fn end(self, program: &str) -> ExitCode {
        let (status, message) = match self {
            Self::Fault(message) => (1, message),
            Self::Usage(message) => (2, message),
            Self::Machine(message) => (3, message),
            Self::Stage(status, message) => (status, message),
        };
        // Rendered diagnostics carry their own head; one-line messages get ours.
        if message.contains('\n') {
            tell!("{}", message.trim_end());
        } else if !message.is_empty() {
            tell!("{program}: {message}");
        }
        ExitCode::from(status)
    }
}
