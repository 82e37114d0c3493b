//! Starts a test of the running program again as a program of its own, on other nodes and with a
//! cache of its own.

use std::path::Path;
use std::process::Command;

/// The line of its output that begins with `line`, and what it said on standard error.
pub(crate) fn run(
    (test, line): (&str, &str),
    cache: &Path,
    on: &str,
    settings: &[(&str, &str)],
) -> (String, String) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("STRATA_ON", on)
        .env("XDG_CACHE_HOME", cache)
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    let found = text.lines().find(|one| one.starts_with(line));
    (found.unwrap_or_else(|| panic!("{on}: {text}")).to_owned(), String::from_utf8(out.stderr).unwrap())
}
