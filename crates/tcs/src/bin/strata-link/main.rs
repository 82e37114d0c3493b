//! The program `strata-link`: the linker as a step before a job.

#![forbid(unsafe_code)]

mod against;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use strata_model::write_atomically;
use strata_screen::{Failure, print, width, wrapped};
use strata_tcs::{Description, FileError, Image};

/// Link a description of tasks and connection sets before a job starts.
///
/// A program writes FILE with `Description::write`, and loads the image that is written here with
/// `Image::load`, which refuses an image of another description. Prints the report: each
/// connection's path, guaranteed rate, latency and greatest latency, how sure the rates are, and the
/// predicted times of switches, starts, ends and barriers.
///
/// Results go to standard output, the rest to standard error. Exit status: 0 linked; 1 the
/// description is refused, promises less than it did, or a file is none; 2 wrong usage; 3 a file
/// cannot be read or written.
#[derive(Debug, Parser)]
#[command(
    name = "strata-link",
    version,
    arg_required_else_help = true,
    help_expected = true,
    max_term_width = 80,
    after_help = EXAMPLES
)]
struct Cli {
    /// The description.
    #[arg(value_name = "FILE")]
    description: PathBuf,
    /// Write the image here, for the job.
    #[arg(short, long = "output", value_name = "IMAGE")]
    output: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Draw the machine with the load of every link, as SVG.
    #[arg(long, value_name = "SVG")]
    svg: Option<PathBuf>,
    /// Verify that this image is whole and of the description.
    #[arg(long, value_name = "IMAGE")]
    verify: Option<PathBuf>,
    /// Compare with this report, of `--json`: no connection may lose rate or gain latency, and no
    /// switch, start or end may take longer.
    #[arg(long, value_name = "REPORT")]
    against: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  strata-link film.json                            check, and print the report
  strata-link film.json -o film.image              the image for the job
  strata-link film.json --json > film.report       what is promised today
  strata-link film.json --against film.report      in CI: exit 1 if less is
  strata-link film.json --verify film.image --svg film.svg";

fn main() -> ExitCode {
    match link(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end("strata-link"),
    }
}

fn link(cli: &Cli) -> Result<(), Failure> {
    let file = cli.description.display();
    let description = Description::read(&cli.description).map_err(failure)?;
    let image = description.link().map_err(|errors| {
        let count = errors.all().len();
        let lines: String = errors.all().iter().map(|error| format!("\n- {error}")).collect();
        let head = format!("{file}: `{}` is refused, for {count} reason(s):", description.name());
        Failure::Fault(wrapped(&format!("{head}{lines}"), width_of_messages(), "  "))
    })?;
    let report = image.report();
    if let Some(path) = &cli.svg {
        let picture = report.svg(None).ok_or_else(|| {
            Failure::Fault(format!("{file}: {} has no shape to draw; leave `--svg` out", report.target))
        })?;
        write(path, &picture)?;
    }
    if let Some(path) = &cli.verify {
        Image::load(path, &description).map_err(failure)?;
    }
    if cli.json {
        print(report.json())?;
    } else {
        print(wrapped(report.to_string().trim_end(), width(), "    "))?;
    }
    if let Some(path) = &cli.against {
        let worse = against::worse(path, report)?;
        if !worse.is_empty() {
            let lines: String = worse.iter().map(|line| format!("\n- {line}")).collect();
            let head = format!("{file} promises less than {}:", path.display());
            return Err(Failure::Fault(wrapped(&format!("{head}{lines}"), width_of_messages(), "  ")));
        }
    }
    // Last: nothing is written for a job of which anything was refused.
    match &cli.output {
        Some(path) => image.write(path, &description).map_err(failure),
        None => Ok(()),
    }
}

fn width_of_messages() -> usize {
    strata_screen::width_of_stderr()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_atomically(path, |out| out.write_all(text.as_bytes())).map_err(|error| Failure::file(path, error))
}

fn failure(error: FileError) -> Failure {
    match error {
        FileError::File { .. } => Failure::Machine(error.to_string()),
        _ => Failure::Fault(error.to_string()),
    }
}

#[test]
fn the_command_line_is_whole() {
    use clap::CommandFactory as _;
    Cli::command().debug_assert();
}
