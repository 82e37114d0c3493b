//! The command lines of `specc` and `cargo strata`.

mod adding;
mod args;
mod choosing;
mod comparing;
mod crossovers;
mod exchange;
pub mod folder;
mod guidelines;
mod help;
mod impacts;
mod jobs;
pub mod machine;
mod mapping;
pub mod measuring;
mod models;
mod next;
mod package;
mod page;
mod platforms;
mod racing;
mod refining;
mod revisions;
mod rules;
mod running;
mod specs;
mod stages;
mod tables;
pub mod values;
mod verifying;
mod winners;

use std::path::Path;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser};

pub use args::{Features, Target};
pub use page::{MOST_RESIDUALS, write_models};

use args::{Cli, Command, PlatformCommand};
use strata_screen::{Failure, print};

/// Runs the command line of this process and returns its exit status.
pub fn run() -> ExitCode {
    let cli = Cli::from_arg_matches(&help::command().get_matches()).unwrap_or_else(|error| error.exit());
    let Some(command) = cli.command else {
        return Failure::Usage(help::BEGINNING.into()).end("specc");
    };
    let outcome = match command {
        Command::Check { specs, rules: Some(kind), nodes, .. } => rules::check(&specs.specs, kind, &nodes),
        Command::Check { specs, guidelines: true, .. } => guidelines::check(&specs.specs),
        Command::Check { specs, json, .. } => specs::check(&specs.specs, json),
        Command::Fmt { specs, check } => specs::format(&specs.specs, check),
        Command::Emit { specs, nodes, features, job, expand, output } => match output {
            Some(output) if !expand => stages::emit(&specs, &nodes, &features.features, &job, &output),
            _ => specs::expand(&specs.specs),
        },
        Command::Profile { specs, target, output } => stages::profile(&specs, &target, &output),
        Command::Fit(fit) => stages::fit(&fit),
        Command::Calibrate(calibrate) => stages::calibrate(&calibrate),
        Command::Regret(regret) => stages::regret(&regret),
        Command::Verify(asked) => verifying::verify(&asked),
        Command::Advise(advise) => refining::advise(&advise),
        Command::Predict { models, model, at } => choosing::predict(&models, &model, &at),
        Command::Choose { models, library, at, explain, pin } => {
            choosing::choose(&models, &library, &at, pin.as_deref(), explain)
        }
        Command::Export(export) => exchange::export(&export),
        Command::Show { models, model } => models::show(&models, model.as_deref()),
        Command::Impact { models, impact } => impacts::impact(&models, &impact),
        Command::Map { models, map } => mapping::map(&models, &map),
        Command::Crossovers { models, crossovers } => crossovers::crossovers(&models, &crossovers),
        Command::Compare { before, after, how } => comparing::compare(&before, &after, &how),
        Command::Race(race) => racing::race(&race),
        Command::Platform { command } => match command {
            PlatformCommand::List => platforms::list(),
            PlatformCommand::Run(asked) => running::run(asked),
            PlatformCommand::Check { files } => platforms::check(&files),
            PlatformCommand::Kernels { models, reference } => platforms::kernels(&models, &reference),
            PlatformCommand::Show { platform, nodes, json } => {
                platforms::show(&platform, nodes as usize, json)
            }
        },
        Command::Comet { .. } => Err(moved("comet", "strata-comet", "comet")),
        Command::Log { .. } => Err(moved("log", "strata-develop", "strata-job log")),
        Command::Trace { .. } => Err(moved("trace", "strata-develop", "strata-job trace")),
        Command::Tuned { .. } => Err(moved("tuned", "strata-develop", "strata-job tuned")),
        Command::Completions { shell } => completions(shell),
        Command::Man { output } => man_pages(&output.output),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end("specc"),
    }
}

/// Runs the command line of this process as `cargo strata` and returns its exit status.
pub fn run_cargo() -> ExitCode {
    match package::run(package::Cargo::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end("specc"),
    }
}

/// The error for a command that is now a separate program.
fn moved(command: &str, package: &str, now: &str) -> Failure {
    Failure::Usage(format!(
        "`specc {command}` is `{now}` now, a program of its own: `cargo install --locked {package} --features \
         cli`, or `--path` with the folder of that crate"
    ))
}

/// `specc completions`.
fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "specc", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

/// `specc man`: a manual page of `specc`, and one of each command.
fn man_pages(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(help::command(), folder))
        .map_err(|error| Failure::file(folder, error))
}
