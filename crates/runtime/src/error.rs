//! Errors that end a run.
//!
//! A node's operations do not return errors: a collective that fails on one node has failed on all
//! nodes, and no single node could handle that alone. Instead the job ends on all nodes, and the
//! caller that started it gets the first failure, with the node on which it occurred.

use std::fmt;

use thiserror::Error;

/// Why a run did not start, or did not end as its program intended.
///
/// `Debug` prints the same sentence as `Display`, because Rust prints the `Debug` form of an error
/// that `main` returns.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// The requested number of nodes is not possible.
    #[error("cannot run on {asked} nodes: ask for 1 to {most}")]
    Nodes {
        /// The number requested.
        asked: usize,
        /// The most nodes that this transport supports.
        most: usize,
    },
    /// `STRATA_ON` does not name a machine.
    #[error(
        "STRATA_ON={value}: {reason}; set for example STRATA_ON=threads:4 or STRATA_ON=sim:cm5:64,seed=2"
    )]
    On {
        /// The value.
        value: String,
        /// The fault.
        reason: String,
    },
    /// An environment variable has an invalid value.
    #[error("{name}={value}: {reason}")]
    Setting {
        /// The variable.
        name: &'static str,
        /// The value.
        value: String,
        /// The fault.
        reason: String,
    },
    /// The transport could not be started.
    #[error("cannot start the {transport} transport: {reason}")]
    Start {
        /// The transport's name.
        transport: &'static str,
        /// The system's error.
        reason: String,
    },
    /// A node failed, which ended the job on every node.
    #[error("node {rank}: {message}")]
    Node {
        /// The node that failed first.
        rank: usize,
        /// Its message; for a misused operation it includes the operation and its place.
        message: String,
    },
    /// The program's own error; returned by a node's function, it ends the job with that node's
    /// rank.
    #[error("{0}")]
    Program(String),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The program's own error, of any type with `Display`.
    ///
    /// ```
    /// use strata_runtime::prelude::*;
    /// let failed = Machine::threads(3)?.run(|node| {
    ///     if node.rank() == 1 { "x".parse::<u32>().map_err(Error::program)?; }
    ///     node.barrier();
    ///     Ok(())
    /// });
    /// assert_eq!(failed.unwrap_err().to_string(), "node 1: invalid digit found in string");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn program(error: impl std::fmt::Display) -> Self {
        Self::Program(error.to_string())
    }

    /// The node that failed, if it was one.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        match self {
            Self::Node { rank, .. } => Some(*rank),
            _ => None,
        }
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::Program(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::Program(message.to_owned())
    }
}

/// Errors of others that programs pass on by `?`.
macro_rules! from_errors {
    ($($(#[$feature:meta])? $error:ty),* $(,)?) => {$(
        $(#[$feature])?
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::program(error)
            }
        }
    )*};
}

from_errors! {
    std::io::Error,
    strata_copy::StridedError,
    strata_select::choice::PinError<'_>,
    #[cfg(feature = "sim")]
    strata_sim::platform::MachineError,
    #[cfg(feature = "tune")]
    strata_tune::TuneError,
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn what_main_returns_reads_as_a_sentence() {
        let error = Error::Node { rank: 3, message: "the file is empty".into() };
        assert_eq!(format!("Error: {error:?}"), "Error: node 3: the file is empty");
    }
}
