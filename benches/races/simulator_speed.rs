//! The speed and memory of simulations on this machine.
//!
//!     cargo bench -p strata-benches --bench simulator_speed
//!
//! Each measurement is a separate process, so that it has its own peak of memory.

use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Parser;
use serde_json::{Value, json};
use strata_benches::{columns, jobs::platform, machine};
use strata_runtime::prelude::*;

/// Nodes, barriers, and bytes of the blocks of one all-to-all (0: none).
const JOBS: [(usize, usize, usize); 6] =
    [(1024, 100, 16), (4096, 0, 16), (1024, 0, 0), (4096, 0, 0), (4096, 100, 0), (16_384, 20, 0)];

#[derive(Parser)]
struct Arguments {
    /// A job in a process of its own: nodes, barriers, bytes of the blocks of an all-to-all.
    #[arg(num_args = 3, hide = true)]
    job: Vec<usize>,
}

strata_benches::main!(|arguments: &Arguments| match arguments.job[..] {
    [nodes, barriers, bytes] => simulate(nodes, barriers, bytes).map(|result| println!("{result}")),
    _ => all(),
});

fn all() -> Result<(), String> {
    println!("{}\n", machine());
    columns(
        "nodes | barriers | all-to-all | seconds | of processor | simulated | events | peak of memory | kB a node",
    );
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut jobs = Vec::new();
    for (nodes, barriers, bytes) in JOBS {
        let arguments = [nodes, barriers, bytes].map(|argument| argument.to_string());
        let child = Command::new(&program).args(arguments).stderr(Stdio::inherit()).output();
        let child = child.map_err(|error| error.to_string())?;
        if !child.status.success() {
            return Err(format!("{nodes} nodes ended with {}", child.status));
        }
        let job: Value = serde_json::from_slice(&child.stdout).map_err(|error| error.to_string())?;
        let number = |key: &str| job[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {nodes} | {barriers} | {} | {:.2} | {:.2} | {} | {} | {:.0} MiB | {:.1} |",
            if bytes > 0 { format!("{bytes} B") } else { "-".into() },
            number("seconds"),
            number("processor_seconds"),
            job["simulated"].as_str().unwrap_or("-"),
            job["events"],
            number("peak_kb") / 1024.0,
            number("kb_a_node")
        );
        jobs.push(job);
    }
    strata_benches::summary(&json!({ "bench": "simulator_speed", "jobs": jobs }));
    Ok(())
}

/// Runs one job in this process.
fn simulate(nodes: usize, barriers: usize, bytes: usize) -> Result<Value, String> {
    let before = peak();
    let start = Instant::now();
    let cm5 = platform("cm5")?;
    let run = Machine::sim(&cm5, nodes).and_then(|simulation| {
        simulation.run(|node| {
            (0..barriers).for_each(|_| node.barrier());
            if bytes > 0 {
                let blocks = (0..node.size()).map(|to| Block::from_slice(&vec![to as u8; bytes])).collect();
                std::hint::black_box(node.all_to_all_v::<u8>(blocks));
            }
            Ok(())
        })
    });
    let run = run.map_err(|error| error.to_string())?;
    let memory = peak();
    Ok(json!({
        "nodes": nodes, "barriers": barriers, "bytes": bytes,
        "seconds": start.elapsed().as_secs_f64(), "processor_seconds": processor(),
        "simulated": run.time().to_string(), "events": run.steps, "peak_kb": memory,
        "kb_a_node": memory.saturating_sub(before) as f64 / nodes as f64,
    }))
}

/// The most memory that this process has used, in kB; 0 if the system does not report it.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Processor seconds of this process, if the system counts them in hundredths as Linux does; 0 if
/// it does not report them.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may hold anything: user and system time are the 12th and the 13th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}
