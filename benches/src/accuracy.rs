//! Shared parts of the experiments on how often models choose right on simulated machines (Brewer
//! 1994, §4.4.2 and §4.5.4): options, calibration, and what comes out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use strata_model::{ModelSet, Resolved};

/// The options of an experiment.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_value = "16,32,64", value_parser = crate::at_least(1))]
    pub nodes: Vec<usize>,
    /// Names of the simulated machines
    #[arg(long, value_delimiter = ',', default_value = "alewife,paragon,atm,cm5")]
    pub platforms: Vec<String>,
    /// Of the problems that are drawn
    #[arg(long, default_value_t = 4)]
    pub seed: u64,
}

/// The models of the spec in the folder `spec` on a simulated machine: fitted by `specc calibrate`
/// in `target/NAME`, unless that was done since the spec was changed.
///
/// # Errors
/// Calibration failed, or the models cannot be read.
pub fn calibrated(
    name: &str,
    spec: &str,
    platform: &str,
    nodes: usize,
    environment: &[(&str, &str)],
) -> Result<Resolved, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let folder = root.join(format!("target/{name}/{platform}-{nodes}"));
    let models = folder.join("models.toml");
    if is_newer(&models, &root.join(spec)) {
        eprintln!("{}: taken as it is", models.display());
    } else {
        eprintln!("calibrating on {platform} with {nodes} nodes");
        let status = Command::new(env!("CARGO"))
            .current_dir(root)
            .args(["run", "--release", "--quiet", "--package", "specc", "--", "calibrate", spec])
            .args(["--on", &format!("sim:{platform}"), "--nodes", &nodes.to_string()])
            .args(["--budget", "600s", "-o"])
            .arg(&folder)
            .envs(environment.iter().copied())
            .stdout(Stdio::from(std::io::stderr()))
            .status()
            .map_err(|e| format!("cannot start cargo: {e}"))?;
        if !status.success() {
            return Err(format!("specc calibrate ended with {status}"));
        }
    }
    let text = std::fs::read_to_string(&models).map_err(|e| format!("{}: {e}", models.display()))?;
    ModelSet::read(&text).and_then(|set| set.resolve()).map_err(|e| e.to_string())
}

/// Whether a file is newer than all files of a folder.
fn is_newer(file: &Path, folder: &Path) -> bool {
    let time = |path: PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let Some(made) = time(file.to_owned()) else { return false };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|entry| time(entry.path())).all(|changed| changed <= made)
}

/// The outcome of one choice.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Time of the choice over that of the fastest.
    pub ratio: f64,
    /// Time of a fixed rival over that of the fastest, if it is to be compared.
    pub fixed: Option<f64>,
    /// The number of problems for which this one stands.
    pub weight: f64,
}

/// What comes out over some problems, as shares.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// How many problems there are.
    pub cells: usize,
    /// How many of all choices are right.
    pub right: f64,
    /// The mean penalty of all choices.
    pub expected: f64,
    /// The mean penalty of wrong choices.
    pub mean: f64,
    /// The greatest penalty.
    pub worst: f64,
    /// By how much the fixed rival is slower than the choice, where it was compared.
    pub gain: f64,
}

impl Summary {
    /// The summary of these.
    pub fn of(cells: &[Cell]) -> Self {
        let mean = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (sum, weight) = pairs.fold((0.0, 0.0), |(sum, all), (x, w)| (sum + x * w, all + w));
            if weight == 0.0 { 0.0 } else { sum / weight }
        };
        let penalty = |cell: &Cell| (cell.ratio - 1.0).max(0.0);
        let wrong = |cell: &&Cell| cell.ratio > 1.0;
        let penalties = || cells.iter().map(|cell| (penalty(cell), cell.weight));
        Self {
            cells: cells.len(),
            right: 1.0 - mean(&mut cells.iter().map(|cell| (f64::from(cell.ratio > 1.0), cell.weight))),
            expected: mean(&mut penalties()),
            mean: mean(&mut cells.iter().filter(wrong).map(|cell| (penalty(cell), cell.weight))),
            worst: penalties().map(|(penalty, _)| penalty).fold(0.0, f64::max),
            gain: mean(
                &mut cells.iter().filter_map(|cell| Some((cell.fixed? / cell.ratio - 1.0, cell.weight))),
            ),
        }
    }
}

/// A share in per cent, with two digits.
#[must_use]
pub fn per_cent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::{Cell, Summary};

    #[test]
    fn cells_count_as_many_problems_as_they_stand_for() {
        let cell = |ratio, weight| Cell { ratio, fixed: (weight > 1.0).then_some(3.0), weight };
        let summary = Summary::of(&[cell(1.0, 8.0), cell(1.5, 1.0), cell(1.25, 1.0)]);
        assert_eq!((summary.cells, summary.right, summary.worst), (3, 0.8, 0.5));
        assert_eq!((summary.mean, summary.expected, summary.gain), (0.375, 0.075, 2.0));
        let none = Summary::of(&[]);
        assert_eq!((none.right, none.expected, none.gain), (1.0, 0.0, 0.0));
    }
}
