//! Where a crate comes from, as the manifest of a profiling program says it.

use std::path::{Path, PathBuf};

use strata_model::codegen::toml_string;

use super::relative_to;
use crate::cargo::Package;

/// How cargo names the registry that needs no name.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The source of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The folder of its manifest.
    Path(PathBuf),
    /// A version in a registry; the registry's index, where it is not crates.io.
    Registry { version: String, index: Option<String> },
    /// A repository, and the branch, tag or revision, if the user's manifest names one. The lock
    /// file says which commit that is.
    Git { url: String, reference: Option<(String, String)> },
}

impl Origin {
    pub(super) fn of(package: &Package) -> Self {
        let Some(source) = &package.source else {
            return Self::Path(package.manifest_path.parent().unwrap_or(Path::new("")).to_owned());
        };
        if let Some(git) = source.strip_prefix("git+") {
            let git = git.split_once('#').map_or(git, |(git, _commit)| git);
            let (url, query) = git.split_once('?').map_or((git, None), |(url, query)| (url, Some(query)));
            let reference = query
                .and_then(|query| query.split_once('='))
                .map(|(kind, name)| (kind.to_owned(), decoded(name)));
            return Self::Git { url: url.to_owned(), reference };
        }
        let index = source.strip_prefix("registry+").unwrap_or(source);
        let index = (source != CRATES_IO).then(|| index.to_owned());
        Self::Registry { version: package.version.clone(), index }
    }

    /// The source of another package that is published with this one, as are those of Strata;
    /// `None` where its folder is missing.
    pub(super) fn sibling(&self, folder: &str) -> Option<Self> {
        match self {
            Self::Path(own) => {
                let path = own.with_file_name(folder);
                path.join("Cargo.toml").is_file().then_some(Self::Path(path))
            }
            Self::Registry { .. } | Self::Git { .. } => Some(self.clone()),
        }
    }

    /// The fields of a dependency, in a manifest in `folder`.
    pub(super) fn fields(&self, folder: &Path) -> Vec<String> {
        match self {
            Self::Path(path) => vec![format!("path = {}", toml_string(&relative_to(path, folder)))],
            Self::Registry { version, index } => {
                let mut fields = vec![format!("version = {}", toml_string(&format!("={version}")))];
                fields.extend(index.iter().map(|index| format!("registry-index = {}", toml_string(index))));
                fields
            }
            Self::Git { url, reference } => {
                let mut fields = vec![format!("git = {}", toml_string(url))];
                fields.extend(reference.iter().map(|(kind, name)| format!("{kind} = {}", toml_string(name))));
                fields
            }
        }
    }
}

/// The text of a part of a URL: `%2F` is a slash.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(source: Option<&str>) -> Origin {
        let package = serde_json::json!({
            "name": "a", "version": "1.2.3", "id": "a", "manifest_path": "/there/a/Cargo.toml",
            "source": source, "dependencies": [], "targets": [], "features": {},
        });
        Origin::of(&serde_json::from_value(package).unwrap())
    }

    #[test]
    fn each_source_has_its_fields() {
        for (source, fields) in [
            (None, vec!["path = \"../there/a\""]),
            (Some(CRATES_IO), vec!["version = \"=1.2.3\""]),
            (
                Some("sparse+https://own.example/index/"),
                vec!["version = \"=1.2.3\"", "registry-index = \"sparse+https://own.example/index/\""],
            ),
            (Some("git+file:///r#0a1b"), vec!["git = \"file:///r\""]),
            (
                Some("git+https://own.example/r?branch=a%2Fb%25#0a1b"),
                vec!["git = \"https://own.example/r\"", "branch = \"a/b%\""],
            ),
            (Some("git+file:///r?tag=v1#0a1b"), vec!["git = \"file:///r\"", "tag = \"v1\""]),
        ] {
            assert_eq!(origin(source).fields(Path::new("/here")), fields, "{source:?}");
        }
    }
}
