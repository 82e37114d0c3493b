//! `cargo bench -p strata-benches --bench calibrate`: calibrates every library under `specs/` on
//! this machine.
//!
//! Exit status: 0 if every library was calibrated and no model failed, else 1.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use serde_json::json;
use strata_model::set::{Kind, Verdict};
use strata_model::{ModelSet, count};

/// The models go to target/calibration/.
#[derive(Parser)]
#[command(after_help = "The options' help: `cargo run -p specc -- calibrate --help`.")]
struct Arguments {
    /// Options of `specc calibrate`, all but --output, for each library: --nodes 2 --budget 30s
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    strata_benches::run(|arguments: &Arguments| calibrate(root, &arguments.passed_on))
}

/// Calibrates all; what stops everything, a library without models and a failed model are errors.
fn calibrate(root: &Path, passed_on: &[String]) -> Result<(), String> {
    let specc = ["run", "--release", "--quiet", "--package", "specc", "--", "calibrate"];
    let (mut libraries, mut stopped, mut verdicts) = (0, Vec::new(), BTreeMap::new());
    for library in found(&root.join("specs"))? {
        println!("== specs/{library} ==");
        libraries += 1;
        let output = format!("target/calibration/{library}");
        // What lies there from another day is not counted.
        let models = root.join(&output).join("models.toml");
        let _absent = std::fs::remove_file(&models);
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root).args(specc).args([&format!("specs/{library}"), "-o", &output]);
        let status =
            command.args(passed_on).status().map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            eprintln!("calibrate: specs/{library} ended with {status}");
            stopped.push(format!("specs/{library}"));
        }
        // Wrong usage, Ctrl-C, or a specc that does not compile: the others would end alike.
        if let Some(2 | 101 | 130) | None = status.code() {
            return Err(format!("stopped at specs/{library}"));
        }
        let set = std::fs::read_to_string(models).ok().and_then(|text| ModelSet::read(&text).ok());
        for model in set.iter().flat_map(|set| &set.models).filter(|model| model.kind == Kind::Fitted) {
            verdicts.entry(model.verdict.to_string()).or_insert_with(Vec::new).push(model.name.clone());
        }
    }
    println!("{}", told(libraries, &stopped, &verdicts));
    let well = stopped.is_empty() && !verdicts.contains_key(&Verdict::Failed.to_string());
    strata_benches::summary(&json!({
        "bench": "calibrate", "libraries": libraries, "models": verdicts, "not_calibrated": stopped,
    }));
    if well { Ok(()) } else { Err("a library is not calibrated, or a model failed".to_owned()) }
}

/// One line: how many libraries and models, their verdicts, and what did not go well by name.
fn told(libraries: usize, stopped: &[String], verdicts: &BTreeMap<String, Vec<String>>) -> String {
    let models = verdicts.values().map(Vec::len).sum();
    let mut parts =
        vec![format!("{}, {}", count(libraries, "library", "libraries"), count(models, "model", "models"))];
    for (verdict, names) in verdicts {
        let failed = *verdict == Verdict::Failed.to_string();
        let which = if failed { format!(" ({})", names.join(", ")) } else { String::new() };
        parts.push(format!("{} {verdict}{which}", names.len()));
    }
    if !stopped.is_empty() {
        parts.push(format!("not calibrated: {}", stopped.join(", ")));
    }
    format!("calibrate: {}", parts.join("; "))
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
