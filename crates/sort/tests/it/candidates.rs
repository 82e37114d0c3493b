//! A candidate is its file, its rows in `src/lib.rs`, its spec and its `candidate` line, and a line
//! of the README. The compiler names rows that are missing, this test the rest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use strata_select::Library;
use strata_sort::{Sort, profile};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The candidates of the library that a folder of specs declares, each with its model.
fn declared(folder: &str) -> Vec<(String, String)> {
    let text = read(&root().join(folder).join("library.spec"));
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("candidate "));
    let halves = lines.filter_map(|line| line.split_once('(')?.0.split_once(" = "));
    halves.map(|(name, model)| (name.to_owned(), model.to_owned())).collect()
}

#[test]
fn every_candidate_has_its_file_its_specs_and_its_line_of_the_readme() {
    let table: Vec<&str> = Sort::TABLE.entries.iter().map(|entry| entry.name).collect();
    let listed: BTreeSet<String> = profile::candidates(&[]).map(|(name, _)| name).collect();
    for name in &table {
        assert!(listed.iter().any(|listed| listed.split(':').next() == Some(name)), "{name}: {listed:?}");
        let file = root().join(format!("crates/sort/src/{name}.rs"));
        assert!(file.exists(), "{}", file.display());
    }
    let readme = read(&root().join("crates/sort/README.md"));
    let (_, list) = readme.split_once("## The algorithms").unwrap();
    let (list, _) = list.split_once("\n## ").unwrap();
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    assert_eq!(rows.map(|(name, _)| name).collect::<Vec<_>>(), table, "README");
    let declared = declared("specs/sort");
    for (name, (_, candidate)) in table.iter().zip(profile::candidates(&[])) {
        let model = declared.iter().find(|(declared, _)| declared == name);
        let (_, model) = model.unwrap_or_else(|| panic!("specs/sort leaves out {name}"));
        let spec = read(&root().join("specs/sort").join(format!("{name}.spec")));
        let variant = format!("{candidate:?}").split(' ').next().unwrap().to_owned();
        assert!(spec.contains(&format!("model {model}(")), "{name}.spec has no {model}");
        assert!(spec.contains(&format!("Sort::{variant}")), "{name}.spec times no {variant}");
    }
}
