//! The command lines of `specc` and `cargo strata`.

mod adding;
mod args;
mod checking;
mod choosing;
pub mod comparing;
mod crossovers;
mod exchange;
pub mod folder;
mod guidelines;
mod help;
mod impacts;
mod jobs;
pub mod machine;
pub mod measuring;
mod models;
mod next;
mod package;
mod page;
mod platforms;
mod racing;
mod refining;
mod renamed;
mod revisions;
mod rules;
mod running;
mod showing;
mod specs;
mod stages;
mod tables;
pub mod values;
mod winners;

use std::path::Path;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser};

pub use args::{CompareHow, Features, Target};
pub use page::{MOST_RESIDUALS, write_models};

use args::{Cli, Command, PlatformCommand};
use strata_screen::{Failure, print};

/// Runs the command line of this process and returns its exit status.
pub fn run() -> ExitCode {
    let cli = Cli::from_arg_matches(&help::command().get_matches_from(renamed::arguments(1)));
    let Some(command) = cli.unwrap_or_else(|error| error.exit()).command else {
        return Failure::Usage(help::BEGINNING.into()).end("specc");
    };
    let outcome = match command {
        Command::Check(asked) => checking::check(&asked),
        Command::Emit { specs, nodes, features, job, expand, output } => match output {
            Some(output) if !expand => stages::emit(&specs, &nodes, &features.features, &job, &output),
            _ => specs::expand(&specs.specs),
        },
        Command::Fit(fit) => stages::fit(&fit),
        Command::Calibrate(calibrate) => stages::calibrate(&calibrate),
        Command::Advise(advise) => refining::advise(&advise),
        Command::Choose { models, name, at, how } => choosing::choose(&models, &name, &at, &how),
        Command::Export(export) => exchange::export(&export),
        Command::Show { models, what } => showing::show(&models, &what),
        Command::Impact { models, impact } => impacts::impact(&models, &impact),
        Command::Thresholds { models, thresholds } => crossovers::thresholds(&models, &thresholds),
        Command::Compare(asked) => comparing::compare(&asked),
        Command::Platform { command } => match command {
            PlatformCommand::List => platforms::list(),
            PlatformCommand::Run(asked) => running::run(asked),
            PlatformCommand::Check { files } => platforms::check(&files),
            PlatformCommand::Kernels { models, reference } => platforms::kernels(&models, &reference),
            PlatformCommand::Show { platform, nodes, json } => {
                platforms::show(&platform, nodes as usize, json)
            }
        },
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
    match package::run(package::Cargo::parse_from(renamed::arguments(2))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end("specc"),
    }
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
