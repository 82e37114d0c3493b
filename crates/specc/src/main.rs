//! The program `specc`; all of it stands in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    specc::cli::run()
}
