//! The program `comet`, the communication benchmark.

#![forbid(unsafe_code)]

mod args;
mod comparing;
mod draw;
mod measure;
mod setup;
mod source;
mod topology;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match measure::comet(&args::Comet::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end("comet"),
    }
}
