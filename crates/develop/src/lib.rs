//! The text formats in which the nodes of a job keep what they did, a file a node.
//!
//! A [`log`] tells which collectives a node has entered and left and what it waits for, a [`trace`]
//! in which state it was when. The runtime writes both; `specc` reads them.

#![forbid(unsafe_code)]

pub mod log;
mod node_files;
pub mod trace;

pub use node_files::{FolderError, LineError, node_file, nodes_with_files};
