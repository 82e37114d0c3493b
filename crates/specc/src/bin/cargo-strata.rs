//! The program `cargo-strata`, which cargo calls for `cargo strata`; all of it stands in the
//! library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    specc::cli::run_cargo()
}
