//! The profiling programs of the shipped specs: that their Rust still fits the libraries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::{ROOT, run};

/// The folders below `specs` that have a spec.
fn folders(below: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            folders(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "spec") {
            found.insert(below.to_owned());
        }
    }
}

/// What the compiler says of the profiling program of a spec; empty if nothing.
fn faults(spec: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (spec, to) = (spec.to_str().unwrap(), folder.path().to_str().unwrap());
    // Some have no candidate for one node, others none for two.
    let emitted = ["1", "2"].iter().map(|nodes| {
        run(Path::new(ROOT), env!("CARGO_BIN_EXE_specc"), &["emit", spec, "--nodes", nodes, "-o", to])
    });
    let failures: Vec<String> =
        emitted.take_while(|(status, ..)| *status != Some(0)).map(|(.., err)| err).collect();
    if failures.len() == 2 {
        return failures.concat();
    }
    let check = ["check", "--quiet", "--manifest-path", "profile/Cargo.toml"];
    let (status, _, err) = run(folder.path(), &std::env::var("CARGO").unwrap_or("cargo".into()), &check);
    if status == Some(0) { String::new() } else { err }
}

#[test]
fn specs_of_the_libraries_compile() {
    for library in ["sort", "stencil", "collectives", "copy", "global", "tcs"] {
        assert_eq!(faults(&Path::new(ROOT).join("specs").join(library)), "", "{library}");
    }
    // A spec whose Rust does not fit is found.
    let broken = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(Path::new(ROOT).join("specs/sort/radix.spec")).unwrap();
    let text = text.replace("bits: bits as usize", "bits: bits as i64");
    std::fs::write(broken.path().join("radix.spec"), text).unwrap();
    assert!(faults(broken.path()).contains("expected `usize`, found `i64`"));
}

#[test]
#[ignore = "30 programs, a minute"]
fn all_shipped_specs_compile() {
    let mut found = BTreeSet::new();
    folders(&Path::new(ROOT).join("specs"), &mut found);
    let faults = found.iter().map(|spec| (spec, faults(spec))).filter(|(_, faults)| !faults.is_empty());
    assert_eq!(faults.collect::<Vec<_>>(), []);
}
