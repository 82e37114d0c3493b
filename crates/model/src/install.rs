//! The folder of a machine's models, for all programs of its user.
//!
//! A library has one folder for each machine and transport, with one file for each range of numbers
//! of nodes: `4.toml`, `1-4.toml`, and of hosts where these are several: `16@2.toml`. Installing models for one number leaves those for others
//! unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Hosts, ModelSet, Platform, cache_folder, sha256_hex, write_atomically};

/// Why models cannot be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// There is no folder to install to.
    #[error("there is no cache folder to install models in: neither XDG_CACHE_HOME nor HOME is set")]
    NoFolder,
    /// The folder cannot be written.
    #[error("cannot install models in {}: {source}; XDG_CACHE_HOME names another folder", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No program would read the models; the reason.
    #[error("these models cannot be installed: {0}")]
    Unused(String),
}

/// The path from the cache to the folder of a library's models for this machine and transport.
fn below(platform: &Platform, library: &str) -> PathBuf {
    let machine = Platform { nodes: 0, hosts: None, transport: String::new(), ..platform.clone() };
    let machine = sha256_hex(machine.to_string().as_bytes());
    let transport = platform.transport.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    Path::new(&machine[..16]).join(transport).join(library)
}

/// Whether models can be installed; call it before measuring.
///
/// # Errors
/// There is no cache folder, or it cannot be written.
pub fn can_install() -> Result<(), InstallError> {
    let folder = cache_folder().ok_or(InstallError::NoFolder)?;
    let probe = folder.join(format!("probe-{}", std::process::id()));
    let tried = fs::create_dir_all(&folder)
        .and_then(|()| write_atomically(&probe, |_| Ok(())))
        .and_then(|()| fs::remove_file(&probe));
    tried.map_err(|source| InstallError::Folder { folder, source })
}

/// Installs the models of each library of the set for programs of this user on that machine;
/// returns the files.
///
/// # Errors
/// As [`can_install`]; the set has no library or no platform, or its machine is simulated:
/// simulations do not depend on installed files.
pub fn install(set: &ModelSet) -> Result<Vec<PathBuf>, InstallError> {
    let unused = |why: &str| InstallError::Unused(why.to_owned());
    let platform =
        set.platform.as_ref().ok_or_else(|| unused("their samples do not say where they were taken"))?;
    if platform.is_simulated() {
        return Err(unused(
            "what a simulated machine does depends on nothing that is installed; name the models with STRATA_MODELS",
        ));
    }
    if set.libraries.is_empty() {
        return Err(unused("their spec has no library, so that no program chooses by them"));
    }
    let resolved = set.resolve().map_err(|error| unused(&error.to_string()))?;
    let mut files = Vec::new();
    for library in resolved.libraries() {
        let (least, greatest) = strata_select::Source::info(library).domain.nodes;
        let nodes = if least == greatest { least.to_string() } else { format!("{least}-{greatest}") };
        let folder = cache_folder().ok_or(InstallError::NoFolder)?.join(below(platform, library.name()));
        let hosts = platform.hosts.map_or(String::new(), |hosts| format!("@{hosts}"));
        let file = folder.join(format!("{nodes}{hosts}.toml"));
        fs::create_dir_all(&folder)
            .and_then(|()| write_atomically(&file, |out| out.write_all(set.to_text().as_bytes())))
            .map_err(|source| InstallError::Folder { folder, source })?;
        files.push(file);
    }
    Ok(files)
}

/// The installed file of a library's models for this machine, transport and number of nodes: of the
/// files that cover the number the one with the smallest range, else the nearest, and of another
/// number of hosts only where there is none of this; `None` if none is installed.
#[must_use]
pub fn installed_models(platform: &Platform, library: &str) -> Option<PathBuf> {
    let folder = cache_folder()?.join(below(platform, library));
    let found = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let path = entry.path();
        let (least, greatest, hosts) = range(path.file_name()?.to_str()?.strip_suffix(".toml")?)?;
        let outside = least.saturating_sub(platform.nodes).max(platform.nodes.saturating_sub(greatest));
        Some(((!hosts.contains(platform.all_hosts()), outside, greatest - least, least), path))
    });
    found.min().map(|(_, path)| path)
}

/// The numbers of nodes in a file's name, and those of hosts.
fn range(name: &str) -> Option<(usize, usize, Hosts)> {
    let (nodes, hosts) = match name.split_once('@') {
        Some((nodes, hosts)) => (nodes, hosts.parse().ok()?),
        None => (name, Hosts::ONE),
    };
    let (least, greatest) = nodes.split_once('-').unwrap_or((nodes, nodes));
    let (least, greatest) = (least.parse().ok()?, greatest.parse().ok()?);
    (least <= greatest).then_some((least, greatest, hosts))
}

#[cfg(test)]
mod tests {
    use super::range;
    use crate::Hosts;

    #[test]
    fn names_of_files_are_ranges_of_numbers_of_nodes() {
        let one = Hosts::ONE;
        assert_eq!((range("4"), range("1-4")), (Some((4, 4, one)), Some((1, 4, one))));
        assert_eq!(range("16@1-4"), Some((16, 16, Hosts { min: 1, max: 4 })));
        for other in ["", "-", "4-1", "four", "1-", ".4", "1-2-3", "4@", "4@0", "4@2-1"] {
            assert_eq!(range(other), None, "{other}");
        }
    }
}
