//! `cargo bench -p strata-benches --bench calibrate`: calibrates every library under `specs/` on
//! this machine.
//!
//! Exit status: 0 if every library that is measured on this machine has a model that did not fail its
//! verification, else 1. Those that failed are named: after a short measurement some do.

use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::json;
use specc::drive::On;
use specc::lang::load_paths;
use strata_benches::calibrated::Outcome;
use strata_benches::tool;

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

strata_benches::main!(|arguments: &Arguments| calibrate(&tool::root(), arguments));

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
    let output = format!("target/calibration/{library}");
    // Models of an earlier run do not count.
    let models = root.join(&output).join("models.toml");
    let _absent = std::fs::remove_file(&models);
    let mut command = tool::specc();
    command.args(["calibrate", &format!("specs/{library}"), "-o", &output]);
    command.args(["--on", &arguments.on.to_string(), "--budget", &arguments.budget]);
    command.args(arguments.nodes.iter().flat_map(|nodes| ["--nodes".to_owned(), nodes.to_string()]));
    let status = command.args(&arguments.passed_on).status();
    let status = status.map_err(|error| format!("cannot start cargo: {error}"))?;
    // The other libraries would end alike.
    if let Some(2 | 101 | 130) | None = status.code() {
        return Err(format!("stopped at specs/{library}"));
    }
    let models = std::fs::read_to_string(models).ok();
    if !outcome.take(&format!("specs/{library}"), models.as_deref()) {
        eprintln!("calibrate: specs/{library} ended with {status}");
    }
    Ok(())
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
