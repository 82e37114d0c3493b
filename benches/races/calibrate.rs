//! `cargo bench -p strata-benches --bench calibrate`: calibrates every library under `specs/` on
//! this machine.
//!
//! Exit status: 0 if every library that is measured on this machine has models, else 1. Models that
//! failed their verification are named: after a short measurement some do.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use serde_json::json;
use specc::drive::On;
use specc::lang::load_paths;
use strata_model::set::{Kind, Verdict};
use strata_model::{ModelSet, count};
use strata_screen::wrapped;

/// The columns of what is told at the end.
const WIDTH: usize = 80;

/// The models go to target/calibration/. Specs that are measured on other machines are left out
/// (`on mpi`, `on sim`).
#[derive(Parser)]
#[command(after_help = "Further options, as of `specc calibrate`: --budget 30s -- --refine --install")]
struct Arguments {
    /// On what: threads, mpi, or a simulated machine, such as sim:cm5
    #[arg(long, default_value = "threads")]
    on: On,
    /// The number of nodes (default: as `specc calibrate` chooses it)
    #[arg(long)]
    nodes: Option<u32>,
    /// How long to measure each library
    #[arg(long, default_value = "5s", value_name = "TIME")]
    budget: String,
    /// Further options of `specc calibrate`, all but --output
    #[arg(value_name = "OPTIONS", last = true)]
    passed_on: Vec<String>,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    strata_benches::run(|arguments: &Arguments| calibrate(root, arguments))
}

/// What came of the libraries.
#[derive(Default)]
struct Outcome {
    /// Those with models.
    calibrated: usize,
    /// The models' names by their verdicts.
    verdicts: BTreeMap<String, Vec<String>>,
    /// Those that are measured elsewhere, with the machines' words.
    left_out: Vec<(String, String)>,
    /// Those without models, with the exit status.
    stopped: Vec<String>,
}

/// Calibrates all libraries. One that gets no models is an error at the end; wrong usage, Ctrl-C, or
/// a `specc` that does not compile is an error at once.
fn calibrate(root: &Path, arguments: &Arguments) -> Result<(), String> {
    let mut outcome = Outcome::default();
    for library in found(&root.join("specs"))? {
        let folder = format!("specs/{library}");
        let spec = load_paths(&[root.join(&folder)]).map_err(|errors| errors.render_for_terminal())?;
        if !spec.on().contains(&arguments.on.kind()) {
            let words: Vec<&str> = spec.on().iter().map(|kind| kind.word()).collect();
            outcome.left_out.push((folder, words.join(" or ")));
            continue;
        }
        println!("== {folder} ==");
        measure(root, &library, arguments, &mut outcome)?;
    }
    print!("{outcome}");
    strata_benches::summary(&json!({
        "bench": "calibrate", "on": arguments.on.to_string(), "libraries": outcome.calibrated,
        "models": outcome.verdicts, "left_out": outcome.left_out, "not_calibrated": outcome.stopped,
    }));
    if outcome.stopped.is_empty() { Ok(()) } else { Err("a library is not calibrated".to_owned()) }
}

/// Calibrates one library in a process of its own.
fn measure(root: &Path, library: &str, arguments: &Arguments, outcome: &mut Outcome) -> Result<(), String> {
    let specc = ["run", "--release", "--quiet", "--package", "specc", "--", "calibrate"];
    let output = format!("target/calibration/{library}");
    // Models of an earlier run do not count.
    let models = root.join(&output).join("models.toml");
    let _absent = std::fs::remove_file(&models);
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(specc).args([&format!("specs/{library}"), "-o", &output]);
    command.args(["--on", &arguments.on.to_string(), "--budget", &arguments.budget]);
    command.args(arguments.nodes.iter().flat_map(|nodes| ["--nodes".to_owned(), nodes.to_string()]));
    let status = command.args(&arguments.passed_on).status();
    let status = status.map_err(|error| format!("cannot start cargo: {error}"))?;
    // The other libraries would end alike.
    if let Some(2 | 101 | 130) | None = status.code() {
        return Err(format!("stopped at specs/{library}"));
    }
    let Some(set) = std::fs::read_to_string(models).ok().and_then(|text| ModelSet::read(&text).ok()) else {
        eprintln!("calibrate: specs/{library} ended with {status}");
        outcome.stopped.push(format!("specs/{library}"));
        return Ok(());
    };
    outcome.calibrated += 1;
    for model in set.models.iter().filter(|model| model.kind == Kind::Fitted) {
        outcome.verdicts.entry(model.verdict.to_string()).or_default().push(model.name.clone());
    }
    Ok(())
}

/// How many libraries and models, their verdicts, and by name what failed, stopped or was left out.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.verdicts.values().map(Vec::len).sum();
        let libraries = count(self.calibrated, "library", "libraries");
        writeln!(f, "\n{libraries}, {} calibrated", count(models, "model", "models"))?;
        for (verdict, names) in &self.verdicts {
            let failed = *verdict == Verdict::Failed.to_string();
            let which = if failed { format!(": {}", names.join(", ")) } else { String::new() };
            writeln!(f, "{}", wrapped(&format!("{} {verdict}{which}", names.len()), WIDTH, "  "))?;
        }
        for (folder, machines) in &self.left_out {
            writeln!(f, "left out: {folder} is measured on {machines}")?;
        }
        for folder in &self.stopped {
            writeln!(f, "not calibrated: {folder}")?;
        }
        Ok(())
    }
}

/// The folders below `specs` that hold spec files, relative to it, in order.
fn found(specs: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut folders = vec![specs.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        if entries.iter().any(|path| path.extension().is_some_and(|extension| extension == "spec")) {
            found.extend(folder.strip_prefix(specs).ok().map(|below| below.display().to_string()));
        }
        folders.extend(entries.into_iter().filter(|path| path.is_dir()));
    }
    found.sort();
    Ok(found)
}
