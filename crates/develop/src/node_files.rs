//! Folders in which each node of a job keeps its own file, so that processes write without
//! coordination.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A line that does not follow its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct LineError {
    /// The file, as named by the caller.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// The fault.
    pub message: String,
}

/// Why the files of a folder could not be read together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum FolderError {
    /// The system reported an error.
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// There is no file of this kind.
    #[error("{}: there is no `node-NNNN.{ending}` in this folder; a program run with {variable}={} writes them", path.display(), path.display())]
    Empty {
        path: PathBuf,
        /// The pattern of the files' names.
        ending: &'static str,
        /// The setting that makes a program write them.
        variable: &'static str,
    },
    /// A line does not follow its format.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The files do not belong together.
    #[error("{}: {message}", path.display())]
    Together {
        path: PathBuf,
        /// The files concerned, and the reason.
        message: String,
    },
}

/// The file of node `node` in `folder`: `node-0003.log`.
#[must_use]
pub fn node_file(folder: &Path, node: usize, ending: &str) -> PathBuf {
    folder.join(format!("node-{node:04}.{ending}"))
}

/// The nodes that have a file of this extension in `folder`, in order.
///
/// # Errors
/// The system's error for the folder.
pub fn nodes_with_files(folder: &Path, ending: &str) -> Result<Vec<usize>, FolderError> {
    let failed = |error| FolderError::Io { path: folder.to_owned(), error };
    let mut nodes = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number: Option<usize> = name.to_str().and_then(|name| {
            name.strip_prefix("node-")?.strip_suffix(ending)?.strip_suffix('.')?.parse().ok()
        });
        nodes.extend(number);
    }
    nodes.sort_unstable();
    Ok(nodes)
}

/// The complete lines of a file, numbered from one, and whether an incomplete one follows them, as
/// a killed process may leave.
pub(crate) struct Lines<'a> {
    text: &'a str,
    pub(crate) torn: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(bytes: &'a [u8], file: &str) -> Result<Self, LineError> {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&bytes[..end]).map_err(|error| LineError {
            file: file.to_owned(),
            line: bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1,
            message: "this is not text (UTF-8)".to_owned(),
        })?;
        Ok(Self { text, torn: end < bytes.len() })
    }

    /// Passes each line to `take`; the first error gets its place.
    pub(crate) fn each(
        &self,
        file: &str,
        mut take: impl FnMut(&'a str, bool) -> Result<(), String>,
    ) -> Result<(), LineError> {
        for (index, line) in self.text.lines().enumerate() {
            take(line, index == 0).map_err(|message| LineError {
                file: file.to_owned(),
                line: index + 1,
                message,
            })?;
        }
        if self.text.is_empty() {
            let message = "there is no complete line in this file".to_owned();
            return Err(LineError { file: file.to_owned(), line: 1, message });
        }
        Ok(())
    }
}

/// The first line of both formats after the format's name, such as
/// `1 node=3 nodes=4 began=1700000000000000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The node that wrote the file.
    pub node: usize,
    /// The number of nodes of its job.
    pub nodes: usize,
    /// The time at which the node's clock showed zero, in ns since 1970 by the system's clock.
    pub began: u64,
}

impl Head {
    /// Reads a first line that must begin with `format` and version 1.
    pub(crate) fn parse(line: &str, format: &str) -> Result<Self, String> {
        let wrong = || format!("the first line must be `{format} 1 node=… nodes=… began=…`, not `{line}`");
        let mut words = line.split(' ');
        if words.next() != Some(format) {
            return Err(wrong());
        }
        match words.next() {
            Some("1") => {}
            Some(version) => {
                return Err(format!("this program reads version 1 of the format, not `{version}`"));
            }
            None => return Err(wrong()),
        }
        let mut field = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok();
        let (Some(node), Some(nodes), Some(began)) = (field("node"), field("nodes"), field("began")) else {
            return Err(wrong());
        };
        if words.next().is_some() {
            return Err(wrong());
        }
        let small = |value: u64| usize::try_from(value).ok().filter(|value| *value <= 1 << 24);
        match (small(node), small(nodes)) {
            (Some(node), Some(nodes)) if node < nodes => Ok(Self { node, nodes, began }),
            _ => Err(format!("there is no node {node} of {nodes}")),
        }
    }

    pub(crate) fn print(&self, f: &mut impl std::fmt::Write, format: &str) -> std::fmt::Result {
        writeln!(f, "{format} 1 node={} nodes={} began={}", self.node, self.nodes, self.began)
    }
}
