//! The program `cargo-strata`, which cargo calls for `cargo strata`; all of it stands in the
//! library.

use std::process::ExitCode;

fn main() -> ExitCode {
    specc::cli::run_cargo()
}
