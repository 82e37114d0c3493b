//! The program `specc`; its code is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    specc::cli::run()
}
