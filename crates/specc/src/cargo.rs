//! What cargo says as JSON: of a workspace (`cargo metadata`), and of a build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// A workspace as cargo has resolved it. Identities of packages are opaque.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: BTreeSet<String>,
    /// Missing where the dependencies were not asked for.
    pub(crate) resolve: Option<Resolve>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
    /// From cargo 1.91 on.
    pub(crate) build_directory: Option<PathBuf>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// `None` for one in a folder.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) targets: Vec<Target>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as a manifest declares it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// What the manifest calls it, if that is another name.
    pub(crate) rename: Option<String>,
    /// `dev` or `build`; `None` for what is linked.
    pub(crate) kind: Option<String>,
    pub(crate) optional: bool,
    pub(crate) uses_default_features: bool,
    pub(crate) features: BTreeSet<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: BTreeSet<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Resolved>,
}

/// A package with what it depends on.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resolved {
    pub(crate) id: String,
    pub(crate) deps: Vec<ResolvedDependency>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResolvedDependency {
    /// What code calls it.
    pub(crate) name: String,
    pub(crate) pkg: String,
}

impl Metadata {
    /// The packages of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

impl Package {
    /// What code calls its library, if it has one.
    pub(crate) fn library(&self) -> Option<String> {
        let is_library = |target: &&Target| target.kind.contains("lib") || target.kind.contains("rlib");
        self.targets.iter().find(is_library).map(|target| target.name.replace('-', "_"))
    }

    pub(crate) fn has_target(&self, kind: &str) -> bool {
        self.targets.iter().any(|target| target.kind.contains(kind))
    }
}

/// `cargo metadata` of a manifest, or of the current folder's, with these further arguments.
///
/// # Errors
/// What cargo says.
pub(crate) fn metadata(manifest: Option<&Path>, arguments: &[String]) -> Result<Metadata, String> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--format-version", "1"]).args(arguments);
    if let Some(manifest) = manifest.map(|manifest| here.join(manifest)) {
        // Its settings of cargo are those of its folder.
        command.current_dir(manifest.parent().unwrap_or(&here)).arg("--manifest-path").arg(&manifest);
    }
    // Cargo takes it from where it is called.
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        command.env("CARGO_TARGET_DIR", here.join(target));
    }
    let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let json = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(json).map_err(|error| format!("its metadata cannot be read: {error}"))
}

/// A line of a build with `--message-format=json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "reason")]
pub(crate) enum Message {
    #[serde(rename = "compiler-message")]
    Compiler { message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Artifact { target: Target, executable: Option<PathBuf> },
    #[serde(other)]
    Other,
}

/// A message of the compiler.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Diagnostic {
    pub(crate) message: String,
    pub(crate) code: Option<DiagnosticCode>,
    pub(crate) level: String,
    pub(crate) spans: Vec<DiagnosticSpan>,
    pub(crate) children: Vec<Diagnostic>,
    pub(crate) rendered: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DiagnosticCode {
    pub(crate) code: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DiagnosticSpan {
    pub(crate) file_name: String,
    pub(crate) byte_start: usize,
    pub(crate) byte_end: usize,
    pub(crate) is_primary: bool,
    pub(crate) label: Option<String>,
    /// The call of the macro that the code comes from.
    pub(crate) expansion: Option<Box<Expansion>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Expansion {
    pub(crate) span: DiagnosticSpan,
}
