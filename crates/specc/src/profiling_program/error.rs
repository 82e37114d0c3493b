//! Why a checked spec cannot become a program.

use std::fmt::Display;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::lang::CheckError;

/// Why nothing was emitted.
#[derive(Debug, Error)]
pub enum EmitError {
    /// No model of the spec has a task.
    #[error("nothing to profile: no model of {spec} has a task or a sample")]
    NothingToMeasure {
        /// The spec.
        spec: String,
    },
    /// There is no package that the spec could belong to.
    #[error("{} belongs to no Rust package: no Cargo.toml in its folder or above", spec.display())]
    NoWorkspace {
        /// The spec.
        spec: PathBuf,
    },
    /// Cargo cannot read the workspace.
    #[error("cargo cannot read {}: {reason}", manifest.display())]
    Metadata {
        /// Its manifest.
        manifest: PathBuf,
        /// What cargo said.
        reason: String,
    },
    /// The workspace has no part of Strata, so that what profiling programs need is not found.
    #[error("the workspace {} does not contain or depend on strata-select or strata-runtime", root.display())]
    NoRuntime {
        /// The workspace's folder.
        root: PathBuf,
    },
    /// `use` lines name crates that do not exist.
    #[error("the spec uses {} that the workspace does not know", if errors.len() == 1 { "a crate" } else { "crates" })]
    UnknownCrates {
        /// One for each line.
        errors: Vec<CheckError>,
    },
    /// Features that no crate has.
    #[error("the spec needs {} that the workspace does not have", if errors.len() == 1 { "a feature" } else { "features" })]
    UnknownFeatures {
        /// One for each.
        errors: Vec<CheckError>,
    },
    /// The folder holds something else.
    #[error("{} was not made by specc; it will not be overwritten", path.display())]
    Foreign {
        /// The file that is in the way.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl EmitError {
    /// 1 where the spec is at fault, 2 for wrong usage, 3 where the machine is.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::NothingToMeasure { .. } | Self::UnknownCrates { .. } | Self::UnknownFeatures { .. } => 1,
            Self::NoWorkspace { .. } | Self::NoRuntime { .. } | Self::Foreign { .. } => 2,
            Self::Metadata { .. } | Self::File { .. } => 3,
        }
    }
}

impl Diagnostic for EmitError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(match self {
            Self::NoWorkspace { .. } => "put the spec into the package whose code it measures",
            Self::NoRuntime { .. } => {
                "add strata-select, which chooses by models, to the dependencies of the package"
            }
            Self::Foreign { .. } => "choose another folder with -o",
            _ => return None,
        }))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let (Self::UnknownCrates { errors } | Self::UnknownFeatures { errors }) = self else { return None };
        Some(Box::new(errors.iter().map(|error| error as &dyn Diagnostic)))
    }
}
