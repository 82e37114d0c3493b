//! The command lines of `specc` and `cargo strata`.

mod add_tables;
mod args;
mod check;
mod choose;
pub mod compare;
mod guidelines;
mod help;
mod impact;
mod import_export;
mod job;
pub mod machine_load;
pub mod measure;
mod model_files;
mod model_text;
mod next_steps;
pub mod output_lock;
mod package;
mod pipeline;
mod platform;
mod platform_run;
mod race;
mod refine;
mod renamed;
mod revisions;
mod rules;
mod show;
mod spec_files;
mod summary;
mod tables;
mod thresholds;
pub mod values;

use std::path::Path;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser};

pub use args::{CompareHow, Features, Target};
pub use model_files::{MOST_RESIDUALS, write_models};

use args::{Cli, Command, PlatformCommand};
use strata_screen::{Failure, print};

/// Runs the command line of this process and returns its exit status.
pub fn run() -> ExitCode {
    let cli = Cli::from_arg_matches(&help::command().get_matches_from(renamed::arguments(1)));
    let Some(command) = cli.unwrap_or_else(|error| error.exit()).command else {
        return Failure::Usage(help::BEGINNING.into()).end("specc");
    };
    let outcome = match command {
        Command::Check(asked) => check::check(&asked),
        Command::Emit { specs, nodes, features, job, expand, output } => match output {
            Some(output) if !expand => pipeline::emit(&specs, &nodes, &features.features, &job, &output),
            _ => spec_files::expand(&specs.specs),
        },
        Command::Fit(fit) => pipeline::fit(&fit),
        Command::Calibrate(calibrate) => pipeline::calibrate(&calibrate),
        Command::Advise(advise) => refine::advise(&advise),
        Command::Choose { models, name, at, how } => choose::choose(&models, &name, &at, &how),
        Command::Export(export) => import_export::export(&export),
        Command::Show { models, what } => show::show(&models, &what),
        Command::Impact { models, impact } => impact::impact(&models, &impact),
        Command::Thresholds { models, thresholds } => thresholds::thresholds(&models, &thresholds),
        Command::Compare(asked) => compare::compare(&asked),
        Command::Platform { command } => match command {
            PlatformCommand::List => platform::list(),
            PlatformCommand::Run(asked) => platform_run::run(asked),
            PlatformCommand::Check { files } => platform::check(&files),
            PlatformCommand::Kernels { models, reference } => platform::kernels(&models, &reference),
            PlatformCommand::Show { platform, nodes, json } => {
                platform::show(&platform, nodes as usize, json)
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
