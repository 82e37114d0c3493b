//! CoMet beside Intel's MPI benchmarks: medians, and the time until they are known.
//!
//!     python3 -m venv imb && imb/bin/pip install impi-rt        # brings IMB-MPI1 and its MPI
//!     STRATA_IMB=imb cargo bench -p strata-benches --bench imb
//!
//! `IMB-MPI1` runs on Intel's MPI and ours on the one that `mpirun` starts, so a ratio is of
//! benchmark and library together. Where it is not there, the race is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use strata_benches::{head, machine, row};

const PAIRS: [&str; 2] = ["PingPong", "PingPing"];
const ALL: [&str; 4] = ["Allreduce", "Allgather", "Alltoall", "Barrier"];

/// Microseconds by kernel and bytes.
type Table = BTreeMap<(String, u64), f64>;

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os("STRATA_IMB").map(PathBuf::from) else {
        println!(
            "skipped: STRATA_IMB names no folder with bin/IMB-MPI1 (a virtual environment with impi-rt)"
        );
        println!("summary {}", serde_json::json!({ "bench": "imb", "skipped": true }));
        return ExitCode::SUCCESS;
    };
    match race(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("imb: {message}");
            ExitCode::FAILURE
        }
    }
}

fn race(folder: &Path) -> Result<(), String> {
    println!("{}\n", machine());
    let output = tempfile::tempdir().map_err(|error| error.to_string())?;
    // Built before anything is timed.
    ours(output.path(), "2s")?;
    let (mine, my_seconds) = ours(output.path(), "45s")?;
    let (theirs, their_seconds) = intel(folder)?;
    head(&["kernel", "bytes", "CoMet, µs", "IMB-MPI1, µs", "ratio"]);
    let mut ratios = Vec::new();
    for ((kernel, bytes), time) in &theirs {
        let Some(our) = mine.get(&(kernel.clone(), *bytes)) else { continue };
        ratios.push(our / time);
        row(&[
            kernel.clone(),
            bytes.to_string(),
            format!("{our:.2}"),
            format!("{time:.2}"),
            format!("{:.2}", our / time),
        ]);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    println!("\nCoMet took {my_seconds:.1} s, IMB-MPI1 {their_seconds:.1} s");
    let summary = serde_json::json!({
        "bench": "imb", "median_ratio": median, "rows": ratios.len(),
        "comet_seconds": my_seconds, "imb_seconds": their_seconds,
    });
    println!("summary {summary}");
    Ok(())
}

/// `specc comet`, in Intel's columns, and how long it took.
fn ours(output: &Path, budget: &str) -> Result<(Table, f64), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["run", "--release", "--quiet", "-p", "specc", "--", "comet", "--on", "mpi", "--nodes", "2"])
        .args(["--kernels", "echo,exchange,reduce,all,barrier", "--format", "imb", "--budget", budget, "-o"])
        .arg(output);
    timed(&mut command)
}

/// Intel's benchmarks with their usual numbers of repetitions.
fn intel(folder: &Path) -> Result<(Table, f64), String> {
    let mut libraries = vec![folder.join("lib"), folder.join("lib/libfabric")];
    let of = |name: &str| std::env::var_os(name).unwrap_or_default();
    libraries.extend(std::env::split_paths(&of("LD_LIBRARY_PATH")));
    let mut paths = vec![folder.join("bin")];
    paths.extend(std::env::split_paths(&of("PATH")));
    let join = |paths: Vec<PathBuf>| std::env::join_paths(paths).map_err(|error| error.to_string());
    let mut command = Command::new(folder.join("bin/mpiexec.hydra"));
    command
        .env("I_MPI_ROOT", folder)
        .env("I_MPI_FABRICS", "shm")
        .env("PATH", join(paths)?)
        .env("LD_LIBRARY_PATH", join(libraries)?)
        .args(["-n", "2", "IMB-MPI1", "-msglog", "0:18"])
        .args(PAIRS)
        .args(ALL);
    timed(&mut command)
}

fn timed(command: &mut Command) -> Result<(Table, f64), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let output = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok((read(&String::from_utf8_lossy(&output.stdout)), start.elapsed().as_secs_f64()))
}

/// The tables of Intel's format: the last column is the mean, but of two processes the third.
fn read(text: &str) -> Table {
    let mut table = Table::new();
    let mut kernel = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            kernel = name.trim().to_owned();
            continue;
        }
        let numbers: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let value = match numbers[..] {
            _ if kernel.is_empty() || line.starts_with('#') => None,
            [bytes, _, time, _] if PAIRS.contains(&kernel.as_str()) => Some((bytes, time)),
            [_, _, _, time] if kernel == "Barrier" => Some((0.0, time)),
            [bytes, _, _, _, time] => Some((bytes, time)),
            _ => None,
        };
        if let Some((bytes, time)) = value {
            table.insert((kernel.clone(), bytes as u64), time);
        }
    }
    table
}
