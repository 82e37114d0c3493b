//! The NAS kernels CG and MG (Borg 2006, §6.4), which know nothing of a tuner: with `STRATA_TUNE`
//! the run-time's own calls are tuned, in first runs and in runs that go on with what was found.
//!
//! Each run is a process, or an MPI job, of its own, as a user would start it.

use crate::Run;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use strata_benches::nas::{Class, Kernel};
use strata_benches::{columns, race};
use strata_runtime::{Error, launch};

/// The program that is timed: one kernel, on the nodes of the command that started it.
pub(crate) fn kernel(kernel: Kernel, class: Class) -> Result<(), Error> {
    if let Some(outcome) = launch(|node| kernel.run(node, class))? {
        let (seconds, verified) = (outcome.time.as_secs_f64(), outcome.is_verified());
        println!("{}", json!({"seconds": seconds, "verified": verified, "value": outcome.value}));
    }
    Ok(())
}

/// Where nodes run.
#[derive(Clone, Copy)]
enum Transport {
    Threads,
    #[cfg(feature = "mpi")]
    Mpi,
}

impl Transport {
    const ALL: &[Self] = &[
        Self::Threads,
        #[cfg(feature = "mpi")]
        Self::Mpi,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            #[cfg(feature = "mpi")]
            Self::Mpi => "mpi",
        }
    }

    /// The command that runs this program, as so many nodes.
    fn command(self, nodes: usize) -> Result<Command, Error> {
        let program = std::env::current_exe()?;
        Ok(match self {
            Self::Threads => {
                let mut command = Command::new(program);
                command.env("STRATA_ON", format!("threads:{nodes}"));
                command
            }
            #[cfg(feature = "mpi")]
            Self::Mpi => {
                let mut command = Command::new("mpirun");
                command.args(["-n", &nodes.to_string()]).arg(program);
                command.envs(strata_benches::MPI_ENVIRONMENT.iter().copied());
                command
            }
        })
    }
}

#[derive(Clone, Copy)]
struct Cell {
    kernel: Kernel,
    class: Class,
    transport: Transport,
    nodes: usize,
}

impl Cell {
    /// The seconds of a run with this `STRATA_TUNE`.
    fn seconds(self, tune: &str) -> Result<f64, Error> {
        let Self { kernel, class, transport, nodes } = self;
        let what = format!("{kernel:?} {class:?} on {nodes} nodes ({})", transport.name());
        let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let mut command = transport.command(nodes)?;
        command.args(["--kernel", &word(&kernel), "--class", &word(&class)]);
        let output = command.env("STRATA_TUNE", tune).stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let found = text.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let Some((found, true)) = found.map(|found| (found, output.status.success())) else {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(Error::program(format!("{what} ended with {}: {text}{errors}", output.status)));
        };
        match (found["verified"].as_bool(), found["seconds"].as_f64()) {
            (Some(true), Some(seconds)) => Ok(seconds),
            _ => Err(Error::program(format!("{what} did not find the published value: {found}"))),
        }
    }
}

/// How many of the loops of a run with this file have adopted something, of how many with knobs.
fn adopted(file: &Path, nodes: usize) -> (usize, usize) {
    let puts = (0..nodes).map(|rank| file.with_extension(format!("puts-{rank}.json")));
    let files = puts.chain([file.with_extension("calls.json")]);
    let reports = files.filter_map(|file| Some(strata_tune::Tuner::look(&file).ok()?.report()));
    reports.fold((0, 0), |(adopted, all), report| {
        let with_knobs = report.intervals.iter().filter(|each| !each.knobs.is_empty());
        let of_them = with_knobs.clone().filter(|each| each.phase == strata_tune::Phase::Adopted);
        (adopted + of_them.count(), all + with_knobs.count())
    })
}

pub(crate) fn measure(run: Run, class: Class) -> Result<Value, Error> {
    let (rounds, learning) = if run.quick { (5, 3) } else { (15, 10) };
    println!(
        "## NAS kernels of class {class:?}, not changed: {rounds} rounds after {learning} runs that learned\n"
    );
    columns("kernel | nodes |  | median (10 and 90 %) | against `off`: median of rounds, quartiles");
    let mut summary = Vec::new();
    for &transport in Transport::ALL {
        for nodes in [2, 4] {
            for kernel in [Kernel::Cg, Kernel::Mg] {
                let cell = Cell { kernel, class, transport, nodes };
                summary.push(compare(cell, rounds, learning)?);
            }
        }
    }
    println!();
    Ok(Value::Array(summary))
}

fn compare(cell: Cell, rounds: usize, learning: usize) -> Result<Value, Error> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("found.json");
    let (tune, using) = (format!("tune:{}", file.display()), format!("use:{}", file.display()));
    for _ in 0..learning {
        cell.seconds(&tune)?;
    }
    let (found, all) = adopted(&file, cell.nodes);
    let times = race(0..rounds, 0, 4, |round, at| {
        let fresh = format!("tune:{}", folder.path().join(format!("first-{round}.json")).display());
        cell.seconds(["off", &fresh, &tune, &using][at])
    })?;
    let kinds = [
        "`off`".to_owned(),
        "first runs".to_owned(),
        format!("later runs, after {found} of {all} loops adopted"),
        "`use:FILE`".to_owned(),
    ];
    let Cell { kernel, class, transport, nodes } = cell;
    let mut of_kinds = Vec::new();
    for (kind, mine) in kinds.iter().zip(&times) {
        // Each beside the run without a tuner of its own round: the machine's speed changes.
        let ratio = mine.over(&times[0]);
        let more = |q: f64| ratio.quantile(q) - 1.0;
        let share = |q: f64| format!("{:+.2} %", 100.0 * more(q));
        println!(
            "| {kernel:?} {class:?} | {nodes} {} | {kind} | {mine} | {} ({} to {}) |",
            transport.name(),
            share(0.5),
            share(0.25),
            share(0.75)
        );
        of_kinds.push(json!({"run": kind, "seconds": mine.median(), "more": more(0.5),
            "quartiles": [more(0.25), more(0.75)]}));
    }
    Ok(json!({"kernel": format!("{kernel:?}"), "class": format!("{class:?}"), "nodes": nodes,
        "transport": transport.name(), "adopted": found, "loops": all, "runs": of_kinds}))
}
