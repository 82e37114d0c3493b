//! `patterns FILE PATTERN…`: how often the patterns occur in a file.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: patterns FILE PATTERN…");
        return ExitCode::from(2);
    };
    let patterns: Vec<Vec<u8>> = arguments.map(String::into_bytes).collect();
    let found = std::fs::read(&file)
        .map_err(|error| format!("cannot read {file}: {error}"))
        .map(|haystack| patterns::search(&patterns, &haystack));
    match found {
        Ok(matches) => println!("{matches}"),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
