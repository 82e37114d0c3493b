//! The program `strata-job`: what the nodes of a job did, and what a tuner found.

#![forbid(unsafe_code)]

mod look;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Look at what a job of Strata's run-time has left: its logs, its traces, and what a tuner found.
///
/// Results go to standard output, warnings to standard error. Exit status: 0 done; 1 a file is at
/// fault; 2 wrong usage; 3 the machine failed (a file cannot be read or written).
#[derive(Debug, Parser)]
#[command(
    name = "strata-job",
    version,
    arg_required_else_help = true,
    help_expected = true,
    max_term_width = 80,
    after_help = EXAMPLES
)]
struct Cli {
    /// What to look at.
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  STRATA_LOG=logs PROGRAM; strata-job log logs
  STRATA_TRACE=traces PROGRAM; strata-job trace traces --svg states.svg
  STRATA_TUNE=tune:found.json PROGRAM; strata-job tuned found.json";

/// What there is to look at.
#[derive(Debug, Subcommand)]
enum Command {
    /// Show the last entries of each node's log, and who has not come to which collective.
    ///
    /// A program that runs with STRATA_LOG=DIR writes the logs; they can be read while it runs, and
    /// after it was killed.
    Log {
        /// The folder of the logs.
        folder: PathBuf,
        /// How many entries of each node to show.
        #[arg(long, default_value_t = 3, value_name = "N")]
        last: usize,
    },
    /// Draw what each node was doing when, and what was on its way to it.
    ///
    /// A program that runs with STRATA_TRACE=DIR writes the traces. Without an option the times in
    /// each state are printed.
    Trace {
        /// The folder of the traces.
        folder: PathBuf,
        /// Write the state graph, node by time, as SVG.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        /// Write packets and bytes on their way to each node over time as SVG.
        #[arg(long, value_name = "FILE")]
        flight: Option<PathBuf>,
        /// Write JSON for ui.perfetto.dev and Chrome's tracing page.
        #[arg(long, value_name = "FILE")]
        perfetto: Option<PathBuf>,
    },
    /// Show what a tuner found: what was tried where, what was adopted, what it gains.
    ///
    /// A program that runs with STRATA_TUNE=tune:FILE writes the file. It is also checked: exit
    /// status 1 if it is cut short or not what a tuner writes. Gains are those of fresh timings
    /// against the default, with 99 % intervals.
    Tuned {
        /// The file.
        file: PathBuf,
        /// Print JSON.
        #[arg(long, conflicts_with = "svg")]
        json: bool,
        /// Write the graph of the call sites, with what was adopted, as SVG.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Log { folder, last } => look::log(&folder, last),
        Command::Trace { folder, svg, flight, perfetto } => {
            look::trace(&folder, svg.as_deref(), flight.as_deref(), perfetto.as_deref())
        }
        Command::Tuned { file, json, svg } => look::tuned(&file, json, svg.as_deref()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end("strata-job"),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
