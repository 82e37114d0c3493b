//! `cargo bench -p strata-benches --bench calibrate`: calibrates every library under `specs/` on
//! this machine.
//!
//! Arguments after `--` go to `specc calibrate`, for example `-- --nodes 2 --budget 30s`.

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let libraries = match libraries(&root.join("specs")) {
        Ok(found) => found,
        Err(message) => {
            eprintln!("calibrate: {message}");
            return ExitCode::FAILURE;
        }
    };
    // `cargo bench` adds `--bench` to the arguments of every benchmark.
    let passed_on: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let mut outcome = ExitCode::SUCCESS;
    for library in libraries {
        println!("== specs/{library} ==");
        let status = Command::new(env!("CARGO"))
            .current_dir(root)
            .args(["run", "--release", "--quiet", "--package", "specc", "--", "calibrate"])
            .args([format!("specs/{library}"), "-o".into(), format!("target/calibration/{library}")])
            .args(&passed_on)
            .status();
        match status {
            Ok(s) if s.success() => {}
            Ok(s) => {
                eprintln!("calibrate: specs/{library} ended with {s}");
                outcome = ExitCode::FAILURE;
            }
            Err(e) => {
                eprintln!("calibrate: cannot start cargo: {e}");
                return ExitCode::FAILURE;
            }
        }
    }
    outcome
}

/// The names of the folders of `specs`, in order.
fn libraries(specs: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(specs).map_err(|e| format!("{}: {e}", specs.display()))?;
    let mut found: Vec<String> = entries
        .flatten()
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    Ok(found)
}
