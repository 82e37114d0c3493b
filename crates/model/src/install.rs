//! Where the models of a machine are kept for all programs of its user.

use std::path::PathBuf;

use crate::{Platform, sha256_hex};

/// The file of a library's models for this machine and transport in the user's cache folder: that in `XDG_CACHE_HOME`,
/// or `~/.cache`; `None` where neither is known. The number of nodes plays no part: models say which they cover.
#[must_use]
pub fn installed_models(platform: &Platform, library: &str) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    let machine = Platform { nodes: 0, transport: String::new(), ..platform.clone() };
    let machine = sha256_hex(machine.to_string().as_bytes());
    let transport = platform.transport.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    Some(cache.join("strata").join(&machine[..16]).join(transport).join(format!("{library}.toml")))
}
