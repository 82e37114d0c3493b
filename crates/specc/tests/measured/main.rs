//! What builds and runs profiling programs: in one program, so that tests wait for a build or a
//! measurement beside each other.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod cargo_strata;
mod hosts;
mod install;
#[cfg(unix)]
mod launcher;
mod own_library;
mod profile;
mod race;
mod shipped;
mod smpi;
mod unread;
mod verify;

use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What other tests have built for release needs not be built again.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// Exit status, standard output and standard error of a program in a folder.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_NET_OFFLINE", "true")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "1000")
        .env_remove("STRATA_PIN")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The workspace's settings for release, so that what its own profiling programs have built serves
/// packages of tests too.
fn release_profile() -> String {
    let workspace = std::fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    workspace.split("\n\n").find(|part| part.starts_with("[profile.release]")).unwrap().to_owned()
}
