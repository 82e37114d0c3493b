//! What `cargo bench -p strata-benches` runs: every bench that has a short form, then a table of what
//! came out beside the kept figures, and a list of all benches.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use clap::Parser;
use serde_json::Value;
use strata_benches::{Bench, benches, today};

/// Every bench that has a short form, then its figures beside the kept ones, and a list of all benches
#[derive(Parser)]
#[command(bin_name = "cargo bench -p strata-benches --")]
struct Arguments;

strata_benches::main!(|_: &Arguments| overview());

/// Runs what has a short form, also after one that failed.
fn overview() -> Result<(), String> {
    let (mut failed, mut summaries) = (Vec::new(), BTreeMap::new());
    for bench in benches() {
        let Some(arguments) = bench.brief else { continue };
        println!("== {} ==\n$ {} -- {}\n", bench.what, bench.command(), arguments);
        match start(&bench, arguments) {
            Ok(summary) => drop(summaries.insert(bench.name, summary)),
            Err(why) => {
                eprintln!("{}: {why}", bench.name);
                failed.push(bench.name);
            }
        }
        println!();
    }
    today::report(&summaries);
    println!("\nAll benches: `cargo bench -p strata-benches --bench NAME [-- --help]`\n");
    list();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Runs a bench, and passes on what it prints; returns its summary.
fn start(bench: &Bench, arguments: &str) -> Result<Value, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["bench", "--quiet", "--bench", bench.name, "--"]);
    cargo.args(arguments.split_whitespace()).stdout(Stdio::piped());
    let mut run = cargo.spawn().map_err(|error| format!("cannot start cargo: {error}"))?;
    let mut summary = Value::Null;
    for line in run.stdout.take().into_iter().flat_map(|lines| BufReader::new(lines).lines()) {
        let line = line.map_err(|error| error.to_string())?;
        match line.strip_prefix("summary ").map(serde_json::from_str) {
            Some(value) => summary = value.map_err(|error| error.to_string())?,
            None => println!("{line}"),
        }
    }
    let status = run.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(summary) } else { Err(format!("it ended with {status}")) }
}

fn list() {
    let line = |bench: Bench| println!("{:16}  {}", bench.name, bench.what);
    benches().filter(|bench| bench.feature.is_none()).for_each(line);
    for feature in ["mpi", "tune"] {
        println!("\nwith `--features {feature}`:");
        benches().filter(|bench| bench.feature == Some(feature)).for_each(line);
    }
}
