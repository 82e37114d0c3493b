//! The language, the profiling programs that are emitted, and what is computed from models.
#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

#[path = "../any_spec/mod.rs"]
mod any_spec;

mod compare;
mod depending;
mod elsewhere;
mod emit;
mod families;
mod guidelines;
mod impact;
mod lang;
mod nodes;
mod platform;
#[cfg(unix)]
mod race;
mod refine;
mod robust;
mod rules;
mod simulated;
mod thresholds;

use std::path::Path;
use std::process::Command;

/// The exit status, standard output and standard error of `specc` in a folder, on a screen of so
/// many columns.
fn specc(folder: &Path, columns: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_specc"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", columns)
        .output()
        .expect("specc starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// `specc` ends a command, words with blanks between them, with this status and says so.
#[track_caller]
fn refused(folder: &Path, command: &str, status: i32, told: &str) {
    let (ended, out, err) = specc(folder, "80", &command.split(' ').collect::<Vec<_>>());
    let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ended == Some(status) && err.contains(told), "{command}\n{out}\n{err}");
}
