//! A node's view of the installed models.

use std::path::PathBuf;

#[derive(Default)]
pub(crate) struct Installed {
    pub(crate) use_of: Use,
    /// The files that this node could not use, each with the reason.
    pub(crate) unusable: Vec<(PathBuf, String)>,
}

/// Whether installed models may be used; equal on all nodes.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Use {
    #[default]
    Allowed,
    /// The fingerprints differed, and the nodes compare once more without installed models.
    Doubted,
    /// The hosts of the job have different installed models.
    Forbidden,
}
