//! How a bench starts and ends: its command line, its exit status, and the line that sums it up.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use serde_json::Value;

use crate::list::find;
use crate::record::Record;

/// The command line of a bench that has no options.
#[derive(Clone, Copy, Debug, Parser)]
pub struct NoArguments;

/// Runs a bench by its command line. Exit status: 0 when it went well, 1 when it failed (a line
/// says why), 2 for wrong usage.
pub fn run<T: Parser, E: Display>(bench: impl FnOnce(&T) -> Result<(), E>) -> ExitCode {
    match bench(&arguments()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", name());
            ExitCode::FAILURE
        }
    }
}

/// The `main` of a bench: [`run`] with a function of its command line.
#[macro_export]
macro_rules! main {
    ($bench:expr $(,)?) => {
        fn main() -> std::process::ExitCode {
            $crate::run($bench)
        }
    };
}

/// The command line of this bench. Wrong usage and `--help` end the program.
pub fn arguments<T: Parser>() -> T {
    let name = name();
    let mut command = T::command().max_term_width(80);
    if let Some(bench) = find(&name) {
        let dashes = if command.get_arguments().next().is_some() { " --" } else { "" };
        command = command.about(bench.what).bin_name(bench.command() + dashes);
    }
    let words = std::iter::once(name.into()).chain(crate::words());
    T::from_arg_matches(&command.get_matches_from(words)).unwrap_or_else(|error| error.exit())
}

/// A whole number of at least so much.
pub fn at_least(least: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..)
}

/// Prints what has come out as the last line, `summary {json}`, and keeps it under
/// `benches/record/`.
pub fn summary(values: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    match Record::of(&name(), values).write(&folder) {
        Ok(path) => eprintln!("kept in {}", path.display()),
        Err(error) => eprintln!("{}: the summary is not kept: {error}", name()),
    }
    println!("\nsummary {values}");
}

/// The name of this bench: cargo adds a dash and a hash to that of the program.
fn name() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    stem.split('-').next().unwrap_or_default().to_owned()
}
