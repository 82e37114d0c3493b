//! This machine as `comet` describes it: predicted times of sorts and of a stencil, beside
//! measured ones.
//!
//!     cargo bench -p strata-benches --bench here    # on a quiet machine
//!
//! Without `--file`, `comet` measures the machine first. Nothing is fitted to the programs
//! whose times are predicted: local work takes what the run-time's models of kernels say, times the
//! factors of the file, and messages what the file says. Times are of two nodes as threads;
//! measured ones are medians.

use std::path::{Path, PathBuf};

use clap::Parser;
use strata_benches::jobs::{on_threads, platform};
use strata_benches::{columns, machine, tool};
use strata_runtime::Computing;
use strata_runtime::prelude::*;
use strata_sort::Sort;
use strata_stencil::{Grid, layout::Layout};

const NODES: usize = 2;

/// Runs of which the median is taken.
const RUNS: usize = 31;

/// Simulated runs of which the median is taken, as local work takes what it takes here.
const SIMULATED: usize = 11;

/// What a program takes on one machine, s.
type Program = Box<dyn Fn(&mut Node) -> f64 + Sync>;

#[derive(Parser)]
struct Arguments {
    /// A description that comet wrote of this machine, which is not measured then
    #[arg(long)]
    file: Option<PathBuf>,
}

strata_benches::main!(race);

fn race(arguments: &Arguments) -> Result<(), String> {
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = match &arguments.file {
        Some(file) => file.clone(),
        None => measured_here(temporary.path())?,
    };
    let here = platform(&file.display().to_string())?;
    println!("{}\n", machine());
    columns("program | by models, µs | predicted, µs | measured, µs | predicted over measured");
    let mut ratios = Vec::new();
    for (name, program) in programs() {
        let predicted = |computing, runs: usize| -> Result<f64, String> {
            let simulation = Machine::sim(&here, NODES).map_err(|error| error.to_string())?;
            let run = simulation.computing(computing).run(|node| Ok(times(node, &program, runs)));
            let mut times = run.map_err(|error| error.to_string())?.results.swap_remove(0);
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        };
        let modelled = predicted(Computing::Kernels, 1)?;
        let predicted = predicted(Computing::Measured, SIMULATED)?;
        let mut measured = on_threads(NODES, |node| Ok(times(node, &program, RUNS)))?;
        measured.sort_by(f64::total_cmp);
        let (least, measured) = (measured[0], measured[RUNS / 2]);
        let ratio = predicted / measured;
        ratios.push(ratio);
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} ({:.2} at least) | {ratio:.2} |",
            1e6 * modelled,
            1e6 * predicted,
            1e6 * measured,
            1e6 * least
        );
    }
    let within = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= 0.2).count();
    let worst = ratios.iter().map(|ratio| ratio.ln().abs()).fold(0.0, f64::max).exp();
    strata_benches::summary(&serde_json::json!({
        "bench": "here", "programs": ratios.len(), "within_20_per_cent": within, "worst_factor": worst,
    }));
    Ok(())
}

/// What a program takes, so many times after a first one that touches memory.
fn times(node: &mut Node, program: &Program, runs: usize) -> Vec<f64> {
    program(node);
    (0..runs).map(|_| program(node)).collect()
}

/// The file that `comet` writes of this machine.
fn measured_here(folder: &Path) -> Result<PathBuf, String> {
    let mut command = tool::comet();
    command.args(["--on", "threads", "--nodes", &NODES.to_string(), "-o"]).arg(folder);
    tool::run(&mut command)?;
    Ok(folder.join("here.toml"))
}

/// Sorts of random keys by several algorithms, and iterations of a stencil.
fn programs() -> Vec<(String, Program)> {
    let mut programs: Vec<(String, Program)> = Vec::new();
    for bits in [13, 15, 17, 19, 21] {
        let keys = 3 << bits;
        let name = |sort: &str| format!("{sort}, {keys} keys a node");
        let sorts =
            [("radix sort", Sort::Radix { bits: 11 }), ("sample sort", Sort::Sample { oversample: 32 })];
        for (sort, candidate) in sorts {
            let seconds = move |node: &mut Node| {
                let seeds = strata_sort::profile::next_seeds(1);
                strata_sort::profile::seconds(node, keys, 32, seeds, |node, keys| candidate.run(node, keys))
            };
            programs.push((name(sort), Box::new(seconds)));
        }
    }
    for side in [48, 200, 500, 1500] {
        for (what, layout) in
            [("strips", Layout::new(1, NODES, 1)), ("strips, halo 4", Layout::new(1, NODES, 4))]
        {
            let seconds = move |node: &mut Node| {
                strata_stencil::profile::seconds_on(node, &Grid::new(side, side), layout, 8)
            };
            programs.push((format!("stencil of {side}², {what}"), Box::new(seconds)));
        }
    }
    programs
}
