//! What the sources are held to, so that unsafe code can be reviewed as a whole: it stands where
//! ARCHITECTURE.md says, and lengths become bytes where the multiplication is known to fit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::map::tokens;

/// Multiplications by `size_of` outside the run-time's `byte_length`: the file, how many, and why
/// they cannot wrap, or why it does not matter that they do.
const MULTIPLICATIONS: [(&str, usize, &str); 14] = [
    ("crates/global/src/array.rs", 1, "the offset of an element of an array that is in a heap"),
    ("crates/global/src/space/mod.rs", 4, "elements of a slice, or of an array that is in a heap"),
    ("crates/sort/src/mail.rs", 3, "the length of a slice of another node; access is checked"),
    ("crates/sort/src/pool.rs", 1, "elements that are on the nodes, or a sort's buffer for them"),
    ("crates/sort/src/work.rs", 1, "in floating point"),
    ("crates/stencil/src/exchange.rs", 1, "points that are in memory"),
    ("crates/stencil/src/halo/mod.rs", 1, "a part of fields that fit memory, which is checked"),
    ("crates/stencil/src/halo/region.rs", 2, "a row, and a stride along which fields have elements"),
    ("crates/stencil/src/part.rs", 2, "in 128 bits; a row that is in memory"),
    ("crates/stencil/src/plain.rs", 3, "in 128 bits; rows that are in memory"),
    ("crates/stencil/src/solver.rs", 1, "the values of one cell"),
    ("crates/tcs/src/patterns/moves.rs", 2, "what is compared, not allocated: safe code moves the data"),
    ("crates/tcs/src/run/ring.rs", 1, "a constant"),
    ("examples/gups.rs", 1, "a size that `Space::open` checks"),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The Rust files of the workspace by their paths from its root, with their texts.
fn sources() -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    let mut folders: Vec<PathBuf> =
        ["crates", "benches", "examples", "xtask"].iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
                sources.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

fn unsafe_sites(source: &str) -> usize {
    tokens(source).iter().filter(|token| **token == "unsafe").count()
}

/// How often the size of a type, `size_of::<…>()`, is multiplied by `*`, on either side.
fn multiplications(source: &str) -> usize {
    let tokens = tokens(source);
    let at = |index: usize| tokens.get(index).copied().unwrap_or_default();
    let is_multiplied = |name: &usize| {
        // `std::mem::size_of`.
        let mut begin = *name;
        while begin >= 3 && (at(begin - 1), at(begin - 2)) == (":", ":") {
            begin -= 3;
        }
        let mut end = name + 3;
        let mut depth = 0;
        loop {
            match at(end) {
                "<" => depth += 1,
                ">" => depth -= 1,
                "" => return false,
                _ => {}
            }
            end += 1;
            if depth == 0 {
                break;
            }
        }
        // `()`, and perhaps `as u64`.
        end += 2;
        if at(end) == "as" {
            end += 2;
        }
        begin > 0 && at(begin - 1) == "*" || at(end) == "*"
    };
    let sizes = (0..tokens.len()).filter(|&index| at(index) == "size_of" && at(index + 1) == ":");
    sizes.filter(is_multiplied).count()
}

/// The rows of the table below ARCHITECTURE's invariant: a file or folder, and how many sites.
fn table() -> Vec<(String, usize)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = text.split_once("**Invariant (unsafe):**").expect("the invariant");
    let (rest, _) = rest.split_once("\n**Invariant").unwrap();
    let rows = rest.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let path = cells.next()?.trim_matches('`').trim_end_matches('/').to_owned();
        Some((path, cells.next()?.parse().ok()?))
    };
    rows.map(|line| row(line).unwrap_or_else(|| panic!("not a path and a number: {line}"))).collect()
}

fn is_in(file: &str, path: &str) -> bool {
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[test]
fn unsafe_code_stands_where_architecture_says() {
    let table = table();
    let mut found: BTreeMap<&str, usize> = table.iter().map(|(path, _)| (path.as_str(), 0)).collect();
    let mut elsewhere = Vec::new();
    for (file, source) in sources() {
        let sites = unsafe_sites(&source);
        match table.iter().find(|(path, _)| is_in(&file, path)) {
            Some((path, _)) => *found.entry(path).or_default() += sites,
            None if sites > 0 => elsewhere.push(format!("{file} has {sites}, and is not in the table")),
            None => {}
        }
    }
    let differ = table.iter().filter(|(path, said)| found[path.as_str()] != *said);
    elsewhere
        .extend(differ.map(|(path, said)| format!("{path}: {said} in the table, {}", found[path.as_str()])));
    assert!(
        elsewhere.is_empty(),
        "`unsafe` in the sources and in ARCHITECTURE.md, invariant (unsafe), differ: review what is new, and put \
         the table right:\n{}",
        elsewhere.join("\n")
    );
}

#[test]
fn all_other_crates_forbid_it() {
    let table = table();
    let sources = sources();
    for folder in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).chain(
        ["xtask", "benches", "examples/matmul", "examples/motion"].iter().map(|folder| root().join(folder)),
    ) {
        let source = format!("{}/src", folder.strip_prefix(root()).unwrap().display());
        if table.iter().any(|(path, _)| is_in(path, &source)) {
            continue;
        }
        let is_root = |file: &str| {
            let name = file.strip_prefix(&source).unwrap_or_default();
            let program = name.strip_prefix("/bin/");
            matches!(name, "/lib.rs" | "/main.rs")
                || program.is_some_and(|file| !file.contains('/') || file.ends_with("/main.rs"))
        };
        let mut roots = sources.iter().filter(|(file, _)| is_root(file)).peekable();
        assert!(roots.peek().is_some(), "{source} has no root");
        for (file, text) in roots {
            assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{file} lacks `#![forbid(unsafe_code)]`");
        }
    }
}

#[test]
fn lengths_become_bytes_with_a_check() {
    let known: BTreeMap<&str, usize> =
        MULTIPLICATIONS.iter().map(|(file, count, _)| (*file, *count)).collect();
    assert_eq!(known.len(), MULTIPLICATIONS.len(), "a file stands there twice");
    let is_tested = |file: &str| file.contains("/tests/") || file.starts_with("benches/");
    let found = sources().into_iter().filter(|(file, _)| !is_tested(file));
    let found: BTreeMap<String, usize> = found
        .map(|(file, source)| (file, multiplications(&source)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let said: BTreeMap<String, usize> =
        known.iter().map(|(file, count)| ((*file).to_owned(), *count)).collect();
    assert_eq!(
        found,
        said,
        "multiplications by `size_of` (left: found, right: known). A product that wraps in a release build is \
         memory out of bounds: take `byte_length`, `checked_mul` or `saturating_mul`, or say in {} why it fits",
        file!()
    );
}

#[test]
fn tokens_are_told_from_texts() {
    let source = r##"
        // unsafe { }
        /* unsafe */ #![allow(unsafe_code, reason = "unsafe")]
        const A: &str = r#"unsafe { size_of::<u8>() * 2 }"#;
        unsafe fn a() { unsafe { b('u', "unsafe") } }
    "##;
    assert_eq!(unsafe_sites(source), 2);
    assert_eq!(multiplications(source), 0);
    for (source, count) in [
        ("n * size_of::<T>()", 1),
        ("std::mem::size_of::<Vec<[T; 3]>>() * n", 1),
        ("n as u64 * core::mem::size_of::<T>() as u64", 1),
        ("size_of::<T>() as u128 * n", 1),
        ("n.checked_mul(size_of::<T>())? + size_of::<T>() / 8", 0),
        ("use std::mem::size_of; size_of::<T>() - 1", 0),
        ("size_of::<", 0),
    ] {
        assert_eq!(multiplications(source), count, "{source}");
    }
}
