//! Calibrations by `specc`, as a user calls it.

use std::fs::File;
use std::path::Path;
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

    /// Calibrates a library into a folder, where `calibrate.log` keeps the output of `specc`;
    /// returns the seconds that it took, with building the profiling program.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub fn calibrate(&self, library: &str, folder: &Path) -> Result<f64, String> {
        let begun = Instant::now();
        let fail = |error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(fail)?;
        let log = folder.join("calibrate.log");
        let out = File::create(&log).map_err(fail)?;
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(format!("{library}.spec"));
        let mut command = cargo("run");
        command.args(["--quiet", "--", "calibrate"]).arg(spec);
        command.args(["--nodes", "1", "--budget", &self.budget, "-o"]).arg(folder);
        command.stdout(out.try_clone().map_err(fail)?).stderr(out);
        let status = command.status().map_err(|error| format!("cargo: {error}"))?;
        if status.success() {
            Ok(begun.elapsed().as_secs_f64())
        } else {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let last: Vec<&str> = text.lines().rev().take(12).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            Err(format!("calibrating `{library}` failed: {status}\n{}", last.join("\n")))
        }
    }
}

/// How many cores other programs kept busy during a calibration into this folder, where `specc`
/// warned of it.
pub fn busy(folder: &Path) -> Option<f64> {
    let log = std::fs::read_to_string(folder.join("calibrate.log")).ok()?;
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
