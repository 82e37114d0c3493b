//! Finds settings of an MPI library, or any environment variables, with which a command runs
//! fastest, by running it again and again.
//!
//!     cargo run --release -p strata-tune --example tune_launch -- \
//!         --knob btl_vader_eager_limit=4096,16384,65536 --runs 200 -- mpirun -n 2 ./program
//!
//! The first value of a knob is the default. Each run is an iteration of the loop that is tuned;
//! `--keep FILE` goes on where an earlier call has ended. What was adopted is printed as rules for
//! `openmpi-mca-params.conf`, or for another prefix as variables for a shell.

use clap::Parser;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use strata_tune::{Knob, Mode, Options, Phase, Tuner};

/// Finds environment variables with which a command runs fastest.
///
/// Exit status: 0 done; 1 the command failed, with the variables it had; 2 wrong usage.
#[derive(Parser)]
struct Cli {
    /// A variable without its prefix, and its values, the default first.
    #[arg(long, value_name = "NAME=DEFAULT,VALUE…", required = true, value_parser = knob)]
    knob: Vec<(String, Vec<String>)>,
    /// What each variable's name begins with.
    #[arg(long, default_value = "OMPI_MCA_")]
    prefix: String,
    /// How often the command is run.
    #[arg(long, value_name = "N", default_value_t = 200)]
    runs: u32,
    /// Where what was found is kept.
    #[arg(long, value_name = "FILE", default_value = "tune-launch.json")]
    keep: PathBuf,
    /// The command, after `--`.
    #[arg(required = true, last = true)]
    command: Vec<String>,
}

fn knob(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = text.split_once('=').ok_or("it is NAME=DEFAULT,VALUE…")?;
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    if values.len() < 2 || name.is_empty() {
        return Err("a knob has a name and at least two values: NAME=DEFAULT,VALUE…".to_owned());
    }
    Ok((name.to_owned(), values))
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tune_launch: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<(), String> {
    let knobs: Vec<Knob<String>> = cli
        .knob
        .into_iter()
        .map(|(name, mut values)| {
            let default = values.remove(0);
            // A knob's name lives as long as the program, as names in the source do.
            Knob::new(name.leak(), default, values)
        })
        .collect();
    // A run is long, and there are few: intervals are found at once.
    let options = Options { settle: 1, watch: 20, ..Options::of(Mode::Tune(Some(cli.keep))) };
    let program = format!("{} {}", cli.prefix, cli.command.join(" "));
    let mut tuner = Tuner::new(&program, options).map_err(|error| error.to_string())?;
    tuner.notes().iter().for_each(|note| eprintln!("tune_launch: {note}"));
    let mut command = Command::new(&cli.command[0]);
    command.args(&cli.command[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    for _ in 0..cli.runs {
        let mut variables = String::new();
        for knob in &knobs {
            let value = tuner.pick(knob);
            command.env(format!("{}{}", cli.prefix, knob.name()), value);
            variables += &format!("{}{}={value} ", cli.prefix, knob.name());
        }
        let status = command.status().map_err(|error| format!("cannot start {}: {error}", cli.command[0]))?;
        if !status.success() {
            return Err(format!("with {variables}the command ended with {status}"));
        }
    }
    let report = tuner.close().map_err(|error| error.to_string())?;
    eprint!("{report}");
    let adopted = report.intervals.iter().filter(|interval| interval.phase == Phase::Adopted);
    for (knob, name) in adopted.flat_map(|interval| &interval.knobs).zip(knobs.iter().map(Knob::name)) {
        match &*cli.prefix {
            "OMPI_MCA_" => println!("{name} = {}", knob.chosen),
            prefix => println!("export {prefix}{name}={}", knob.chosen),
        }
    }
    Ok(())
}
