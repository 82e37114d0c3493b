//! The workspace's own programs, and files around them.

use std::fs::{File, create_dir_all, read_to_string};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// `specc`, built where it is not; arguments follow.
pub fn specc() -> Command {
    cargo_run(&["--package", "specc"])
}

/// `comet`, likewise.
pub fn comet() -> Command {
    cargo_run(&["--package", "strata-comet", "--features", "cli"])
}

fn cargo_run(package: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["run", "--release", "--quiet"]).args(package).arg("--");
    command
}

/// Runs a command to its end. Its output is in the error.
///
/// # Errors
/// It cannot be started, or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    match ended.status.success() {
        true => Ok(()),
        false => {
            Err(format!("{name} ended with {}\n{}", ended.status, String::from_utf8_lossy(&ended.stderr)))
        }
    }
}

/// Runs `specc` with an output folder, where `WORD.log` keeps what it says; returns that.
///
/// # Errors
/// It fails, or a file cannot be written.
pub fn specc_into(folder: &Path, words: &[&str]) -> Result<String, String> {
    let fault = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    create_dir_all(folder).map_err(|error| fault(folder, error))?;
    let log = folder.join(format!("{}.log", words[0]));
    let file = File::create(&log).map_err(|error| fault(&log, error))?;
    let errors = file.try_clone().map_err(|error| fault(&log, error))?;
    let status = specc().args(words).arg("-o").arg(folder).stdout(file).stderr(errors).status();
    let status = status.map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("specc {} ended with {status}: see {}", words[0], log.display()));
    }
    read_to_string(&log).map_err(|error| fault(&log, error))
}

/// The text of a file.
///
/// # Errors
/// The path, and why it cannot be read.
pub fn text(path: &Path) -> Result<String, String> {
    read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file.
///
/// # Errors
/// The path, and why it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
