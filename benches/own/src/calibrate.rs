//! Calibrations by `specc`, as a user calls it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How to call `specc`.
#[derive(Clone, Debug)]
pub struct Specc {
    /// For each library, as `specc` takes it.
    pub budget: String,
}

impl Specc {
    /// Builds `specc`, unless it is up to date.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn build(&self) -> Result<(), String> {
        let status = cargo("build").status().map_err(|error| format!("cargo: {error}"))?;
        if status.success() { Ok(()) } else { Err("`specc` could not be built".to_owned()) }
    }

    /// Calibrates a library into a folder, where `specc.log` keeps the output of `specc`; returns the
    /// seconds that it took, with building the profiling program.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub fn calibrate(&self, library: &str, folder: &Path) -> Result<f64, String> {
        let begun = Instant::now();
        specc(folder, |command| {
            command.arg("calibrate").arg(spec(library)).args(["--nodes", "1", "--budget", &self.budget]);
        })?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Fits the samples of a calibration again, into its folder `few`, for at most so many ways.
    ///
    /// # Errors
    /// As [`Specc::calibrate`].
    pub fn limit(&self, library: &str, folder: &Path, ways: usize) -> Result<PathBuf, String> {
        let (few, spec) = (folder.join("few"), spec(library));
        let text = std::fs::read_to_string(&spec).map_err(|error| format!("{}: {error}", spec.display()))?;
        let limited = text.replacen("    candidate", &format!("    ways {ways}\n    candidate"), 1);
        let limits = folder.join(format!("{library}.spec"));
        std::fs::write(&limits, limited).map_err(|error| format!("{}: {error}", limits.display()))?;
        specc(&few, |command| {
            command.arg("fit").arg(folder.join("samples.txt")).arg("--spec").arg(limits);
        })?;
        Ok(few.join("models.toml"))
    }
}

/// Runs `specc` with its results and log in a folder.
fn specc(folder: &Path, arguments: impl FnOnce(&mut Command)) -> Result<(), String> {
    let fail = |error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(fail)?;
    let log = folder.join("specc.log");
    let out = File::create(&log).map_err(fail)?;
    let mut command = cargo("run");
    arguments(command.args(["--quiet", "--"]));
    command.arg("-o").arg(folder).stdout(out.try_clone().map_err(fail)?).stderr(out);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let last: Vec<&str> = text.lines().rev().take(12).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{}: `specc` failed: {status}\n{}", folder.display(), last.join("\n")))
}

fn spec(library: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(format!("{library}.spec"))
}

/// How many cores other programs kept busy during a calibration into this folder, where `specc`
/// warned of it.
pub fn busy(folder: &Path) -> Option<f64> {
    let log = std::fs::read_to_string(folder.join("specc.log")).ok()?;
    let (_, rest) = log.split_once("other programs keep ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// A cargo command on Strata's `specc`.
fn cargo(what: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    command.args([what, "--release", "--package", "specc", "--manifest-path"]).arg(workspace);
    command
}
