//! Licences and advisories of the dependencies: by `cargo deny` where it is installed, else the
//! licences alone, by the same list.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Runs the check.
///
/// # Errors
/// Dependencies whose licences allow too little, or what `cargo deny` has found.
pub(crate) fn check() -> Result<(), String> {
    let silent = Command::new("cargo")
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if silent.is_ok_and(|status| status.success()) {
        let status = Command::new("cargo").args(["deny", "check"]).status();
        return match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("cargo deny ended with {status}")),
            Err(error) => Err(format!("cannot start cargo: {error}")),
        };
    }
    println!("no `cargo deny` here (`cargo install cargo-deny`): advisories are not checked");
    let text = std::fs::read_to_string("deny.toml").map_err(|error| format!("deny.toml: {error}"))?;
    let allowed = allowed(&text);
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree", "--workspace", "--all-features", "--locked", "--prefix", "none", "--format", "{p}\t{l}",
        ])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !tree.status.success() {
        return Err(format!("cargo tree ended with {}", tree.status));
    }
    let tree = String::from_utf8_lossy(&tree.stdout);
    let packages: BTreeMap<&str, &str> = tree
        .lines()
        // What stands there a second time is marked.
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'))
        .collect();
    let refused: Vec<String> = packages
        .iter()
        .filter(|(_, licence)| !holds(licence, &allowed))
        .map(|(package, licence)| format!("{package}: `{licence}`"))
        .collect();
    println!("{} packages, {} licences allowed by deny.toml", packages.len(), allowed.len());
    if refused.is_empty() {
        Ok(())
    } else {
        Err(format!("not allowed by deny.toml:\n{}", refused.join("\n")))
    }
}

/// The list `allow` of `deny.toml`.
fn allowed(text: &str) -> Vec<&str> {
    let list = text.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    list.map_or(Vec::new(), |(list, _)| list.split('"').skip(1).step_by(2).collect())
}

/// Whether the licences of an SPDX expression suffice; `/` is an old way to write `OR`. `AND` binds
/// closer, and parentheses stand around alternatives only.
fn holds(expression: &str, allowed: &[&str]) -> bool {
    let text = expression.replace(['(', ')'], " ").replace('/', " OR ");
    // As many parts as must all hold, each with alternatives: right for `(A OR B) AND C`, and more
    // than asked for `A OR B AND C`.
    !text.trim().is_empty()
        && text.split(" AND ").all(|part| part.split(" OR ").any(|one| allowed.contains(&one.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_hold_where_an_allowed_choice_is_left() {
        let allowed = allowed("[licenses]\nallow = [\n    \"MIT\",\n    \"Unicode-3.0\",\n]\n");
        assert_eq!(allowed, ["MIT", "Unicode-3.0"]);
        for text in ["MIT", "GPL-3.0 OR MIT", "Unlicense/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(holds(text, &allowed), "{text}");
        }
        for text in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH LLVM-exception", "MITx"] {
            assert!(!holds(text, &allowed), "{text}");
        }
    }
}
