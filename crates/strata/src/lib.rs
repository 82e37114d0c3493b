#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "copy")]
pub use strata_copy as copy;
#[cfg(feature = "global")]
pub use strata_global as global;
#[cfg(feature = "runtime")]
pub use strata_runtime as runtime;
#[cfg(feature = "mpi")]
pub use strata_runtime::mpi;
#[cfg(feature = "runtime")]
pub use strata_runtime::{Error, Machine, Node, launch};
pub use strata_select as select;
#[cfg(feature = "sort")]
pub use strata_sort as sort;
#[cfg(feature = "stencil")]
pub use strata_stencil as stencil;

/// A result with the one error type of all modules.
#[cfg(feature = "runtime")]
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Calls of the libraries as methods of a [`Node`].
#[cfg(feature = "sort")]
pub trait NodeExt {
    /// Sorts the elements of all nodes, and returns this node's part: see [`sort::sort`], also for
    /// where the parts lie and for the settings.
    ///
    /// # Participation
    /// Collective: every node calls it, with elements of the same type; any may have none.
    ///
    /// # Errors
    /// On every node, if a setting is invalid.
    fn sort<T: sort::Item>(&mut self, items: Vec<T>) -> Result<Vec<T>>;
}

#[cfg(feature = "sort")]
impl NodeExt for Node {
    fn sort<T: sort::Item>(&mut self, mut items: Vec<T>) -> Result<Vec<T>> {
        sort::sort(self, &mut items)?;
        Ok(items)
    }
}

#[cfg(all(doctest, feature = "sort"))]
#[doc = include_str!("../../../README.md")]
mod guide {}
