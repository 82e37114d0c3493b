//! What `cargo bench -p strata-benches` runs: short races here of what the shipped models choose,
//! then a list of all other benches.

use std::process::Command;

use clap::Parser;
use strata_benches::{Bench, benches};

/// Short races here of what the shipped models choose, then a list of all benches
#[derive(Parser)]
#[command(bin_name = "cargo bench -p strata-benches --")]
struct Arguments;

strata_benches::main!(|_: &Arguments| overview());

/// Runs what has a short form, also after one that failed.
fn overview() -> Result<(), String> {
    let mut failed = Vec::new();
    for bench in benches() {
        let Some(arguments) = bench.brief else { continue };
        println!("== {} ==\n$ {} -- {}\n", bench.what, bench.command(), arguments);
        if let Err(why) = start(&bench, arguments) {
            eprintln!("{}: {why}", bench.name);
            failed.push(bench.name);
        }
        println!();
    }
    println!("All benches: `cargo bench -p strata-benches --bench NAME [-- --help]`\n");
    list();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn start(bench: &Bench, arguments: &str) -> Result<(), String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["bench", "--quiet", "--bench", bench.name]);
    match cargo.arg("--").args(arguments.split_whitespace()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("it ended with {status}")),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}

fn list() {
    let line = |bench: Bench| println!("{:16}  {}", bench.name, bench.what);
    benches().filter(|bench| bench.feature.is_none()).for_each(line);
    for feature in ["mpi", "tune"] {
        println!("\nwith `--features {feature}`:");
        benches().filter(|bench| bench.feature == Some(feature)).for_each(line);
    }
}
