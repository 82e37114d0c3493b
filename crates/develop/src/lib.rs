//! Text formats of the records that the nodes of a job write, one file a node.
//!
//! A [`log`] records the collectives that a node entered and left and its waits; a [`trace`]
//! records its states over time. The run-time writes both. The program `strata-job` (feature `cli`)
//! shows them, and draws traces by [`drawing`].

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "cli")]
pub mod drawing;
pub mod log;
mod node_files;
pub mod trace;

pub use node_files::{FolderError, LineError, node_file, nodes_with_files};
