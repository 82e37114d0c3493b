//! The language, the profiling programs that are emitted, what is computed from models, and the
//! command line.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

#[path = "../any_spec/mod.rs"]
mod any_spec;

mod advice;
mod compare;
mod console;
mod depending;
mod emit;
mod families;
mod guidelines;
mod lang;
mod made_up;
mod platform;
mod race;
mod refine;
mod robust;
mod rules;
mod screens;
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
