//! Shared parts of the experiments on how often models choose right on simulated machines (Brewer
//! 1994, §4.4.2 and §4.5.4): options, calibration, and what comes out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use strata_model::Resolved;

use crate::tool;

/// The options of an experiment.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of nodes; those of the thesis are 16, 32 and 64, which take hours
    #[arg(long, value_delimiter = ',', default_value = "16", value_parser = crate::at_least(1))]
    pub nodes: Vec<usize>,
    /// Names of the simulated machines
    #[arg(long, value_delimiter = ',', default_value = "alewife,paragon,atm,cm5")]
    pub platforms: Vec<String>,
    /// Of the problems that are drawn
    #[arg(long, default_value_t = 4)]
    pub seed: u64,
}

/// What an experiment needs of a simulated machine, kept in `target/NAME/MACHINE-NODES/` until what
/// it depends on is changed: a run that was ended goes on where it was.
#[derive(Clone, Debug)]
pub struct Kept {
    root: PathBuf,
    folder: PathBuf,
    platform: String,
    nodes: usize,
}

/// What simulated times depend on, from the workspace's folder.
const SIMULATED: [&str; 4] = ["crates/sim", "crates/runtime/src", "crates/sort/src", "crates/stencil/src"];

/// What models of the same samples depend on besides.
const FITTED: [&str; 3] = ["crates/fit/src", "crates/model/src", "crates/specc/src"];

impl Kept {
    /// What the experiment `name` has kept of a machine with a number of nodes.
    pub fn of(name: &str, platform: &str, nodes: usize) -> Self {
        let root = tool::root();
        let folder = root.join(format!("target/{name}/{platform}-{nodes}"));
        Self { root, folder, platform: platform.to_owned(), nodes }
    }

    /// The models of the spec in a folder, measured for at most `budget` (as `specc` reads it) and
    /// fitted, unless they are there.
    ///
    /// # Errors
    /// Measuring failed, or the models cannot be read.
    pub fn models(&self, spec: &str, budget: &str) -> Result<Resolved, String> {
        let folder = self.folder.join(spec);
        let (models, samples) = (folder.join("models.toml"), folder.join("samples.txt"));
        let begun = ["samples.txt", "samples.txt.partial"].map(|name| folder.join(name));
        let measured = begun.iter().any(|file| self.holds(file, &[spec]));
        if !self.holds(&models, &[&[spec][..], &FITTED].concat()) {
            let on = format!("sim:{}", self.platform);
            let nodes = self.nodes.to_string();
            let mut profile =
                vec!["calibrate", "--only-samples", spec, "--on", &on, "--nodes", &nodes, "--budget", budget];
            if measured {
                profile.push("--resume");
            }
            if tool::specc_into(&folder, &profile)?.contains("sufficed for") {
                eprintln!("the budget was too short for all points: see {}", folder.display());
            }
            tool::specc_into(&folder, &["fit", &samples.to_string_lossy(), "--spec", spec])?;
        }
        crate::judge::read(&models)?.resolve().map_err(|e| e.to_string())
    }

    /// The times that were simulated before.
    ///
    /// # Errors
    /// They cannot be read or written.
    pub fn times(&self) -> Result<Times, String> {
        let path = self.folder.join("times.txt");
        std::fs::create_dir_all(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        let holds = self.holds(&path, &[]);
        Times::open(path, holds)
    }

    /// Whether a file is newer than all that it depends on: `others`, and what simulates.
    fn holds(&self, file: &Path, others: &[&str]) -> bool {
        let Some(made) = changed(file) else { return false };
        SIMULATED.iter().chain(others).all(|path| newest(&self.root.join(path)).is_none_or(|at| at <= made))
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

/// When the last of a folder's files was changed.
fn newest(folder: &Path) -> Option<SystemTime> {
    let files = std::fs::read_dir(folder).ok()?.flatten();
    files
        .filter_map(|entry| match entry.path() {
            path if path.is_dir() => newest(&path),
            path => changed(&path),
        })
        .max()
}

/// Simulated times by what was simulated, in a file.
#[derive(Debug)]
pub struct Times {
    known: BTreeMap<String, f64>,
    file: File,
    path: PathBuf,
}

impl Times {
    /// Those in a file, or none where they do not hold any more.
    fn open(path: PathBuf, hold: bool) -> Result<Self, String> {
        let fault = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut text = String::new();
        if hold {
            text = std::fs::read_to_string(&path).map_err(fault)?;
        }
        // A run that was ended may have left a part of a line.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        let known = text.lines().filter_map(|line| {
            let (seconds, what) = line.split_once(' ')?;
            Some((what.to_owned(), seconds.parse().ok()?))
        });
        let known = known.collect();
        let file = File::options().create(true).append(true).open(&path).map_err(fault)?;
        file.set_len(text.len() as u64).map_err(fault)?;
        Ok(Self { known, file, path })
    }

    /// The time of `what`, a line, simulated unless it is there.
    ///
    /// # Errors
    /// The simulation's, or the time cannot be written.
    pub fn get(
        &mut self,
        what: String,
        simulate: impl FnOnce() -> Result<f64, String>,
    ) -> Result<f64, String> {
        if let Some(seconds) = self.known.get(&what) {
            return Ok(*seconds);
        }
        let seconds = simulate()?;
        writeln!(self.file, "{seconds:e} {what}").map_err(|e| format!("{}: {e}", self.path.display()))?;
        self.known.insert(what, seconds);
        Ok(seconds)
    }
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
pub fn per_cent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::{Cell, Summary, Times};

    #[test]
    fn times_are_simulated_once_until_they_do_not_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times.txt");
        let get = |hold: bool, what: &str, seconds: f64| {
            Times::open(path.clone(), hold).unwrap().get(what.to_owned(), || Ok(seconds)).unwrap()
        };
        assert_eq!(get(false, "radix:8 100", 0.1 + 0.2), 0.1 + 0.2);
        assert_eq!(get(true, "radix:8 100", 5.0), 0.1 + 0.2);
        let whole = std::fs::read_to_string(&path).unwrap();
        // A run that was killed while it wrote.
        std::fs::write(&path, format!("{whole}7e-3 radix:8 1")).unwrap();
        assert_eq!(get(true, "radix:8 1", 6.0), 6.0);
        assert_eq!(get(true, "radix:8 100", 5.0), 0.1 + 0.2);
        assert_eq!(get(true, "radix:8 1", 5.0), 6.0);
        assert_eq!(get(false, "radix:8 100", 4.0), 4.0);
        let failed = Times::open(path, true).unwrap().get("sample".to_owned(), || Err("no".to_owned()));
        assert_eq!(failed, Err("no".to_owned()));
    }

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
