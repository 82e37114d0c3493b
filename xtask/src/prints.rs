//! A rule that no lint of ours could keep without an exception in every bench, example and test:
//! crates do not print by macros that panic where nobody reads.

use std::fs;
use std::path::{Path, PathBuf};

/// Panic where a pipe's reader has gone, as in `program 2>&1 | head -1`, or a disk is full.
const MACROS: [&str; 5] = ["eprintln!", "eprint!", "println!", "print!", "dbg!"];

/// A file that is compiled into tests alone; `tests.rs` and folders `tests` are known by name.
const OF_TESTS: &str = "profile/src/noise.rs";

/// All source files under a folder but those of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let of_tests = entry.ends_with(OF_TESTS);
        match entry.file_name().and_then(|name| name.to_str()) {
            Some("tests" | "tests.rs") => {}
            _ if entry.is_dir() => sources(&entry, found),
            Some(name) if name.ends_with(".rs") && !of_tests => found.push(entry),
            _ => {}
        }
    }
}

/// The lines of code that name such a macro, with their numbers.
fn printing(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let word = |line: &str, name: &str| {
        line.match_indices(name)
            .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    // Tests stand at the end of a file.
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(move |(_, line)| !line.starts_with("//") && MACROS.iter().any(|name| word(line, name)))
}

#[test]
fn macros_that_panic_are_found() {
    let text =
        "// print!\nsay!();\nprintln!();\nstd::eprint!()\n\n#[cfg(test)]\nmod tests {\n    dbg!()\n}\n";
    let found: Vec<usize> = printing(text).map(|(line, _)| line).collect();
    assert_eq!(found, [3, 4]);
}

#[test]
fn crates_print_by_what_does_not_panic() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "{} files under {}", files.len(), crates.display());
    let mut wrong = String::new();
    for file in files {
        for (line, code) in printing(&fs::read_to_string(&file).unwrap()) {
            wrong.push_str(&format!("\n{}:{line}: {code}", file.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "these panic where nobody reads: messages go by `strata_select::say!`, results of `specc` by \
         `cli::failure::print`{wrong}"
    );
}
