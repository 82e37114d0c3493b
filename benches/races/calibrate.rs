//! `cargo bench -p strata-benches --bench calibrate`: calibrates every library under `specs/` on
//! this machine.
//!
//! Arguments after `--` go to `specc calibrate`, for example `-- --nodes 2 --budget 30s`. The last
//! line sums up; exit status: 0 if every library was calibrated and no model failed, else 1.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use strata_model::set::{Kind, Verdict};
use strata_model::{ModelSet, count};

const HELP: &str = "\
Calibrates every library under specs/ on this machine; the models go to target/calibration/.
Exit status: 0 if no model failed, else 1; the last line sums up.
All options but --output are those of `specc calibrate`:
";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    // `cargo bench` adds `--bench` to the arguments of every benchmark.
    let passed_on: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match calibrate(root, &passed_on) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("calibrate: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all went well; what stops everything is an error.
fn calibrate(root: &Path, passed_on: &[String]) -> Result<bool, String> {
    let specc = |arguments: &[String]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root).args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "specc",
            "--",
            "calibrate",
        ]);
        command.args(arguments).status().map_err(|e| format!("cannot start cargo: {e}"))
    };
    // Once, not for each library.
    if passed_on.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{HELP}");
        return Ok(specc(&["--help".into()])?.success());
    }
    let (mut libraries, mut stopped, mut verdicts) = (0, Vec::new(), BTreeMap::new());
    for library in found(&root.join("specs"))? {
        println!("== specs/{library} ==");
        libraries += 1;
        let output = format!("target/calibration/{library}");
        // What lies there from another day is not counted.
        let models = root.join(&output).join("models.toml");
        let _absent = std::fs::remove_file(&models);
        let arguments = [&[format!("specs/{library}"), "-o".into(), output][..], passed_on].concat();
        let status = specc(&arguments)?;
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
    let failed = verdicts.get(&Verdict::Failed.to_string());
    println!("{}", summary(libraries, &stopped, &verdicts));
    Ok(stopped.is_empty() && failed.is_none())
}

/// One line: how many libraries and models, their verdicts, and what did not go well by name.
fn summary(libraries: usize, stopped: &[String], verdicts: &BTreeMap<String, Vec<String>>) -> String {
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

/// The names of the folders of `specs`, in order.
fn found(specs: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(specs).map_err(|e| format!("{}: {e}", specs.display()))?;
    let mut found: Vec<String> = entries
        .flatten()
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    Ok(found)
}
